//! Shards as tasks of a job array of Slurm.
//!
//! # Reference
//! A. B. Yoo, M. A. Jette, M. Grondona, *SLURM: Simple Linux Utility for Resource Management*, JSSPP 2003.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use placebench_datasets::format::{sha256, write_whole};
use serde::{Deserialize, Serialize};

use super::{JOBS, Launcher, LauncherError, LiveShard, ShardJob, io_at, last_line};

/// Submits job arrays with `sbatch` and asks `squeue` about them. They go on when nobody follows.
///
/// The jobs of a run have one name, which no other run has: by it they are found again, whoever submitted them.
#[derive(Debug)]
pub struct Slurm {
    saved: Saved,
    goes_on: String,
    name: String,
    /// What shards printed: the newest file of each ends with its number.
    logs: PathBuf,
    /// Whether any shard was submitted, by this process or an earlier one.
    submitted: bool,
}

/// What is needed to go on following: `jobs/slurm.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Saved {
    program: PathBuf,
    directory: PathBuf,
    shards: u32,
    /// Options of sbatch.
    options: Vec<String>,
}

const SAVED: &str = "slurm.toml";
const SCRIPT: &str = "shard.sh";
const FAILED_NODES: &str = "failed-nodes";

/// What Slurm's programs say when the controller is down or busy.
const UNREACHABLE: [&str; 4] =
    ["Unable to contact slurm controller", "Socket timed out", "Connection refused", "Zero Bytes were transmitted"];

impl Slurm {
    /// Writes the script of the shards, and what is needed to go on following. Nothing is submitted yet.
    ///
    /// # Errors
    /// If Slurm takes no array of that many shards, the files cannot be written, or a path is not Unicode.
    pub fn new(job: &ShardJob, options: &[String]) -> Result<Self, LauncherError> {
        if let Some(most) = most_shards().filter(|&most| job.count > most) {
            let reason = format!(
                "an array has at most {most} tasks here (MaxArraySize), not {}: use --shards {most} or fewer",
                job.count
            );
            return Err(LauncherError::Program { program: "sbatch", reason });
        }
        let ShardJob { program, directory, folder, count, jobs, goes_on, .. } = job.clone();
        let saved = Saved { program, directory, shards: count, options: options.to_vec() };
        fs::create_dir_all(&jobs).map_err(io_at(&jobs))?;
        let text = toml::to_string_pretty(&saved).map_err(|_| not_unicode(&folder))?;
        write(&jobs.join(SAVED), &text)?;
        write(&jobs.join(SCRIPT), &script(job)?)?;
        Ok(Self { saved, name: job_name(&folder), goes_on, logs: jobs, submitted: false })
    }

    /// Goes on with the run in a folder, which an earlier process submitted. Also returns its shards.
    ///
    /// # Errors
    /// If no run in the folder was ever submitted to Slurm.
    pub fn reopen(folder: &Path) -> Result<(Self, ShardJob), LauncherError> {
        let jobs = folder.join(JOBS);
        let path = jobs.join(SAVED);
        let text = fs::read_to_string(&path).map_err(io_at(&path))?;
        let saved: Saved = toml::from_str(&text).map_err(|error| LauncherError::Io {
            path: path.clone(),
            source: std::io::Error::other(error.message().to_owned()),
        })?;
        let Saved { program, directory, shards, .. } = saved.clone();
        let goes_on = Self::follows(folder);
        let job = ShardJob::of_run(program, directory, folder.to_owned(), shards, goes_on.clone());
        Ok((Self { saved, name: job_name(folder), goes_on, logs: jobs, submitted: true }, job))
    }

    /// The nodes on which a shard could not go on.
    fn failed_nodes(&self) -> BTreeSet<String> {
        let text = fs::read_to_string(self.logs.join(FAILED_NODES)).unwrap_or_default();
        text.lines().map(str::trim).filter(|node| !node.is_empty()).map(str::to_owned).collect()
    }

    fn sbatch(&self, shards: &[u32], exclude: &BTreeSet<String>) -> Result<String, LauncherError> {
        // Of two lists Slurm takes the last.
        let (options, mut without) = excluded(&self.saved.options);
        without.extend(exclude.iter().cloned());
        let mut command = Command::new("sbatch");
        command.args(options).arg("--parsable").arg(format!("--job-name={}", self.name));
        command.arg(format!("--array={}", ranges(shards)));
        command.arg(format!("--output={}", self.logs.join("slurm_%A_%a.log").display())).arg("--requeue");
        if !without.is_empty() {
            command.arg(format!("--exclude={}", without.join(",")));
        }
        let printed = output("sbatch", command.arg(self.logs.join(SCRIPT)))?;
        // ID or ID;CLUSTER.
        Ok(printed.trim().split(';').next().unwrap_or_default().to_owned())
    }

    /// The command that follows the run in a folder, which was submitted.
    pub fn follows(folder: &Path) -> String {
        format!("placebench run --follow {}", folder.display())
    }

    fn how_to_go_on(&self) -> String {
        format!("to follow it: {}; to cancel it: scancel --name={}", self.goes_on, self.name)
    }
}

impl Launcher for Slurm {
    fn start(&mut self, shards: &[u32]) -> Result<Option<String>, LauncherError> {
        let failed = self.failed_nodes();
        let id = self.sbatch(shards, &failed).map_err(|error| match error {
            LauncherError::Program { program, reason } if !failed.is_empty() => {
                let nodes = failed.iter().cloned().collect::<Vec<_>>().join(", ");
                let words = shards.iter().find_map(|&shard| self.last_words(shard));
                let words = words.map(|words| format!("; there they said: {words}")).unwrap_or_default();
                LauncherError::Program {
                    program,
                    reason: format!("{reason} (without {nodes}, where shards failed{words})"),
                }
            }
            other => other,
        })?;
        self.submitted = true;
        let without = match failed.is_empty() {
            true => String::new(),
            false => format!(
                " without {}, where shards failed ({} has their names: delete it to use them again)",
                failed.into_iter().collect::<Vec<_>>().join(", "),
                self.logs.join(FAILED_NODES).display()
            ),
        };
        let count = shards.len();
        Ok(Some(format!(
            "submitted {count} of {} shards as job {id} of Slurm{without}; {}",
            self.saved.shards,
            self.how_to_go_on()
        )))
    }

    fn live(&mut self) -> Result<Vec<LiveShard>, LauncherError> {
        let mut command = Command::new("squeue");
        // -r: a line for each task of an array. Tasks that have ended are not listed.
        let printed = output("squeue", command.args(["-h", "-r", "-o", "%K %t", "--name", &self.name]))?;
        let live = |line: &str| {
            let (index, state) = line.trim().split_once(' ')?;
            Some(LiveShard { index: index.parse().ok().filter(|&index| index > 0)?, running: state != "PD" })
        };
        Ok(printed.lines().filter_map(live).collect())
    }

    fn last_words(&self, shard: u32) -> Option<String> {
        let end = format!("_{shard}.log");
        let number =
            |path: &Path| path.file_name()?.to_str()?.strip_prefix("slurm_")?.strip_suffix(&end)?.parse::<u64>().ok();
        let logs = fs::read_dir(&self.logs).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
        last_line(&logs.filter_map(|path| Some((number(&path)?, path))).max()?.1)
    }

    fn pause(&self) -> Duration {
        Duration::from_secs(2)
    }

    fn leave(&mut self) -> String {
        match self.submitted {
            true => format!("shards that were submitted go on; {}", self.how_to_go_on()),
            false => "no shard was submitted".to_owned(),
        }
    }
}

/// Options of sbatch without those that exclude nodes, and the nodes.
fn excluded(options: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut others, mut nodes) = (Vec::new(), Vec::new());
    let mut options = options.iter();
    while let Some(option) = options.next() {
        let list = match option.as_str() {
            "--exclude" | "-x" => options.next().map(String::as_str),
            option => option.strip_prefix("--exclude=").or_else(|| option.strip_prefix("-x")),
        };
        match list {
            Some(list) => nodes.push(list.to_owned()),
            None => others.push(option.clone()),
        }
    }
    (others, nodes)
}

/// The most shards that one array of Slurm takes; `None` if Slurm does not say.
fn most_shards() -> Option<u32> {
    most_in(&output("scontrol", Command::new("scontrol").args(["show", "config"])).ok()?)
}

/// The same from what scontrol prints: numbers in an array are below `MaxArraySize`, and shards count from 1.
fn most_in(config: &str) -> Option<u32> {
    let line = config.lines().find_map(|line| line.trim().strip_prefix("MaxArraySize"))?;
    line.trim().strip_prefix('=')?.trim().parse::<u32>().ok()?.checked_sub(1)
}

/// What one task of the array runs.
fn script(job: &ShardJob) -> Result<String, LauncherError> {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    let path = |path: &Path| path.to_str().map(quoted).ok_or_else(|| not_unicode(path));
    let (program, directory) = (path(&job.program)?, path(&job.directory)?);
    let (count, failed_nodes) = (job.count, path(&job.jobs.join(FAILED_NODES))?);
    let arguments = job.arguments.iter().map(|argument| quoted(argument)).collect::<Vec<_>>().join(" ");
    Ok(format!(
        r#"#!/bin/sh
# Runs one shard of a job of placebench: task I of the array is shard I of {count}. Submit it by hand with
#   sbatch --array=1-{count} [options] {SCRIPT}
cd {directory} || exit 1
{program} {arguments} --shard "$SLURM_ARRAY_TASK_ID/{count}" --threads "${{SLURM_CPUS_PER_TASK:-1}}"
code=$?
# 1: the shard cannot go on here, for lack of disk or of a file. It is not sent to this node again.
if [ "$code" = 1 ]; then echo "$SLURMD_NODENAME" >> {failed_nodes}; fi
exit "$code"
"#
    ))
}

/// The name of the jobs of the run in a folder.
fn job_name(folder: &Path) -> String {
    let digest = sha256(folder.as_os_str().as_encoded_bytes()).unwrap_or_default();
    format!("placebench-{}", &digest[..12.min(digest.len())])
}

fn not_unicode(path: &Path) -> LauncherError {
    io_at(path)(std::io::Error::other("Slurm needs paths in Unicode"))
}

fn write(path: &Path, text: &str) -> Result<(), LauncherError> {
    write_whole(
        path,
        |source| io_at(path)(source),
        |out| std::io::Write::write_all(out, text.as_bytes()).map_err(io_at(path)),
    )
}

/// What a program prints.
fn output(program: &'static str, command: &mut Command) -> Result<String, LauncherError> {
    let output = command.env("LC_ALL", "C").output().map_err(|error| LauncherError::Program {
        program,
        reason: format!("cannot be run ({error}): is Slurm installed here, and on the path?"),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let reason = String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ");
    Err(match UNREACHABLE.iter().any(|words| reason.contains(words)) {
        true => LauncherError::Unreachable { program, reason },
        false => LauncherError::Program { program, reason },
    })
}

/// Numbers in ascending order as Slurm writes them: `1-3,7`.
fn ranges(numbers: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, end)) if *end + 1 == number => *end = number,
            _ => ranges.push((number, number)),
        }
    }
    let range = |&(first, last): &(u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_ranges() {
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), "1-3,7,9-10");
        assert_eq!(ranges(&[4]), "4");
    }

    #[test]
    fn nodes_that_the_user_excludes_stay_excluded() {
        let options = ["--time=60", "--exclude=a", "-x", "b[1-2]", "-xc", "--exclude", "d", "-c4"].map(str::to_owned);
        let (others, nodes) = excluded(&options);
        assert_eq!(
            (others, nodes.join(",")),
            (vec!["--time=60".to_owned(), "-c4".to_owned()], "a,b[1-2],c,d".to_owned())
        );
    }

    #[test]
    fn the_largest_array_is_read_from_the_configuration() {
        // Of Slurm 22.05.
        let config = "MailProg                = /usr/bin/mail\nMaxArraySize            = 1001\nMaxDBDMsgs = 20012\n";
        assert_eq!(most_in(config), Some(1000));
        assert_eq!(most_in("MaxArraySize            = 0\n"), None);
        assert_eq!(most_in(""), None);
    }

    #[test]
    fn the_script_quotes_what_shells_would_read() {
        let folder = "/work/a b".into();
        let job = ShardJob::of_run("/opt/it's here/placebench".into(), "/work/$HOME".into(), folder, 8, String::new());
        let script = script(&job).unwrap();
        assert!(script.contains("\ncd '/work/$HOME' || exit 1\n"), "{script}");
        let line = r#"'/opt/it'\''s here/placebench' 'run' '--quiet' '--resume' '/work/a b' --shard "$SLURM_ARRAY_TASK_ID/8" "#;
        assert!(script.contains(line), "{script}");
    }
}
