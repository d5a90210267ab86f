//! Which network model says best what pairs that send at once do to each other.

use super::{Flow, PairFit};

/// Network models that say the same of a few flows.
const CANDIDATES: [(&str, Capacity); 3] = [
    ("contention_free", Capacity::Unlimited),
    ("one_port or loggp", Capacity::OnePort),
    ("fair_share over one link", Capacity::OneLink),
];

/// What flows share of the network.
#[derive(Clone, Copy)]
enum Capacity {
    /// Nothing.
    Unlimited,
    /// A device sends one tensor at a time, and receives one at a time.
    OnePort,
    /// Everything.
    OneLink,
}

/// How far network models are off what was measured of flows, the nearest first: root mean square of the logarithm of predicted
/// by measured time, each as a multiple of that of the first flow, which is a pair alone. Empty where no pairs sent at once.
///
/// All models have the overheads of sender and receiver: a device does one thing at a time, so that pairs slow each other
/// where these overheads meet, whatever the network. Ties: in the order of fewer limits.
///
/// # Complexity
/// O(flows · pairs).
pub fn network_errors(pairs: &[PairFit], flows: &[Flow]) -> Vec<(&'static str, f64)> {
    let Some(alone) = flows.iter().find(|flow| flow.pairs.len() == 1 && flow.seconds > 0.0) else { return Vec::new() };
    let several: Vec<&Flow> = flows.iter().filter(|flow| flow.pairs.len() > 1 && flow.seconds > 0.0).collect();
    if several.is_empty() {
        return Vec::new();
    }
    let error = |capacity: Capacity| {
        let base = bottleneck(pairs, alone, capacity);
        let squares = several.iter().map(|flow| {
            let predicted = if base > 0.0 { bottleneck(pairs, flow, capacity) / base } else { 1.0 };
            (predicted / (flow.seconds / alone.seconds)).ln().powi(2)
        });
        (squares.sum::<f64>() / several.len() as f64).sqrt()
    };
    let mut errors: Vec<(&str, f64)> = CANDIDATES.iter().map(|&(name, capacity)| (name, error(capacity))).collect();
    errors.sort_by(|a, b| a.1.total_cmp(&b.1));
    errors
}

/// Time of a tensor where every pair sends without pause: that of the device or the part of the network with most to do.
fn bottleneck(fits: &[PairFit], flow: &Flow, capacity: Capacity) -> f64 {
    let devices = flow.pairs.iter().flatten().max().map_or(0, |&last| last + 1);
    let (mut busy, mut sends, mut receives) = (vec![0.0; devices], vec![0.0; devices], vec![0.0; devices]);
    let (mut longest, mut all) = (0.0_f64, 0.0);
    let bytes = flow.bytes as f64;
    for &[from, to] in &flow.pairs {
        let Some(fit) = fits.iter().find(|fit| (fit.from.index(), fit.to.index()) == (from, to)) else { continue };
        let gap = fit.link.per_unit * bytes;
        busy[from] += fit.send.constant + fit.send.per_unit * bytes;
        busy[to] += fit.receive.constant + fit.receive.per_unit * bytes;
        sends[from] += gap;
        receives[to] += gap;
        longest = longest.max(gap);
        all += gap;
    }
    let most = |loads: &[f64]| loads.iter().copied().fold(0.0, f64::max);
    let network = match capacity {
        Capacity::Unlimited => longest,
        Capacity::OnePort => most(&sends).max(most(&receives)),
        Capacity::OneLink => all,
    };
    network.max(most(&busy))
}

#[cfg(test)]
mod tests {
    use placebench_datasets::DeviceId;

    use super::*;
    use crate::calibrate::{Ends, Line};

    /// All pairs of four devices alike: a byte takes so long of sender, receiver, link.
    fn fits([send, receive, link]: [f64; 3]) -> Vec<PairFit> {
        let line = |per_unit| Line { constant: 0.0, per_unit, residual: 0.0 };
        let pairs = (0..4).flat_map(|from| (0..4).filter(move |&to| to != from).map(move |to| (from, to)));
        let fit = |(from, to): (usize, usize)| PairFit {
            from: DeviceId::new(from),
            to: DeviceId::new(to),
            send: line(send),
            receive: line(receive),
            link: line(link),
            one_way: line(send + receive + link),
            ends: Ends::Alone,
        };
        pairs.map(fit).collect()
    }

    /// One alone, both ways, out to two, in from two, two apart, with these times.
    fn flows(seconds: [f64; 5]) -> Vec<Flow> {
        let sets: [&[[usize; 2]]; 5] =
            [&[[0, 1]], &[[0, 1], [1, 0]], &[[0, 1], [0, 2]], &[[0, 2], [1, 2]], &[[0, 1], [2, 3]]];
        let flow = |(pairs, seconds): (&[[usize; 2]], f64)| Flow { pairs: pairs.to_vec(), bytes: 1000, seconds };
        sets.into_iter().zip(seconds).map(flow).collect()
    }

    #[test]
    fn the_model_that_made_the_times_is_the_nearest() {
        let link = fits([0.0, 0.0, 1e-9]);
        for (seconds, name) in [
            ([1.0, 1.0, 1.0, 1.0, 1.0], "contention_free"),
            ([1.0, 1.0, 2.0, 2.0, 1.0], "one_port or loggp"),
            ([3.0, 6.0, 6.0, 6.0, 6.0], "fair_share over one link"),
        ] {
            let errors = network_errors(&link, &flows(seconds));
            assert_eq!(errors[0].0, name);
            assert!(errors[0].1 < 1e-12 && errors[1].1 > 0.3, "{errors:?}");
        }
    }

    #[test]
    fn devices_that_copy_slow_each_other_under_every_model() {
        // Both ends take as long as the tensor: pairs that share a device take twice as long.
        let errors = network_errors(&fits([1e-9, 1e-9, 0.0]), &flows([1.0, 2.0, 2.0, 2.0, 1.0]));
        assert!(errors.iter().all(|(_, error)| *error < 1e-12), "{errors:?}");
        assert_eq!(errors[0].0, "contention_free");
    }

    #[test]
    fn one_flow_alone_says_nothing() {
        assert_eq!(network_errors(&fits([0.0, 0.0, 1e-9]), &flows([1.0; 5])[..1]), []);
    }
}
