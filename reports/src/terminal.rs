//! Aligned tables for a terminal of 100 columns.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use placebench_base::significant::{bytes_text, significant, time_text};
use placebench_harness::results::grid::{InstanceKey, labels};
use placebench_harness::results::{Metric, Row, Status, values};
use polars::prelude::{PolarsResult, col, len, lit};

use crate::words::capitalised;
use crate::{Summary, optimality_table};

/// Widest line that tables may take.
pub(crate) const WIDTH: usize = 100;

/// More scenarios than this nobody reads in a terminal.
const MOST_SCENARIOS: usize = 400;

/// More lines of failures than this nobody reads in a terminal.
const MOST_LINES: usize = 400;

/// The tables of a run: the number that its cells were placed for, relative to the best, and traffic; where optima are proven, the
/// ratios to them. Scenarios that do not fit side by side go into further blocks.
pub fn summary_tables(summary: &Summary) -> String {
    let mut text = String::new();
    let scenarios = summary.instances.len();
    let title = capitalised(summary.metric.title());
    if scenarios > MOST_SCENARIOS {
        text.push_str(&format!("{title} relative to the best of the graph, each placer with its best scheduler\n"));
        text.push_str(&ratio_table(summary, &[], "mean"));
        text.push_str(&format!("\n{scenarios} graphs are not listed here: 'placebench table' writes all of them\n\n"));
        return text;
    }
    let blocks = blocks(summary);
    let mean = if blocks.len() == 1 { "mean" } else { "all" };
    if blocks.len() > 1 {
        text.push_str(&format!("The column 'all' has the mean over the graphs of all {} tables.\n\n", blocks.len()));
    }
    for Block { setting, columns } in &blocks {
        text.push_str(&format!(
            "{title} relative to the best of the graph (*), each placer with its best scheduler{setting}\n"
        ));
        text.push_str(&ratio_table(summary, columns, mean));
        text.push_str(&format!("\n\nTraffic between devices in MB, same placements{setting}\n"));
        text.push_str(&traffic_table(summary, columns));
        text.push_str("\n\n");
    }
    text.push_str(&optimality_table(summary, WIDTH));
    text
}

fn ratio_table(summary: &Summary, columns: &[(usize, String)], mean: &str) -> String {
    let mut table = new_table();
    let mut header = vec!["placer".to_owned()];
    header.extend(columns.iter().map(|(_, label)| label.clone()));
    let columns: Vec<usize> = columns.iter().map(|&(column, _)| column).collect();
    header.push(mean.to_owned());
    table.set_header(header);
    for &placer in summary.order() {
        let mut cells = vec![summary.marks.shown(&summary.placers[placer])];
        cells.extend(columns.iter().map(|&column| match summary.ratio(placer, column) {
            Some(1.0) => "1.00*".to_owned(),
            Some(ratio) => format!("{} ", ratio_text(ratio)),
            // The best is 0, so there is no ratio to it.
            None if summary.entries[placer][column].is_some() => "- ".to_owned(),
            None => "failed ".to_owned(),
        }));
        cells.push(summary.mean_ratio(placer).map_or_else(|| "-".to_owned(), ratio_text));
        table.add_row(cells);
    }
    if columns.is_empty() {
        return finish(&mut table);
    }
    let best = |value: &dyn Fn(&crate::SummaryEntry) -> Option<String>| -> Vec<String> {
        let text = |&column: &usize| summary.best(column).and_then(|(_, entry)| value(entry));
        columns.iter().map(|column| text(column).map_or_else(|| "-".to_owned(), |text| text + " ")).collect()
    };
    let mut add = |name: &str, cells: Vec<String>| {
        table.add_row([vec![name.to_owned()], cells, vec![String::new()]].concat());
    };
    add(&format!("best {}", summary.metric.title()), best(&|entry| Some(time_text(entry.value, &entry.time_unit))));
    add("its scheduler", best(&|entry| Some(entry.scheduler.clone())));
    // The schedule length ratio is that of a makespan.
    if summary.metric == Metric::Makespan {
        add("its SLR", best(&|entry| entry.slr.map(ratio_text)));
    }
    add("its gap to the bound", best(&|entry| entry.gap.map(ratio_text)));
    finish(&mut table)
}

fn traffic_table(summary: &Summary, columns: &[(usize, String)]) -> String {
    let mut table = new_table();
    let mut header = vec!["placer".to_owned()];
    header.extend(columns.iter().map(|(_, label)| label.clone()));
    table.set_header(header);
    for &placer in summary.order() {
        let mut cells = vec![summary.marks.shown(&summary.placers[placer])];
        cells.extend(columns.iter().map(|&(column, _)| {
            let traffic =
                summary.entries[placer][column].as_ref().and_then(|entry| entry.traffic_bytes).map(|bytes| bytes / 1e6);
            traffic.map_or_else(|| "-".to_owned(), significant)
        }));
        table.add_row(cells);
    }
    finish(&mut table)
}

/// Every cell: the columns that people look at first.
pub fn full_table(rows: &[Row]) -> String {
    let mut table = new_table();
    table.set_header(["graph", "placer", "scheduler", "makespan", "SLR", "gap", "traffic", "place s"]);
    for row in rows {
        let graph = format!("{}@{}", row.graph, row.cluster);
        let mut cells = vec![graph, row.placer.clone(), row.scheduler.clone()];
        match row.makespan {
            None => cells.push(row.status.clone()),
            Some(makespan) => {
                cells.push(time_text(makespan, &row.time_unit));
                cells.push(row.slr.map_or_else(String::new, ratio_text));
                cells.push(row.gap.map_or_else(String::new, ratio_text));
                cells.push(bytes_text(row.traffic_bytes.unwrap_or_default() as f64));
                cells.push(row.place_seconds.map_or_else(String::new, |seconds| format!("{seconds:.3}")));
            }
        }
        table.add_row(cells);
    }
    finish(&mut table)
}

/// The cells that failed, by placer, graph and status, with the first reason; empty if none did.
///
/// # Errors
/// If Polars refuses.
pub fn failures_table(table: &placebench_harness::results::Table) -> PolarsResult<String> {
    let columns = ["placer", "graph", "cluster", "status"];
    let about = [len().alias("count"), col("error").n_unique().alias("reasons"), col("error").first()];
    let failed = table.by_part(|rows| {
        Ok(rows.filter(col("status").neq(lit(Status::Ok.name()))).group_by_stable(columns).agg(&about))
    })?;
    let [placers, graphs, clusters, statuses] =
        ["placer", "graph", "cluster", "status"].map(|name| values::<String>(&failed, name));
    let (placers, graphs, clusters, statuses) = (placers?, graphs?, clusters?, statuses?);
    let (errors, counts) = (values::<Option<String>>(&failed, "error")?, values::<u32>(&failed, "count")?);
    let reasons = values::<u32>(&failed, "reasons")?;
    let line = |row: usize| {
        let error = errors[row].as_deref().unwrap_or("no reason given");
        let (placer, graph, cluster, status) = (&placers[row], &graphs[row], &clusters[row], &statuses[row]);
        let one = if reasons[row] > 1 { "one of them: " } else { "" };
        format!("{} × {placer} on {graph}@{cluster}: {status}: {one}{error}\n", counts[row])
    };
    let mut text: String = (0..failed.height().min(MOST_LINES)).map(line).collect();
    if failed.height() > MOST_LINES {
        text.push_str(&format!(
            "and {} more lines; the report of the run has the cells\n",
            failed.height() - MOST_LINES
        ));
    }
    Ok(text)
}

/// Scenarios that stand side by side.
struct Block {
    /// What they have in common and others have not, after a comma; empty if there are no others.
    setting: String,
    /// Each with its label.
    columns: Vec<(usize, String)>,
}

/// The scenarios in blocks that fit the width. If all do not fit into one, each setting has blocks of its own: graphs stand
/// beside graphs.
fn blocks(summary: &Summary) -> Vec<Block> {
    let all: Vec<usize> = (0..summary.instances.len()).collect();
    let labelled = |columns: &[usize]| {
        let labels = labels(columns.iter().map(|&column| &summary.instances[column]));
        columns.iter().copied().zip(labels).collect::<Vec<_>>()
    };
    let together = split(summary, "", labelled(&all));
    let mut settings: Vec<(InstanceKey, Vec<usize>)> = Vec::new();
    for &column in &all {
        let own = summary.instances[column].setting();
        match settings.iter_mut().find(|(setting, _)| *setting == own) {
            Some((_, columns)) => columns.push(column),
            None => settings.push((own, vec![column])),
        }
    }
    if together.len() == 1 || settings.len() == 1 || settings.len() == all.len() {
        return together;
    }
    let names = labels(settings.iter().map(|(setting, _)| setting));
    let of_setting = |((_, columns), name): (&(InstanceKey, Vec<usize>), String)| {
        // Without the graph, which is empty, the first sign divides nothing.
        let setting = format!(", {}", name.trim_start_matches(['@', '/', ',']));
        split(summary, &setting, labelled(columns))
    };
    settings.iter().zip(names).flat_map(of_setting).collect()
}

/// Splits scenarios into blocks that fit the width.
fn split(summary: &Summary, setting: &str, columns: Vec<(usize, String)>) -> Vec<Block> {
    let first = summary.placers.iter().map(String::len).chain([22]).max().unwrap_or_default() + 2;
    let mut blocks: Vec<Block> = Vec::new();
    let mut used = WIDTH;
    for (column, label) in columns {
        let width = label.len().max(7) + 1;
        // The mean column at the end of each block takes 7.
        if used + width + 7 > WIDTH {
            blocks.push(Block { setting: setting.to_owned(), columns: Vec::new() });
            used = first;
        }
        used += width;
        if let Some(block) = blocks.last_mut() {
            block.columns.push((column, label));
        }
    }
    blocks
}

pub(crate) fn new_table() -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table
}

pub(crate) fn finish(table: &mut Table) -> String {
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 1));
        if index > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let lines: Vec<String> =
        table.lines().map(|line| line.trim_end().to_owned()).filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

/// A table as lines of aligned columns: the first to the left, all others to the right.
pub(crate) fn aligned(data: &crate::export::TextTable) -> String {
    let mut table = new_table();
    table.set_header(data.header.clone());
    for row in &data.rows {
        table.add_row(row.clone());
    }
    finish(&mut table) + "\n"
}

fn ratio_text(ratio: f64) -> String {
    if ratio < 99.995 { format!("{ratio:.2}") } else { format!("{ratio:.0}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::{rows, summary_of, table};

    #[test]
    fn the_tables_mark_the_best_and_say_what_failed() {
        let text = summary_tables(&summary_of(&rows()));
        let expected = "\
Makespan relative to the best of the graph (*), each placer with its best scheduler
placer                     a       b  mean
heft                   1.00*   1.00*  1.00
random                 2.00  failed      -
best makespan        10.0 ms  4.00 s
its scheduler            pct     pct
its SLR                 2.00    2.00
its gap to the bound    1.00    1.00

Traffic between devices in MB, same placements
placer      a  b
heft        0  0
random   3.50  -

";
        let squeeze = |text: &str| -> Vec<String> {
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
        };
        assert_eq!(squeeze(&text), squeeze(expected), "\n{text}");
        assert!(failures_table(&table()).unwrap().starts_with("2 × random on b@c: infeasible: no feasible device"));
    }

    #[test]
    fn placers_stand_by_their_mean_and_all_that_tie_are_marked() {
        let mut rows = rows();
        rows.retain(|row| row.graph == "a");
        for (twin, factor) in [("slow", 3.0), ("twin", 1.0)] {
            let copies: Vec<Row> = rows.iter().filter(|row| row.placer == "heft").cloned().collect();
            let copy = |row: Row| Row { placer: twin.into(), makespan: row.makespan.map(|m| m * factor), ..row };
            rows.splice(0..0, copies.into_iter().map(copy));
        }
        let text = summary_tables(&summary_of(&rows));
        let lines = |table: &str| -> Vec<String> {
            let lines = text.split(table).nth(1).unwrap().lines().skip(2).take(4);
            lines.map(|line| line.split_whitespace().take(2).collect::<Vec<_>>().join(" ")).collect()
        };
        assert_eq!(lines("Makespan"), ["twin 1.00*", "heft 1.00*", "random 2.00", "slow 3.00"]);
        assert_eq!(lines("Traffic"), ["twin 0", "heft 0", "random 3.50", "slow 0"]);
    }

    #[test]
    fn graphs_stand_beside_graphs_where_settings_do_not_fit_side_by_side() {
        let mut all = Vec::new();
        for executor in ["simulate", "noise(op=0.1,transfer=0.1)", "noise(op=0.1,transfer=0.3)"] {
            all.extend(rows().into_iter().map(|row| Row { executor: executor.into(), ..row }));
        }
        let text = summary_tables(&summary_of(&all));
        let titles: Vec<&str> = text.lines().filter(|line| line.starts_with("Makespan")).collect();
        let common = "Makespan relative to the best of the graph (*), each placer with its best scheduler, ";
        let settings: Vec<&str> = titles.iter().filter_map(|title| title.strip_prefix(common)).collect();
        assert_eq!(settings, ["simulate", "noise(op=0.1,transfer=0.1)", "noise(op=0.1,transfer=0.3)"], "{text}");
        assert_eq!(
            text.matches("The column 'all' has the mean over the graphs of all 3 tables.\n").count(),
            1,
            "{text}"
        );
        let header = |line: &&str| line.starts_with("placer ") && line.ends_with(" all");
        let squeezed = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.lines().filter(header).all(|line| squeezed(line) == "placer a b all"), "{text}");
        assert_eq!(text.lines().filter(header).count(), 3, "{text}");
        // Two settings fit side by side.
        let few: Vec<Row> = all.into_iter().filter(|row| !row.executor.as_str().ends_with("0.3)")).collect();
        let few: Vec<Row> =
            few.into_iter().map(|row| Row { executor: row.executor.as_str()[..5].into(), ..row }).collect();
        assert!(summary_tables(&summary_of(&few)).contains("a/simul"));
    }

    #[test]
    fn no_line_is_wider_than_a_hundred_columns() {
        let mut all = Vec::new();
        for graph in 0..23 {
            for mut row in rows() {
                row.graph = format!("graph_with_a_name_{graph}_{}", row.graph);
                row.placer = format!("iterated_{}", row.placer);
                all.push(row);
            }
        }
        for line in summary_tables(&summary_of(&all)).lines() {
            assert!(line.chars().count() <= WIDTH, "{line}");
        }
    }
}
