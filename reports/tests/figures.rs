//! Laws that every figure keeps, drawn from more algorithms, graphs and longer names than a paper has.

use std::collections::BTreeSet;

use placebench_algorithms::registry;
use placebench_harness::results::{Metric, Predictions, Row, Table as Results};
use placebench_reports::export::TextTable;
use placebench_reports::figure::{
    Bar, Curve, Drawing, Estimate, ExecutableOps, Figure, Gantt, GanttDevice, GanttRun, GroupedBars, HeatCell, HeatMap,
    Histogram, Load, LoadedDevice, MARGIN, Moved, NamedFigure, PerformanceProfile, Quantity, ScaleChoice, Shape, Step,
    Style, Sweep, Task, TaskKind, Theme, Unit,
};
use placebench_reports::{FigureKind, Sort};

const GRAPHS: [&str; 7] = [
    "transformer_with_a_rather_long_name",
    "nmt",
    "convnet",
    "a&b<c>\"d\"|e",
    "recurrent",
    "resnet50",
    "sparse_graph_of_2_000_000_ops",
];

/// At least 34 placers, three of them with parameters, on seven graphs and two clusters of a family.
fn rows() -> Vec<Row> {
    let mut placers = registry::placer_names();
    placers.extend(
        [0.5, 1.0, 20.0].map(|alpha| format!("scoring(alpha={alpha},fringe=2_with_a_parameter_of_a_long_name)")),
    );
    assert!(placers.len() >= 34);
    let mut rows = Vec::new();
    for (g, graph) in GRAPHS.into_iter().enumerate() {
        for (cluster, devices) in [("gtx1080x2", 4), ("gtx1080x4", 6)] {
            for (p, placer) in placers.iter().enumerate() {
                for (s, scheduler) in ["fifo", "pct", "msr"].into_iter().enumerate() {
                    for repetition in 0..3 {
                        let failed = (g + p) % 17 == 0;
                        let time = 1.0 + ((7 * p + 3 * g + s) % 23) as f64 * if g == 1 { 20.0 } else { 0.2 };
                        let makespan = time * (1.0 + 0.1 * f64::from(repetition)) / f64::from(devices);
                        rows.push(Row {
                            graph: graph.into(),
                            cluster: cluster.into(),
                            devices,
                            time_unit: if g == 2 { "EU" } else { "seconds" }.into(),
                            network: "contention_free".into(),
                            placer: placer.clone(),
                            scheduler: scheduler.into(),
                            repetition,
                            status: if failed { "infeasible" } else { "ok" }.into(),
                            makespan: (!failed).then_some(makespan),
                            traffic_bytes: (!failed).then_some(p as u64 * 1_000_000),
                            place_seconds: (!failed).then_some(1e-5 * 1.4f64.powi(p as i32)),
                            ..Row::default()
                        });
                    }
                }
            }
        }
    }
    rows
}

/// Some rows with their graphs' passes, with which everything takes half as long, or as long again; and without.
fn passed_rows() -> Vec<Row> {
    let is_kept = |row: &Row| row.cluster == "gtx1080x2" && row.repetition == 0;
    let rows: Vec<Row> = rows().into_iter().filter(is_kept).collect();
    let with = |passes: &str, factor: f64| -> Vec<Row> {
        let passed = |row: &Row| Row {
            graph: format!("{}+{passes}", row.graph),
            passes: Some(passes.to_owned()),
            makespan: row.makespan.map(|makespan| makespan * factor),
            ..row.clone()
        };
        rows.iter().map(passed).collect()
    };
    [with("prune", 0.5), with("fuse+prune", 2.0), rows.clone()].concat()
}

#[test]
fn passes_are_compared_with_the_graphs_without_them() {
    let table = Results::new(&passed_rows()).unwrap();
    let figures = FigureKind::Passes.of_rows(&table, Metric::Makespan, Sort::Mean).unwrap();
    let data = figures[0].figure.table();
    for row in &data.rows {
        let expected = if row[0] == "prune" { "0.5" } else { "2" };
        assert_eq!(row[2], expected, "{row:?}");
    }
    assert!(data.rows.iter().any(|row| row[0] == "prune") && data.rows.iter().any(|row| row[0] == "fuse+prune"));
}

/// The same on one cluster under one scheduler, as if they had been measured, some of them far from what was predicted.
fn measured_rows() -> Vec<Row> {
    let is_kept = |row: &Row| row.cluster == "gtx1080x2" && row.scheduler == "pct" && row.repetition == 0;
    let measured = |(index, row): (usize, Row)| {
        let makespan = row.makespan?;
        let predicted = [1.0, 0.9, 1.1, 0.4].map(|factor| makespan * factor * (1.0 + (index % 7) as f64 / 10.0));
        Some(Row {
            executor: "threads".into(),
            makespan_least: Some(0.9 * makespan),
            makespan_largest: Some(1.3 * makespan),
            makespan_odd: Some(makespan),
            makespan_even: Some(1.01 * makespan),
            predictions: Predictions::of(&predicted, makespan),
            ..row
        })
    };
    rows().into_iter().filter(is_kept).enumerate().filter_map(measured).collect()
}

/// Every kind of figure, crowded.
fn all_figures() -> Vec<NamedFigure> {
    let table = Results::new(&rows()).unwrap();
    let measured = Results::new(&measured_rows()).unwrap();
    let passed = Results::new(&passed_rows()).unwrap();
    let mut figures: Vec<NamedFigure> = FigureKind::all()
        .filter(|kind| kind.is_of_rows())
        .flat_map(|kind| {
            let kind = &kind;
            let table = match kind {
                FigureKind::Prediction => &measured,
                FigureKind::Passes => &passed,
                _ => &table,
            };
            let figures = kind.of_rows(table, Metric::Makespan, Sort::Mean).unwrap();
            assert!(!figures.is_empty(), "{}", kind.name());
            // Of one a graph and cluster, some are enough.
            figures.into_iter().step_by(3)
        })
        .collect();
    figures.extend(
        [FigureKind::Heat, FigureKind::Pareto]
            .into_iter()
            .flat_map(|kind| kind.of_rows(&table, Metric::TrafficBytes, Sort::Mean).unwrap()),
    );
    let mut more = |name: &str, figure: Box<dyn Figure>| {
        figures.push(NamedFigure { name: name.into(), caption: String::new(), figure });
    };
    for devices in [1, 7, 100] {
        more(&format!("gantt-{devices}"), Box::new(gantt(devices)));
        more(&format!("gantt-measured-{devices}"), Box::new(measured_above_predicted(devices)));
        more(&format!("executable-{devices}"), Box::new(executable(devices)));
        more(&format!("load-{devices}"), Box::new(load(devices)));
    }
    let sizes = |graph: usize| (0..200u64).map(|group| 1 + (group * group * (graph as u64 + 1)) % 3000).collect();
    let series = GRAPHS.iter().enumerate().map(|(index, name)| ((*name).to_owned(), sizes(index))).collect();
    let counted = Quantity::new("colocation groups", Unit::One);
    more("histogram", Box::new(Histogram { title: "Sizes".into(), counted, size: "ops in a group".into(), series }));
    figures
}

fn load(devices: usize) -> Load {
    let device = |device: usize| LoadedDevice {
        name: format!("accelerator{device}"),
        ops: (0..4).map(|group| (device * 4 % 29 + group, 1.0 + 0.1 * group as f64)).collect(),
        transfers: 0.2 * (device % 3) as f64,
        held_bytes: 70 << 30,
        memory_bytes: device.is_multiple_of(2).then_some(80 << 30),
    };
    Load {
        title: "A model on a machine".into(),
        unit: Unit::Seconds,
        grouped_by: "layer".into(),
        groups: (0..33).map(|group| format!("block_{group}")).collect(),
        devices: (0..devices).map(device).collect(),
        shared: (0..devices)
            .map(|port| (format!("the port out of 'accelerator{port}'"), 3.0 / (port + 1) as f64))
            .collect(),
        period: 5.2,
        bound: 4.6,
    }
}

fn gantt(devices: usize) -> Gantt {
    let tasks = |device: usize| {
        let task = |index: usize| {
            let start = index as f64 + 0.1 * (device % 3) as f64;
            let what = if index % 5 == 4 { TaskKind::Send } else { TaskKind::Op };
            let group = format!("layer {}", index % 12);
            Task { name: format!("op {index} of {device}"), what, group, start, end: start + 0.8 }
        };
        (0..20).map(task).collect()
    };
    let device = |index| GanttDevice { name: format!("/job:worker/task:0/device:GPU:{index}"), tasks: tasks(index) };
    let title = "a run of a graph with a name that is so long that a title of one line does not hold it ".repeat(3);
    let moved = |index: usize| Moved {
        name: format!("op {index}"),
        from: index % devices,
        to: (index + 1) % devices,
        start: index as f64 % 19.0,
        end: index as f64 % 19.0 + 0.5,
    };
    let transfers = if devices > 1 { (0..300).map(moved).collect() } else { vec![] };
    let devices = (0..devices).map(device).collect();
    let run = GanttRun { name: String::new(), makespan: 20.0, devices, transfers };
    Gantt { title, unit: Unit::Seconds, grouped_by: Some("layer".into()), runs: vec![run] }
}

fn measured_above_predicted(devices: usize) -> Gantt {
    let gantt = gantt(devices);
    let [run] = &gantt.runs[..] else { panic!("one run") };
    let name = "predicted by contention_free: 18 s".into();
    let mut shorter = GanttRun { name, makespan: 18.0, devices: run.devices.clone(), transfers: vec![] };
    for device in &mut shorter.devices {
        device.tasks.truncate(17);
    }
    Gantt { runs: vec![GanttRun { name: "measured: 20 s".into(), ..run.clone() }, shorter], ..gantt }
}

fn executable(devices: usize) -> ExecutableOps {
    let choices = |device: usize| (0..(device + 1) * 37).map(|index| 1 + (index * 31 % 400) as u32).collect();
    let device = |index: usize| (format!("gpu{index}"), choices(index));
    ExecutableOps { title: "executable".into(), devices: (0..devices).map(device).collect() }
}

fn styles() -> [Style; 5] {
    let narrow = Style::single_column();
    let wide = Style::double_column();
    [narrow, wide, narrow.with_theme(Theme::Dark), Style::page(), wide.with_title(false).with_scale(ScaleChoice::Log)]
}

fn for_each_drawing(mut check: impl FnMut(&str, &Style, &Drawing)) {
    for NamedFigure { name, figure, .. } in all_figures() {
        for style in styles() {
            check(&name, &style, &figure.draw(&style));
        }
    }
}

#[test]
fn no_two_labels_overlap_and_none_leaves_the_figure() {
    for_each_drawing(|name, style, drawing| {
        let texts: Vec<_> = drawing.texts().map(|text| (text, text.area())).collect();
        for (index, (text, area)) in texts.iter().enumerate() {
            let inside = area.x >= -MARGIN - 0.1
                && area.y >= -MARGIN - 0.1
                && area.right() <= drawing.width + MARGIN + 0.1
                && area.bottom() <= drawing.height + MARGIN + 0.1;
            assert!(
                inside,
                "{name} at {} mm: '{}' at {area:?} of {} × {}",
                style.width_mm, text.text, drawing.width, drawing.height
            );
            for (other, other_area) in &texts[..index] {
                let overlap = area.overlaps(other_area, 0.15);
                assert!(!overlap, "{name} at {} mm: '{}' meets '{}'", style.width_mm, text.text, other.text);
            }
        }
    });
}

#[test]
fn texts_are_large_enough_to_read_in_print_and_figures_fit_a_page_or_two() {
    for_each_drawing(|name, style, drawing| {
        assert!(drawing.texts().all(|text| text.size >= 6.5), "{name}");
        let width_mm = (drawing.width + 2.0 * MARGIN) * 25.4 / 72.0;
        assert!((width_mm - style.width_mm).abs() < 1e-9, "{name}");
        assert!(drawing.height > 30.0 && drawing.height < 1400.0, "{name}: {} points high", drawing.height);
    });
}

#[test]
fn svg_is_well_formed_and_every_mark_has_its_key_and_hover_text() {
    for_each_drawing(|name, _, drawing| {
        let svg = drawing.to_svg();
        let document = roxmltree::Document::parse(&svg).unwrap_or_else(|error| panic!("{name}: {error}"));
        let marks: Vec<_> = document.descendants().filter(|node| node.attribute("class") == Some("mark")).collect();
        assert_eq!(marks.len(), drawing.marks().count(), "{name}");
        assert!(!marks.is_empty(), "{name}");
        for (mark, (datum, _)) in marks.iter().zip(drawing.marks()) {
            assert_eq!(mark.attribute("data-key"), Some(datum.key.as_str()), "{name}");
            let title = mark.children().find(|node| node.has_tag_name("title")).and_then(|node| node.text());
            assert_eq!(title, Some(datum.title.as_str()), "{name}");
        }
        assert!(!svg.contains("id=\""), "{name}: ids would clash in a page with several figures");
        assert!(["NaN", "\"inf", "-inf", " inf"].iter().all(|number| !svg.contains(number)), "{name}");
    });
}

#[test]
fn figures_are_the_same_bytes_each_time() {
    let (first, second) = (all_figures(), all_figures());
    for (one, other) in first.iter().zip(&second) {
        assert_eq!(one.name, other.name);
        let style = Style::single_column();
        assert_eq!(one.figure.draw(&style).to_svg(), other.figure.draw(&style).to_svg(), "{}", one.name);
    }
}

#[test]
fn names_of_files_are_unique_and_safe() {
    let table = Results::new(&rows()).unwrap();
    let names: Vec<String> = FigureKind::all()
        .filter(|kind| kind.is_of_rows())
        .flat_map(|kind| kind.of_rows(&table, Metric::Makespan, Sort::Mean).unwrap())
        .map(|figure| figure.name)
        .collect();
    let distinct: BTreeSet<&String> = names.iter().collect();
    assert_eq!(distinct.len(), names.len());
    assert!(names.iter().all(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))));
}

#[test]
fn a_png_has_the_pixels_asked_for_and_shows_something() {
    let figure = bars(&[Some(1.0), Some(3.0)]);
    let drawing = figure.draw(&Style::single_column());
    let png = drawing.to_png(2.0).unwrap();
    let pixmap = tiny_skia::Pixmap::decode_png(&png).unwrap();
    assert_eq!(pixmap.width(), ((drawing.width + 2.0 * MARGIN) * 2.0).round() as u32);
    assert_eq!(pixmap.height(), ((drawing.height + 2.0 * MARGIN) * 2.0).round() as u32);
    let inked = pixmap.pixels().iter().filter(|pixel| pixel.red() < 200).count();
    assert!(inked > 500 && inked < pixmap.pixels().len() / 2, "{inked}");
    assert_eq!(pixmap.pixel(0, 0).unwrap().red(), 255);
    assert!(drawing.to_png(0.0).is_err() && drawing.to_png(1e9).is_err() && drawing.to_png(f64::NAN).is_err());
}

fn bars(values: &[Option<f64>]) -> GroupedBars {
    let estimate = |value: f64| Estimate { mean: value, low: value * 0.75, high: value * 1.25, count: 5 };
    let bar =
        |(index, value): (usize, &Option<f64>)| vec![Some(Bar { value: value.map(estimate), key: index.to_string() })];
    GroupedBars {
        title: "bars".into(),
        quantity: Quantity::new("makespan", Unit::Seconds),
        group: "placer".into(),
        one_series: "scheduler".into(),
        groups: (0..values.len()).map(|index| format!("placer{index}")).collect(),
        series: vec!["pct".into()],
        bars: values.iter().enumerate().map(bar).collect(),
    }
}

/// Height and width of the first rectangle of a mark.
fn size_of(shapes: &[Shape]) -> (f64, f64) {
    let rect = shapes.iter().find_map(|shape| match shape {
        Shape::Rect { area, .. } => Some((area.height, area.width)),
        _ => None,
    });
    rect.unwrap_or((0.0, 0.0))
}

#[test]
fn bars_are_as_long_as_their_values_and_error_bars_span_theirs() {
    let values = [2.0, 1.0, 4.0, 3.5];
    let drawing = bars(&values.map(Some)).draw(&Style::single_column());
    let marks: Vec<_> = drawing.marks().collect();
    assert_eq!(marks.len(), values.len());
    let unit = size_of(marks[1].1).0;
    for ((_, shapes), value) in marks.iter().zip(values) {
        let (height, _) = size_of(shapes);
        assert!((height - value * unit).abs() < 1e-6, "{height} {value}");
        // The whisker is the only vertical line of two points that is not within the bar.
        let reach = shapes.iter().filter_map(vertical).fold(0.0, f64::max);
        assert!((reach - 0.5 * value * unit).abs() < 1e-6, "{reach} {value}");
    }
}

/// The length of a straight vertical line.
fn vertical(shape: &Shape) -> Option<f64> {
    let Shape::Path { steps, .. } = shape else { return None };
    match steps.as_slice() {
        [Step::Move(x1, y1), Step::Line(x2, y2)] if x1 == x2 => Some((y2 - y1).abs()),
        _ => None,
    }
}

#[test]
fn every_datum_of_a_run_is_one_mark() {
    let rows = rows();
    let table = Results::new(&rows).unwrap();
    let placers: BTreeSet<&str> = rows.iter().map(|row| row.placer.as_str()).collect();
    let scenarios = 2 * GRAPHS.len();
    let count = |kind: FigureKind| -> Vec<usize> {
        let draw = |figure: NamedFigure| {
            let drawing = figure.figure.draw(&Style::double_column());
            let keys: BTreeSet<&str> = drawing.marks().map(|(datum, _)| datum.key.as_str()).collect();
            assert_eq!(keys.len(), drawing.marks().count(), "{}", figure.name);
            keys.len()
        };
        kind.of_rows(&table, Metric::Makespan, Sort::Mean).unwrap().into_iter().map(draw).collect()
    };
    assert_eq!(count(FigureKind::Bars), vec![placers.len() * 3; scenarios]);
    assert_eq!(count(FigureKind::Clusters), vec![placers.len() * 2; GRAPHS.len()]);
    // A cell for each scenario, and the mean.
    assert_eq!(count(FigureKind::Heat), [placers.len() * (scenarios + 1)]);
    assert_eq!(count(FigureKind::Profile), [placers.len()]);
    // A placer that failed on more than a tenth of the instances has no mean; one that failed, no line on that graph.
    assert_eq!(count(FigureKind::Ranks), count(FigureKind::Pareto));
    assert!(count(FigureKind::Pareto)[0] > placers.len() / 2);
    assert!(count(FigureKind::Scaling).into_iter().all(|marks| marks > placers.len() && marks <= 2 * placers.len()));
    // Three values of alpha under three schedulers.
    assert!(count(FigureKind::Sweep).into_iter().all(|marks| marks == 9 || marks == 6));
}

#[test]
fn an_op_of_a_timeline_is_one_bar_unless_it_is_too_short_to_see() {
    let few = gantt(7);
    let drawing = few.draw(&Style::double_column());
    assert_eq!(drawing.marks().count(), 7 * 20);
    assert_eq!(drawing.table().rows.len(), 7 * 20 + 300);
    assert_eq!(drawing.table().header[3], "layer");
    // The layers that take most time have colours; a line stands for a transfer.
    for name in ["layer 0", "other layers, or none", "send op", "the 200 longest of 300 transfers"] {
        assert!(drawing.texts().any(|text| text.text == name), "{name}");
    }
    let both = measured_above_predicted(3).draw(&Style::double_column());
    assert_eq!(both.marks().count(), 3 * (20 + 17));
    assert_eq!(both.table().header[0], "run");
    let runs: Vec<&str> = both.table().rows.iter().map(|row| row[0].as_str()).collect();
    let (measured, predicted) = runs.split_at(60 + 300);
    assert!(measured.iter().all(|&run| run == "measured: 20 s"));
    assert!(predicted.len() == 3 * 17 && predicted.iter().all(|run| run.starts_with("pred")));
    let task = |index: usize| Task {
        name: index.to_string(),
        what: TaskKind::Op,
        group: String::new(),
        start: index as f64,
        end: index as f64 + 1.0,
    };
    let without_gaps = |count: usize| Gantt {
        title: String::new(),
        unit: Unit::Seconds,
        grouped_by: None,
        runs: vec![GanttRun {
            name: String::new(),
            makespan: count as f64,
            devices: vec![GanttDevice { name: "gpu0".into(), tasks: (0..count).map(task).collect() }],
            transfers: vec![],
        }],
    };
    assert_eq!(without_gaps(30).draw(&Style::single_column()).marks().count(), 30);
    let drawing = without_gaps(100_000).draw(&Style::single_column());
    assert_eq!(drawing.table().rows.len(), 100_000);
    let titles: Vec<&str> = drawing.marks().map(|(datum, _)| datum.title.as_str()).collect();
    assert_eq!(titles.len(), 1);
    assert!(titles[0].starts_with("100000 ops from 0 on gpu0"), "{titles:?}");
}

#[test]
fn points_rise_and_move_right_with_their_values() {
    let numbers = [1.0, 2.0, 4.0, 8.0];
    let point = |number: f64| (number, Estimate::exact(10.0 * number), format!("at {number}"));
    let sweep = Sweep {
        title: String::new(),
        parameter: Quantity::new("alpha", Unit::One),
        quantity: Quantity::new("makespan", Unit::Other("EU".into())),
        curves: vec![Curve { name: "pct".into(), points: numbers.map(point).to_vec() }],
    };
    let drawing = sweep.draw(&Style::single_column());
    let place = |shapes: &[Shape]| match &shapes[shapes.len() - 1] {
        Shape::Path { steps, .. } => match steps[0] {
            Step::Move(x, y) => (x, y),
            _ => panic!("a path begins with a move"),
        },
        _ => panic!("a marker is a path"),
    };
    let places: Vec<(f64, f64)> = drawing.marks().map(|(_, shapes)| place(shapes)).collect();
    assert_eq!(places.len(), 4);
    assert!(places.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 > pair[1].1), "{places:?}");
}

#[test]
fn what_failed_is_shown_as_failed() {
    let drawing = bars(&[Some(1.0), None]).draw(&Style::single_column());
    let titles: Vec<&str> = drawing.marks().map(|(datum, _)| datum.title.as_str()).collect();
    assert_eq!(titles[1], "placer1: failed");
    let legend = |drawing: &Drawing| drawing.texts().any(|text| text.text == "× failed");
    assert!(legend(&drawing) && !legend(&bars(&[Some(1.0), Some(2.0)]).draw(&Style::single_column())));
    assert_eq!(drawing.table().rows[1], ["placer1", "pct", "", "", "0"]);
    let heat = HeatMap {
        title: String::new(),
        quantity: Quantity::new("ratio", Unit::One),
        row: "placer".into(),
        column: "graph".into(),
        rows: vec!["a".into()],
        columns: vec!["x".into(), "y".into()],
        cells: vec![vec![HeatCell { value: None, key: "1".into() }, HeatCell { value: Some(2.0), key: "2".into() }]],
        means: None,
        is_two_sided: false,
    };
    let drawing = heat.draw(&Style::single_column());
    assert!(drawing.marks().next().unwrap().0.title.ends_with("no result"));
    assert_eq!(drawing.table().rows, [["a", "x", ""], ["a", "y", "2"]]);
}

#[test]
fn makespans_of_different_executors_share_no_figure() {
    let mut rows = rows();
    let measured: Vec<Row> = rows.iter().map(|row| Row { executor: "threads".into(), ..row.clone() }).collect();
    rows.extend(measured);
    let table = Results::new(&rows).unwrap();
    for name in ["clusters", "scaling"] {
        let kind = FigureKind::all().find(|kind| kind.name() == name).unwrap();
        let figures = kind.of_rows(&table, Metric::Makespan, Sort::Mean).unwrap();
        assert_eq!(figures.len(), 2 * GRAPHS.len(), "{name}");
        for figure in figures {
            let drawing = figure.figure.draw(&Style::default());
            // The mark of a simulated cell does not name the simulator.
            let measured = drawing.marks().filter(|(datum, _)| datum.key.ends_with("|threads")).count();
            assert!(measured == 0 || measured == drawing.marks().count(), "{}", figure.name);
        }
    }
}

#[test]
fn repetitions_of_a_measured_placer_share_a_look_and_a_label() {
    let mut rows = measured_rows();
    let again: Vec<Row> = rows.iter().map(|row| Row { repetition: 1, ..row.clone() }).collect();
    rows.extend(again);
    let kind = FigureKind::Prediction.of_rows(&Results::new(&rows).unwrap(), Metric::Makespan, Sort::Mean).unwrap();
    let drawing = kind[0].figure.draw(&Style::double_column());
    assert_eq!(drawing.texts().filter(|text| text.text == "heft").count(), 1);
    assert_eq!(drawing.marks().filter(|(datum, _)| datum.title.starts_with("heft: ")).count(), 2);
}

#[test]
fn figures_of_nothing_are_drawn_without_panic_and_rows_of_failures_give_none() {
    let nothing: Vec<Box<dyn Figure>> = vec![
        Box::new(bars(&[])),
        Box::new(bars(&[None])),
        Box::new(Gantt {
            title: String::new(),
            unit: Unit::Seconds,
            grouped_by: None,
            runs: vec![GanttRun { name: String::new(), makespan: 0.0, devices: vec![], transfers: vec![] }],
        }),
        Box::new(ExecutableOps { title: String::new(), devices: vec![] }),
        Box::new(PerformanceProfile { title: String::new(), metric: "makespan".into(), profiles: vec![] }),
        Box::new(Histogram {
            title: String::new(),
            counted: Quantity::new("groups", Unit::One),
            size: "ops".into(),
            series: vec![],
        }),
    ];
    for figure in nothing {
        for style in styles() {
            let svg = figure.draw(&style).to_svg();
            assert!(roxmltree::Document::parse(&svg).is_ok() && !svg.contains("NaN"), "{svg}");
        }
    }
    let mut rows = rows();
    for row in &mut rows {
        (row.status, row.makespan) = ("infeasible".into(), None);
    }
    let table = Results::new(&rows).unwrap();
    for kind in FigureKind::all().filter(|kind| kind.is_of_rows()) {
        assert!(kind.of_rows(&Results::new(&[]).unwrap(), Metric::Makespan, Sort::Mean).unwrap().is_empty());
        for figure in kind.of_rows(&table, Metric::Makespan, Sort::Mean).unwrap() {
            figure.figure.draw(&Style::single_column());
        }
    }
}

#[test]
fn the_data_beside_a_figure_are_read_back_from_csv() {
    for NamedFigure { name, figure, .. } in all_figures() {
        let table = figure.table();
        let mut reader = csv::Reader::from_reader(std::io::Cursor::new(table.to_csv()));
        let mut read = TextTable::new(reader.headers().unwrap().iter());
        for record in reader.records() {
            read.push(record.unwrap().iter());
        }
        assert_eq!(read, table, "{name}");
        assert!(!table.rows.is_empty(), "{name}");
    }
}

/// The straight line of a mark that is longest upwards, and how many level ones it has.
fn whisker(shapes: &[Shape]) -> (f64, usize) {
    let lines = shapes.iter().filter_map(|shape| match shape {
        Shape::Path { steps, .. } => match steps.as_slice() {
            [Step::Move(x1, y1), Step::Line(x2, y2)] => Some(((x2 - x1).abs(), (y2 - y1).abs())),
            _ => None,
        },
        _ => None,
    });
    lines.fold((0.0, 0), |(longest, level), (x, y)| (f64::max(longest, y), level + usize::from(y == 0.0 && x > 0.0)))
}

#[test]
fn an_error_bar_stays_within_a_logarithmic_axis_and_has_no_end_where_it_goes_on() {
    let estimate =
        |mean: f64, deviation: f64| Estimate { mean, low: mean - deviation, high: mean + deviation, count: 5 };
    let point = |(index, value): (usize, Estimate)| (index as f64 + 1.0, value, index.to_string());
    // The deviation of the last is larger than its mean: it reaches below 0, where no logarithm is.
    let values = [estimate(1.0, 0.1), estimate(1000.0, 100.0), estimate(10.0, 12.0)];
    let sweep = Sweep {
        title: String::new(),
        parameter: Quantity::new("fringe", Unit::Count),
        quantity: Quantity::new("makespan", Unit::Seconds),
        curves: vec![Curve { name: "pct".into(), points: values.into_iter().enumerate().map(point).collect() }],
    };
    let drawing = sweep.draw(&Style::single_column());
    assert!(drawing.texts().any(|text| text.text.contains("log scale")));
    let marks: Vec<(f64, usize)> = drawing.marks().map(|(_, shapes)| whisker(shapes)).collect();
    assert_eq!(marks.iter().map(|(_, level)| *level).collect::<Vec<_>>(), [2, 2, 1]);
    assert!(marks[2].0 > marks[1].0 && marks[2].0 < drawing.height);
    // Values of a parameter that are whole numbers have whole ticks.
    let ticks: Vec<&str> = drawing.texts().map(|text| text.text.as_str()).filter(|text| text.len() < 4).collect();
    assert!(ticks.contains(&"1") && ticks.contains(&"2") && ticks.contains(&"3"), "{ticks:?}");
    assert!(!ticks.iter().any(|text| text.contains('.')), "{ticks:?}");
}

#[test]
fn a_figure_without_its_title_is_as_high_as_the_title_less() {
    let figure = bars(&[Some(1.0), Some(3.0)]);
    let style = Style::single_column();
    let (with, without) = (figure.draw(&style), figure.draw(&style.with_title(false)));
    assert!(with.texts().any(|text| text.text == "bars") && !without.texts().any(|text| text.text == "bars"));
    assert!(without.height < with.height && without.title == "bars");
}
