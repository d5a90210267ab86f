//! Follows shards until all is finished, and starts again what was lost.

use std::thread::sleep;
use std::time::Instant;

use placebench_algorithms::StopToken;

use super::{Launcher, LauncherError, LiveShard, Work};
use crate::runner::Observer;

/// How following ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// All is finished.
    Complete,
    /// It was stopped.
    Stopped {
        /// Cells, or parts, that are finished.
        done: usize,
        /// How many there are.
        cells: usize,
    },
}

/// A shard that ends so often in a row without having finished anything is not started again: it would go on like that.
const MOST_BARREN_STARTS: u32 = 3;

/// A shard that is gone in this many looks in a row is started again. Not in the first: on a network file system the last rows
/// of a shard may appear after its end.
const LOOKS: u32 = 2;

/// What is known of a shard.
#[derive(Clone, Copy, Default)]
struct Known {
    /// What is not finished.
    missing: usize,
    /// How many those were when it was last started.
    at_start: Option<usize>,
    /// Starts in a row that finished nothing.
    barren: u32,
    /// Looks in a row in which it was neither alive nor finished.
    gone: u32,
}

/// Starts the shards that have work left, watches their files, and starts a shard again that has ended before its work was
/// finished, until all is.
///
/// # Errors
/// If the launcher fails, a shard ends three times in a row without finishing anything, or the files are those of other
/// work. A launcher that does not answer is asked again, as long as something is finished, and [`Launcher::patience`] longer.
///
/// # Complexity
/// Of a run, a look takes time linear in the number of journals and in what they have grown by.
pub fn follow(
    launcher: &mut dyn Launcher,
    work: &mut dyn Work,
    stop: &StopToken,
    observer: &dyn Observer,
) -> Result<Followed, LauncherError> {
    let mut known: Vec<Known> = work.items().into_iter().map(|missing| Known { missing, ..Known::default() }).collect();
    let cells: usize = known.iter().map(|shard| shard.missing).sum();
    let mut done = 0;
    work.look(&mut |shard, _| {
        known[shard].missing -= 1;
        done += 1;
    })?;
    observer.begin(cells, done);
    let mut answered = true;
    // When the launcher last answered, or something was finished.
    let mut heard = Instant::now();
    loop {
        // The launcher first: what a shard wrote before it ended is then seen below.
        let live = match launcher.live() {
            Err(LauncherError::Unreachable { program, reason }) => {
                if std::mem::replace(&mut answered, false) {
                    observer.note(&format!("{program} does not answer ({reason}); asking again"));
                }
                Err((program, reason))
            }
            live => Ok(live?),
        };
        work.look(&mut |shard, ok| {
            heard = Instant::now();
            known[shard].missing -= 1;
            done += 1;
            observer.cell(ok);
        })?;
        if done == cells {
            return Ok(Followed::Complete);
        }
        if stop.is_stopped() {
            return Ok(Followed::Stopped { done, cells });
        }
        match live {
            Ok(live) => {
                (answered, heard) = (true, Instant::now());
                let running = live.iter().filter(|shard| shard.running).count();
                observer.shards(running, live.len() - running);
                start_lost(launcher, &mut known, &live, observer)?;
            }
            Err((program, reason)) if heard.elapsed() >= launcher.patience() => {
                let seconds = launcher.patience().as_secs();
                return Err(LauncherError::Silent { program, reason, seconds });
            }
            Err(_) => {}
        }
        sleep(launcher.pause());
    }
}

/// Starts the shards that have work left and are not alive.
fn start_lost(
    launcher: &mut dyn Launcher,
    known: &mut [Known],
    live: &[LiveShard],
    observer: &dyn Observer,
) -> Result<(), LauncherError> {
    let mut alive = vec![false; known.len()];
    for shard in live {
        // An array of another number of shards may be left from before.
        if let Some(alive) = alive.get_mut(shard.index as usize - 1) {
            *alive = true;
        }
    }
    let mut lost = Vec::new();
    for (index, shard) in known.iter_mut().enumerate() {
        shard.gone = if shard.missing == 0 || alive[index] { 0 } else { shard.gone + 1 };
        // What never ran has no rows that could come late.
        if shard.gone >= LOOKS || shard.gone == 1 && shard.at_start.is_none() {
            lost.push(index as u32 + 1);
        }
    }
    if lost.is_empty() {
        return Ok(());
    }
    for &index in &lost {
        let shard = &mut known[index as usize - 1];
        let barren = if shard.at_start == Some(shard.missing) { shard.barren + 1 } else { 0 };
        if barren >= MOST_BARREN_STARTS {
            let last_words = launcher.last_words(index);
            return Err(LauncherError::GaveUp { shard: index, times: barren, last_words });
        }
        shard.barren = barren;
    }
    let again = known[lost[0] as usize - 1].at_start.is_some();
    match launcher.start(&lost) {
        // Once it has answered, it will again.
        Err(LauncherError::Unreachable { .. }) if again => return Ok(()),
        started => {
            if let Some(note) = started? {
                observer.note(&note);
            }
        }
    }
    for &index in &lost {
        let shard = &mut known[index as usize - 1];
        (shard.at_start, shard.gone) = (Some(shard.missing), 0);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::runner::Silent;
    use crate::shards::Items;

    /// A launcher whose controller is gone.
    struct Gone {
        asked: u32,
    }

    impl Launcher for Gone {
        fn start(&mut self, _: &[u32]) -> Result<Option<String>, LauncherError> {
            Ok(None)
        }

        fn live(&mut self) -> Result<Vec<LiveShard>, LauncherError> {
            self.asked += 1;
            Err(LauncherError::Unreachable { program: "squeue", reason: "nobody there".into() })
        }

        fn last_words(&self, _: u32) -> Option<String> {
            None
        }

        fn pause(&self) -> Duration {
            Duration::from_millis(1)
        }

        fn patience(&self) -> Duration {
            Duration::from_millis(50)
        }

        fn leave(&mut self) -> String {
            String::new()
        }
    }

    #[test]
    fn a_launcher_that_never_answers_again_ends_the_wait() {
        let mut launcher = Gone { asked: 0 };
        let error =
            follow(&mut launcher, &mut Items::new(vec![1], 1, |_| false), &StopToken::default(), &Silent).unwrap_err();
        assert_eq!(error.to_string(), "squeue has not answered for 0 s: nobody there");
        assert!(launcher.asked > 2, "asked {} times", launcher.asked);
    }
}
