//! Exchanges of gradients or weights between workers, message by message.

use placebench_datasets::{GraphError, OpId};

use super::maker::{Maker, Output};
use super::params::{Compression, Sync, VALUE_BYTES};

/// What is exchanged at once: a layer, or the whole model.
pub(super) struct Bucket {
    /// Prefix of the names of its ops.
    pub(super) name: String,
    /// Weights and biases.
    pub(super) values: u64,
    /// The op of each worker that makes the gradient, with the output that is it.
    pub(super) gradients: Vec<Output>,
    /// Exchanges that came before, for partners that change.
    pub(super) turn: u32,
}

impl Maker<'_> {
    /// Adds the ops of an exchange; returns for each worker the outputs that its update needs.
    pub(super) fn exchange(&mut self, bucket: &Bucket) -> Result<Vec<Vec<Output>>, GraphError> {
        if self.workers == 1 && self.params.sync != Sync::ParameterServer {
            return Ok(bucket.gradients.iter().map(|&gradient| vec![gradient]).collect());
        }
        match self.params.sync {
            Sync::ParameterServer => self.by_servers(bucket),
            Sync::RingAllReduce => self.on_a_ring(bucket),
            Sync::RecursiveDoubling => self.by_recursive_doubling(bucket),
            Sync::Gossip => self.by_gossip(bucket),
        }
    }

    /// The op of each worker that makes messages of its gradient: output 0 is the gradient for local use, the others are
    /// what `messages` says in values.
    fn pack(&mut self, bucket: &Bucket, messages: impl Fn(usize) -> Vec<u64>) -> Result<Vec<OpId>, GraphError> {
        // Whoever compresses looks at every value.
        let cost = if self.params.compression == Compression::None { 0.0 } else { bucket.values as f64 };
        (0..self.workers)
            .map(|worker| {
                let mut outputs = vec![bucket.values * VALUE_BYTES];
                outputs.extend(messages(worker).into_iter().map(|values| self.params.message_bytes(values)));
                let name = format!("{}pack", bucket.name);
                self.add(worker, &name, "Pack", cost, &outputs, &[bucket.gradients[worker]])
            })
            .collect()
    }

    fn reduce_cost(&self, values: u64) -> f64 {
        self.params.reduce_ops * values as f64
    }

    /// Chunk c starts at worker c and goes round: P − 1 hops that add, P − 1 that hand the sum on.
    fn on_a_ring(&mut self, bucket: &Bucket) -> Result<Vec<Vec<Output>>, GraphError> {
        let workers = self.workers;
        let chunk = |number: usize| share(bucket.values, number, workers);
        let packs = self.pack(bucket, |worker| vec![chunk(worker)])?;
        // Where each chunk is now.
        let mut at: Vec<Output> = packs.iter().map(|&pack| (pack, 1)).collect();
        let mut results: Vec<Vec<Output>> = packs.iter().map(|&pack| vec![(pack, 0)]).collect();
        for hop in 0..2 * (workers - 1) {
            let adds = hop + 1 < workers;
            for worker in 0..workers {
                let number = (worker + 2 * workers - hop - 1) % workers;
                let bytes = [self.params.message_bytes(chunk(number))];
                let op = if adds {
                    let name = format!("{}reduce_{hop}", bucket.name);
                    let inputs = [at[number], (packs[worker], 0)];
                    self.add(worker, &name, "Reduce", self.reduce_cost(chunk(number)), &bytes, &inputs)?
                } else {
                    let name = format!("{}gather_{}", bucket.name, hop + 1 - workers);
                    self.add(worker, &name, "Gather", 0.0, &bytes, &[at[number]])?
                };
                at[number] = (op, 0);
                if hop + 2 >= workers {
                    results[worker].push((op, 0));
                }
            }
        }
        Ok(results)
    }

    /// MPICH's order: the first 2 · (P − 2^k) workers pair up, the odd ones of them and all others take part in k rounds.
    fn by_recursive_doubling(&mut self, bucket: &Bucket) -> Result<Vec<Vec<Output>>, GraphError> {
        let workers = self.workers;
        let rounds = workers.ilog2();
        let extra = workers - (1 << rounds);
        let bytes = [self.params.message_bytes(bucket.values)];
        let cost = self.reduce_cost(bucket.values);
        let packs = self.pack(bucket, |_| vec![bucket.values])?;
        let mut sum: Vec<Output> = packs.iter().map(|&pack| (pack, 1)).collect();
        for pair in 0..extra {
            let (even, odd) = (2 * pair, 2 * pair + 1);
            let inputs = [(packs[odd], 0), sum[even]];
            sum[odd] = (self.add(odd, &format!("{}fold", bucket.name), "Reduce", cost, &bytes, &inputs)?, 0);
        }
        let worker_of = |member: usize| if member < extra { 2 * member + 1 } else { member + extra };
        for round in 0..rounds {
            let before = sum.clone();
            for member in 0..1usize << rounds {
                let (worker, partner) = (worker_of(member), worker_of(member ^ (1 << round)));
                let name = format!("{}reduce_{round}", bucket.name);
                let inputs = [before[worker], before[partner]];
                sum[worker] = (self.add(worker, &name, "Reduce", cost, &bytes, &inputs)?, 0);
            }
        }
        for pair in 0..extra {
            sum[2 * pair] = sum[2 * pair + 1];
        }
        Ok(sum.into_iter().map(|sum| vec![sum]).collect())
    }

    /// To i + s and i − s, two messages even if these are the same worker, as T's program sends them.
    fn by_gossip(&mut self, bucket: &Bucket) -> Result<Vec<Vec<Output>>, GraphError> {
        let workers = self.workers;
        let distance = bucket.turn as usize % (workers / 2) + 1;
        let packs = self.pack(bucket, |_| vec![bucket.values; 2])?;
        let neighbours = |worker: usize| {
            let (left, right) = ((worker + workers - distance) % workers, (worker + distance) % workers);
            vec![(packs[worker], 0), (packs[left], 1), (packs[right], 2)]
        };
        Ok((0..workers).map(neighbours).collect())
    }

    /// Each server adds its share of all gradients and sends the new weights, which are not compressed.
    fn by_servers(&mut self, bucket: &Bucket) -> Result<Vec<Vec<Output>>, GraphError> {
        let servers = self.params.servers as usize;
        let values: Vec<u64> = (0..servers).map(|server| share(bucket.values, server, servers)).collect();
        let packs = self.pack(bucket, |_| values.clone())?;
        let mut results = vec![Vec::with_capacity(servers); self.workers];
        for (server, &values) in values.iter().enumerate() {
            let inputs: Vec<Output> = packs.iter().map(|&pack| (pack, server + 1)).collect();
            let cost = self.reduce_cost(values) * self.workers as f64;
            let name = format!("{}aggregate", bucket.name);
            let place = self.workers + server;
            let sum = self.add(place, &name, "Aggregate", cost, &[values * VALUE_BYTES], &inputs)?;
            for result in &mut results {
                result.push((sum, 0));
            }
        }
        Ok(results)
    }
}

/// How many of `values` the part of that number has, of `parts` as equal as whole numbers allow.
fn share(values: u64, part: usize, parts: usize) -> u64 {
    let (part, parts) = (part as u64, parts as u64);
    // Values are at most 2^40 and parts at most 2^14.
    (part + 1) * values / parts - part * values / parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_and_differ_by_one_at_most() {
        for (values, parts) in [(10, 3), (545_098, 210), (2, 5), (0, 4)] {
            let all: Vec<u64> = (0..parts).map(|part| share(values, part, parts)).collect();
            assert_eq!(all.iter().sum::<u64>(), values);
            assert!(all.iter().max().unwrap() - all.iter().min().unwrap() <= 1);
        }
    }
}
