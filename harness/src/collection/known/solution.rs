//! A solution of an instance as a file: the device of each op and, of a schedule, in which order ops start.

use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Write};
use std::path::Path;

use placebench_algorithms::Task;
use placebench_base::did_you_mean;
use placebench_datasets::format::{FormatError, open_unpacked};
use placebench_datasets::{DeviceId, Instance, OpId, Placement};

use crate::timeline::Timeline;

/// What somebody found for an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solution {
    /// The device of each op.
    pub placement: Placement,
    /// All ops in the order in which they start, an op never before one that it needs; `None` if only the placement is given.
    pub order: Option<Vec<OpId>>,
}

/// What is wrong with a file of a solution.
#[derive(Debug, thiserror::Error)]
pub enum SolutionError {
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] FormatError),
    /// It is no CSV.
    #[error("{file}: {error}")]
    NoCsv {
        /// The file.
        file: String,
        /// Why.
        error: csv::Error,
    },
    /// It lacks a column.
    #[error(
        "{file}, line 1: has no column '{column}': write CSV with the columns op, device and, for a schedule, start or order; \
         'placebench place --placement' and '--timeline' do"
    )]
    NoColumn {
        /// The file.
        file: String,
        /// The column.
        column: &'static str,
    },
    /// A line is wrong.
    #[error("{file}, line {line}: {fault}")]
    Line {
        /// The file.
        file: String,
        /// The line, from 1.
        line: u64,
        /// What is wrong, and the remedy.
        fault: String,
    },
    /// The whole is wrong.
    #[error("{file}: {fault}")]
    Whole {
        /// The file.
        file: String,
        /// What is wrong, and the remedy.
        fault: String,
    },
}

/// Numbers of the columns that count.
struct Columns {
    what: Option<usize>,
    op: usize,
    name: Option<usize>,
    device: usize,
    /// When an op starts.
    start: Option<usize>,
    /// Its number in the order.
    order: Option<usize>,
}

impl Solution {
    /// Reads CSV with a header. Columns: `op` (id), `device` (name or id), and for a schedule `start` (a time) or `order` (a
    /// number): ops start in ascending order of it. A column `what` selects the lines that say `op`, as timelines of
    /// `place` have it; a column `name` is compared with the graph's names; other columns are ignored.
    ///
    /// # Errors
    /// If the file cannot be read; if a line is wrong; if an op is missing or there twice; if an op starts before one that it
    /// needs.
    ///
    /// # Complexity
    /// O(ops log ops + edges) time and O(ops) memory.
    pub fn read(path: &Path, instance: &Instance) -> Result<Self, SolutionError> {
        Self::parse(open_unpacked(path)?, &path.display().to_string(), instance)
    }

    /// As [`Solution::read`], of the content of a file.
    ///
    /// # Errors
    /// As there.
    pub fn parse(content: impl Read, file: &str, instance: &Instance) -> Result<Self, SolutionError> {
        let no_csv = |error| SolutionError::NoCsv { file: file.to_owned(), error };
        let mut reader = csv::Reader::from_reader(WithoutReturns(content));
        let columns = Columns::of(reader.headers().map_err(no_csv)?, file)?;
        let devices = Devices::of(instance);
        let ops = instance.graph().op_count();
        let mut device_of: Vec<Option<DeviceId>> = vec![None; ops];
        let mut starts = vec![0.0; ops];
        let mut numbers: BTreeMap<i64, OpId> = BTreeMap::new();
        let mut record = csv::StringRecord::new();
        while reader.read_record(&mut record).map_err(no_csv)? {
            let field = |column: usize| record.get(column).unwrap_or_default().trim();
            if columns.what.is_some_and(|what| field(what) != "op") {
                continue;
            }
            let line = record.position().map_or(0, csv::Position::line);
            let wrong = |fault| SolutionError::Line { file: file.to_owned(), line, fault };
            let op = op_of(field(columns.op), columns.name.and_then(|column| record.get(column)), instance)
                .map_err(wrong)?;
            let device = devices.named(field(columns.device)).map_err(wrong)?;
            if device_of[op.index()].replace(device).is_some() {
                return Err(wrong(format!("op {op} is there twice: write each op once")));
            }
            if let Some(column) = columns.start {
                let text = field(column);
                let start = text.parse().ok().filter(|start: &f64| start.is_finite());
                starts[op.index()] =
                    start.ok_or_else(|| wrong(format!("'{text}' is no start: write a finite number")))?;
            }
            if let Some(column) = columns.order {
                let text = field(column);
                let number = text.parse().ok();
                let number: i64 = number.ok_or_else(|| wrong(format!("'{text}' is no order: write a whole number")))?;
                if numbers.insert(number, op).is_some() {
                    return Err(wrong(format!("order {number} is there twice: give each op a number of its own")));
                }
            }
        }
        let whole = |fault| SolutionError::Whole { file: file.to_owned(), fault };
        let missing = device_of.iter().filter(|device| device.is_none()).count();
        if let Some(first) = device_of.iter().position(Option::is_none) {
            return Err(whole(format!(
                "{missing} of the graph's {ops} ops have no device, the first is op {first}: write a line for each"
            )));
        }
        let placement = Placement::new(device_of.into_iter().flatten().collect());
        let order = match (columns.start, columns.order) {
            (Some(_), _) => Some(by_start(&starts, &placement, instance)),
            (None, Some(_)) => Some(numbers.into_values().collect()),
            (None, None) => None,
        };
        if let Some((needed, op)) = order.as_ref().and_then(|order| unordered(order, instance)) {
            let fault = match columns.start {
                Some(_) if starts[needed.index()] == starts[op.index()] => {
                    "start together: an op that takes time ends before others can use it, so write exact starts, or the order"
                }
                _ => "stand in the wrong order: no schedule has that",
            };
            return Err(whole(format!("op {op} needs op {needed}, and they {fault}")));
        }
        Ok(Self { placement, order })
    }

    /// The solution that a timeline shows.
    pub(super) fn of_timeline(placement: Placement, timeline: &Timeline, instance: &Instance) -> Self {
        let starts: Vec<f64> = instance.graph().op_ids().map(|op| timeline.start(op)).collect();
        let order = by_start(&starts, &placement, instance);
        Self { placement, order: Some(order) }
    }

    /// Writes it as [`Solution::read`] reads it: one text for each solution, whatever it was read from.
    ///
    /// # Errors
    /// The system's.
    pub fn write(&self, out: &mut impl Write, instance: &Instance) -> std::io::Result<()> {
        let cluster = instance.cluster();
        let is_schedule = self.order.is_some();
        let mut position = vec![0; self.placement.devices().len()];
        for (index, op) in self.order.iter().flatten().enumerate() {
            position[op.index()] = index;
        }
        let mut csv = csv::WriterBuilder::new().from_writer(out);
        csv.write_record(["op", "device", "order"].iter().take(if is_schedule { 3 } else { 2 }))?;
        for op in instance.graph().op_ids() {
            csv.write_field(op.to_string())?;
            csv.write_field(&cluster.device(self.placement.device_of(op)).name)?;
            if is_schedule {
                csv.write_field(position[op.index()].to_string())?;
            }
            csv.write_record(None::<&[u8]>)?;
        }
        csv.flush()
    }

    /// For each device its ops in their order, if there is one.
    pub(super) fn tasks(&self, devices: usize) -> Option<Vec<Vec<Task>>> {
        let mut tasks = vec![Vec::new(); devices];
        for &op in self.order.as_ref()? {
            tasks[self.placement.device_of(op).index()].push(Task::Op(op));
        }
        Some(tasks)
    }
}

impl Columns {
    fn of(header: &csv::StringRecord, file: &str) -> Result<Self, SolutionError> {
        let position = |name: &str| header.iter().position(|known| known == name);
        let needed = |column| position(column).ok_or_else(|| SolutionError::NoColumn { file: file.to_owned(), column });
        let fault = |fault: String| SolutionError::Line { file: file.to_owned(), line: 1, fault };
        for name in ["what", "op", "name", "device", "start", "order"] {
            if header.iter().filter(|&known| known == name).count() > 1 {
                return Err(fault(format!("has the column '{name}' twice, which may disagree: keep one")));
            }
        }
        let (start, order) = (position("start"), position("order"));
        if start.is_some() && order.is_some() {
            return Err(fault("has the columns 'start' and 'order', which may disagree: keep one".to_owned()));
        }
        Ok(Self {
            what: position("what"),
            op: needed("op")?,
            name: position("name"),
            device: needed("device")?,
            start,
            order,
        })
    }
}

/// The op of an id, whose name must be the graph's if one is given.
fn op_of(id: &str, name: Option<&str>, instance: &Instance) -> Result<OpId, String> {
    let graph = instance.graph();
    let ops = graph.op_count();
    let op = id.parse().ok().filter(|&id: &u32| (id as usize) < ops).map(OpId);
    let op = op.ok_or_else(|| format!("'{id}' is no op: write an id from 0 to {}", ops.saturating_sub(1)))?;
    match (name.filter(|name| !name.is_empty()), graph.name(op)) {
        // A ' in front keeps a spreadsheet from running a name.
        (Some(name), Some(known)) if name != known && name.strip_prefix('\'') != Some(known) => {
            Err(format!("op {op} is called '{known}', and here '{name}': this is a solution of another graph"))
        }
        _ => Ok(op),
    }
}

/// Devices by their names.
struct Devices<'a> {
    instance: &'a Instance,
    ids: HashMap<&'a str, DeviceId>,
}

impl<'a> Devices<'a> {
    fn of(instance: &'a Instance) -> Self {
        let cluster = instance.cluster();
        let ids = cluster.device_ids().map(|device| (cluster.device(device).name.as_str(), device)).collect();
        Self { instance, ids }
    }

    /// The device of a name or, unless a device has that name, of an id.
    fn named(&self, text: &str) -> Result<DeviceId, String> {
        let count = self.instance.cluster().device_count();
        let id = || text.parse().ok().filter(|&id: &u32| (id as usize) < count).map(DeviceId);
        self.ids.get(text).copied().or_else(id).ok_or_else(|| {
            let names = self.instance.cluster().devices().iter().map(|device| device.name.as_str());
            format!("'{text}' is no device of the cluster: {}", did_you_mean(text, names))
        })
    }
}

/// All ops by their start. Of those that start together the one comes first that ends first: an op that takes no time must not
/// wait for one that does. Of those that end together, the topologically first.
fn by_start(starts: &[f64], placement: &Placement, instance: &Instance) -> Vec<OpId> {
    let graph = instance.graph();
    let times: Vec<f64> = graph.op_ids().map(|op| instance.exec_time(op, placement.device_of(op))).collect();
    let topological = graph.topological_positions();
    let mut order: Vec<OpId> = graph.op_ids().collect();
    order.sort_by(|a, b| {
        let [a, b] = [a.index(), b.index()];
        starts[a].total_cmp(&starts[b]).then(times[a].total_cmp(&times[b])).then(topological[a].cmp(&topological[b]))
    });
    order
}

/// An op and a later one that it needs, if there are such: first the one that is needed.
fn unordered(order: &[OpId], instance: &Instance) -> Option<(OpId, OpId)> {
    let mut position = vec![0; order.len()];
    for (index, op) in order.iter().enumerate() {
        position[op.index()] = index;
    }
    let mut edges = instance.graph().edges().map(|(needed, edge)| (needed, edge.op));
    edges.find(|(needed, op)| position[op.index()] < position[needed.index()])
}

/// A text without carriage returns, with which the reader of CSV counts lines wrong.
struct WithoutReturns<R>(R);

impl<R: Read> Read for WithoutReturns<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let count = self.0.read(buffer)?;
            let mut kept = 0;
            for index in 0..count {
                if buffer[index] != b'\r' {
                    buffer[kept] = buffer[index];
                    kept += 1;
                }
            }
            if kept > 0 || count == 0 {
                return Ok(kept);
            }
        }
    }
}
