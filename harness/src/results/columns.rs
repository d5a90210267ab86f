//! The columns of result tables, declared once: [`Row`](super::Row), [`Metric`](super::Metric), reports and docs follow.

use std::borrow::Cow;

use super::{Metric, Predictions, Row};

/// What a column holds: it decides the unit of an axis and the digits of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Names and messages.
    Text,
    /// A whole number of things.
    Count,
    /// Simulated or measured time, in the row's unit.
    Time,
    /// Wall-clock seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// A share from 0 to 1.
    Share,
    /// A number without unit.
    Ratio,
}

impl Content {
    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Count => "count",
            Self::Time => "time",
            Self::Seconds => "seconds",
            Self::Bytes => "bytes",
            Self::Share => "share",
            Self::Ratio => "ratio",
        }
    }
}

/// What is known of a column.
#[derive(Clone, Debug)]
pub struct ColumnInfo {
    /// Its name in files.
    pub name: Cow<'static, str>,
    /// What people call it.
    pub title: Cow<'static, str>,
    /// Its type in docs: `text`, `u32`, `u64` or `f64`.
    pub type_name: &'static str,
    /// What it holds.
    pub content: Content,
    /// Whether it depends on the clock, the process or the machine, not on the inputs: left out where runs are compared
    /// byte for byte.
    pub is_measured: bool,
    /// Whether it came after the first tables of this version were written: where it is missing, it has its default.
    pub came_later: bool,
    /// The documentation of the row's field, as the compiler hands it over: see [`ColumnInfo::meaning`].
    pub(super) doc: &'static str,
}

impl ColumnInfo {
    /// All columns in order, those of each network model included.
    pub fn all() -> impl Iterator<Item = Self> {
        Row::ABOUT.iter().cloned().chain(Predictions::about())
    }

    /// All columns in order, as docs name them: `MODEL` stands for each network model.
    pub fn documented() -> impl Iterator<Item = Self> {
        Row::ABOUT.iter().cloned().chain(Predictions::columns_of("MODEL"))
    }

    /// The table of [`ColumnInfo::documented`] in docs/FORMATS.md. A metric has its short name and which way is better.
    pub fn markdown() -> String {
        let mut table = "| column | type | unit | metric | meaning |\n|---|---|---|---|---|\n".to_owned();
        for column in Self::documented() {
            let unit = if column.content == Content::Text { "" } else { column.content.name() };
            // Not by any name: a metric's short name may be another column's.
            let metric = Metric::of_rows().into_iter().find(|metric| metric.column() == column.name).map(|metric| {
                let better = if metric.more_is_better() { "more" } else { "less" };
                format!("`{}`, {better} is better", metric.short())
            });
            let later = if column.came_later { " Older tables lack it." } else { "" };
            table.push_str(&format!(
                "| `{}` | {} | {unit} | {} | {}{later} |\n",
                column.name,
                column.type_name,
                metric.unwrap_or_default(),
                column.meaning()
            ));
        }
        table
    }

    /// What it means, in plain sentences.
    pub fn meaning(&self) -> &'static str {
        self.doc.trim_start()
    }
}

/// Hands the list of columns to the macro `make`, in the order of the files. A column is declared as
///
/// ```text
/// /// meaning
/// #[serde(default)]  if it came after the first tables of this version
/// name: type = content, "title", metric(variant, "short name", better), depends on what;
/// ```
///
/// A metric is `better` if it is `Less` or `More`. A column `depends on` something if equal inputs do not make it equal.
macro_rules! columns {
    ($make:ident) => {
        $make! {
            /// Name of the suite.
            suite: String = Text, "suite";
            /// Name of the graph in the suite.
            graph: String = Text, "graph";
            /// The passes that changed the graph, which are part of its name, in their order and joined by `+`; else empty.
            #[serde(default)]
            passes: Option<String> = Text, "passes";
            /// Name of the cluster in the suite.
            cluster: String = Text, "cluster";
            /// Number of devices of the cluster.
            devices: u32 = Count, "devices";
            /// Which kinds of devices ops may run on: `as_given`, which is what older tables mean, or
            /// `accelerators_only`. Makespans under different ones do not compare.
            #[serde(default)]
            kinds: Kinds = Text, "kinds";
            /// How memory limits placements: `static` by demands, `peak` by the most bytes at once, or `unlimited`.
            #[serde(default)]
            memory: Option<String> = Text, "memory rule";
            /// The placer: the suite's name for it, else its name with the parameters given.
            placer: String = Text, "placer";
            /// The placer with the parameters given, where `placer` is a name for print; else empty.
            #[serde(default)]
            placer_spec: Option<String> = Text, "specification";
            /// The scheduler with the parameters given; `online` for placers that choose devices during the run, `chosen` for
            /// searches that choose among several.
            scheduler: String = Text, "scheduler";
            /// The network model. Makespans under different ones do not compare.
            network: String = Text, "network";
            /// What placers are asked to minimise, if it is not the makespan: `period`; a parameter `objective` of theirs goes
            /// before it, and their name shows it. Under the memory rule `peak`, what is in
            /// memory when samples follow each other has to fit then.
            #[serde(default)]
            objective: Option<String> = Text, "objective";
            /// What executed the placement: `simulate`, which is what older tables mean, `noise(…)`, a simulation under noise, or
            /// an executor that measures. Makespans of different ones do not compare.
            #[serde(default)]
            executor: ExecutorName = Text, "executor";
            /// Number of the repetition, from 0.
            repetition: u32 = Count, "repetition";
            /// The suite's seed + repetition: graphs, costs, clusters and random placers draw from it.
            seed: u64 = Text, "seed";
            /// Which numbers ops and devices have for the placer: those given if 0, else the drawn ones of this number. The
            /// answer is in the given numbers.
            #[serde(default)]
            numbering: u32 = Count, "numbering";
            /// How the cell ended: `ok`, `infeasible`, `error`, `timed_out`, `interrupted`, `panicked`, `invalid`.
            status: String = Text, "status";
            /// One line that says why, unless `ok`.
            error: Option<String> = Text, "error";
            /// The scheduler that a search found best, if `scheduler` is `chosen`.
            #[serde(default)]
            chosen_scheduler: Option<String> = Text, "chosen scheduler";
            /// Ops of the graph.
            ops: u64 = Count, "ops";
            /// Edges of the graph.
            edges: u64 = Count, "edges";
            /// Unit of the row's times: that of the graph's measured times; else `seconds`, where the cluster counts in
            /// seconds; else `EU`, Laich's execution unit.
            time_unit: String = Text, "time unit";
            /// When the last device finishes; the median of the repetitions if measured, the mean of the draws under noise.
            makespan: Option<f64> = Time, "makespan", metric(Makespan, "makespan", Less);
            /// The least makespan of the repetitions, if measured, or of the draws.
            #[serde(default)]
            makespan_least: Option<f64> = Time, "least makespan";
            /// The largest makespan of the repetitions, if measured, or of the draws.
            #[serde(default)]
            makespan_largest: Option<f64> = Time, "largest makespan";
            /// The 95th percentile of the makespans of the draws; empty without noise.
            #[serde(default)]
            makespan_p95: Option<f64> = Time, "95th percentile", metric(MakespanP95, "p95", Less);
            /// Makespan / the one that everything has if it takes what it costs: how much longer than predicted; empty
            /// without noise.
            #[serde(default)]
            stretch: Option<f64> = Ratio, "makespan / predicted", metric(Stretch, "stretch", Less);
            /// The median makespan of the first, third, … repetition, if several were measured; the mean of such draws.
            #[serde(default)]
            makespan_odd: Option<f64> = Time, "odd makespan";
            /// The median makespan of the second, fourth, … repetition, if several were measured; the mean of such draws.
            #[serde(default)]
            makespan_even: Option<f64> = Time, "even makespan";
            /// Real seconds that one of the row's time units took, if measured.
            #[serde(default)]
            time_scale: Option<f64> = Ratio, "time scale";
            /// Makespan / sum of least costs over the critical path of least costs.
            slr: Option<f64> = Ratio, "SLR", metric(Slr, "slr", Less);
            /// Makespan of `single_device` with `pct` on the same graph, cluster, kinds, memory rule and network /
            /// makespan; empty if `single_device` finds no valid placement, or the run was measured.
            speedup: Option<f64> = Ratio, "speedup", metric(Speedup, "speedup", More);
            /// Speedup / number of devices that at least one op may run on.
            efficiency: Option<f64> = Share, "efficiency", metric(Efficiency, "efficiency", More);
            /// The largest lower bound on the makespan.
            lower_bound: Option<f64> = Time, "lower bound";
            /// Which lower bound that is.
            bound: Option<String> = Text, "bound";
            /// Makespan / largest lower bound.
            gap: Option<f64> = Ratio, "makespan / lower bound", metric(Gap, "gap", Less);
            /// The least time between two runs of the graph that follow each other through the same placement without end:
            /// how long one run keeps the busiest device, or shared port or link of the network, busy. Empty if measured.
            #[serde(default)]
            period: Option<f64> = Time, "period", metric(Period, "period", Less);
            /// The largest lower bound on the period.
            #[serde(default)]
            period_bound: Option<f64> = Time, "lower bound of the period";
            /// What the period is due to: a device, what transfers share under the network model, or the memory of a device,
            /// where what is in flight fits at no shorter period. Empty if measured.
            #[serde(default)]
            bottleneck: Option<String> = Text, "bottleneck";
            /// Largest memory of a device when samples follow each other at the period, each as in the run: resident memory once,
            /// and a tensor once for each sample in flight between its producer and its last consumer. Empty if measured, or if the period is 0.
            #[serde(default)]
            in_flight_memory_bytes: Option<u64> = Bytes, "memory in flight", metric(InFlightMemoryBytes, "in_flight", Less);
            /// The makespan that the placer planned, if it made a schedule.
            planned_makespan: Option<f64> = Time, "planned makespan";
            /// What the placer's authors assume and this instance breaks: names from `placebench list assumptions`,
            /// separated by `, `; empty if nothing, and for programs.
            #[serde(default)]
            assumptions_broken: Option<String> = Text, "assumptions broken";
            /// Units that the shared repair step moved to make the placement feasible; empty if the placer needs no
            /// repair.
            #[serde(default)]
            repaired: Option<u64> = Count, "repaired";
            /// Bytes moved between devices after send/receive insertion: each tensor once a destination.
            traffic_bytes: Option<u64> = Bytes, "traffic", metric(TrafficBytes, "traffic", Less);
            /// Bytes on edges between devices, each edge counted.
            cut_bytes: Option<u64> = Bytes, "cut", metric(CutBytes, "cut", Less);
            /// Send/receive pairs.
            transfers: Option<u64> = Count, "transfers", metric(Transfers, "transfers", Less);
            /// Edges between devices.
            cut_edges: Option<u64> = Count, "cut edges", metric(CutEdges, "cut_edges", Less);
            /// Largest / mean busy time of the devices.
            load_imbalance: Option<f64> = Ratio, "load imbalance", metric(LoadImbalance, "imbalance", Less);
            /// Busy time / (devices · makespan).
            utilization: Option<f64> = Share, "utilization", metric(Utilization, "utilization", More);
            /// Idle time, summed over devices.
            idle_time: Option<f64> = Time, "idle time", metric(IdleTime, "idle", Less);
            /// Largest peak memory of a device.
            peak_memory_bytes: Option<u64> = Bytes, "peak memory", metric(PeakMemoryBytes, "memory", Less);
            /// Devices with at least one op.
            devices_used: Option<u64> = Count, "devices used", metric(DevicesUsed, "devices", Less);
            /// Accelerators (devices other than CPUs) that are busy for at least a hundredth of the makespan; empty without
            /// accelerators, or if the makespan is 0.
            #[serde(default)]
            accelerators_used: Option<u64> = Count, "accelerators used", metric(AcceleratorsUsed, "used", Less);
            /// Accelerators that are busy at least half as long as the busiest.
            #[serde(default)]
            accelerators_loaded: Option<u64> = Count, "accelerators loaded", metric(AcceleratorsLoaded, "loaded", More);
            /// Busy time of the accelerators / (their number · makespan).
            #[serde(default)]
            accelerator_utilization: Option<f64> = Share, "utilization of accelerators",
                metric(AcceleratorUtilization, "accelerator_util", More);
            /// Busy time of the busiest accelerator / that of all of them.
            #[serde(default)]
            busiest_accelerator: Option<f64> = Share, "share of the busiest accelerator",
                metric(BusiestAccelerator, "busiest", Less);
            /// Mean number of executable ops on a device when it decides; empty if `scheduler` is `online`.
            executable_mean: Option<f64> = Ratio, "executable ops", metric(ExecutableMean, "executable", Less);
            /// Wall-clock seconds to place; the same for all schedulers of one placement. If `scheduler` is `online`, of
            /// the whole simulated run with its decisions.
            place_seconds: Option<f64> = Seconds, "time to place", metric(PlaceSeconds, "place_time", Less),
                depends on clock;
            /// What a measured run ran on: model of the processor, cores, GPUs with driver and clocks.
            #[serde(default)]
            hardware: Option<String> = Text, "hardware";
            /// How a measured run ran: kernel, transport, order, priority, or software.
            #[serde(default)]
            execution: Option<String> = Text, "execution";
            /// Share of the machine's processor time that other processes used while it was measured.
            #[serde(default)]
            other_load: Option<f64> = Share, "other load";
            /// Runs before the first that counts, if measured.
            #[serde(default)]
            warm_ups: Option<u64> = Count, "warm-ups";
            /// Runs that count, if measured; draws under noise.
            #[serde(default)]
            repetitions: Option<u64> = Count, "repetitions";
            /// Wall-clock seconds to simulate, empty if `scheduler` is `online`; of a measured cell, to execute it with
            /// warm-ups and repetitions.
            simulate_seconds: Option<f64> = Seconds, "time to simulate", metric(SimulateSeconds, "simulate_time", Less),
                depends on clock;
            /// Peak resident memory of the whole process so far.
            peak_rss_bytes: Option<u64> = Bytes, "peak RSS", depends on process;
            /// The host that ran the cell.
            #[serde(default)]
            host: Option<String> = Text, "host", depends on machine;
            /// Its processor: seconds of different ones do not compare.
            #[serde(default)]
            processor: Option<String> = Text, "processor", depends on machine;
            /// The commit that placebench was built from, if known.
            #[serde(default)]
            commit: Option<String> = Text, "commit", depends on build;
        }
    };
}

pub(super) use columns;
