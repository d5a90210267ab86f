//! The class `Results`: the table of a run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use placebench::algorithms::StopToken;
use placebench::harness::results::{Filter, Metric, Row, Table as Rows, write_table};
use placebench::harness::runner::{read_environment, read_suite};
use placebench::harness::suite::{RunPlan, Suite};
use placebench::reports::{
    FigureKind, ReportInput, Sort, Summary, Timelines, agreement_table, failures_table, findings, html_report,
    summary_tables,
};
use pyo3::PyClassInitializer;
use pyo3::prelude::*;

use crate::fault::fault;
use crate::figure::{Figure, style_of};
use crate::file::write_whole;
use crate::interrupt::wait;
use crate::table::{Table, refused};

/// The results of a run: a table with a row for each cell (docs/FORMATS.md says what its columns mean), a summary, and figures.
#[pyclass(frozen, extends = Table, module = "placebench")]
pub(crate) struct Results {
    rows: Vec<Row>,
    suite: Suite,
    folder: Option<PathBuf>,
}

impl Results {
    /// The results of a suite.
    pub(crate) fn new(py: Python<'_>, rows: Vec<Row>, suite: Suite, folder: Option<PathBuf>) -> PyResult<Py<Self>> {
        let table = Table { frame: Row::to_frame(&rows).map_err(refused)? };
        Py::new(py, PyClassInitializer::from(table).add_subclass(Self { rows, suite, folder }))
    }

    fn text(&self) -> PyResult<String> {
        let table = Rows::new(&self.rows).map_err(refused)?;
        let summary = Summary::new(&table).map_err(fault)?;
        let mut text = summary_tables(&summary);
        let agreement = agreement_table(&table).map_err(refused)?;
        if !agreement.is_empty() {
            text.push_str(&format!("{agreement}\n"));
        }
        let failures = failures_table(&table).map_err(refused)?;
        if !failures.is_empty() {
            text.push_str(&format!("Failed cells\n{failures}\n"));
        }
        text.push_str(&findings(&summary));
        Ok(text)
    }
}

#[pymethods]
impl Results {
    /// The run folder, if the run has one.
    #[getter]
    fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// The suite as run, as TOML.
    #[getter]
    fn suite(&self) -> PyResult<String> {
        self.suite.to_toml().map_err(fault)
    }

    /// The tables and sentences that `placebench run` prints.
    fn summary(&self) -> PyResult<String> {
        self.text()
    }

    /// The rows with these values, as in 'placer=heft,peft graph=nmt'.
    fn filter(&self, py: Python<'_>, only: &str) -> PyResult<Py<Self>> {
        let filter: Filter = only.parse().map_err(fault)?;
        let table = Rows::new(&self.rows).map_err(refused)?;
        filter.check(&[&table]).map_err(fault)?;
        let rows = table.filter(filter.expr()).and_then(|table| table.rows()).map_err(refused)?;
        Self::new(py, rows, self.suite.clone(), self.folder.clone())
    }

    /// The figures of a kind (`names("figures")`), or of all kinds that the results have data for. `metric` is makespan, slr, speedup
    /// or another number of a row, and by default what the placers were run for: the makespan or the period. `sort` lists placers by
    /// 'mean', 'name' or 'suite'. Kinds that run cells again (gantt, load, executable, colocation) need a run folder; `cells` names them as
    /// graph/placer/scheduler. `width` is 'single' or 'double', `page` 'light' or 'dark'.
    #[pyo3(signature = (kind=None, *, metric=None, sort="mean", cells=Vec::new(), width="double", page="light"))]
    #[expect(clippy::too_many_arguments, reason = "keywords in Python")]
    fn figures(
        &self,
        py: Python<'_>,
        kind: Option<&str>,
        metric: Option<&str>,
        sort: &str,
        cells: Vec<String>,
        width: &str,
        page: &str,
    ) -> PyResult<Vec<Figure>> {
        let style = style_of(width, page)?;
        let metric: Option<Metric> = metric.map(|metric| metric.parse().map_err(fault)).transpose()?;
        let sort: Sort = sort.parse().map_err(|remedy| fault(format!("sort is '{sort}': {remedy}")))?;
        let kinds: Vec<FigureKind> = match kind {
            Some(kind) => vec![kind.parse().map_err(fault)?],
            None => FigureKind::all().filter(|kind| self.folder.is_some() || kind.is_of_rows()).collect(),
        };
        let (rows, folder, asked) = (self.rows.clone(), self.folder.clone(), kind.is_some());
        let work = move || -> Result<Vec<Figure>, String> {
            let table = Rows::new(&rows).map_err(|error| error.to_string())?;
            let metric = metric.map_or_else(|| table.goal(), Ok).map_err(|error| error.to_string())?;
            let mut drawn = Vec::new();
            for kind in kinds {
                let figures = match &folder {
                    Some(folder) => {
                        kind.of_run(folder, &table, metric, sort, &cells).map_err(|error| error.to_string())
                    }
                    None if kind.is_of_rows() => kind.of_rows(&table, metric, sort).map_err(|error| error.to_string()),
                    None => Err("it runs cells again, which needs a run folder: run the suite with out".to_owned()),
                };
                match figures {
                    Ok(figures) if figures.is_empty() && asked => {
                        return Err(format!("figure {}: the run has no data for it: {}", kind.name(), kind.needs()));
                    }
                    Ok(figures) => drawn.extend(figures.into_iter().map(|figure| Figure::named(figure, &style))),
                    Err(error) if asked => return Err(format!("figure {}: {error}", kind.name())),
                    // Nobody asked for one kind of all.
                    Err(_) => {}
                }
            }
            Ok(drawn)
        };
        wait(py, &StopToken::default(), |_| Ok(()), work)?.map_err(fault)
    }

    /// Writes the report of the run folder as one HTML file, and answers with its path.
    #[pyo3(signature = (path=None))]
    fn report(&self, py: Python<'_>, path: Option<PathBuf>) -> PyResult<PathBuf> {
        let Some(folder) = self.folder.clone() else {
            return Err(fault("a report is of a run folder: run the suite with out"));
        };
        let path = path.unwrap_or_else(|| folder.join("report.html"));
        let rows = self.rows.clone();
        let html = move || -> Result<String, String> {
            let (suite_text, suite) = read_suite(&folder).map_err(|error| error.to_string())?;
            let plan = suite.map_err(|error| error.to_string());
            let plan = plan.and_then(|suite| RunPlan::new(suite).map(Arc::new).map_err(|error| error.to_string()));
            let environment = read_environment(&folder).map_err(|error| error.to_string())?;
            let folder = folder.to_string_lossy().trim_end_matches('/').to_owned();
            let (timelines, only) = (Timelines::Auto, Filter::default());
            let table = Rows::new(&rows).map_err(|error| error.to_string())?;
            let input = ReportInput { folder, table, suite_text, plan, environment, timelines, only };
            Ok(html_report(&input).map_err(|error| error.to_string())?.html)
        };
        let html = wait(py, &StopToken::default(), |_| Ok(()), html)?.map_err(fault)?;
        write_whole(&path, html.as_bytes())?;
        Ok(path)
    }

    /// Writes the table, by the path's extension: `.csv`, `.json` or `.parquet`.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        write_table(&path, &self.rows).map_err(fault)
    }

    fn __str__(&self) -> PyResult<String> {
        self.text()
    }

    fn __repr__(&self) -> String {
        let ok = self.rows.iter().filter(|row| row.is_ok()).count();
        format!("<placebench.Results of '{}': {} cells, {ok} ok>", self.suite.name, self.rows.len())
    }

    /// What a notebook shows: the summary.
    fn _repr_html_(&self) -> PyResult<String> {
        let text = self.text()?.replace('&', "&amp;").replace('<', "&lt;");
        Ok(format!("<pre>{text}</pre>"))
    }
}
