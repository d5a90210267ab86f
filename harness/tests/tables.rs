//! Tables that are read part by part say what tables in memory say.

use std::collections::BTreeMap;
use std::fs;

use placebench_harness::problem::Kinds;
use placebench_harness::results::{
    Column, CsvTexts, Filter, Metric, Row, Table, TableError, open_table, read_table, save_table, values, write_rows,
};
use placebench_harness::shards::Costs;
use polars::prelude::*;

/// Rows of four graphs on two clusters in the order of a suite; every fifth failed.
fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for graph in 0..4 {
        for cluster in ["c", "d"] {
            for repetition in 0..3 {
                for placer in ["heft", "peft(a=1)", "NAMED"] {
                    let index = rows.len();
                    let ok = index % 5 != 4;
                    rows.push(Row {
                        suite: "s".into(),
                        graph: format!("g{graph}"),
                        cluster: cluster.into(),
                        placer: placer.into(),
                        placer_spec: (placer == "NAMED").then(|| "cpop(b=2)".into()),
                        repetition,
                        seed: u64::MAX - u64::from(repetition),
                        kinds: if cluster == "d" { Kinds::AcceleratorsOnly } else { Kinds::AsGiven },
                        status: if ok { "ok" } else { "error" }.into(),
                        error: (!ok).then(|| format!("why {}", index % 2)),
                        makespan: ok.then_some(index as f64 + 0.1),
                        place_seconds: ok.then_some(0.5),
                        processor: Some(["x", "y"][graph % 2].to_owned()),
                        ..Row::default()
                    });
                }
            }
        }
    }
    rows
}

/// The rows in memory, in a file, and both in parts as small as they can be.
fn tables(rows: &[Row], folder: &tempfile::TempDir) -> Vec<Table> {
    let path = folder.path().join("t.parquet");
    write_rows(&path, rows.iter().cloned().map(Ok::<_, TableError>)).unwrap();
    let both = [Table::new(rows).unwrap(), Table::open(&path).unwrap()];
    both.into_iter().flat_map(|table| [table.in_parts_of(1), table]).collect()
}

#[test]
fn parts_are_of_whole_graphs_and_together_they_are_the_table() {
    let (folder, rows) = (tempfile::tempdir().unwrap(), rows());
    for (table, parts) in tables(&rows, &folder).iter().zip([8, 1, 8, 1]) {
        assert_eq!((table.height(), table.parts().count()), (72, parts));
        assert_eq!(table.rows().unwrap(), rows);
        let of_parts: Vec<Row> = table.parts().flat_map(|part| part.rows().unwrap()).collect();
        assert_eq!(of_parts, rows);
        // 9 rows a graph and cluster.
        let heights: Vec<usize> = table.in_parts_of(10).parts().map(|part| part.height()).collect();
        assert_eq!(heights, [18; 4]);
    }
}

#[test]
fn every_query_answers_the_same_in_memory_from_a_file_and_in_parts() {
    let (folder, rows) = (tempfile::tempdir().unwrap(), rows());
    let answers = |table: &Table| {
        let means = |rows: LazyFrame| {
            let rows =
                rows.with_column(Metric::Makespan.expr()).group_by_stable(["graph", "cluster", "network", "executor"]);
            Ok(rows.agg([col("makespan").mean(), col("row").first(), col("placer_name").last(), len()]))
        };
        let filter: Filter = "placer=cpop,heft repetition=1,2".parse().unwrap();
        let kept = table.filter(filter.expr()).unwrap();
        let steps = BTreeMap::from([("g2".to_owned(), 10.0)]);
        let per_step = table.with_steps(&steps).lazy().unwrap().select([Metric::StepTime.expr()]).collect().unwrap();
        (
            table.by_part(means).unwrap(),
            table.distinct(Column::PlacerSpec).unwrap(),
            table.distinct(Column::Placer).unwrap(),
            table.distinct_values(col("error")).unwrap(),
            (kept.height(), kept.column::<u32>("row").unwrap(), kept.rows().unwrap()),
            table.only(&[3, 4, 40]).rows().unwrap(),
            values::<Option<f64>>(&per_step, "step_time").unwrap(),
            format!("{:?}", Costs::learn(table, None).unwrap()),
        )
    };
    let [expected, others @ ..] = &tables(&rows, &folder)[..] else { panic!() };
    let expected = answers(expected);
    assert_eq!(expected.1, ["heft", "peft(a=1)", "cpop(b=2)"]);
    assert_eq!((expected.3.len(), expected.4.0, expected.5.len()), (2, 32, 3));
    assert_eq!(expected.6[36], rows[36].makespan.map(|makespan| makespan / 10.0));
    for table in others {
        assert_eq!(answers(table), expected);
    }
}

#[test]
fn graphs_whose_rows_do_not_stand_together_are_in_one_part_all_the_same() {
    let (folder, mut rows) = (tempfile::tempdir().unwrap(), rows());
    // Of repetitions first, graphs second.
    rows.sort_by_key(|row| (row.repetition, row.graph.clone()));
    for table in tables(&rows, &folder) {
        assert_eq!(table.rows().unwrap(), rows);
        let cells = table.in_parts_of(1);
        assert_eq!(cells.parts().count(), 8);
        for part in cells.parts() {
            let part = part.rows().unwrap();
            assert_eq!(part.len(), 9);
            assert!(part.iter().all(|row| (&row.graph, &row.cluster) == (&part[0].graph, &part[0].cluster)));
        }
        assert_eq!(table.filter(col("status").eq(lit("ok"))).unwrap().height(), 58);
    }
}

#[test]
fn parts_of_two_tables_pair_what_they_share_whatever_its_order() {
    let rows = rows();
    let (first, mut second) = (rows[..54].to_vec(), rows[18..].to_vec());
    second.reverse();
    let [first, second] = [&first, &second].map(|rows| Table::new(rows).unwrap().in_parts_of(1));
    let graphs = |table: &Table| {
        let mut names: Vec<String> =
            table.rows().unwrap().iter().map(|row| format!("{}{}", row.graph, row.cluster)).collect();
        names.dedup();
        names.join(" ")
    };
    let parts: Vec<String> = Table::aligned(&[&first, &second])
        .iter()
        .map(|part| format!("{}|{}", graphs(&part[0]), graphs(&part[1])))
        .collect();
    let expected = ["g0c|", "g0d|", "g1c|g1c", "g1d|g1d", "g2c|g2c", "g2d|g2d", "|g3c", "|g3d"];
    assert_eq!(parts, expected);
    assert_eq!(Table::aligned(&[&first.in_parts_of(1000), &second.in_parts_of(1000)]).len(), 1);
}

#[test]
fn rows_of_several_groups_of_a_file_are_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let height: u32 = 150_000;
    let row = |index: u32| Row { graph: format!("g{}", index / 50_000), repetition: index, ..Row::default() };
    let path = folder.path().join("t.parquet");
    write_rows(&path, (0..height).map(row).map(Ok::<_, TableError>)).unwrap();
    let table = Table::open(&path).unwrap();
    assert_eq!(table.column::<u32>("repetition").unwrap(), (0..height).collect::<Vec<_>>());
    let wanted = [0, 65_535, 65_536, 65_537, 131_072, 149_999];
    assert_eq!(table.only(&wanted).column::<u32>("repetition").unwrap(), wanted);
    let even = (col("repetition") % lit(2)).eq(lit(0));
    let even = table.in_parts_of(1).filter(even).unwrap();
    assert_eq!(even.column::<u32>("repetition").unwrap(), (0..height).step_by(2).collect::<Vec<_>>());
    assert_eq!(even.column::<u32>("row").unwrap(), (0..height).step_by(2).collect::<Vec<_>>());
    // A copy in another format, in batches.
    for name in ["copy.parquet", "copy.csv", "copy.json"] {
        let copy = folder.path().join(name);
        save_table(&copy, &table.only(&wanted), CsvTexts::Safe).unwrap();
        let read: Vec<u32> = read_table(&copy).unwrap().iter().map(|row| row.repetition).collect();
        assert_eq!(read, wanted, "{name}");
        assert_eq!(open_table(&copy).unwrap().height(), wanted.len());
    }
}

#[test]
fn columns_that_came_later_are_empty_and_a_missing_one_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let mut frame = Row::to_frame(&rows()).unwrap();
    for column in ["placer_spec", "kinds", "executor", "predicted_one_port", "repetitions"] {
        frame.drop_in_place(column).unwrap();
    }
    // Another writer's type.
    let devices = frame.column("devices").unwrap().cast(&DataType::Int64).unwrap();
    frame.with_column(devices).unwrap();
    ParquetWriter::new(fs::File::create(&path).unwrap()).finish(&mut frame).unwrap();
    let table = Table::open(&path).unwrap();
    let expected: Vec<Row> =
        rows().into_iter().map(|row| Row { placer_spec: None, kinds: Kinds::AsGiven, ..row }).collect();
    assert_eq!(table.rows().unwrap(), expected);
    assert_eq!(table.distinct(Column::Executor).unwrap(), ["simulate"]);
    frame.drop_in_place("makespan").unwrap();
    ParquetWriter::new(fs::File::create(&path).unwrap()).finish(&mut frame).unwrap();
    let error = Table::open(&path).unwrap_err().to_string();
    assert!(error.contains("t.parquet: no column 'makespan': no table of this version"), "{error}");
}

#[test]
fn a_file_that_is_empty_or_cut_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    write_rows(&path, rows().into_iter().map(Ok::<_, TableError>)).unwrap();
    let whole = fs::read(&path).unwrap();
    for length in [0, 4, 7, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..length]).unwrap();
        let error = Table::open(&path).unwrap_err().to_string();
        let said = "t.parquet: empty, cut short or no Parquet file: copy it again, or make the run again";
        assert!(error.ends_with(said), "{length}: {error}");
    }
}

#[test]
fn a_file_that_is_replaced_while_it_is_read_stays_the_one_that_was_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let write = |rows: &[Row]| write_rows(&path, rows.iter().cloned().map(Ok::<_, TableError>)).unwrap();
    write(&rows());
    let table = Table::open(&path).unwrap();
    write(&rows()[..5]);
    assert_eq!(table.rows().unwrap(), rows());
    assert_eq!(Table::open(&path).unwrap().height(), 5);
}

#[test]
fn queries_of_one_file_may_run_at_the_same_time() {
    let folder = tempfile::tempdir().unwrap();
    let table = tables(&rows(), &folder).remove(3);
    let same = || (0..50).all(|_| table.rows().unwrap() == rows());
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(same)).collect();
        assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
    });
}
