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

    /// Executes all draws, and the one in the middle again.
    fn all<T>(
        &self,
        predicted: Time,
        run: impl Fn(&Simulator) -> Result<T, ExecutionError>,
        makespan: impl Fn(&T) -> Time,
    ) -> Result<(T, Draws), ExecutionError> {
        let makespans = (0..self.noise.draws).map(|draw| run(&self.drawn(draw)).map(|found| makespan(&found)));
        let draws = Draws { makespans: makespans.collect::<Result<_, _>>()?, predicted };
        Ok((run(&self.drawn(draws.median_draw() as u32))?, draws))
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

    /// The placer decides anew in each draw: see [`Noise::order`], of which only `dynamic` makes sense here.
    fn execute_online(
        &self,
        instance: &Instance,
        placer: &dyn OnlinePlacer,
        stop: &StopToken,
    ) -> Result<OnlineRun, ExecutionError> {
        let run = |simulator: &Simulator| simulator.execute_online(instance, placer, stop);
        let predicted = run(&self.simulator)?.timeline.makespan();
        let (run, draws) = self.all(predicted, run, |run| run.timeline.makespan())?;
        Ok(OnlineRun { timeline: run.timeline.with_draws(draws), ..run })
    }
}
