//! A run of more cells than a page can hold.

use std::sync::Arc;

use placebench_harness::results::{Filter, Table, TableError, write_rows};
use placebench_harness::runner::Environment;
use placebench_harness::suite::{RunPlan, Suite};
use placebench_reports::{ReportInput, Timelines, html_report};

#[path = "../../harness/examples/made_up_run/rows.rs"]
mod rows;

#[test]
fn the_page_of_a_large_run_stays_below_five_mebibytes_and_says_what_it_leaves_out() {
    let suite_text = rows::suite(120);
    let suite = Suite::parse(&suite_text, "made_up.toml").unwrap();
    let plan = RunPlan::new(suite).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("results.parquet");
    let made_up = plan.cells.iter().enumerate().map(|(index, &cell)| Ok(rows::row(&plan, cell, index, None)));
    write_rows::<TableError>(&path, made_up).unwrap();
    let input = ReportInput {
        folder: "runs/made_up".to_owned(),
        table: Table::open(&path).unwrap(),
        suite_text,
        plan: Ok(Arc::new(plan)),
        environment: Environment {
            version: "1".to_owned(),
            commit: None,
            started: None,
            host: "made-up".to_owned(),
            cpu: "made up".to_owned(),
            threads: 1,
            platform: "none".to_owned(),
            optimized: true,
            schema_version: 1,
            command: Vec::new(),
            inputs: Default::default(),
        },
        timelines: Timelines::None,
        only: Filter::default(),
    };
    let html = html_report(&input).unwrap().html;
    assert!((1 << 20..5 << 20).contains(&html.len()), "{} bytes", html.len());
    for said in [
        // 120 graphs of 2,520 cells. One cell in 1,000 failed.
        "302400 cells, 302 failed. This page carries ",
        "of the first 190 of 240 graphs each placer",
        "Of 302400 cells, 302 failed: 302 infeasible.",
        "single_device is best on the mean",
    ] {
        assert!(html.contains(said), "{said}");
    }
    // The best of 21 placers on 120 graphs under 2 network models, and failures.
    let (_, carried) = html.split_once("This page carries ").unwrap();
    let carried: usize = carried.split_once(" of the 302400 cells").unwrap().0.parse().unwrap();
    assert!((5_040..=5_342).contains(&carried), "{carried}");
    // Profiles of 2,400 instances under a network model are drawn, not left out.
    assert!(html.contains("data-name=\"profile-makespan\""), "no performance profile");
}
