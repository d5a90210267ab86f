//! What is finished of a run: the union of its journals, and the table that they make.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use super::folder::{RESULTS, read_environment, read_suite};
use super::folder_error::FolderError;
use super::journal::{Lines, PartHeader, is_part, journals, parse};
use crate::results::{Row, Status, write_rows};
use crate::suite::{Positions, RunPlan, Shard};

/// The cells of a plan that have a row in a journal of a run folder: of each cell the first complete one, the journals in the
/// order of their names. A row of status `interrupted` stands only for want of another: its cell is not finished.
///
/// # Complexity
/// 16 bytes a cell; reading is linear in the bytes of the journals, each read once.
pub struct Finished<'a> {
    folder: PathBuf,
    plan: &'a RunPlan,
    positions: Positions<'a>,
    run: PartHeader,
    /// Journals by their number in a [`Location`].
    paths: Vec<PathBuf>,
    /// For each journal its number, how far it was read, and how many lines that is.
    read: BTreeMap<PathBuf, (u32, u64, usize)>,
    rows: Vec<Option<Location>>,
    /// Cells that have no row but of status `interrupted`.
    interrupted: BTreeSet<usize>,
    done: usize,
    damaged: Vec<FolderError>,
}

/// Where the row of a cell is.
#[derive(Clone, Copy, Debug)]
struct Location {
    journal: u32,
    length: NonZeroU32,
    offset: u64,
}

impl<'a> Finished<'a> {
    /// Of the cells of a plan, which may be those of a shard, in a run folder. Nothing is read yet but the suite and the
    /// environment.
    ///
    /// # Errors
    /// If the folder is no run folder.
    pub fn new(folder: &Path, plan: &'a RunPlan) -> Result<Self, FolderError> {
        let run = PartHeader::new(&read_suite(folder)?.0, &read_environment(folder)?);
        Ok(Self {
            folder: folder.to_owned(),
            plan,
            positions: Positions::new(plan),
            run,
            paths: Vec::new(),
            read: BTreeMap::new(),
            rows: vec![None; plan.cells.len()],
            interrupted: BTreeSet::new(),
            done: 0,
            damaged: Vec::new(),
        })
    }

    /// Reads what the journals have more than last time; of a shard's plan only those journals that may have cells of it.
    /// Tells `new` of each cell that has become finished: its index and its status.
    ///
    /// # Errors
    /// If a journal cannot be read or is of another run. A complete line that is no row is [damaged](Self::damaged).
    pub fn update(
        &mut self,
        shard: Option<Shard>,
        mut new: impl FnMut(usize, Option<Status>),
    ) -> Result<(), FolderError> {
        for path in journals(&self.folder, shard)? {
            let number = self.read.len() as u32;
            let (journal, from, before) = *self.read.entry(path.clone()).or_insert_with(|| {
                self.paths.push(path.clone());
                (number, 0, 0)
            });
            let fault = |source| FolderError::Io { path: path.clone(), source };
            let file = File::open(&path).map_err(fault)?;
            let mut lines = Lines::new(&file, from).map_err(fault)?;
            let mut offset = from;
            while let Some((number, line)) = lines.next().map_err(fault)? {
                let number = before + number;
                let length = line.len() as u32;
                if number == 1 && is_part(&path) {
                    match parse::<PartHeader>(&path, number, line) {
                        Ok(header) => {
                            if let Some(found) = header.difference(&self.run) {
                                return Err(FolderError::OtherPart { path, found });
                            }
                        }
                        // Nobody knows what run its rows are of.
                        Err(error) => {
                            let reason = error.to_string().replace(": its cell runs again", "");
                            self.damaged.push(FolderError::Headless { path: path.clone(), reason });
                            offset = file.metadata().map_err(fault)?.len();
                            break;
                        }
                    }
                } else {
                    // The whole row, so that what is none is known before cells run, not when the table is written.
                    match parse::<Row>(&path, number, line).and_then(|row| sound(&path, number, row)) {
                        Ok(row) => {
                            let status = row.status();
                            // A row of no cell of the plan is of another shard.
                            if let (Some(cell), Some(length)) = (self.positions.of(&row.key()), NonZeroU32::new(length))
                                && self.take(cell, Location { journal, length, offset }, status)
                            {
                                new(cell, status);
                            }
                        }
                        Err(error) => self.damaged.push(error),
                    }
                }
                offset = lines.end;
            }
            self.read.insert(path.clone(), (journal, offset, before + lines.number));
        }
        Ok(())
    }

    /// Takes the row of a cell, if it needs one; whether the cell has become finished.
    fn take(&mut self, cell: usize, location: Location, status: Option<Status>) -> bool {
        if self.has(cell) {
            return false;
        }
        self.rows[cell] = Some(location);
        if status == Some(Status::Interrupted) {
            self.interrupted.insert(cell);
            return false;
        }
        self.interrupted.remove(&cell);
        self.done += 1;
        true
    }

    /// Complete lines of journals that are no rows: a disk or a person damaged them, and their cells run again.
    pub fn damaged(&self) -> &[FolderError] {
        &self.damaged
    }

    /// Number of cells that are finished.
    pub fn count(&self) -> usize {
        self.done
    }

    /// Whether all cells are.
    pub fn is_complete(&self) -> bool {
        self.done == self.rows.len()
    }

    /// Whether the cell with this index in [`RunPlan::cells`] is.
    pub fn has(&self, cell: usize) -> bool {
        self.rows[cell].is_some() && !self.interrupted.contains(&cell)
    }

    /// Writes the table of a complete run, in the suite's order, a batch of rows at a time.
    ///
    /// # Errors
    /// If it cannot be written, or a row cannot be read.
    pub fn write_table(&self) -> Result<PathBuf, FolderError> {
        let path = self.folder.join(RESULTS);
        write_rows(&path, self.each_row())?;
        Ok(path)
    }

    /// The rows of the finished cells in the suite's order, read one by one.
    pub(super) fn each_row(&self) -> impl Iterator<Item = Result<Row, FolderError>> + '_ {
        let mut open: Option<(u32, File)> = None;
        self.rows.iter().flatten().map(move |&location| self.row(location, &mut open))
    }

    /// Reads a row. Neighbours are mostly in one journal, which stays open.
    fn row(&self, location: Location, open: &mut Option<(u32, File)>) -> Result<Row, FolderError> {
        let Location { journal, length, offset } = location;
        let path = &self.paths[journal as usize];
        let mut line = vec![0; length.get() as usize];
        let mut read = || {
            let file = match open {
                Some((number, file)) if *number == journal => file,
                _ => &mut open.insert((journal, File::open(path)?)).1,
            };
            file.seek(SeekFrom::Start(offset))?;
            file.read_exact(&mut line)
        };
        read().map_err(|source| FolderError::Io { path: path.clone(), source })?;
        serde_json::from_slice(&line).map_err(|error| FolderError::Broken {
            path: path.clone(),
            reason: format!("the line at byte {offset} is no row ({error}): delete it to run its cell again"),
        })
    }
}

/// Refuses a row that no run makes.
fn sound(journal: &Path, number: usize, row: Row) -> Result<Row, FolderError> {
    match row.fault() {
        None => Ok(row),
        Some(reason) => Err(FolderError::Journal { path: journal.to_owned(), line: number, reason }),
    }
}

impl std::fmt::Debug for Finished<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { folder, done, .. } = self;
        f.debug_struct("Finished")
            .field("folder", folder)
            .field("done", done)
            .field("cells", &self.plan.cells.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, OpenOptions};
    use std::io::Write;

    use super::*;
    use crate::results::read_table;
    use crate::runner::folder::tests::environment;
    use crate::runner::{Environment, RunFolder, RunState, read_run, table_of};
    use crate::suite::Suite;

    const SUITE: &str = r#"
        name = "s"
        repetitions = 6
        placers = ["heft", "random"]
        schedulers = ["pct", "fifo"]
        [[graph]]
        preset = "laich1"
        [[cluster]]
        preset = "laich7"
    "#;

    fn plan() -> RunPlan {
        RunPlan::new(Suite::parse(SUITE, "s.toml").unwrap()).unwrap()
    }

    /// The row of a cell as attempt `by` would have it.
    fn row(plan: &RunPlan, cell: usize, by: f64) -> Row {
        Row {
            status: "ok".into(),
            makespan: Some(1.0),
            place_seconds: Some(by),
            ..plan.request(plan.cells[cell]).blank_row()
        }
    }

    fn open(path: &Path, shard: Option<Shard>) -> RunFolder {
        RunFolder::open(path, SUITE, &environment(), shard).unwrap()
    }

    fn finished<'a>(path: &Path, plan: &'a RunPlan) -> Finished<'a> {
        let mut finished = Finished::new(path, plan).unwrap();
        finished.update(None, |_, _| ()).unwrap();
        finished
    }

    /// What the tests compare: who ran each cell.
    fn by(rows: &[Row]) -> Vec<f64> {
        rows.iter().map(|row| row.place_seconds.unwrap()).collect()
    }

    #[test]
    fn the_union_takes_the_first_complete_row_of_each_cell_in_the_suites_order() {
        let (folder, plan) = (tempfile::tempdir().unwrap(), plan());
        let path = folder.path();
        // Two attempts at a shard, at once, backwards and forwards; then one of another division, and a run without shards.
        let shard = |index, count| Some(Shard { index, count });
        let (first, second) = (open(path, shard(1, 2)), open(path, shard(1, 2)));
        for cell in (0..10).rev() {
            first.append(&row(&plan, cell, 1.0)).unwrap();
            second.append(&row(&plan, 9 - cell + 5, 2.0)).unwrap();
        }
        let third = open(path, shard(3, 3));
        (10..24).for_each(|cell| third.append(&row(&plan, cell, 3.0)).unwrap());
        let union = finished(path, &plan);
        assert!(union.is_complete() && union.count() == 24);
        assert_eq!(table_of(path).1, RunState::Unfinished);
        let rows = read_table(&union.write_table().unwrap()).unwrap();
        assert_eq!(
            rows.iter().map(Row::key).collect::<Vec<_>>(),
            plan.cells.iter().map(|&c| plan.key(c)).collect::<Vec<_>>()
        );
        let expected: Vec<f64> = [vec![1.0; 10], vec![2.0; 5], vec![3.0; 9]].concat();
        assert_eq!(by(&rows), expected);
        assert_eq!(rows[0].host.as_deref(), Some("h"));
        assert_eq!(read_run(path).unwrap(), rows);
        // The journal of a run without shards comes first.
        let whole = open(path, None);
        whole.append(&row(&plan, 3, 0.0)).unwrap();
        assert_eq!(by(&read_table(&finished(path, &plan).write_table().unwrap()).unwrap())[3], 0.0);
    }

    #[test]
    fn a_row_counts_when_its_line_is_complete_and_is_told_once() {
        let (folder, plan) = (tempfile::tempdir().unwrap(), plan());
        let run = open(folder.path(), Some(Shard { index: 1, count: 1 }));
        run.append(&row(&plan, 4, 1.0)).unwrap();
        let part = folder.path().join("parts/cells.1-of-1.1.jsonl");
        let text = fs::read_to_string(&part).unwrap();
        let line = text
            .lines()
            .last()
            .unwrap()
            .replace("\"seed\":1", "\"seed\":0")
            .replace("\"repetition\":1", "\"repetition\":0");
        let mut union = Finished::new(folder.path(), &plan).unwrap();
        let mut told = Vec::new();
        let append =
            |text: &str| OpenOptions::new().append(true).open(&part).unwrap().write_all(text.as_bytes()).unwrap();
        let mut update = |union: &mut Finished<'_>| {
            told.clear();
            union.update(None, |cell, status| told.push((cell, status))).unwrap();
            told.clone()
        };
        assert_eq!(update(&mut union), [(4, Some(Status::Ok))]);
        append(&line[..100]);
        assert_eq!(update(&mut union), []);
        append(&line[100..]);
        assert_eq!(update(&mut union), []);
        append("\n");
        assert_eq!(update(&mut union), [(0, Some(Status::Ok))]);
        append(&format!("{line}\n"));
        assert_eq!(update(&mut union), []);
        assert!(union.has(0) && !union.has(1) && union.count() == 2);
        // A disk damages a line. What follows it counts.
        let third = line.replace("\"seed\":0", "\"seed\":2").replace("\"repetition\":0", "\"repetition\":2");
        append(&format!("nonsense\n{third}\n"));
        assert_eq!(update(&mut union).len(), 1);
        let damaged: Vec<String> = union.damaged().iter().map(ToString::to_string).collect();
        assert_eq!(damaged.len(), 1);
        assert!(damaged[0].contains("cells.1-of-1.1.jsonl:5: not a row (expected "), "{damaged:?}");
        assert!(damaged[0].ends_with(": its cell runs again"), "{damaged:?}");
    }

    #[test]
    fn an_interrupted_cell_is_not_finished_until_it_has_another_row() {
        let (folder, plan) = (tempfile::tempdir().unwrap(), plan());
        let run = open(folder.path(), None);
        let of = |status: Status| Row { status: status.name().into(), ..row(&plan, 3, 1.0) };
        let statuses = || read_run(folder.path()).unwrap().into_iter().map(|row| row.status).collect::<Vec<_>>();
        run.append(&of(Status::Interrupted)).unwrap();
        let union = finished(folder.path(), &plan);
        assert_eq!((union.count(), union.has(3), statuses()), (0, false, vec!["interrupted".to_owned()]));
        for status in [Status::Error, Status::Interrupted, Status::Ok] {
            run.append(&of(status)).unwrap();
        }
        let union = finished(folder.path(), &plan);
        assert_eq!((union.count(), union.has(3), statuses()), (1, true, vec!["error".to_owned()]));
    }

    #[test]
    fn a_part_that_is_torn_in_its_first_line_has_no_cells() {
        let (folder, plan) = (tempfile::tempdir().unwrap(), plan());
        open(folder.path(), Some(Shard { index: 1, count: 1 }));
        let part = folder.path().join("parts/cells.1-of-1.1.jsonl");
        let text = fs::read_to_string(&part).unwrap();
        for length in [0, 10, text.len() - 1] {
            fs::write(&part, &text[..length]).unwrap();
            assert_eq!(finished(folder.path(), &plan).count(), 0);
        }
    }

    #[test]
    fn parts_of_another_suite_commit_or_input_are_refused_by_name() {
        let plan = plan();
        let shard = Some(Shard { index: 1, count: 1 });
        let other = Environment { commit: Some("other".into()), ..environment() };
        let inputs = Environment { inputs: [("g.csv".to_owned(), "1".to_owned())].into(), ..environment() };
        for (suite, environment, found) in [
            ("name = \"t\"", environment(), "another suite"),
            (SUITE, other, "another version of placebench"),
            (SUITE, inputs, "other input files"),
        ] {
            let [folder, elsewhere] = [(); 2].map(|()| tempfile::tempdir().unwrap());
            open(folder.path(), shard);
            RunFolder::open(elsewhere.path(), suite, &environment, shard).unwrap();
            let name = "parts/cells.1-of-1.1.jsonl";
            fs::copy(elsewhere.path().join(name), folder.path().join(name)).unwrap();
            let mut union = Finished::new(folder.path(), &plan).unwrap();
            let error = union.update(None, |_, _| ()).unwrap_err().to_string();
            assert!(
                error.ends_with(&format!("{name}: holds cells of {found}: delete it to run them again")),
                "{error}"
            );
        }
    }

    #[test]
    fn shards_that_begin_at_once_make_one_folder_and_the_last_knows_that_all_are_done() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/run");
        let count = 8;
        let done = |index| {
            let shard = Shard { index, count };
            open(&path, Some(shard)).shard_is_done(shard).unwrap()
        };
        let done = &done;
        let all: Vec<bool> = std::thread::scope(|scope| {
            let threads: Vec<_> = (1..=count).map(|index| scope.spawn(move || done(index))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(all.contains(&true), "nobody saw that all shards were done");
        assert_eq!(RunFolder::state(&path, SUITE, &environment()), Some(RunState::Unfinished));
    }
}
