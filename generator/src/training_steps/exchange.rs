//! Exchanges of gradients or weights between workers, message by message.

use placebench_datasets::{GraphError, OpId};

use super::maker::Maker;
use super::params::{Compression, Mixing, Sync, VALUE_BYTES, partner};
use crate::exchange::{Members, Sum, share};
use crate::sketch::Output;

/// What is exchanged at once: a layer, or the whole model.
pub(super) struct Bucket {
    /// The layer and the part of it, if the model is cut: empty, or with a slash at its end.
    pub(super) key: String,
    /// The step.
    pub(super) step: u32,
    /// Weights and biases.
    pub(super) values: u64,
    /// The workers that exchange it.
    pub(super) members: Vec<usize>,
    /// The op of each member that makes the gradient, with the output that is it.
    pub(super) gradients: Vec<Output>,
    /// Exchanges that came before, for partners that change.
    pub(super) turn: u32,
}

impl Bucket {
    /// The name of an op of the exchange.
    fn op(&self, name: &str) -> String {
        format!("step_{}/{}{name}", self.step, self.key)
    }
}

impl Maker<'_> {
    /// Adds the ops of an exchange; returns for each member the outputs that its update needs.
    pub(super) fn exchange(&mut self, bucket: &Bucket) -> Result<Vec<Vec<Output>>, GraphError> {
        if bucket.members.len() == 1 && !self.params.sync.has_servers() {
            return Ok(bucket.gradients.iter().map(|&gradient| vec![gradient]).collect());
        }
        match self.params.sync {
            // Servers send the new weights, which are not compressed.
            Sync::ParameterServer => {
                let (first, servers) = (self.workers, self.params.servers as usize);
                self.sum(bucket, |sum, maker| sum.by_servers(maker, first, servers))
            }
            Sync::RingAllReduce => self.sum(bucket, |sum, maker| sum.on_a_ring(maker)),
            Sync::RecursiveDoubling => self.sum(bucket, |sum, maker| sum.by_recursive_doubling(maker)),
            Sync::Gossip => self.by_gossip(bucket),
            Sync::Asynchronous => self.each_by_servers(bucket, None),
            Sync::StaleSynchronous => self.each_by_servers(bucket, Some(self.params.staleness)),
        }
    }

    /// Adds the ops of a sum over the members of a bucket.
    fn sum<T>(
        &mut self,
        bucket: &Bucket,
        add: impl FnOnce(&Sum<'_>, &mut Self) -> Result<T, GraphError>,
    ) -> Result<T, GraphError> {
        let params = self.params;
        let sum = Sum {
            name: bucket.op(""),
            values: bucket.values,
            members: &bucket.members,
            tensors: &bucket.gradients,
            bytes: &|values| values * VALUE_BYTES,
            message: &|values| params.message_bytes(values),
            // Compression reads every value.
            pack_ops: if params.compression == Compression::None { 0.0 } else { bucket.values as f64 },
            add_ops: &|values| params.reduce_ops * values as f64,
        };
        add(&sum, self)
    }

    /// The op of each member that makes messages of its gradient.
    fn pack(&mut self, bucket: &Bucket, messages: impl Fn(usize) -> Vec<u64>) -> Result<Vec<OpId>, GraphError> {
        self.sum(bucket, |sum, maker| sum.pack(maker, messages))
    }

    fn reduce_cost(&self, values: u64) -> f64 {
        self.params.reduce_ops * values as f64
    }

    /// Each member gets the gradients of those that have a weight in its row of the mixing matrix. With partners at a distance
    /// these are two messages even if both are one member, as T's program does.
    fn by_gossip(&mut self, bucket: &Bucket) -> Result<Vec<Vec<Output>>, GraphError> {
        let count = bucket.members.len();
        if self.params.matrix.is_empty() && self.params.mixing == Mixing::Partners {
            let distance = self.params.distance(bucket.turn);
            let packs = self.pack(bucket, |_| vec![bucket.values; 2])?;
            let neighbours = |member: usize| {
                let [left, right] = [false, true].map(|after| partner(member, count, distance, after));
                vec![(packs[member], 0), (packs[left], 1), (packs[right], 2)]
            };
            return Ok((0..count).map(neighbours).collect());
        }
        let matrix = self.params.mixing_matrix(bucket.turn);
        let packs = self.pack(bucket, |_| vec![bucket.values])?;
        let inputs = |(member, row): (usize, &Vec<f64>)| {
            let senders = row.iter().enumerate().filter(|&(sender, &weight)| sender != member && weight > 0.0);
            let received = senders.map(|(sender, _)| (packs[sender], 1));
            std::iter::once((packs[member], 0)).chain(received).collect()
        };
        Ok(matrix.iter().enumerate().map(inputs).collect())
    }

    /// Messages that a member's update adds, one for each gradient that it gets.
    pub(super) fn received(&self, member: usize) -> usize {
        let others = self.params.group_count() as usize - 1;
        match (self.params.matrix.get(member), self.params.mixing) {
            (Some(row), _) => {
                row.iter().enumerate().filter(|&(sender, &weight)| sender != member && weight > 0.0).count()
            }
            (None, Mixing::Complete) => others,
            (None, Mixing::Ring) => others.min(2),
            (None, Mixing::Partners) => 2,
        }
    }

    /// Each server adds its share of a gradient when it comes and sends the weights back. With a staleness s it answers a
    /// member's exchange k only after exchange k − s of all members.
    fn each_by_servers(&mut self, bucket: &Bucket, staleness: Option<u32>) -> Result<Vec<Vec<Output>>, GraphError> {
        let servers = self.params.servers as usize;
        let values: Vec<u64> = (0..servers).map(|server| share(bucket.values, server, servers)).collect();
        let packs = self.pack(bucket, |_| values.clone())?;
        let mut results = vec![Vec::with_capacity(servers); bucket.members.len()];
        for (server, &values) in values.iter().enumerate() {
            let place = self.workers + server;
            let bytes = values * VALUE_BYTES;
            let cost = self.reduce_cost(values);
            // Output 0 says that the gradient is there, output 1 has the weights.
            let mut applied = Vec::with_capacity(packs.len());
            for (worker, &pack) in bucket.members.iter().zip(&packs) {
                let name = bucket.op(&format!("apply_{worker}"));
                applied.push(self.add(place, &name, "Apply", cost, &[0, bytes], &[(pack, server + 1)])?);
            }
            let Some(staleness) = staleness else {
                results.iter_mut().zip(&applied).for_each(|(result, &apply)| result.push((apply, 1)));
                continue;
            };
            let all: Vec<Output> = applied.iter().map(|&apply| (apply, 0)).collect();
            let clock = self.add(place, &bucket.op("clock"), "Clock", 0.0, &[0], &all)?;
            let clocks = self.clocks.entry((bucket.key.clone(), server)).or_default();
            clocks.push(clock);
            let awaited = clocks.len().checked_sub(staleness as usize + 1).map(|exchange| (clocks[exchange], 0));
            for ((worker, result), &apply) in bucket.members.iter().zip(&mut results).zip(&applied) {
                let name = bucket.op(&format!("answer_{worker}"));
                let inputs: Vec<Output> = std::iter::once((apply, 0)).chain(awaited).collect();
                result.push((self.add(place, &name, "Answer", 0.0, &[bytes], &inputs)?, 0));
            }
        }
        Ok(results)
    }
}
