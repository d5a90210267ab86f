//! A measured timeline on its way to a run folder and back: it cannot be made again, as a simulated one can.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter};
use std::path::{Path, PathBuf};

use placebench_datasets::format::{sha256, write_whole};
use placebench_datasets::{DeviceId, Instance, PlacedGraph, Placement, TransferId};
use serde::{Deserialize, Serialize};

use crate::results::CellKey;
use crate::timeline::{Interval, Timeline};

/// The folder of measured timelines in a run folder.
const FOLDER: &str = "timelines";

/// Start and end. Rounding keeps what is not later than something else not later than it.
type Times = [f32; 2];

/// A placement and when everything happened in one measured repetition of it: a file of a run folder.
///
/// Times are kept in single precision, and only of the first repetition of a cell with at most
/// [`MeasuredTimeline::MOST_TIMES`] ops and transfers, so that a file takes about 2 MB at most.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredTimeline {
    key: CellKey,
    /// The device of each op.
    placement: Vec<u32>,
    ops: Vec<Times>,
    /// One for each send op, or none if they were not measured.
    sends: Vec<Times>,
    transfers: Vec<Times>,
    /// As `sends`.
    receives: Vec<Times>,
}

impl MeasuredTimeline {
    /// Most ops and transfers of a timeline that is kept.
    pub const MOST_TIMES: usize = 100_000;

    /// What a run folder keeps of a cell: `None` of a simulated timeline, of a repetition but the first, and of a timeline
    /// that is too large.
    pub fn of(key: CellKey, placement: &Placement, timeline: &Timeline) -> Option<Self> {
        let times = timeline.op_start.len() + timeline.transfers.len();
        let is_measured = timeline.is_measured && timeline.draws().is_none();
        if !is_measured || key.repetition > 0 || times > Self::MOST_TIMES {
            return None;
        }
        let rounded = |at: &Interval| [at.start as f32, at.end as f32];
        let ops = timeline.op_start.iter().zip(&timeline.op_finish);
        Some(Self {
            key,
            placement: placement.devices().iter().map(|device| device.0).collect(),
            ops: ops.map(|(&start, &end)| rounded(&Interval { start, end })).collect(),
            sends: timeline.sends().map(|(_, at)| rounded(&at)).collect(),
            transfers: timeline.transfers.iter().map(rounded).collect(),
            receives: timeline.receives().map(|(_, at)| rounded(&at)).collect(),
        })
    }

    /// Writes the file of the cell into a run folder.
    ///
    /// # Errors
    /// The file, and why it cannot be written.
    pub fn write(&self, run: &Path) -> Result<(), (PathBuf, io::Error)> {
        let path = path_of(run, &self.key);
        let fault = |error| (path.clone(), error);
        fs::create_dir_all(run.join(FOLDER)).map_err(fault)?;
        write_whole(&path, fault, |out: &mut BufWriter<File>| {
            serde_json::to_writer(out, self).map_err(|error| fault(error.into()))
        })
    }

    /// What a run folder keeps of a cell.
    ///
    /// # Errors
    /// One line, if it keeps nothing or the file is damaged.
    pub fn read(run: &Path, key: &CellKey) -> Result<Self, String> {
        let path = path_of(run, key);
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(format!(
                    "the run folder keeps no measured timeline of it: it keeps those of first repetitions with at most {} \
                     ops and transfers",
                    Self::MOST_TIMES
                ));
            }
            other => other.map_err(|error| format!("{}: {error}", path.display()))?,
        };
        let kept: Self = serde_json::from_reader(BufReader::new(file))
            .map_err(|error| format!("{}: no timeline ({error}): delete the file", path.display()))?;
        match kept.key == *key {
            true => Ok(kept),
            false => Err(format!("{}: the timeline of another cell: delete the file", path.display())),
        }
    }

    /// The placement, and the timeline of its [`PlacedGraph`].
    ///
    /// # Errors
    /// One line, if they are of another instance.
    pub fn restore(&self, instance: &Instance) -> Result<(Placement, Timeline), String> {
        let other = |what: &str| Err(format!("the measured timeline is of another instance: {what}"));
        if self.placement.len() != instance.graph().op_count() || self.ops.len() != self.placement.len() {
            return other("the graph has another number of ops");
        }
        if self.placement.iter().any(|&device| device as usize >= instance.cluster().device_count()) {
            return other("the cluster has fewer devices");
        }
        let placement = Placement::new(self.placement.iter().map(|&device| DeviceId(device)).collect());
        let placed = PlacedGraph::new(instance, &placement);
        let count = |has: &dyn Fn(TransferId) -> bool| placed.transfer_ids().filter(|&id| has(id)).count();
        let fits = |times: &[Times], count: usize| times.is_empty() || times.len() == count;
        if self.transfers.len() != placed.transfer_count()
            || !fits(&self.sends, count(&|id| placed.has_send(id)))
            || !fits(&self.receives, count(&|id| placed.has_receive(id)))
        {
            return other("the placement has another number of transfers");
        }
        let all = [&self.ops, &self.sends, &self.transfers, &self.receives];
        if all.into_iter().flatten().any(|[start, end]| !(start.is_finite() && end.is_finite() && start <= end)) {
            return other("it has times that are none");
        }
        let times = |times: &[Times]| {
            let interval = |&[start, end]: &Times| Interval { start: start.into(), end: end.into() };
            times.iter().map(interval).collect()
        };
        let timeline = Timeline::measured(&placed, times(&self.ops), times(&self.sends), times(&self.transfers))
            .with_measured_receives(&placed, times(&self.receives));
        Ok((placement, timeline))
    }
}

/// The file of a cell. Its name is a digest: names of graphs and placers are longer than names of files may be.
fn path_of(run: &Path, key: &CellKey) -> PathBuf {
    let key = serde_json::to_vec(key).unwrap_or_default();
    let digest = sha256(&key[..]).unwrap_or_default();
    run.join(FOLDER).join(format!("{}.json", digest.get(..16).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use placebench_datasets::{Cluster, GraphBuilder, Kind, Link, OpSpec};

    use super::*;

    /// Two ops on two devices, and the tensor between them; the sender takes time for it.
    fn instance() -> Instance {
        let mut builder = GraphBuilder::default();
        let op = builder.add_op(OpSpec::cost(1.0), &[8]);
        let after = builder.add_op(OpSpec::cost(1.0), &[]);
        builder.add_edge(op, 0, after).unwrap();
        let cluster = Cluster::uniform(2, Kind::Cpu, 1.0, Link { rate: 1.0, latency: 0.0 }).unwrap();
        Instance::new(builder.build().unwrap(), cluster.with_send_ops(0.5).unwrap()).unwrap()
    }

    fn measured(instance: &Instance, key: &CellKey) -> (Timeline, Option<MeasuredTimeline>) {
        let placement = Placement::new(vec![DeviceId(0), DeviceId(1)]);
        let placed = PlacedGraph::new(instance, &placement);
        let at = |start: f64, end: f64| Interval { start, end };
        let times = vec![at(0.0, 1.25), at(12.0, 13.5)];
        let timeline = Timeline::measured(&placed, times, vec![at(1.25, 1.75)], vec![at(1.75, 11.5)]);
        (timeline.clone(), MeasuredTimeline::of(key.clone(), &placement, &timeline))
    }

    #[test]
    fn a_timeline_comes_back_from_its_file() {
        let (instance, folder) = (instance(), tempfile::tempdir().unwrap());
        let key = CellKey { graph: "g/√".repeat(200), ..CellKey::default() };
        let (timeline, kept) = measured(&instance, &key);
        kept.unwrap().write(folder.path()).unwrap();
        let read = MeasuredTimeline::read(folder.path(), &key).unwrap();
        let (placement, again) = read.restore(&instance).unwrap();
        assert_eq!(placement.devices(), [DeviceId(0), DeviceId(1)]);
        assert_eq!(again, timeline);
        let other = CellKey { placer: "heft".into(), ..key.clone() };
        let reason = MeasuredTimeline::read(folder.path(), &other).unwrap_err();
        assert!(reason.starts_with("the run folder keeps no measured timeline of it"), "{reason}");
        fs::copy(path_of(folder.path(), &key), path_of(folder.path(), &other)).unwrap();
        assert!(MeasuredTimeline::read(folder.path(), &other).unwrap_err().contains("of another cell"));
        fs::write(path_of(folder.path(), &key), "{").unwrap();
        assert!(MeasuredTimeline::read(folder.path(), &key).unwrap_err().contains("no timeline"));
    }

    #[test]
    fn only_first_repetitions_are_kept() {
        let key = CellKey { repetition: 1, ..CellKey::default() };
        assert_eq!(measured(&instance(), &key).1, None);
    }

    #[test]
    fn times_of_another_instance_are_refused() {
        let instance = instance();
        let kept = measured(&instance, &CellKey::default()).1.unwrap();
        let refused = |change: fn(&mut MeasuredTimeline)| {
            let mut kept = kept.clone();
            change(&mut kept);
            kept.restore(&instance).unwrap_err()
        };
        assert!(refused(|kept| kept.ops.truncate(1)).contains("number of ops"));
        assert!(refused(|kept| kept.placement[0] = 2).contains("fewer devices"));
        assert!(refused(|kept| kept.placement[0] = 1).contains("number of transfers"));
        assert!(refused(|kept| kept.sends.push([0.0, 1.0])).contains("number of transfers"));
        assert!(refused(|kept| kept.ops[0] = [1.0, 0.0]).contains("times that are none"));
    }
}
