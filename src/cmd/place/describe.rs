//! What a placement is worth, a line for each figure.

use placebench::algorithms::Named;
use placebench::algorithms::period::Goal;
use placebench::base::significant::{bytes_text, significant, time_text};
use placebench::harness::changed::Executed;
use placebench::harness::draws::Draws;
use placebench::harness::evaluate::Evaluation;
use placebench::harness::measurement::Measurement;
use placebench::harness::results::Row;

use super::numberings::Numberings;

/// The lines of a terminal.
/// `minimised` is what the placer minimises, if anything.
pub(super) fn describe(
    row: &Row,
    evaluation: &Evaluation,
    minimised: Option<Goal>,
    numberings: Option<&Numberings>,
) -> String {
    let (metrics, unit) = (&evaluation.metrics, row.time_unit.as_str());
    let placed_in = evaluation.placed_in.as_secs_f64();
    let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"));
    let gap = match row.lower_bound {
        Some(bound) => format!(
            "{} to the lower bound {} ({})",
            number(row.gap),
            time_text(bound, unit),
            row.bound.as_deref().unwrap_or_default()
        ),
        None => "- (no bound is known of what passes made of the placed graph)".to_owned(),
    };
    let (peak, rule) = (bytes_text(metrics.peak_memory_bytes as f64), row.memory.as_deref().unwrap_or_default());
    let in_flight = metrics.in_flight.as_ref().map(|memory| {
        format!(
            "{} on one device when samples follow each other at the period",
            bytes_text(memory.max_peak_bytes() as f64)
        )
    });
    let scheduler = match &row.chosen_scheduler {
        Some(chosen) => format!("{chosen}, which {} chose,", row.placer),
        None => row.scheduler.clone(),
    };
    let lines = [
        ("graph", format!("{}, {} ops, {} edges", row.graph, row.ops, row.edges)),
        ("cluster", format!("{}, {} devices, {} used", row.cluster, row.devices, metrics.devices_used)),
        ("kinds", row.kinds.to_string()),
        ("placed by", format!("{} in {placed_in:.3} s", row.placer)),
        ("scheduled by", format!("{scheduler} under {}", row.network)),
        (
            "makespan",
            time_text(metrics.makespan, unit) + if evaluation.timeline.draws().is_some() { " on the mean" } else { "" },
        ),
        ("SLR", number(row.slr)),
        ("gap", gap),
        ("period", period(row)),
        ("objective", objective(row, minimised)),
        ("speedup", format!("{} over single_device", number(row.speedup))),
        ("utilization", number(metrics.utilization)),
        ("load imbalance", number(metrics.load_imbalance)),
        ("traffic", format!("{} in {} transfers", bytes_text(metrics.traffic_bytes as f64), metrics.transfers)),
        ("cut", format!("{} on {} edges", bytes_text(metrics.cut_bytes as f64), metrics.cut_edges)),
        ("peak memory", format!("{peak} on one device; memory rule {rule}")),
    ];
    let changed = evaluation.executed.iter().flat_map(|executed| {
        let lines = executed.lines.iter().map(|line| ("passed", line.clone()));
        lines.chain([("without", without(executed, unit))]).collect::<Vec<_>>()
    });
    let numbered = numberings.map(|numberings| ("numberings", numberings.text(unit)));
    let measurement = evaluation.timeline.measurement();
    let measured = measurement.map(|measurement| describe_measurement(measurement, evaluation, unit));
    let in_flight = in_flight.map(|text| ("in flight", text));
    let noisy = evaluation.timeline.draws().map(|draws| ("under noise", under_noise(row, draws)));
    let lines = lines
        .into_iter()
        .chain(in_flight)
        .chain(changed)
        .chain(numbered)
        .chain(noisy)
        .chain(measured.into_iter().flatten());
    lines.map(|(name, value)| format!("{name:<15} {value}\n")).collect()
}

/// What the draws say.
fn under_noise(row: &Row, draws: &Draws) -> String {
    let time = |value: f64| time_text(value, &row.time_unit);
    let stretch = draws.stretch().map_or_else(|| "-".to_owned(), |stretch| format!("{stretch:.3}"));
    format!(
        "{}, {} draws: {stretch} times the predicted {}; 95 % within {}, from {} to {}",
        row.executor,
        draws.makespans.len(),
        time(draws.predicted),
        time(draws.percentile_95()),
        time(draws.least()),
        time(draws.largest())
    )
}

/// What the placement is worth without the passes that changed it.
fn without(executed: &Executed, unit: &str) -> String {
    match &executed.before {
        Some(before) => format!(
            "{}: makespan {}, traffic {}, peak memory {}",
            executed.passes,
            time_text(before.makespan, unit),
            bytes_text(before.traffic_bytes as f64),
            bytes_text(before.peak_memory_bytes as f64)
        ),
        None => format!("{}: the placement does not run", executed.passes),
    }
}

/// The time between samples that follow each other, and by how much no placement could be faster.
fn period(row: &Row) -> String {
    let Some(period) = row.period else { return "- (it is known of simulated runs without noise)".to_owned() };
    let text = time_text(period, &row.time_unit);
    let above = row.period_bound.map(|bound| {
        let ratio = if bound > 0.0 { format!("{:.3}", period / bound) } else { "-".to_owned() };
        format!("; {ratio} times the lower bound {}", time_text(bound, &row.time_unit))
    });
    let samples = match period > 0.0 && row.time_unit == "seconds" {
        true => format!(" ({} samples a second)", significant(1.0 / period)),
        false => String::new(),
    };
    let due = row.bottleneck.as_ref().map(|part| format!(", due to {part}")).unwrap_or_default();
    format!("{text} from sample to sample{samples}{due}{}", above.unwrap_or_default())
}

/// What was to be minimised, and whether the placer heeds it.
fn objective(row: &Row, minimised: Option<Goal>) -> String {
    let goal = row.objective.as_deref().unwrap_or(Goal::Makespan.name());
    match minimised {
        Some(minimised) if minimised.name() == goal => goal.to_owned(),
        Some(minimised) => format!("{goal}, but {} minimises the {minimised}", row.placer),
        None => format!("{goal}, which {} does not heed", row.placer),
    }
}

/// How a run was measured, and what was predicted for it.
fn describe_measurement(measurement: &Measurement, evaluation: &Evaluation, unit: &str) -> Vec<(&'static str, String)> {
    let Measurement { hardware, execution, other_load, warm_ups, makespans, time_scale } = measurement;
    let (least, largest) = (time_text(measurement.least(), unit), time_text(measurement.largest(), unit));
    let load = other_load.map_or_else(|| "unknown".to_owned(), |load| format!("{:.0} %", 100.0 * load));
    let mut lines = vec![
        ("measured on", hardware.clone()),
        ("executed with", execution.clone()),
        ("repetitions", format!("{} after {warm_ups} to warm up, from {least} to {largest}", makespans.len())),
        ("time scale", format!("{} s a time unit ({unit})", significant(*time_scale))),
        ("load by others", load),
    ];
    for (model, prediction) in evaluation.predictions.iter() {
        if let (Some(makespan), Some(error)) = (prediction.makespan, prediction.error) {
            let text = format!("{} by {model}, {:+.2} %", time_text(makespan, unit), 100.0 * error);
            lines.push(("predicted", text));
        }
    }
    lines
}
