//! The kernels' text, executed by an interpreter of the few instructions that it has, and assembled where there is `ptxas`.

use std::collections::HashMap;
use std::process::Command;

use placebench_execute_cuda::kernels::{LARGEST_SIDE, PTX, Products, THREADS};

/// Executes a kernel of [`PTX`] with one block of threads. Memory is words of eight bytes by address; every look at the timer takes 32 ns.
fn interpret(entry: &str, parameters: &[(&str, u64)], memory: &mut HashMap<u64, u64>) -> u64 {
    let text: String = PTX.lines().map(|line| line.split("//").next().unwrap()).collect::<Vec<_>>().join("\n");
    let text = &text[text.find(&format!(".entry {entry}(")).expect("a kernel")..];
    let body = &text[text.find('{').unwrap() + 1..text.find('}').unwrap()];
    let (mut program, mut labels) = (Vec::new(), HashMap::new());
    for part in body.split(';') {
        let mut part = part.trim();
        while let Some((label, rest)) = part.split_once(':') {
            labels.insert(label.trim().to_owned(), program.len());
            part = rest.trim();
        }
        if !part.is_empty() && !part.starts_with(".reg") {
            program.push(part.to_owned());
        }
    }
    let mut timer = 1_000_000;
    let mut threads: Vec<Thread> = (0..if entry == EXECUTE_OP { THREADS } else { 1 })
        .map(|id| Thread { id, counter: 0, registers: HashMap::new() })
        .collect();
    // All threads run to the barrier, then all to the end.
    for _ in 0..2 {
        for thread in &mut threads {
            if thread.counter == 0 || program[thread.counter - 1] != "ret" {
                thread.run(&program, &labels, parameters, memory, &mut timer);
            }
        }
    }
    assert!(threads.iter().all(|thread| program[thread.counter - 1] == "ret"));
    timer - 1_000_000
}

struct Thread {
    id: u32,
    counter: usize,
    registers: HashMap<String, u64>,
}

impl Thread {
    fn run(
        &mut self,
        program: &[String],
        labels: &HashMap<String, usize>,
        parameters: &[(&str, u64)],
        memory: &mut HashMap<u64, u64>,
        timer: &mut u64,
    ) {
        loop {
            let mut words: Vec<&str> =
                program[self.counter].split([' ', ',']).filter(|word| !word.is_empty()).collect();
            self.counter += 1;
            if let Some(predicate) = words[0].strip_prefix('@') {
                if self.registers[predicate] == 0 {
                    continue;
                }
                words.remove(0);
            }
            let value = |text: &str, registers: &HashMap<String, u64>| match text {
                "%globaltimer" => unreachable!("read by mov"),
                "%tid.x" => u64::from(self.id),
                number if number.starts_with(|c: char| c.is_ascii_digit()) => number.parse().unwrap(),
                register => *registers.get(register).unwrap_or_else(|| panic!("{register} is read before it is set")),
            };
            let get = |index: usize| value(words[index], &self.registers);
            let address = |text: &str| {
                let inner = text.trim_matches(['[', ']']);
                let (base, offset) = inner.split_once('+').unwrap_or((inner, "0"));
                let address = value(base, &self.registers) + offset.parse::<u64>().unwrap();
                assert_eq!(address % 8, 0, "words are aligned");
                address
            };
            let result = match words[0] {
                "mov.u64" if words[2] == "%globaltimer" => {
                    *timer += 32;
                    *timer
                }
                "mov.u32" | "cvta.to.global.u64" => get(2),
                "ld.param.u64" | "ld.param.u32" => {
                    let name = words[2].trim_matches(['[', ']']);
                    parameters.iter().find(|parameter| parameter.0 == name).expect("a parameter").1
                }
                "ld.global.u64" | "ld.volatile.global.u64" => memory[&address(words[2])],
                "mul.wide.u32" => get(2) * get(3),
                "add.u64" | "add.u32" => get(2).wrapping_add(get(3)),
                "sub.u64" => get(2).wrapping_sub(get(3)),
                "setp.ge.u32" | "setp.ge.u64" => u64::from(get(2) >= get(3)),
                "setp.lt.u64" => u64::from(get(2) < get(3)),
                "setp.eq.u64" => u64::from(get(2) == get(3)),
                "setp.ne.u64" => u64::from(get(2) != get(3)),
                "atom.global.add.u64" => {
                    let (at, add) = (address(words[2]), get(3));
                    let word = memory.get_mut(&at).expect("memory");
                    std::mem::replace(word, *word + add)
                }
                "st.global.u64" | "st.volatile.global.u64" => {
                    let (at, stored) = (address(words[1]), get(2));
                    *memory.get_mut(&at).expect("memory") = stored;
                    continue;
                }
                "bra" => {
                    self.counter = labels[words[1]];
                    continue;
                }
                "bar.sync" | "ret" => return,
                other => panic!("the interpreter does not know {other}"),
            };
            let target = words[1].to_owned();
            self.registers.insert(target, result);
        }
    }
}

const EXECUTE_OP: &str = "execute_op";
const STEP: u64 = 7;
const CONTROL: u64 = 0x100;

/// `count` inputs and outputs in tables at 0x1000 and 0x10000, of words at 0x20000 and 0x40000.
fn memory(count: u64, stop: u64) -> HashMap<u64, u64> {
    let mut memory = HashMap::from([(CONTROL, STEP), (CONTROL + 8, stop), (CONTROL + 16, 0), (CONTROL + 24, 0)]);
    for (table, words) in [(0x1000, 0x20000), (0x10000, 0x40000)] {
        for index in 0..count {
            memory.insert(table + 16 * index, words + 8 * index);
            memory.insert(table + 16 * index + 8, 1000 + index);
            memory.insert(words + 8 * index, if words == 0x20000 { 1000 + index + STEP } else { 0 });
        }
    }
    memory
}

fn parameters(count: u64, nanoseconds: u64) -> [(&'static str, u64); 7] {
    [
        ("nanoseconds", nanoseconds),
        ("inputs", 0x1000),
        ("input_count", count),
        ("outputs", 0x10000),
        ("output_count", count),
        ("control", CONTROL),
        ("op", 42),
    ]
}

#[test]
fn the_kernel_spins_and_writes_all_outputs() {
    for count in [0, 1, 31, 32, 33, 100] {
        let mut memory = memory(count, 0);
        let took = interpret(EXECUTE_OP, &parameters(count, 5000), &mut memory);
        // Each thread looks once at the start; the threads of the interpreter spin one after another.
        assert!((5000..=(5000 + 100) * u64::from(THREADS)).contains(&took), "{took}");
        assert_eq!(memory[&(CONTROL + 16)], 0, "no faults");
        assert!((0..count).all(|index| memory[&(0x40000 + 8 * index)] == 1000 + index + STEP));
    }
}

#[test]
fn the_kernel_counts_inputs_of_another_step_and_goes_on() {
    let mut memory = memory(100, 0);
    for index in [0, 31, 32, 99] {
        *memory.get_mut(&(0x20000 + 8 * index)).unwrap() -= 1;
    }
    interpret(EXECUTE_OP, &parameters(100, 0), &mut memory);
    assert_eq!((memory[&(CONTROL + 16)], memory[&(CONTROL + 24)]), (4, 42));
    assert_eq!(memory[&(0x40000 + 8 * 99)], 1000 + 99 + STEP);
}

#[test]
fn a_gate_that_is_open_takes_no_time_and_a_closed_one_its_limit() {
    let words = 0x900;
    let parameters = [("words", words), ("step", STEP), ("limit", 5000)];
    for open in [STEP, STEP + 1, u64::MAX] {
        let mut memory = HashMap::from([(words, open), (words + 8, 0)]);
        assert_eq!(interpret("hold_back", &parameters, &mut memory), 32);
        assert_eq!(memory[&(words + 8)], 0);
    }
    let mut memory = HashMap::from([(words, STEP - 1), (words + 8, 0)]);
    let took = interpret("hold_back", &parameters, &mut memory);
    assert!((5000..5100).contains(&took), "{took}");
    assert_eq!(memory[&(words + 8)], STEP, "it says that nobody opened it");
}

#[test]
fn the_kernel_does_not_spin_once_told_to_stop() {
    let took = interpret(EXECUTE_OP, &parameters(3, u64::MAX), &mut memory(3, 1));
    assert!(took < 100 * u64::from(THREADS), "{took}");
}

/// `PLACEBENCH_PTXAS` is the path of `ptxas`, as continuous integration sets it; without it only this test is left out.
#[test]
fn the_kernels_assemble_for_every_generation() {
    let Ok(ptxas) = std::env::var("PLACEBENCH_PTXAS") else {
        println!("skipped: PLACEBENCH_PTXAS is not set");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("kernels.ptx");
    std::fs::write(&source, PTX).unwrap();
    for generation in ["sm_60", "sm_61", "sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"] {
        let output = Command::new(&ptxas)
            .arg(format!("-arch={generation}"))
            .args(["--warning-as-error", "-o", "/dev/null"])
            .arg(&source)
            .output()
            .unwrap();
        assert!(output.status.success(), "{generation}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn products_have_the_operations_that_were_asked_for() {
    assert_eq!((Products::of(0.0), Products::of(1.9)), (None, None));
    assert_eq!(Products::of(2.0), Some(Products { side: 1, depth: 1, count: 1 }));
    assert_eq!(Products::of(2e3), Some(Products { side: 10, depth: 10, count: 1 }));
    let mut operations = 1e3;
    while operations < 1e15 {
        let products = Products::of(operations).unwrap();
        assert!((products.operations() / operations - 1.0).abs() < 1.0 / 16.0, "{operations}: {products:?}");
        assert!(products.side <= LARGEST_SIDE && products.depth <= 2 * LARGEST_SIDE);
        operations *= 1.07;
    }
}
