use serde_json::Value;

use placebench_harness::results::Row;

use super::*;
use crate::summary::tests::rows;

fn input(rows: Vec<Row>) -> ReportInput {
    ReportInput {
        folder: "runs/small-1".to_owned(),
        table: Table::new(&rows).unwrap(),
        suite_text: "name = \"small\"".to_owned(),
        plan: Err("no plan".to_owned()),
        environment: Environment {
            version: "1".into(),
            commit: None,
            started: None,
            host: "h".into(),
            cpu: "c".into(),
            threads: 1,
            platform: "p".into(),
            optimized: true,
            schema_version: SCHEMA_VERSION,
            command: vec!["placebench".into(), "run".into(), "a b".into()],
            inputs: Default::default(),
        },
        timelines: Timelines::Auto,
        only: Filter::default(),
    }
}

/// The JSON that the page carries.
fn data(html: &str) -> Value {
    let (_, rest) = html.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn a_hostile_name_stays_a_text_wherever_it_turns_up() {
    let hostile = "</script><script>alert(1)</script><img src=x onerror=alert(1)>{{data}}'\"";
    let mut rows = rows();
    for row in &mut rows {
        row.suite = hostile.into();
        row.graph = format!("{hostile}{}", row.graph);
        row.error = row.error.as_ref().map(|_| hostile.into());
    }
    let mut input = input(rows);
    input.folder = hostile.into();
    input.suite_text = hostile.into();
    input.environment.cpu = hostile.into();
    input.environment.command = vec![hostile.into()];
    input.plan = Err(hostile.into());
    let html = html_report(&input).unwrap().html;
    assert!(!html.contains("<script>alert") && !html.contains("<img"), "markup out of a name");
    assert_eq!(html.matches("<script").count(), 2);
    assert_eq!(html.matches("</script>").count(), 2);
    assert_eq!(data(&html)["columns"]["graph"]["d"][0], format!("{hostile}a"));
    assert!(html.contains("&lt;/script&gt;&lt;script&gt;alert(1)"));
}

#[test]
fn every_placeholder_of_the_page_is_filled() {
    let html = html_report(&input(rows())).unwrap().html;
    let page = html.split_once("<script type=\"application/json\"").unwrap().0;
    assert!(!page.contains("{{"), "{:?}", page.split_once("{{"));
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    let input = input(rows());
    assert_eq!(html_report(&input).unwrap().html, html_report(&input).unwrap().html);
}

#[test]
fn the_page_forbids_itself_to_load_anything() {
    let html = html_report(&input(rows())).unwrap().html;
    assert!(html.contains("default-src 'none'"));
    for address in ["http://", "https://", "src=", "@import", "url("] {
        let found: Vec<&str> =
            html.match_indices(address).map(|(at, _)| &html[at..(at + 60).min(html.len())]).collect();
        // The name of a namespace is no address to load from.
        assert!(found.iter().all(|text| text.starts_with("http://www.w3.org/")), "{found:?}");
    }
}

/// Ten thousand rows in which every measured number differs.
fn ten_thousand() -> Vec<Row> {
    let mut state = 1u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut rows = Vec::new();
    for graph in 0..50 {
        for placer in 0..50 {
            for scheduler in ["fifo", "pct", "msr", "static"] {
                let mut bytes = || (draw() * 1e10) as u64;
                let (traffic, cut, memory) = (bytes(), bytes(), bytes());
                rows.push(Row {
                    suite: "large".into(),
                    graph: format!("graph_number_{graph}"),
                    cluster: "gtx1080x4".into(),
                    devices: 6,
                    placer: format!("placer(parameter={placer})"),
                    scheduler: scheduler.into(),
                    network: "contention_free".into(),
                    status: "ok".into(),
                    ops: 10_000 + graph,
                    edges: 20_000 + graph,
                    time_unit: "seconds".into(),
                    makespan: Some(draw()),
                    slr: Some(draw() * 10.0),
                    speedup: Some(draw()),
                    efficiency: Some(draw()),
                    lower_bound: Some(0.01),
                    bound: Some("optimistic_cost".into()),
                    gap: Some(draw() * 10.0),
                    planned_makespan: Some(draw()),
                    traffic_bytes: Some(traffic),
                    cut_bytes: Some(cut),
                    transfers: Some(traffic % 100_000),
                    cut_edges: Some(cut % 100_000),
                    load_imbalance: Some(draw()),
                    utilization: Some(draw()),
                    idle_time: Some(draw() * 1e-3),
                    peak_memory_bytes: Some(memory),
                    devices_used: Some(6),
                    executable_mean: Some(draw() * 30.0),
                    place_seconds: Some(draw() * 1e-3),
                    simulate_seconds: Some(draw() * 1e-4),
                    peak_rss_bytes: Some(memory),
                    ..Row::default()
                });
            }
        }
    }
    rows
}

#[test]
fn ten_thousand_rows_take_less_than_three_mebibytes() {
    let rows = ten_thousand();
    assert_eq!(rows.len(), 10_000);
    let html = html_report(&input(rows)).unwrap().html;
    assert!(html.len() < 3 * 1024 * 1024, "{} bytes", html.len());
}

#[test]
fn a_table_in_parts_gives_the_same_page() {
    let whole = input(rows());
    let parts = ReportInput { table: whole.table.in_parts_of(1), ..whole.clone() };
    assert_eq!(parts.table.parts().count(), 2);
    assert_eq!(html_report(&parts).unwrap().html, html_report(&whole).unwrap().html);
}

#[test]
fn a_large_run_says_what_its_page_leaves_out_and_carries_failures_and_the_best() {
    let (mut rows, mut more) = (ten_thousand(), ten_thousand());
    more.iter_mut().chain(&mut rows).for_each(|row| row.time_unit = "EU".into());
    more.iter_mut().for_each(|row| row.graph.push_str("_b"));
    rows.extend(more);
    assert!(data(&html_report(&input(rows.clone())).unwrap().html)["rows"] == 20_000, "all of them are there");
    // One more, which fails, and is the last.
    let failed = Row { status: "error".into(), error: Some("why".into()), makespan: None, ..rows[0].clone() };
    rows.push(Row { graph: "late".into(), ..failed });
    let html = html_report(&input(rows.clone())).unwrap().html;
    assert!(html.len() < 5 * 1024 * 1024, "{} bytes", html.len());
    assert!(
        html.contains("20001 cells, 1 failed. This page carries 5001 of the 20001 cells"),
        "{:?}",
        html.split_once("This page").map(|(_, rest)| &rest[..300])
    );
    let data = data(&html);
    assert_eq!(data["rows"], 5001);
    let column = |name: &str, row: usize| -> Value {
        match &data["columns"][name] {
            Value::Array(values) => values[row].clone(),
            coded => coded
                .get("c")
                .cloned()
                .unwrap_or_else(|| coded["d"][coded["i"][row].as_u64().unwrap() as usize].clone()),
        }
    };
    assert_eq!((column("graph", 5000), column("error", 5000)), ("late".into(), "why".into()));
    // The first graphs with all placers, and each entry of the summary links to its cell.
    let summary = &data["summary"];
    assert_eq!(summary["scenarios"].as_array().unwrap().len(), 80);
    for (placer, name) in summary["placers"].as_array().unwrap().iter().enumerate() {
        for (scenario, label) in summary["scenarios"].as_array().unwrap().iter().enumerate() {
            let row = summary["row"][placer][scenario].as_f64().unwrap() as usize;
            assert_eq!((column("placer", row), column("graph", row)), (name.clone(), label[1].clone()));
            let least = rows
                .iter()
                .filter(|row| row.placer == name.as_str().unwrap() && row.graph == label[1].as_str().unwrap());
            let least = least.filter_map(|row| row.makespan).fold(f64::INFINITY, f64::min);
            assert!((column("makespan", row).as_f64().unwrap() / least - 1.0).abs() < 1e-5);
        }
    }
}

#[test]
fn a_run_that_is_not_finished_and_one_that_failed_say_so() {
    let html = html_report(&input(rows())).unwrap().html;
    assert!(html.contains("16 cells, 2 failed"));
    let text = r#"
        name = "small"
        repetitions = 3
        placers = ["heft", "random"]
        schedulers = ["pct", "fifo"]
        [[graph]]
        catalogue = "convnet"
        [[cluster]]
        preset = "gtx1080x4"
    "#;
    let suite = placebench_harness::suite::Suite::parse(text, "small.toml").unwrap();
    let mut input = input(rows()[..3].to_vec());
    input.plan = Ok(Arc::new(RunPlan::new(suite).unwrap()));
    assert!(html_report(&input).unwrap().html.contains("unfinished: 3 of 12 cells, none failed"));
}
