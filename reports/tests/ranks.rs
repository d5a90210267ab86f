//! Diagrams of mean ranks: beside one line where there is room, in rows where there is not.

use placebench_reports::figure::{CriticalDifference, Drawing, Figure, Shape, Step, Style};

/// Algorithms that always end in this order, over 20 instances: their mean ranks are 1, 2, 3, ….
fn ranked(count: usize) -> CriticalDifference {
    let names = (0..count).map(|index| format!("algorithm_{index:02}")).collect();
    let results = vec![(1..=count).map(|rank| Some(rank as f64)).collect(); 20];
    CriticalDifference::new(String::new(), names, &results, 0.05).unwrap()
}

/// The two ends of a straight line.
fn ends(shape: &Shape) -> Option<[(f64, f64); 2]> {
    match shape {
        Shape::Path { steps, .. } => match steps[..] {
            [Step::Move(x, y), Step::Line(to_x, to_y)] => Some([(x, y), (to_x, to_y)]),
            _ => None,
        },
        _ => None,
    }
}

/// Where the names are, from above, in the order of the marks.
fn heights(drawing: &Drawing) -> Vec<f64> {
    let name = |shapes: &[Shape]| match shapes.last() {
        Some(Shape::Text(name)) => name.y,
        _ => panic!("a mark ends with its name"),
    };
    drawing.marks().map(|(_, shapes)| name(shapes)).collect()
}

fn says(drawing: &Drawing, words: &str) -> bool {
    let all: Vec<&str> = drawing.texts().map(|text| text.text.as_str()).collect();
    all.join(" ").contains(words)
}

#[test]
fn in_a_narrow_column_many_algorithms_have_a_row_each_and_few_share_a_line() {
    let drawing = ranked(34).draw(&Style::single_column());
    assert!(heights(&drawing).windows(2).all(|pair| pair[0] < pair[1]), "the best is at the top");
    // Each leader is longer than the one above it, by the same step.
    let leaders: Vec<f64> = drawing.marks().map(|(_, shapes)| ends(&shapes[0]).unwrap()[1].0).collect();
    assert_eq!(leaders.len(), 34);
    let step = leaders[1] - leaders[0];
    assert!(leaders.windows(2).all(|pair| (pair[1] - pair[0] - step).abs() < 1e-9), "{leaders:?}");
    assert!(leaders[33] - leaders[0] > drawing.width / 3.0, "{leaders:?}");
    for (count, style) in [(6, Style::single_column()), (34, Style::double_column())] {
        let sides = heights(&ranked(count).draw(&style));
        assert!(sides[count / 2] < sides[count / 2 - 1], "the second half begins at the top again: {sides:?}");
    }
}

#[test]
fn upright_bars_join_the_rows_of_those_that_do_not_differ() {
    let figure = ranked(20);
    let drawing = figure.draw(&Style::single_column());
    let rows = heights(&drawing);
    let bar = |shape: &Shape| match (shape, ends(shape)) {
        (Shape::Path { stroke: Some(stroke), .. }, Some([from, to])) if stroke.width > 1.0 && from.0 == to.0 => {
            Some(to.1 - from.1)
        }
        _ => None,
    };
    let bars = drawing.items.iter().flat_map(|item| &item.shapes).filter_map(bar);
    let joined: Vec<usize> = bars.map(|length| (length / (rows[1] - rows[0])).ceil() as usize).collect();
    // Each bar joins as many rows as the critical difference reaches, from each row on.
    let reach = figure.test.critical_difference.floor() as usize;
    assert!((2..19).contains(&reach));
    assert_eq!(joined, vec![reach + 1; 20 - reach]);
}

#[test]
fn what_has_no_row_is_counted_and_among_the_data() {
    let all = ranked(60).draw(&Style::single_column());
    assert!(heights(&all).len() == 60 && !says(&all, "not shown"));
    let most = ranked(75).draw(&Style::single_column());
    assert!(heights(&most).len() == 60 && says(&most, "15 algorithms of worse ranks are not shown"));
    assert_eq!(most.table.rows.len(), 75);
}
