use placebench_datasets::{Cluster, Device, GraphBuilder, Kind, KindSet, Link, OpId, OpSpec, PlacedGraph};
use proptest::prelude::*;

use super::*;
use crate::period::{Goal, Occupancy, busy_times};

/// Each output costs its sender once, each transfer its receiver and a link that all share.
struct Busy(usize);

impl Occupancy for Busy {
    fn parts(&self) -> usize {
        self.0 + 1
    }

    fn output(&self, from: placebench_datasets::DeviceId, bytes: u64, take: &mut dyn FnMut(usize, f64)) {
        take(from.index(), bytes as f64);
    }

    fn transfer(
        &self,
        from: placebench_datasets::DeviceId,
        to: placebench_datasets::DeviceId,
        bytes: u64,
        take: &mut dyn FnMut(usize, f64),
    ) {
        take(to.index(), 2.0 * bytes as f64 + from.index() as f64);
        take(self.0, 1.0);
    }
}

fn instance(ops: &[(u32, u32, bool)], edges: &[(u8, u8, bool)], devices: usize) -> Instance {
    let mut builder = GraphBuilder::default();
    for &(cost, bytes, cpu) in ops {
        let kinds = if cpu { KindSet::ALL } else { KindSet::only(Kind::Gpu) };
        let spec = OpSpec { kinds, memory_bytes: u64::from(cost), ..OpSpec::cost(f64::from(cost)) };
        builder.add_op(spec, &[u64::from(bytes)]);
    }
    for &(a, b, control) in edges {
        let (a, b) = (usize::from(a) % ops.len(), usize::from(b) % ops.len());
        let (from, to) = (OpId::new(a.min(b)), OpId::new(a.max(b)));
        match (a == b, control) {
            (true, _) => {}
            (false, true) => builder.add_control_edge(from, to).unwrap(),
            (false, false) => builder.add_edge(from, 0, to).unwrap(),
        }
    }
    let device = |id: usize| Device {
        name: format!("d{id}"),
        kind: if id == 0 { Kind::Cpu } else { Kind::Gpu },
        memory_bytes: Some(if id == 0 { 1000 } else { 40 }),
        speed: 1.0 + id as f64,
    };
    let cluster =
        placebench_datasets::Cluster::new((0..devices).map(device).collect(), |_, _| Link { rate: 1.0, latency: 0.0 });
    Instance::with_memory_rule(builder.build().unwrap(), cluster.unwrap(), MemoryRule::Static).unwrap()
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn after_any_moves_loads_are_those_of_the_placement_and_moves_can_be_taken_back(
        ops in proptest::collection::vec((0u32..9, 0u32..5, any::<bool>()), 1..12),
        edges in proptest::collection::vec((any::<u8>(), any::<u8>(), any::<bool>()), 0..25),
        devices in 2usize..5,
        moves in proptest::collection::vec((any::<u8>(), any::<u8>(), any::<bool>()), 1..30),
    ) {
        let (instance, occupancy) = (instance(&ops, &edges, devices), Busy(devices));
        let problem = Problem::new(&instance, &occupancy, Limits::of_cluster(&instance));
        let mut state = State::new(&problem, vec![1; problem.units()]);
        for (unit, device, back) in moves {
            let (unit, device) = (usize::from(unit) % problem.units(), u32::from(device) % devices as u32);
            if device == state.device[unit] || !problem.time(unit, device as usize).is_finite() {
                continue;
            }
            let (mark, before) = (state.mark(), (state.period(), state.device.clone()));
            state.shift(unit, device);
            let placement = state.placement();
            let expected = busy_times(&PlacedGraph::new(&instance, &placement), &occupancy);
            prop_assert!(close(state.period(), expected.iter().copied().fold(0.0, f64::max)));
            for (device, &load) in expected[..devices].iter().enumerate() {
                prop_assert!(close(state.load(device as u32), load), "{device}: {} {load}", state.load(device as u32));
            }
            let smooth = state.smooth();
            let mut fresh = state.clone();
            fresh.recompute();
            // High powers are added and taken away.
            prop_assert!((smooth - fresh.smooth()).abs() <= 1e-6 * (1.0 + smooth), "{smooth} {}", fresh.smooth());
            if back {
                state.back_to(&mark);
                prop_assert_eq!((state.period(), state.device.clone()), before);
            }
        }
    }
}

/// Only what one placer answers fits. The period is the largest load.
#[derive(Debug)]
struct OnlyOf(Placement);

impl Objective for OnlyOf {
    fn judge(&self, instance: &Instance, decision: &Decision, _: &StopToken) -> Result<Judgement, PlaceError> {
        let occupancy = Busy(instance.cluster().device_count());
        let busy = busy_times(&PlacedGraph::new(instance, &decision.placement), &occupancy);
        let value = busy.into_iter().fold(0.0, f64::max);
        Ok(Judgement { excess_bytes: u64::from(decision.placement != self.0), ..Judgement::fits(value) })
    }

    fn goal(&self) -> Goal {
        Goal::Period
    }

    fn occupancy<'c>(&self, cluster: &'c Cluster) -> Option<Box<dyn Occupancy + 'c>> {
        Some(Box::new(Busy(cluster.device_count())))
    }
}

#[test]
fn where_nothing_else_fits_any_placer_is_asked() {
    let ops: Vec<(u32, u32, bool)> = (0..30).map(|op| (1 + op % 7, op % 3, true)).collect();
    let edges: Vec<(u8, u8, bool)> = (0..29).map(|op| (op, op + 1, false)).collect();
    let builder = instance(&ops, &edges, 4);
    let instance =
        Instance::with_memory_rule(builder.graph().clone(), builder.cluster().clone(), MemoryRule::Peak).unwrap();
    let context = PlaceContext::with_seed(1);
    let hashing = registry::placer(&"hashing".parse().unwrap()).unwrap().place(&instance, &context).unwrap().placement;
    let objective = OnlyOf(hashing.clone());
    let effort = Effort { chains: 2, moves: 5, least: 10, most: 1000 };
    let (planned, efforts) = (&Decision::placement, &[effort]);
    let search =
        Search { instance: &instance, context: &context, objective: &objective, planned, efforts, deadline: None };
    assert!(starts(&instance, &context).unwrap().iter().all(|start| start.placement != hashing));
    assert_eq!(search.run(Vec::new()).unwrap().1.placement, hashing);
}
