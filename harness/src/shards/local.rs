//! Shards as processes on this machine.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::{Launcher, LauncherError, LiveShard, ShardJob, io_at, last_line};

/// Runs shards as child processes, as many at once as there are slots. They end when nobody follows.
#[derive(Debug)]
pub struct Local {
    job: ShardJob,
    slots: usize,
    threads: usize,
    waiting: VecDeque<u32>,
    running: Vec<(u32, Child)>,
}

/// How long children may take to end when they are asked to, or have nothing left to do.
const GRACE: Duration = Duration::from_secs(10);

impl Local {
    /// Shares `threads` threads: no more children at once than that.
    pub fn new(job: &ShardJob, threads: usize) -> Self {
        let slots = threads.clamp(1, job.count as usize);
        let threads = (threads / slots).max(1);
        Self { job: job.clone(), slots, threads, waiting: VecDeque::new(), running: Vec::new() }
    }

    /// What a shard prints.
    fn log(&self, shard: u32) -> PathBuf {
        self.job.jobs.join(format!("local_{shard}.log"))
    }

    fn spawn(&self, shard: u32) -> Result<Child, LauncherError> {
        let jobs = &self.job.jobs;
        fs::create_dir_all(jobs).map_err(io_at(jobs))?;
        let log = self.log(shard);
        let file = File::create(&log).map_err(io_at(&log))?;
        let ShardJob { program, directory, arguments, count, .. } = &self.job;
        let mut command = Command::new(program);
        command.args(arguments).args(["--shard", &format!("{shard}/{count}"), "--threads", &self.threads.to_string()]);
        command.current_dir(directory).stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
        // Ctrl-C is for the process that follows: it asks its children.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        command.spawn().map_err(io_at(program))
    }

    /// Waits until the children have ended, but not for long.
    fn wait(&mut self) {
        let until = Instant::now() + GRACE;
        while Instant::now() < until && self.running.iter_mut().any(|(_, child)| matches!(child.try_wait(), Ok(None))) {
            sleep(Duration::from_millis(20));
        }
    }

    /// Asks the children to end, then makes them.
    fn stop(&mut self) {
        for (_, child) in &mut self.running {
            ask_to_end(child);
        }
        self.wait();
        for (_, child) in &mut self.running {
            // It fails if the child has ended.
            let _ = child.kill();
            let _ = child.wait();
        }
        self.running.clear();
        self.waiting.clear();
    }
}

impl Launcher for Local {
    fn start(&mut self, shards: &[u32]) -> Result<Option<String>, LauncherError> {
        self.waiting.extend(shards);
        Ok(None)
    }

    fn live(&mut self) -> Result<Vec<LiveShard>, LauncherError> {
        self.running.retain_mut(|(_, child)| matches!(child.try_wait(), Ok(None)));
        while self.running.len() < self.slots
            && let Some(shard) = self.waiting.pop_front()
        {
            let child = self.spawn(shard)?;
            self.running.push((shard, child));
        }
        let running = self.running.iter().map(|&(index, _)| LiveShard { index, running: true });
        Ok(running.chain(self.waiting.iter().map(|&index| LiveShard { index, running: false })).collect())
    }

    fn last_words(&self, shard: u32) -> Option<String> {
        last_line(&self.log(shard))
    }

    fn pause(&self) -> Duration {
        Duration::from_millis(50)
    }

    fn leave(&mut self) -> String {
        self.stop();
        format!("the shards are stopped; to go on: {}", self.job.goes_on)
    }
}

impl Drop for Local {
    /// Children that have finished their work are about to end, and write what they still have to write. [`Launcher::leave`]
    /// has stopped others.
    fn drop(&mut self) {
        self.wait();
        self.stop();
    }
}

#[cfg(unix)]
fn ask_to_end(child: &mut Child) {
    // Not a child that has been waited for: its number may be another's by now.
    if matches!(child.try_wait(), Ok(None))
        && let Some(pid) = rustix::process::Pid::from_raw(child.id() as i32)
    {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
    }
}

#[cfg(not(unix))]
fn ask_to_end(_: &mut Child) {}

#[cfg(all(test, unix))]
mod tests {
    use placebench_algorithms::StopToken;

    use super::*;
    use crate::runner::Silent;
    use crate::shards::{Followed, Items, follow};

    #[test]
    fn a_shard_that_has_finished_its_work_is_not_cut_short() {
        let folder = tempfile::tempdir().unwrap();
        // Its part is there before it has written all that it writes.
        let script = "touch part; sleep 0.5; touch rest";
        let job = ShardJob {
            program: "sh".into(),
            directory: folder.path().to_owned(),
            folder: folder.path().to_owned(),
            arguments: vec!["-c".to_owned(), script.to_owned()],
            count: 1,
            jobs: folder.path().join("jobs"),
            goes_on: String::new(),
        };
        let mut launcher = Local::new(&job, 1);
        let part = folder.path().join("part");
        let mut work = Items::new(vec![1], 1, |_| part.exists());
        let followed = follow(&mut launcher, &mut work, &StopToken::default(), &Silent).unwrap();
        assert_eq!(followed, Followed::Complete);
        drop(launcher);
        assert!(folder.path().join("rest").exists());
    }
}
