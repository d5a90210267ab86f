//! Text files that are wrong, each with the line that a user sees.

use std::path::{Path, PathBuf};

use placebench_datasets::format::{
    FormatError, parse_cluster_csv, parse_cluster_toml, parse_csv, read_cluster_csv, read_cluster_toml, read_csv,
};
use proptest::prelude::*;

fn folder(format: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(format)
}

/// Reads every file of a folder and compares what a user sees, without the folder's path.
fn check<T>(format: &str, read: impl Fn(PathBuf) -> Result<T, FormatError>, expected: &[&str]) {
    let folder = folder(format);
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let prefix = format!("{}/", folder.display());
    let faults: Vec<String> = files
        .into_iter()
        .map(|file| match read(file.clone()) {
            Ok(_) => format!("{}: no fault", file.display()),
            Err(error) => error.to_string(),
        })
        .map(|fault| fault.replace(&prefix, ""))
        .collect();
    assert_eq!(faults, expected);
}

#[test]
fn graph_csv_names_the_line_of_each_fault() {
    check(
        "graph_csv",
        read_csv,
        &[
            "after_quoted_line_break.csv:4: ops has 'x': write a number",
            "bad_input.csv:3: inputs has 'x': write a whole number from 0 to 2^32 - 1",
            "contradiction.csv:3: op 'b' is colocated with op 'c', but the first needs GPU and the second CPU",
            "cycle.csv:2: the graph has a cycle through op 'a': remove an edge of it",
            "empty.csv: is empty: start with a line that names the columns",
            "empty_cost.csv:2: ops is empty: write a number",
            "missing_column.csv:1: column 'colocated' is missing: add it",
            "missing_name.csv:3: op 1: either every op has a name of its own or none has ('')",
            "negative_cost.csv:3: op 'b' costs -1: costs and times must be finite numbers ≥ 0",
            "negative_size.csv:2: tensor_bytes has '-8': write a whole number from 0 to 2^64 - 1",
            "no_number.csv:2: ops has 'fast': write a number",
            "not_utf8.csv:3: the text is not UTF-8: save the file as UTF-8",
            "only_header.csv:1: no row follows the header: add a row for each op",
            "open_quote.csv:2: a quote (\") is opened and not closed: close it, or write a quote within a cell as \"\"",
            "repeated_column.csv:1: column 'ops' comes twice: remove one",
            "repeated_name.csv:3: op 1: either every op has a name of its own or none has ('a')",
            "self_loop.csv:3: the graph has a cycle through op 'b': remove an edge of it",
            "short_row.csv:3: has 6 cells, but there are 8 columns: separate cells by ',' and quote those that contain one",
            "unknown_colocated.csv:2: op 0 is colocated with op 3, but the graph has 1 op",
            "unknown_column.csv:1: unknown column 'input': did you mean 'inputs'?",
            "unknown_kind.csv:2: kinds has 'CPU|NPU': write ALL, or some of CPU, GPU, TPU joined by '|'",
            "unknown_port.csv:3: edge names output 1 of op 'a', which has 1 output(s)",
            "unknown_source.csv:3: op 1 reads op 7, but the graph has 2 ops",
            "wrong_id.csv:3: id is '2' where 1 is due: number the rows 0, 1, 2, …",
        ],
    );
}

#[test]
fn cluster_csv_names_the_line_of_each_fault() {
    check(
        "cluster_csv",
        read_cluster_csv,
        &[
            "bad_memory.csv:2: memory_bytes has '8 GiB': write a whole number from 0 to 2^64 - 1",
            "empty.csv: is empty: start with a line that names the columns",
            "lower_triangle.csv:3: rate_0 is given in the row of device 1, but the matrix is upper triangular: move it to the row of device 0, or leave the cell empty",
            "missing_column.csv:1: column 'speed' is missing: add it",
            "missing_latency.csv:1: column 'latency_1' is missing: add it",
            "missing_rate.csv:2: rate_2 is empty: write what is between devices 0 and 2",
            "negative_op_overhead.csv: device 'a' has op_overhead -1: it must be a finite number ≥ 0",
            "rate_gap.csv:1: column 'rate_1' is missing: add it",
            "repeated_name.csv: two devices are named 'a': give each its own name",
            "too_few_rows.csv: has 2 devices, but rates for 3: add the missing rows",
            "too_many_rows.csv:3: device 1 is one too many for 1 column of rates: add rate_1",
            "unknown_column.csv:1: unknown column 'memroy_bytes': did you mean 'memory_bytes'?",
            "unknown_kind.csv:2: kind has 'FPGA': write CPU, GPU or TPU",
            "wrong_id.csv:2: id is '1' where 0 is due: number the rows 0, 1, 2, …",
            "zero_rate.csv: the link from 'a' to 'b' has rate 0 and latency 0: rates must be > 0, latencies finite and ≥ 0",
            "zero_speed.csv: device 'a' has speed 0: it must be a finite number > 0",
        ],
    );
}

#[test]
fn cluster_toml_names_the_line_of_each_fault() {
    check(
        "cluster_toml",
        read_cluster_toml,
        &[
            "bad_memory.toml:4: '8 gigs' is no amount of memory: write it as in 17179869184 or \"16 GiB\"",
            "bad_speed.toml:4: 'fast' is no speed: write it as in 50, \"14 Tops/s\" or \"14 TFLOPS\"",
            "disconnected.toml: the topology has no route from 'a' to 'b'",
            "infinite_latency.toml:13: the latency is inf: latencies must be finite and ≥ 0",
            "infinite_receive_overhead.toml:16: receive_overhead is inf: it must be a finite number ≥ 0",
            "infinite_send_ops.toml:1: send_ops is inf: it must be a finite number ≥ 0",
            "missing_speed.toml:1: missing field `speed`",
            "negative_op_overhead.toml:10: op_overhead is -0.000003: it must be a finite number ≥ 0",
            "negative_rate.toml:12: the rate is -5: rates must be > 0",
            "negative_send_ops.toml:1: send_ops is -1: it must be a finite number ≥ 0",
            "negative_send_overhead.toml:1: send_overhead_per_byte is -0.000000001: it must be a finite number ≥ 0",
            "no_device.toml: a cluster needs at least one device",
            "no_devices_counted.toml:3: 0 devices named 'a': a cluster has 1 to 10000 devices",
            "no_link.toml: there is no link from 'a' to 'b': add [link] for all pairs, or a [[pair]]",
            "no_toml.toml:1: key with no value, expected `=`",
            "one_way_missing.toml: there is no link from 'b' to 'a': add [link] for all pairs, or a [[pair]]",
            "op_overhead_without_time.toml:1: '3 bytes' is no duration: write it as in 5e-6 or \"5 us\"",
            "overhead_of_switch.toml:22: an [[overhead]] is for devices, and this one names a switch: name devices",
            "overhead_of_unknown_device.toml:16: there is no 'c': use one of a, b",
            "overhead_without_ends.toml:14: an [[overhead]] has either 'between', or 'from' and 'to': between = [\"a\", \"b\"]",
            "pair_without_ends.toml:14: a [[pair]] has either 'between', or 'from' and 'to': between = [\"a\", \"b\"]",
            "rate_without_time.toml:12: '12 GB' is no rate: write it as in 12e9, \"12 GB/s\" or \"100 Gbit/s\"",
            "repeated_name.toml:6: 'gpu1' is the name of something else already: choose another name",
            "speed_of_wrong_type.toml:4: invalid type: sequence, expected a number, or a text with a number and a unit",
            "switch_named_as_device.toml:12: 'a' is the name of something else already: choose another name",
            "too_many_devices.toml:3: 1000000000 devices named 'a': a cluster has 1 to 10000 devices",
            "topology_and_link.toml:14: a topology beside [link] or [[pair]], but the rates of pairs follow from it: remove one of the two",
            "unknown_device.toml:15: there is no 'c': use one of a, b",
            "unknown_key.toml:4: unknown key 'memroy': did you mean 'memory'?",
            "unknown_kind.toml:3: unknown device kind 'NPU': expected CPU, GPU or TPU",
            "unknown_overhead.toml:1: unknown key 'recieve_overhead': did you mean 'receive_overhead'?",
            "unknown_switch.toml:15: there is no 'swich': did you mean 'switch'?",
            "unknown_table.toml:11: unknown key 'links': did you mean 'link'?",
            "zero_speed.toml: device 'a' has speed 0: it must be a finite number > 0",
        ],
    );
}

const GRAPH: &str = "id,inputs,colocated,tensor_bytes,ops,memory_bytes,kinds,name,layer,gpu_seconds\n\
    0,,,8;16,30,0,ALL,split,,\n1,0:1;0,,4,50,64,GPU,\"w,1\",encoder,0.002\n2,1;^0,1,,1e1,0,GPU|CPU,sum,,\n";

const CLUSTER: &str = "id,name,kind,memory_bytes,speed,op_overhead,rate_0,rate_1,latency_0,latency_1\n\
    0,cpu,CPU,64,10,0.5,,30,,0.5\n1,gpu,GPU,,80.5,,,,,\n";

const TOML: &str = "send_ops = 10\nop_overhead = 0.5\n[[device]]\nname = \"cpu\"\nkind = \"CPU\"\nmemory = \"8 GiB\"\nspeed = 10\n\
    [[device]]\nname = \"gpu\"\ncount = 2\nkind = \"GPU\"\nspeed = \"14 TFLOPS\"\n\
    [link]\nrate = \"12 GB/s\"\nlatency = \"5 us\"\n[[pair]]\nbetween = [\"gpu\", \"cpu\"]\nrate = 15\n\
    [[overhead]]\nfrom = \"cpu\"\nto = \"gpu\"\nsend_overhead = \"2 us\"\n";

#[derive(Clone, Debug)]
enum Damage {
    Set(prop::sample::Index, u8),
    Remove(prop::sample::Index),
    Insert(prop::sample::Index, String),
}

fn damage() -> impl Strategy<Value = Vec<Damage>> {
    let token = prop_oneof![
        "[,;:^|\"\\n=\\[\\]0-9.\\-a-z\\PC]{1,3}",
        Just("99999999999999999999".to_owned()),
        Just("4294967295".to_owned()),
        Just("nan".to_owned()),
        Just("inf".to_owned()),
        Just("1e999".to_owned()),
    ];
    let one = prop_oneof![
        (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(at, byte)| Damage::Set(at, byte)),
        any::<prop::sample::Index>().prop_map(Damage::Remove),
        (any::<prop::sample::Index>(), token).prop_map(|(at, text)| Damage::Insert(at, text)),
    ];
    prop::collection::vec(one, 1..5)
}

fn damaged(text: &str, damage: &[Damage]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for damage in damage {
        match damage {
            Damage::Set(at, byte) => {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            Damage::Remove(at) => {
                bytes.remove(at.index(bytes.len()));
            }
            Damage::Insert(at, text) => {
                let at = at.index(bytes.len());
                bytes.splice(at..at, text.bytes());
            }
        }
    }
    bytes
}

fn one_line<T>(result: Result<T, FormatError>) -> Result<(), TestCaseError> {
    if let Err(error) = result {
        prop_assert_eq!(error.to_string().lines().count(), 1);
    }
    Ok(())
}

#[test]
fn the_texts_that_are_damaged_below_are_right_before() {
    parse_csv("g.csv", GRAPH.as_bytes()).unwrap();
    parse_cluster_csv("c.csv", CLUSTER.as_bytes()).unwrap();
    parse_cluster_toml("c.toml", TOML).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_text_is_read_or_refused_in_one_line(damage in damage()) {
        one_line(parse_csv("g.csv", &*damaged(GRAPH, &damage)))?;
        one_line(parse_cluster_csv("c.csv", &*damaged(CLUSTER, &damage)))?;
        one_line(parse_cluster_toml("c.toml", &String::from_utf8_lossy(&damaged(TOML, &damage))))?;
    }
}
