//! Simulates a placement many times under costs that vary.

use placebench_algorithms::{OnlinePlacer, StopToken};
use placebench_datasets::{Instance, PlacedGraph, Time};

use super::simulate::{Noise, Simulator};
use super::{ExecutionError, Executor, OnlineRun, Order, OrderMode, Replay, order_of};
use crate::draws::Draws;
use crate::timeline::Timeline;
use crate::validator::Demands;

/// Simulates the draws of a noise. The timeline is that of the draw whose makespan is the median; [`Timeline::draws`] has the
/// makespans of all.
///
/// # Complexity
/// A simulation for each draw, and two more.
#[derive(Clone, Copy, Debug)]
pub struct Noisy {
    /// The simulator without noise.
    pub simulator: Simulator,
    /// The noise.
    pub noise: Noise,
    /// What is drawn. Placements that are executed with the same seed have the same draws.
    pub seed: u64,
}

impl Noisy {
    /// The simulator of one draw.
    fn drawn(&self, draw: u32) -> Simulator {
        Simulator { draw: Some(self.noise.draw(self.seed, draw)), ..self.simulator }
    }

    /// Refuses what this noise cannot do to a graph.
    fn check(&self, instance: &Instance) -> Result<(), ExecutionError> {
        let refuse = |reason: &str| Err(ExecutionError::Failed { executor: "noise", reason: reason.to_owned() });
        match instance.graph().op_types() {
            None if self.noise.op_type > 0.0 => refuse("type: the ops of this graph have no types: leave it out"),
            _ => Ok(()),
        }
    }

    /// The makespans of all draws.
    pub(crate) fn makespans<T>(
        &self,
        run: impl Fn(&Simulator) -> Result<T, ExecutionError>,
        makespan: impl Fn(&T) -> Time,
    ) -> Result<Vec<Time>, ExecutionError> {
        (0..self.noise.draws).map(|draw| run(&self.drawn(draw)).map(|found| makespan(&found))).collect()
    }

    /// Executes all draws, and the one in the middle again.
    fn all<T>(
        &self,
        predicted: Time,
        run: impl Fn(&Simulator) -> Result<T, ExecutionError>,
        makespan: impl Fn(&T) -> Time,
    ) -> Result<(T, Draws), ExecutionError> {
        let draws = Draws { makespans: self.makespans(&run, makespan)?, predicted };
        Ok((run(&self.drawn(draws.median_draw() as u32))?, draws))
    }
}

/// What simulates, under a noise if there is one.
pub(crate) fn simulating(simulator: Simulator, noise: Option<Noise>, seed: u64) -> Box<dyn Executor> {
    match noise {
        None => Box::new(simulator),
        Some(noise) => Box::new(Noisy { simulator, noise, seed }),
    }
}

impl Executor for Noisy {
    /// Times do not follow from the costs.
    fn demands(&self) -> Demands {
        Demands::Order
    }

    fn execute(
        &self,
        placed: &PlacedGraph<'_>,
        order: Order<'_>,
        stop: &StopToken,
    ) -> Result<Timeline, ExecutionError> {
        self.check(placed.instance())?;
        let predicted = self.simulator.execute(placed, order, stop)?;
        let replay = Replay { order: order_of(placed, &predicted) };
        let order = match self.noise.order {
            OrderMode::Dynamic => order,
            OrderMode::Replay => Order { scheduler: &replay, plan: None },
        };
        let run = |simulator: &Simulator| simulator.execute(placed, order, stop);
        let (timeline, draws) = self.all(predicted.makespan(), run, Timeline::makespan)?;
        Ok(timeline.with_draws(draws))
    }

    /// The placer decides anew in each draw.
    ///
    /// # Errors
    /// If the order is to be kept, which there is none of before the run.
    fn execute_online(
        &self,
        instance: &Instance,
        placer: &dyn OnlinePlacer,
        stop: &StopToken,
    ) -> Result<OnlineRun, ExecutionError> {
        self.check(instance)?;
        if self.noise.order == OrderMode::Replay {
            let reason =
                "order=replay keeps the order of a placement, and this placer decides during the run: leave it out";
            return Err(ExecutionError::Failed { executor: "noise", reason: reason.to_owned() });
        }
        let run = |simulator: &Simulator| simulator.execute_online(instance, placer, stop);
        let predicted = run(&self.simulator)?.timeline.makespan();
        let (run, draws) = self.all(predicted, run, |run| run.timeline.makespan())?;
        Ok(OnlineRun { timeline: run.timeline.with_draws(draws), ..run })
    }
}
