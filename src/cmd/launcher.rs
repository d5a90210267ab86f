//! `--launcher`: work in shards, on this machine or a cluster.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use placebench::algorithms::StopToken;
use placebench::harness::runner::open_run;
use placebench::harness::shards::{
    Cells, Costs, Followed, Launcher, Local, MOST_SHARDS, ShardJob, Slurm, Work, follow, launcher_name,
};
use placebench::harness::suite::RunPlan;

use crate::progress::Progress;

/// Arguments of verbs that work in shards.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct OnLauncher {
    /// Works in shards: local (processes on this machine) or slurm (a job array).
    #[arg(long, value_name = "NAME", value_parser = launcher_name)]
    pub(super) launcher: Option<&'static str>,

    /// slurm: the partition to run in.
    #[arg(long, value_name = "NAME", requires = "launcher")]
    pub(super) partition: Option<String>,

    /// slurm: any options of sbatch, as in '-- --time=60 --cpus-per-task=4'; a shard has a thread for each CPU of its task.
    #[arg(last = true, value_name = "SBATCH OPTIONS", requires = "launcher")]
    pub(super) sbatch: Vec<String>,
}

/// Arguments of verbs that run suites.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct LauncherArgs {
    #[command(flatten)]
    pub(super) on: OnLauncher,

    /// Number of shards [default: of a suite, as many as last half a minute or more, judged by rows of earlier runs].
    #[arg(long, value_name = "N", requires = "launcher", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(super) shards: Option<u32>,
}

/// Into how many shards a suite is cut where nothing is known of its times.
const UNKNOWN_SHARDS: u32 = 8;

/// The launcher that takes options of sbatch.
const SLURM: &str = "slurm";

/// Who follows the shards, and how.
pub(super) struct Following<'a> {
    pub(super) threads: usize,
    pub(super) stop: &'a StopToken,
    pub(super) progress: &'a Progress,
}

impl OnLauncher {
    /// Refuses what does not go together, before anything is written.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        if !self.is_slurm() && (self.partition.is_some() || !self.sbatch.is_empty()) {
            bail!("--partition and options after -- are for --launcher slurm");
        }
        Ok(())
    }

    fn is_slurm(&self) -> bool {
        self.launcher == Some(SLURM)
    }

    /// Runs the shards of a job to the end, or until Ctrl-C.
    fn run(&self, job: &ShardJob, work: &mut dyn Work, following: &Following<'_>) -> anyhow::Result<Followed> {
        let partition = self.partition.iter().map(|name| format!("--partition={name}"));
        let options: Vec<String> = partition.chain(self.sbatch.iter().cloned()).collect();
        let mut launcher: Box<dyn Launcher> = match self.is_slurm() {
            true => Box::new(Slurm::new(job, &options)?),
            false => Box::new(Local::new(job, following.threads)),
        };
        finish(&mut *launcher, work, following)
    }

    /// Has shards of this program fill a folder: `arguments`, with `--shard I/N --threads T` behind them, makes one. The
    /// same command goes on with what is missing. `jobs` is deleted when all is there.
    pub(super) fn fill(
        &self,
        folder: &Path,
        jobs: &Path,
        arguments: Vec<String>,
        count: u32,
        work: &mut dyn Work,
        following: &Following<'_>,
    ) -> anyhow::Result<Followed> {
        let [folder, jobs] = [folder, jobs].map(|path| std::path::absolute(path).context("the current folder is gone"));
        let (folder, jobs) = (folder?, jobs?);
        let (program, directory) = here()?;
        let goes_on = "the same command goes on with what is missing".to_owned();
        let job = ShardJob { program, directory, folder, arguments, count, jobs, goes_on };
        let followed = self.run(&job, work, following)?;
        if followed == Followed::Complete && job.jobs.exists() {
            std::fs::remove_dir_all(&job.jobs).with_context(|| job.jobs.display().to_string())?;
        }
        Ok(followed)
    }
}

/// This program, and the current folder.
fn here() -> anyhow::Result<(PathBuf, PathBuf)> {
    let program = placebench::base::process::program().context("cannot tell where placebench is")?;
    Ok((program, std::env::current_dir().context("the current folder is gone")?))
}

impl LauncherArgs {
    /// Runs the shards of a prepared run folder to the end, or until Ctrl-C.
    pub(super) fn run(&self, plan: &RunPlan, folder: &Path, following: &Following<'_>) -> anyhow::Result<Followed> {
        let folder = std::path::absolute(folder).context("the current folder is gone")?;
        if self.on.is_slurm()
            && let Ok((mut before, _)) = Slurm::reopen(&folder)
            && !before.live()?.is_empty()
        {
            let folder = folder.display();
            bail!("{folder}: has shards in Slurm already: follow them with 'placebench run --follow {folder}'");
        }
        let count = self.count(plan, &folder, following.progress);
        let goes_on = match self.on.is_slurm() {
            true => Slurm::follows(&folder),
            false => format!("placebench run --resume {} --launcher local", folder.display()),
        };
        let (program, directory) = here()?;
        let mut work = Cells::new(&folder, plan, count)?;
        self.on.run(&ShardJob::of_run(program, directory, folder, count, goes_on), &mut work, following)
    }

    /// Number of shards: never more than there are graphs to make.
    fn count(&self, plan: &RunPlan, folder: &Path, progress: &Progress) -> u32 {
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
pub(super) fn follow_slurm(folder: &Path, plan: &RunPlan, following: &Following<'_>) -> anyhow::Result<Followed> {
    let folder = std::path::absolute(folder).context("the current folder is gone")?;
    if !folder.join("jobs/slurm.toml").exists() {
        let folder = folder.display();
        bail!("{folder}: was not submitted to Slurm: go on with 'placebench run --resume {folder}'");
    }
    let (mut launcher, job) = Slurm::reopen(&folder)?;
    finish(&mut launcher, &mut Cells::new(&folder, plan, job.count)?, following)
}

fn finish(launcher: &mut dyn Launcher, work: &mut dyn Work, following: &Following<'_>) -> anyhow::Result<Followed> {
    let followed = follow(launcher, work, following.stop, following.progress);
    following.progress.finish();
    if !matches!(followed, Ok(Followed::Complete)) {
        eprintln!("{}", launcher.leave());
    }
    Ok(followed?)
}

/// Folders of runs of a suite here, the latest first.
fn earlier_runs(suite: &str) -> impl Iterator<Item = PathBuf> {
    let folder = move |number: u32| Path::new("runs").join(format!("{suite}-{number}"));
    let next = (1..).find(|&number| !folder(number).exists()).unwrap_or(1);
    (1..next).rev().map(folder)
}
