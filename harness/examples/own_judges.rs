//! How the placer `sweep` compares with the best of all others, instance by instance.
//!
//! Runs the placers of a suite's `[[placer]]` tables, and divides the makespan of each, with its best scheduler, by that of the best
//! other placer of the suite, and by the lower bound. The others run, too, or come from a run of the same suite:
//!
//! ```sh
//! cargo run --release -p placebench-harness --example own_judges -- own-judges
//! placebench run own-judges --out runs/judges
//! cargo run --release -p placebench-harness --example own_judges -- own-judges runs/judges
//! ```

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::error::Error;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use placebench_algorithms::StopToken;
use placebench_datasets::is_less;
use placebench_harness::compare::RunTable;
use placebench_harness::results::Row;
use placebench_harness::runner::{Silent, run};
use placebench_harness::statistics;
use placebench_harness::suite::{BuiltIn, RunPlan, Suite};

/// Instances on which the best other placer is nearer to the lower bound than this leave nothing to win.
const ROOM: f64 = 1.1;

/// A ratio above this is a loss.
const LOSS: f64 = 1.01;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().ok_or("give a suite, and perhaps runs of it")?;
    let suite = match BuiltIn::find(&name) {
        Some(suite) => suite.suite()?,
        None => Suite::read(Path::new(&name))?,
    };
    let judged: Vec<String> = suite.placer_entries.iter().map(|entry| entry.name().to_owned()).collect();
    let mut rows = Vec::new();
    for run in arguments {
        // Another version of what is judged is no rival.
        let is_other = |row: &Row| {
            let spec = row.placer_spec.as_deref().unwrap_or(&row.placer);
            !judged.contains(&row.placer) && !["sweep", "improve"].iter().any(|own| spec.starts_with(own))
        };
        rows.extend(RunTable::read(Path::new(&run))?.table.rows()?.into_iter().filter(is_other));
    }
    let others = if rows.is_empty() { suite.placers.clone() } else { Vec::new() };
    let plan = Arc::new(RunPlan::new(Suite { placers: others, ..suite })?);
    let made = Mutex::new(Vec::new());
    let record = |_, row: &Row| -> Result<(), Infallible> {
        made.lock().unwrap_or_else(PoisonError::into_inner).push(row.clone());
        Ok(())
    };
    // Threads that run cells wait for them: the placers' own threads are others.
    let pool = rayon::ThreadPoolBuilder::new().build()?;
    pool.install(|| run(&plan, |_| false, &StopToken::default(), &Silent, record))?;
    // Rows come in the order in which cells end.
    let mut made = made.into_inner().unwrap_or_else(PoisonError::into_inner);
    made.sort_by_key(Row::key);
    rows.extend(made);
    print(&rows, &judged);
    Ok(())
}

/// What is known of an instance.
#[derive(Default)]
struct Instance {
    bound: f64,
    /// The best other placer with its makespan, and that of `heft`, with its time.
    best: Option<(f64, String)>,
    heft: Option<f64>,
    heft_seconds: f64,
    /// Makespan and time of each judged placer.
    judged: Vec<Option<(f64, f64)>>,
}

fn print(rows: &[Row], judged: &[String]) {
    let mut instances: BTreeMap<String, Instance> = BTreeMap::new();
    for row in rows {
        let name = format!("{}@{}/{}/{}", row.graph, row.cluster, row.network, row.repetition);
        let instance = instances.entry(name).or_default();
        let at = judged.iter().position(|name| *name == row.placer);
        if at.is_some() {
            instance.judged.resize(judged.len(), None);
        }
        let (Some(makespan), true) = (row.makespan, row.is_ok()) else { continue };
        instance.bound = row.lower_bound.unwrap_or(0.0);
        let seconds = row.place_seconds.unwrap_or(0.0);
        if let Some(at) = at {
            if instance.judged[at].is_none_or(|(best, _)| makespan < best) {
                instance.judged[at] = Some((makespan, seconds));
            }
            continue;
        }
        if row.placer == "heft" && instance.heft.is_none_or(|best| makespan < best) {
            (instance.heft, instance.heft_seconds) = (Some(makespan), seconds);
        }
        if instance.best.as_ref().is_none_or(|(best, _)| makespan < *best) {
            instance.best = Some((makespan, row.placer.clone()));
        }
    }
    print!("{:44} {:>7} {:>7}", "instance (best other)", "gap", "heft");
    judged.iter().for_each(|name| print!(" {name:>14}"));
    println!();
    for (name, instance) in instances.iter().filter(|(_, instance)| !instance.judged.is_empty()) {
        let Some((best, placer)) = &instance.best else {
            println!("{name:44} no other placer finishes");
            continue;
        };
        print!("{:44} {:7.3}", format!("{name} ({placer})"), best / instance.bound);
        print!(" {:>7}", instance.heft.map_or_else(|| "-".to_owned(), |heft| format!("{:.3}", heft / best)));
        for judged in &instance.judged {
            print!(
                " {:>14}",
                judged.map_or_else(|| "failed".to_owned(), |(makespan, _)| format!("{:.4}", makespan / best))
            );
        }
        println!();
    }
    println!(
        "\n{:14} {:>5} {:>9} {:>9} {:>9} {:>9} {:>7} {:>9} {:>12}",
        "placer", "cells", "mean", "with room", "worst", "gap", "losses", "not heft", "time / heft"
    );
    for (at, name) in judged.iter().enumerate() {
        let (mut ratios, mut roomy, mut gaps, mut times) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut worse_than_heft = 0;
        for instance in instances.values() {
            let found = instance.judged.get(at).copied().flatten();
            let (Some((best, _)), Some((makespan, seconds))) = (&instance.best, found) else { continue };
            ratios.push(makespan / best);
            if *best > ROOM * instance.bound {
                roomy.push(makespan / best);
            }
            gaps.push(makespan / instance.bound);
            worse_than_heft += usize::from(instance.heft.is_some_and(|heft| is_less(heft, makespan)));
            if instance.heft_seconds > 0.0 {
                times.push(seconds / instance.heft_seconds);
            }
        }
        let mean = |values: &[f64]| statistics::geometric_mean(values.iter().copied()).unwrap_or(f64::NAN);
        let worst = ratios.iter().copied().fold(0.0, f64::max);
        let losses = ratios.iter().filter(|ratio| **ratio > LOSS).count();
        println!(
            "{name:14} {:5} {:9.4} {:9.4} {worst:9.4} {:9.4} {losses:7} {worse_than_heft:9} {:12.1}",
            ratios.len(),
            mean(&ratios),
            mean(&roomy),
            mean(&gaps),
            mean(&times)
        );
    }
}
