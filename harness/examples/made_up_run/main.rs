//! Makes up a run of any size: `made_up_run FOLDER GRAPHS [--journal] [--changed N]`.
//!
//! What commands cost on a run of 10⁷ rows is measured on it (docs/SCALE.md). The suite is a real one, 21 placers with 3
//! schedulers under 2 network models, 20 repetitions of each graph: 2,520 rows a graph. The numbers are drawn, the same
//! for the same arguments. One cell in 1,000 fails. `--changed N` makes every Nth makespan 10 % longer, for `compare`.
//! `--journal` writes a journal instead of the table: what a run looks like before its rows are merged.

mod rows;

use std::error::Error;
use std::path::{Path, PathBuf};

use placebench_harness::results::{Row, SCHEMA_VERSION, TableError, write_rows};
use placebench_harness::runner::{Environment, RunFolder};
use placebench_harness::suite::{RunPlan, Suite};
use rows::{row, suite};

fn main() -> Result<(), Box<dyn Error>> {
    const USAGE: &str = "usage: made_up_run FOLDER GRAPHS [--journal] [--changed N]";
    let (mut folder, mut graphs, mut journal, mut changed) = (None::<PathBuf>, None::<usize>, false, None::<usize>);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--journal" => journal = true,
            "--changed" => changed = Some(arguments.next().ok_or(USAGE)?.parse()?),
            _ if folder.is_none() => folder = Some(argument.into()),
            _ => graphs = Some(argument.parse()?),
        }
    }
    let (folder, graphs) = (folder.ok_or(USAGE)?, graphs.ok_or(USAGE)?);
    let suite = Suite::parse(&suite(graphs), "made_up.toml")?;
    let text = suite.to_toml()?;
    let plan = RunPlan::new(suite)?;
    let environment = environment();
    RunFolder::prepare(&folder, &text, &environment)?;
    let rows = plan.cells.iter().enumerate().map(|(index, &cell)| row(&plan, cell, index, changed));
    if journal {
        let run = RunFolder::open(&folder, &text, &environment, None)?;
        rows.into_iter().try_for_each(|row| run.append(&row))?;
    } else {
        let Environment { host, cpu, commit, .. } = environment;
        let known = |row| Row { host: Some(host.clone()), processor: Some(cpu.clone()), commit: commit.clone(), ..row };
        write_rows(&folder.join("results.parquet"), rows.map(known).map(Ok::<_, TableError>))?;
    }
    println!("{}: {} rows", Path::new(&folder).display(), plan.cells.len());
    Ok(())
}

fn environment() -> Environment {
    Environment {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        commit: None,
        started: None,
        host: "made-up".to_owned(),
        cpu: "made up".to_owned(),
        threads: 1,
        platform: "linux x86_64".to_owned(),
        optimized: true,
        schema_version: SCHEMA_VERSION,
        command: vec!["made_up_run".to_owned()],
        inputs: Default::default(),
    }
}
