//! `--engine`: a run in shards, on this machine or a cluster.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use placebench::algorithms::StopToken;
use placebench::harness::engine::{Costs, Engine, Followed, Local, MOST_SHARDS, ShardJob, Slurm, engine_name, follow};
use placebench::harness::runner::open_run;
use placebench::harness::suite::Plan;

use crate::progress::Progress;

/// Arguments of verbs that run suites.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct EngineArgs {
    /// Runs the suite in shards: local (processes on this machine) or slurm (a job array).
    #[arg(long, value_name = "NAME", value_parser = engine_name)]
    pub(super) engine: Option<&'static str>,

    /// Number of shards [default: as many as last half a minute or more, judged by rows of earlier runs].
    #[arg(long, value_name = "N", requires = "engine", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(super) shards: Option<u32>,

    /// slurm: the partition to run in.
    #[arg(long, value_name = "NAME", requires = "engine")]
    pub(super) partition: Option<String>,

    /// slurm: any options of sbatch, as in '-- --time=60 --cpus-per-task=4'; a shard has a thread for each CPU of its task.
    #[arg(last = true, value_name = "SBATCH OPTIONS", requires = "engine")]
    pub(super) sbatch: Vec<String>,
}

/// Into how many shards a suite is cut where nothing is known of its times.
const UNKNOWN_SHARDS: u32 = 8;

/// The engine that takes options of sbatch.
const SLURM: &str = "slurm";

impl EngineArgs {
    /// Refuses what does not go together, before anything is written.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        if self.engine != Some(SLURM) && (self.partition.is_some() || !self.sbatch.is_empty()) {
            bail!("--partition and options after -- are for --engine slurm");
        }
        Ok(())
    }

    /// Runs the shards of a prepared run folder to the end, or until Ctrl-C.
    pub(super) fn run(
        &self,
        plan: &Plan,
        folder: &Path,
        threads: usize,
        stop: &StopToken,
        progress: &Progress,
    ) -> anyhow::Result<Followed> {
        let slurm = self.engine == Some(SLURM);
        let options: Vec<String> = self
            .partition
            .iter()
            .map(|name| format!("--partition={name}"))
            .chain(self.sbatch.iter().cloned())
            .collect();
        let folder = std::path::absolute(folder).context("the current folder is gone")?;
        if slurm
            && let Ok((mut before, _)) = Slurm::reopen(&folder)
            && !before.live()?.is_empty()
        {
            let folder = folder.display();
            bail!("{folder}: has shards in Slurm already: follow them with 'placebench run --follow {folder}'");
        }
        let count = self.count(plan, &folder, progress);
        let job = ShardJob {
            program: std::env::current_exe().context("cannot tell where placebench is")?,
            directory: std::env::current_dir().context("the current folder is gone")?,
            folder,
            count,
        };
        let mut engine: Box<dyn Engine> = match slurm {
            true => Box::new(Slurm::new(&job, &options)?),
            false => Box::new(Local::new(&job, threads)),
        };
        finish(&mut *engine, &job, plan, stop, progress)
    }

    /// Number of shards: never more than there are graphs to make.
    fn count(&self, plan: &Plan, folder: &Path, progress: &Progress) -> u32 {
        let groups = plan.used_groups().count();
        let most = u32::try_from(groups).unwrap_or(u32::MAX).max(1);
        if let Some(shards) = self.shards {
            if shards > most {
                progress.say(&format!("shards: {most}, as many as there are graphs to make"));
            }
            return shards.min(most);
        }
        let earlier = std::iter::once(folder.to_owned()).chain(earlier_runs(&plan.suite.name));
        for folder in earlier {
            let costs = open_run(&folder).ok().and_then(|rows| Costs::learn(&rows, plan.suite.time_limit_seconds).ok());
            if let Some(seconds) = costs.and_then(|costs| costs.seconds(plan)) {
                let shards = Costs::shards(seconds, groups);
                let (each, folder) = (seconds / f64::from(shards), folder.display());
                progress
                    .say(&format!("shards: {shards}, of about {each:.0} s on one thread (by the rows in {folder})"));
                return shards;
            }
        }
        let shards = UNKNOWN_SHARDS.min(most).min(MOST_SHARDS);
        progress.say(&format!("shards: {shards}; nothing is known of how long this suite takes, --shards chooses"));
        shards
    }
}

/// Goes on with a run that Slurm runs already.
pub(super) fn follow_slurm(
    folder: &Path,
    plan: &Plan,
    stop: &StopToken,
    progress: &Progress,
) -> anyhow::Result<Followed> {
    let folder = std::path::absolute(folder).context("the current folder is gone")?;
    if !folder.join("jobs/slurm.toml").exists() {
        let folder = folder.display();
        bail!("{folder}: was not submitted to Slurm: go on with 'placebench run --resume {folder}'");
    }
    let (mut engine, job) = Slurm::reopen(&folder)?;
    finish(&mut engine, &job, plan, stop, progress)
}

fn finish(
    engine: &mut dyn Engine,
    job: &ShardJob,
    plan: &Plan,
    stop: &StopToken,
    progress: &Progress,
) -> anyhow::Result<Followed> {
    let followed = follow(engine, job, plan, stop, progress);
    progress.finish();
    if !matches!(followed, Ok(Followed::Complete)) {
        eprintln!("{}", engine.leave());
    }
    Ok(followed?)
}

/// Folders of runs of a suite here, the latest first.
fn earlier_runs(suite: &str) -> impl Iterator<Item = PathBuf> {
    let folder = move |number: u32| Path::new("runs").join(format!("{suite}-{number}"));
    let next = (1..).find(|&number| !folder(number).exists()).unwrap_or(1);
    (1..next).rev().map(folder)
}
