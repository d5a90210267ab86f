//! What the arguments of `place` ask for: a graph on a cluster, a placer, a scheduler.

use std::path::Path;

use anyhow::anyhow;
use placebench::algorithms::period::Goal;
use placebench::algorithms::{Placer, Spec, registry};
use placebench::base::did_you_mean;
use placebench::harness::command_placer::CommandPlacer;
use placebench::harness::objective::NamedScheduler;
use placebench::harness::problem::{ClusterEntry, GraphEntry, Problem};
use placebench::harness::request::{CellRequest, ChosenScheduler, all_schedulers, choose_scheduler};
use placebench::harness::results::CellKey;
use placebench::harness::runner::read_suite;
use placebench::harness::suite::{CellExecutor, CellGroup, RunPlan};

use super::{Args, Executing};

/// What is placed by whom. The instance is beside it, since preparing the cell takes it.
pub(super) struct Asked {
    graph: GraphEntry,
    placer: NamedPlacer,
    scheduler: ChosenScheduler,
    goal: Goal,
}

/// A placer as tables name it.
struct NamedPlacer {
    placer: Box<dyn Placer>,
    name: String,
    /// The placer in the registry, if it is one of those.
    spec: Option<String>,
}

impl Asked {
    /// What the arguments describe, or name in a run.
    pub(super) fn of(args: &Args) -> anyhow::Result<(Self, Problem)> {
        match &args.run {
            Some(folder) => Self::in_run(args, folder),
            None => Self::alone(args),
        }
    }

    /// What the placer minimises, if anything.
    pub(super) fn minimised(&self) -> Option<Goal> {
        self.placer.placer.minimises(self.goal)
    }

    fn alone(args: &Args) -> anyhow::Result<(Self, Problem)> {
        // A wrong name is reported before a large graph is read.
        let placer = NamedPlacer::of(args)?;
        let scheduler = placer.scheduler(args, &all_schedulers()?)?;
        let cluster = ClusterEntry {
            devices: args.devices,
            kinds: args.kinds,
            memory: args.memory.unwrap_or_default(),
            ..ClusterEntry::named(&args.cluster)?
        };
        let graph = GraphEntry::named(&args.graph)?.with(&args.passes.passes()?)?;
        let problem = Problem::new(&graph, &cluster, args.seed)?;
        Ok((Self { graph, placer, scheduler, goal: args.objective.unwrap_or_default() }, problem))
    }

    fn in_run(args: &Args, folder: &Path) -> anyhow::Result<(Self, Problem)> {
        let suite = read_suite(folder)?.1?;
        let position = |what: &str, name: &str, names: Vec<String>| {
            names.iter().position(|known| known == name).ok_or_else(|| {
                let remedy = did_you_mean(name, names.iter().map(String::as_str));
                anyhow!("{}: the suite has no {what} '{name}': {remedy}", folder.display())
            })
        };
        let graph = position("graph", &args.graph, suite.graphs.iter().map(GraphEntry::label).collect())?;
        let cluster = position("cluster", &args.cluster, suite.clusters.iter().map(ClusterEntry::label).collect())?;
        let goal = suite.objective;
        if args.noise.is_some() && goal == Goal::Period {
            return Err(anyhow!(
                "--noise: there is no period under noise, and {} is about it: leave it out",
                suite.name
            ));
        }
        let plan = RunPlan::new(suite)?;
        let problem = plan.problem(&CellGroup { graph, cluster, repetition: 0, seed: args.seed })?;
        let graph = plan.suite.graphs[graph].clone();
        let offered = plan.schedulers.clone();
        let placer = NamedPlacer::of_plan(plan, &args.placer).map_or_else(|| NamedPlacer::of(args), Ok)?;
        let scheduler = placer.scheduler(args, &offered)?;
        Ok((Self { graph, placer, scheduler, goal }, problem))
    }

    /// The one cell that the arguments ask for.
    pub(super) fn request<'a>(
        &'a self,
        args: &Args,
        executing: &'a Executing<'_>,
        problem: &Problem,
    ) -> CellRequest<'a> {
        let Self { graph, placer: NamedPlacer { placer, name, spec }, scheduler, goal } = self;
        CellRequest {
            key: CellKey {
                suite: String::new(),
                graph: graph.label(),
                cluster: args.cluster.clone(),
                kinds: problem.kinds,
                network: args.network.name().to_owned(),
                executor: args.noise.map_or(CellExecutor::plain(executing.executor), CellExecutor::noisy).name,
                placer: name.clone(),
                scheduler: scheduler.name.clone(),
                repetition: 0,
                seed: args.seed,
                numbering: 0,
            },
            spec: spec.as_deref(),
            memory: problem.instance.memory_rule(),
            graph,
            placer: &**placer,
            schedulers: &scheduler.schedulers,
            network: args.network,
            goal: *goal,
            executor: executing.executor,
            noise: args.noise,
            settings: &executing.settings,
            notify: executing.notify.clone(),
        }
    }
}

impl NamedPlacer {
    /// The placer that the arguments name: one of the registry, or a program.
    fn of(args: &Args) -> anyhow::Result<Self> {
        if let Some(text) = &args.placer_command {
            let placer = Box::new(program(args, text)?);
            return Ok(Self { placer, name: text.clone(), spec: None });
        }
        let placer = registry::placer(&args.placer.parse::<Spec>()?)?;
        Ok(Self { placer, name: args.placer.clone(), spec: Some(args.placer.clone()) })
    }

    /// The placer with this name in a suite, if it has one.
    fn of_plan(mut plan: RunPlan, name: &str) -> Option<Self> {
        let index = plan.placers.iter().position(|(known, _)| known == name)?;
        let spec = plan.spec(index).map(str::to_owned);
        let (name, placer) = plan.placers.swap_remove(index);
        Some(Self { placer, name, spec })
    }

    /// The scheduler that the arguments name, or the placer's default; a search chooses among those that are offered.
    fn scheduler(&self, args: &Args, offered: &[NamedScheduler]) -> anyhow::Result<ChosenScheduler> {
        Ok(choose_scheduler(&self.name, &*self.placer, args.scheduler.as_deref(), offered)?)
    }
}

/// The placer of `--placer-command`.
fn program(args: &Args, text: &str) -> anyhow::Result<CommandPlacer> {
    let command =
        shlex::split(text).ok_or_else(|| anyhow!("--placer-command: a quotation mark is not closed: {text}"))?;
    if command.is_empty() {
        return Err(anyhow!("--placer-command: give a program, as in 'python3 my_placer.py'"));
    }
    let placer = CommandPlacer {
        name: "command".to_owned(),
        command,
        format: args.instance_format.unwrap_or_default(),
        time_limit_seconds: args.time_limit,
        memory_limit_mib: args.memory_limit,
        ..CommandPlacer::default()
    };
    placer.check().map_err(|reason| anyhow!("--placer-command: {reason}"))?;
    Ok(placer)
}
