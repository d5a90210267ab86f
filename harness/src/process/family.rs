//! Ends all that a program has started, also what has left its process group, and also if this process is killed.
//!
//! A program and all that it starts carry a mark in their environment, by which they are found under `/proc`; children that
//! have thrown their environment away are found by their parents, as long as those live. A watcher, a shell that waits for this
//! process to end, does the same when this process can do it no more. Both need Linux; elsewhere the process group is all that
//! is ended.
//!
//! # Deviations
//! What a process leaves behind could also be caught by a control group, which needs rights that few users have, or by adopting
//! orphans (`PR_SET_CHILD_SUBREAPER`), which would change how children of a host like Python are reaped. A process that clears its
//! environment and outlives its parent escapes here.

use std::process::Command;
use std::time::Duration;

/// The environment variable that carries the mark.
#[cfg(target_os = "linux")]
const VARIABLE: &str = "PLACEBENCH_MARK";

/// A program that is about to start, and all that it will start.
pub(super) struct Family {
    #[cfg(target_os = "linux")]
    mark: String,
}

#[cfg(not(target_os = "linux"))]
impl Family {
    pub(super) fn of(_: &mut Command) -> Self {
        Self {}
    }

    pub(super) fn processor_time(&self, _: u32) -> Option<Duration> {
        None
    }

    pub(super) fn kill(&self, _: u32) {}
}

#[cfg(target_os = "linux")]
impl Family {
    /// Marks the program.
    pub(super) fn of(command: &mut Command) -> Self {
        use std::sync::atomic::{AtomicU64, Ordering};
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        linux::watch();
        let mark = format!("{}-{}", linux::own_mark(), COUNTER.fetch_add(1, Ordering::Relaxed));
        command.env(VARIABLE, &mark);
        Self { mark }
    }

    /// The processor time that all of them have taken, `root` included, the program's process, which is not reaped yet. That of
    /// a process that has ended is known to its parent, if that has asked how it ended.
    pub(super) fn processor_time(&self, root: u32) -> Option<Duration> {
        linux::processor_time(&self.mark, root)
    }

    /// Kills all of them, except for `root` itself.
    pub(super) fn kill(&self, root: u32) {
        linux::kill(&self.mark, root);
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command, Stdio};
    use std::sync::OnceLock;
    use std::thread;
    use std::time::{Duration, SystemTime};

    use placebench_base::processor::ProcessStat;
    use rustix::process::{Pid, Signal, kill_process};

    use super::VARIABLE;

    /// What is new may start more before it is killed: so often is looked again.
    const MOST_ROUNDS: usize = 100;

    /// Waits for the end of its standard input, which is that of its parent, then kills all that carries the parent's mark.
    const WATCHER: &str = r#"
trap '' HUP INT QUIT TERM
while read -r line; do :; done
for round in 1 2 3 4 5; do
    found=$(grep -ls "PLACEBENCH_MARK=$1-" /proc/[0-9]*/environ)
    [ -n "$found" ] || exit 0
    for environ in $found; do
        process=${environ#/proc/}
        kill -9 "${process%/environ}"
    done
done
"#;

    /// What the marks of this process's programs begin with. The time tells it from an earlier process of the same id.
    pub(super) fn own_mark() -> &'static str {
        static MARK: OnceLock<String> = OnceLock::new();
        MARK.get_or_init(|| {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            format!("{}-{}", std::process::id(), now.as_nanos())
        })
    }

    /// Starts the watcher, once. Without a shell there is none, and a killed process leaves its programs running.
    pub(super) fn watch() {
        static SHELL: OnceLock<Option<Child>> = OnceLock::new();
        SHELL.get_or_init(|| {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", WATCHER, "placebench-watcher", own_mark()]).env_remove(VARIABLE).current_dir("/");
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            // Not in our group: Ctrl-C ends us, and then it has work to do.
            command.process_group(0).spawn().ok()
        });
    }

    pub(super) fn processor_time(mark: &str, root: u32) -> Option<Duration> {
        let own = ProcessStat::of(root)?;
        let others = members(mark, root).into_iter().filter_map(ProcessStat::of);
        Some(others.fold(own.time + own.children_time, |sum, stat| sum + stat.time + stat.children_time))
    }

    pub(super) fn kill(mark: &str, root: u32) {
        for _ in 0..MOST_ROUNDS {
            let members = members(mark, root);
            if members.is_empty() {
                return;
            }
            for id in members {
                // What has ended meanwhile is what we want.
                let _ = Pid::from_raw(id as i32).map(|id| kill_process(id, Signal::KILL));
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// The processes that live and have the mark in their environment or descend from `root`, without `root`.
    fn members(mark: &str, root: u32) -> BTreeSet<u32> {
        let entry = format!("{VARIABLE}={mark}\0").into_bytes();
        let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let mut members = BTreeSet::new();
        for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(id) = process.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            // What may not be read belongs to somebody else.
            let Some(stat) = ProcessStat::of(id).filter(|stat| !stat.has_ended) else { continue };
            children.entry(stat.parent).or_default().push(id);
            let environment = fs::read(process.path().join("environ")).unwrap_or_default();
            if environment.windows(entry.len()).any(|part| part == &entry[..]) {
                members.insert(id);
            }
        }
        let mut waiting: Vec<u32> = members.iter().copied().chain([root]).collect();
        while let Some(id) = waiting.pop() {
            let new = children.remove(&id).unwrap_or_default();
            waiting.extend(&new);
            members.extend(new);
        }
        members.remove(&root);
        members
    }
}
