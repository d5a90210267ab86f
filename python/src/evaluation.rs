//! The class `Evaluation`: a placement that was executed in the simulator, found valid, and measured.

use std::path::PathBuf;

use placebench::datasets::{self, PlacedGraph};
use placebench::harness::changed::PassReport;
use placebench::harness::evaluate;
use placebench::harness::results::Row;
use placebench::harness::timeline::Timeline;
use placebench::harness::trace::write_chrome_trace;
use placebench::reports::figure::gantt;
use polars::prelude::{Column, DataFrame};
use pyo3::prelude::*;

use crate::array::Array;
use crate::fault::fault;
use crate::figure::{Figure, style_of};
use crate::file::write_whole;
use crate::instance::Instance;
use crate::table::{Table, refused};

/// A placement that was simulated, found valid and measured. A notebook shows its timeline.
#[pyclass(frozen, module = "placebench")]
pub(crate) struct Evaluation {
    pub(crate) instance: Py<Instance>,
    pub(crate) found: evaluate::Evaluation,
    pub(crate) row: Row,
}

#[pymethods]
impl Evaluation {
    /// When the last device finishes, in `time_unit`.
    #[getter]
    fn makespan(&self) -> f64 {
        self.found.metrics.makespan
    }

    /// The unit of times.
    #[getter]
    fn time_unit(&self) -> &str {
        &self.row.time_unit
    }

    /// All metrics, by the names of the columns of a result table.
    #[getter]
    fn row<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let text = serde_json::to_string(&self.row).map_err(fault)?;
        py.import("json")?.call_method1("loads", (text,))
    }

    /// What passes did, and what the placement is worth without those over the placed graph, as `placebench place --json` has it
    /// under the key `passed`; None without passes.
    #[getter]
    fn passed<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let notes = &self.instance.get().problem.notes;
        let Some(report) = PassReport::of(notes, self.found.executed.as_deref()) else { return Ok(None) };
        let text = serde_json::to_string(&report).map_err(fault)?;
        py.import("json")?.call_method1("loads", (text,)).map(Some)
    }

    /// The graph on its cluster.
    #[getter]
    fn instance(&self, py: Python<'_>) -> Py<Instance> {
        self.instance.clone_ref(py)
    }

    /// The number of the device of each op: what `simulate` takes. Made anew.
    #[getter]
    fn placement<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Array::of(py, self.found.decision.placement.devices().iter().map(|device| device.0).collect())
    }

    /// The name of the device of each op.
    #[getter]
    fn devices(&self) -> Vec<String> {
        let cluster = self.problem().cluster();
        let devices = self.found.decision.placement.devices().iter();
        devices.map(|&device| cluster.device(device).name.clone()).collect()
    }

    /// What happened when: the columns of `placebench place --timeline`.
    #[getter]
    fn timeline(&self) -> PyResult<Table> {
        let placed = self.found.placed(self.problem());
        Ok(Table { frame: timeline_frame(&placed, &self.found.timeline).map_err(refused)? })
    }

    /// What each device does when. `width` is 'single' or 'double', `page` 'light' or 'dark'.
    #[pyo3(signature = (*, width="double", page="light"))]
    fn gantt(&self, width: &str, page: &str) -> PyResult<Figure> {
        let style = style_of(width, page)?;
        let placed = self.found.placed(self.problem());
        let Row { graph, cluster, placer, scheduler, chosen_scheduler, network, .. } = &self.row;
        let scheduler =
            chosen_scheduler.as_ref().map_or_else(|| scheduler.clone(), |chosen| format!("{chosen}, which it chose"));
        let title = format!("{graph} on {cluster}, placed by {placer}, scheduled by {scheduler}, {network}");
        let caption = format!("What each device executes when: {title}. White is idle; at the right the busy share.");
        let figure = gantt(&placed, &[("", &self.found.timeline)], &self.row.time_unit, title);
        Ok(Figure::of("gantt".to_owned(), caption, &figure, &style))
    }

    /// Writes the timeline in the Chrome trace format, for a trace viewer.
    fn save_trace(&self, path: PathBuf) -> PyResult<()> {
        let placed = self.found.placed(self.problem());
        let mut text = Vec::new();
        write_chrome_trace(&self.found.timeline, &placed, &mut text).map_err(fault)?;
        write_whole(&path, &text)
    }

    fn _repr_svg_(&self) -> PyResult<String> {
        Ok(self.gantt("double", "light")?.to_svg())
    }

    fn __repr__(&self) -> String {
        let Row { graph, cluster, placer, .. } = &self.row;
        format!(
            "<placebench.Evaluation: {graph} on {cluster} by {placer}, makespan {} {}>",
            self.makespan(),
            self.time_unit()
        )
    }
}

impl Evaluation {
    fn problem(&self) -> &datasets::Instance {
        &self.instance.get().problem.instance
    }
}

/// A row for each op, send op, transfer and receive op.
fn timeline_frame(placed: &PlacedGraph<'_>, timeline: &Timeline) -> polars::prelude::PolarsResult<DataFrame> {
    let (graph, cluster) = (placed.instance().graph(), placed.instance().cluster());
    let device = |device| Some(cluster.device(device).name.as_str());
    let mut rows: Vec<Event<'_>> = Vec::new();
    for op in graph.op_ids() {
        let (start, finish) = (timeline.start(op), timeline.finish(op));
        rows.push(("op", op.0, graph.name(op), device(placed.device_of(op)), None, None, start, finish));
    }
    for op in graph.op_ids() {
        let name = graph.name(op);
        for id in placed.transfers_of(op) {
            let transfer = placed.transfer(id);
            let (from, to) = (device(transfer.from), device(transfer.to));
            if let Some(at) = timeline.send(id) {
                rows.push(("send", op.0, name, from, to, None, at.start, at.end));
            }
            let at = timeline.transfer(placed, id);
            rows.push(("transfer", op.0, name, from, to, Some(transfer.bytes), at.start, at.end));
            if let Some(at) = timeline.receive(id) {
                rows.push(("receive", op.0, name, to, None, None, at.start, at.end));
            }
        }
    }
    let columns = vec![
        Column::new("what".into(), rows.iter().map(|row| row.0).collect::<Vec<_>>()),
        Column::new("op".into(), rows.iter().map(|row| row.1).collect::<Vec<_>>()),
        Column::new("name".into(), rows.iter().map(|row| row.2).collect::<Vec<_>>()),
        Column::new("device".into(), rows.iter().map(|row| row.3).collect::<Vec<_>>()),
        Column::new("to".into(), rows.iter().map(|row| row.4).collect::<Vec<_>>()),
        Column::new("bytes".into(), rows.iter().map(|row| row.5).collect::<Vec<_>>()),
        Column::new("start".into(), rows.iter().map(|row| row.6).collect::<Vec<_>>()),
        Column::new("finish".into(), rows.iter().map(|row| row.7).collect::<Vec<_>>()),
    ];
    DataFrame::new(rows.len(), columns)
}

/// What, op, its name, device, other device, bytes, start, finish.
type Event<'a> = (&'static str, u32, Option<&'a str>, Option<&'a str>, Option<&'a str>, Option<u64>, f64, f64);
