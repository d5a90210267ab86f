//! Exchanges of tensors between members, message by message: what they move and what they add, whoever adds the ops.

use placebench_datasets::{GraphError, OpId};

use crate::sketch::Output;

/// Adds the ops of an exchange to a graph.
pub(crate) trait Members {
    /// Adds an op at a member: a worker, or a server by its number after the workers.
    ///
    /// # Errors
    /// If an input does not exist.
    fn add(
        &mut self,
        member: usize,
        name: &str,
        op_type: &str,
        ops: f64,
        outputs: &[u64],
        inputs: &[Output],
    ) -> Result<OpId, GraphError>;
}

/// A sum of one tensor of each member.
pub(crate) struct Sum<'a> {
    /// What the names of its ops begin with.
    pub(crate) name: String,
    /// Size of the tensor, in values: of the sum, or of all parts that are gathered.
    pub(crate) values: u64,
    /// The members.
    pub(crate) members: &'a [usize],
    /// The tensor of each member.
    pub(crate) tensors: &'a [Output],
    /// From a number of values, the bytes of a tensor of them as it is kept.
    pub(crate) bytes: &'a dyn Fn(u64) -> u64,
    /// From a number of values, the bytes of a message of them.
    pub(crate) message: &'a dyn Fn(u64) -> u64,
    /// Operations to make messages of all values.
    pub(crate) pack_ops: f64,
    /// From a number of values, the operations to add them.
    pub(crate) add_ops: &'a dyn Fn(u64) -> f64,
}

impl Sum<'_> {
    /// The op of each member that makes messages of its tensor: output 0 is the tensor for local use, the others are what
    /// `messages` says in values.
    pub(crate) fn pack(
        &self,
        to: &mut impl Members,
        messages: impl Fn(usize) -> Vec<u64>,
    ) -> Result<Vec<OpId>, GraphError> {
        let name = format!("{}pack", self.name);
        (self.members.iter().zip(self.tensors).enumerate())
            .map(|(at, (&member, &tensor))| {
                let mut outputs = vec![(self.bytes)(self.values)];
                outputs.extend(messages(at).into_iter().map(self.message));
                to.add(member, &name, "Pack", self.pack_ops, &outputs, &[tensor])
            })
            .collect()
    }

    /// All-reduce on a ring: chunk c starts at member c and goes round; P − 1 hops add to it, P − 1 hops pass the sum on. Returns for
    /// each member the outputs that have the sum: its own tensor, which it has anyway, and the chunks.
    ///
    /// # Reference
    /// P. Patarasuk, X. Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations. Journal of Parallel and
    /// Distributed Computing 69(2), 2009, 117–124.
    pub(crate) fn on_a_ring(&self, to: &mut impl Members) -> Result<Vec<Vec<Output>>, GraphError> {
        let (packs, sums) = self.reduce_scatter(to)?;
        let gathered = self.all_gather(to, sums.clone())?;
        let of_member = |((pack, sum), gathered): ((OpId, Output), Vec<Output>)| {
            [(pack, 0), sum].into_iter().chain(gathered).collect()
        };
        Ok(packs.into_iter().zip(sums).zip(gathered).map(of_member).collect())
    }

    /// The first half of an all-reduce on a ring. Returns the op that packs each member's tensor, and for each member the sum of
    /// one chunk: member m has chunk m + 1.
    pub(crate) fn reduce_scatter(&self, to: &mut impl Members) -> Result<(Vec<OpId>, Vec<Output>), GraphError> {
        let count = self.members.len();
        let chunk = |number: usize| share(self.values, number, count);
        let packs = self.pack(to, |member| vec![chunk(member)])?;
        // Where each chunk is now.
        let mut at: Vec<Output> = packs.iter().map(|&pack| (pack, 1)).collect();
        for hop in 0..count - 1 {
            for (member, &pack) in packs.iter().enumerate() {
                let number = (member + 2 * count - hop - 1) % count;
                let name = format!("{}reduce_{hop}", self.name);
                let (inputs, bytes) = ([at[number], (pack, 0)], [(self.message)(chunk(number))]);
                let cost = (self.add_ops)(chunk(number));
                at[number] = (to.add(self.members[member], &name, "Reduce", cost, &bytes, &inputs)?, 0);
            }
        }
        Ok((packs, (0..count).map(|member| at[(member + 1) % count]).collect()))
    }

    /// The second half: member m begins with chunk m + 1, and in the end each has all. Returns for each member the others' chunks.
    pub(crate) fn all_gather(&self, to: &mut impl Members, own: Vec<Output>) -> Result<Vec<Vec<Output>>, GraphError> {
        let count = self.members.len();
        let mut at = own;
        at.rotate_right(1);
        let mut results: Vec<Vec<Output>> = vec![Vec::with_capacity(count); count];
        for hop in count - 1..2 * (count - 1) {
            for (member, results) in results.iter_mut().enumerate() {
                let number = (member + 2 * count - hop - 1) % count;
                let bytes = [(self.message)(share(self.values, number, count))];
                let name = format!("{}gather_{}", self.name, hop + 1 - count);
                at[number] = (to.add(self.members[member], &name, "Gather", 0.0, &bytes, &[at[number]])?, 0);
                results.push(at[number]);
            }
        }
        Ok(results)
    }

    /// All-reduce by recursive doubling, in MPICH's order: the first 2 · (P − 2^k) members pair up, the odd ones of them and all
    /// others take part in k rounds.
    ///
    /// # Reference
    /// R. Thakur, R. Rabenseifner, W. Gropp: Optimization of collective communication operations in MPICH. IJHPCA 19(1), 2005.
    pub(crate) fn by_recursive_doubling(&self, to: &mut impl Members) -> Result<Vec<Vec<Output>>, GraphError> {
        let count = self.members.len();
        let rounds = count.ilog2();
        let extra = count - (1 << rounds);
        let bytes = [(self.message)(self.values)];
        let cost = (self.add_ops)(self.values);
        let packs = self.pack(to, |_| vec![self.values])?;
        let mut sum: Vec<Output> = packs.iter().map(|&pack| (pack, 1)).collect();
        for pair in 0..extra {
            let (even, odd) = (2 * pair, 2 * pair + 1);
            let inputs = [(packs[odd], 0), sum[even]];
            let name = format!("{}fold", self.name);
            sum[odd] = (to.add(self.members[odd], &name, "Reduce", cost, &bytes, &inputs)?, 0);
        }
        let member_of = |number: usize| if number < extra { 2 * number + 1 } else { number + extra };
        for round in 0..rounds {
            let before = sum.clone();
            for number in 0..1usize << rounds {
                let (member, partner) = (member_of(number), member_of(number ^ (1 << round)));
                let name = format!("{}reduce_{round}", self.name);
                let inputs = [before[member], before[partner]];
                sum[member] = (to.add(self.members[member], &name, "Reduce", cost, &bytes, &inputs)?, 0);
            }
        }
        for pair in 0..extra {
            sum[2 * pair] = sum[2 * pair + 1];
        }
        Ok(sum.into_iter().map(|sum| vec![sum]).collect())
    }

    /// A binomial tree: in round r each member whose number is a multiple of 2^(r + 1) adds what the one 2^r after it has; then the
    /// sum goes back the same way.
    ///
    /// # Reference
    /// As [`Sum::by_recursive_doubling`], §4.1.
    pub(crate) fn on_a_tree(&self, to: &mut impl Members) -> Result<Vec<Vec<Output>>, GraphError> {
        let bytes = [(self.message)(self.values)];
        let mut sum: Vec<Output> = self.pack(to, |_| vec![self.values])?.into_iter().map(|pack| (pack, 1)).collect();
        let rounds = self.members.len().next_power_of_two().ilog2();
        for round in 0..rounds {
            for (low, high) in self.pairs(round) {
                let name = format!("{}reduce_{round}", self.name);
                let inputs = [sum[low], sum[high]];
                let cost = (self.add_ops)(self.values);
                sum[low] = (to.add(self.members[low], &name, "Reduce", cost, &bytes, &inputs)?, 0);
            }
        }
        for round in (0..rounds).rev() {
            for (low, high) in self.pairs(round) {
                let name = format!("{}gather_{round}", self.name);
                sum[high] = (to.add(self.members[high], &name, "Gather", 0.0, &bytes, &[sum[low]])?, 0);
            }
        }
        Ok(sum.into_iter().map(|sum| vec![sum]).collect())
    }

    /// All tensors one behind the other, on a ring: for each member its own and what it gets of the others.
    pub(crate) fn gathered_on_a_ring(&self, to: &mut impl Members) -> Result<Vec<Vec<Output>>, GraphError> {
        let mut all = self.all_gather(to, self.tensors.to_vec())?;
        all.iter_mut().zip(self.tensors).for_each(|(all, &own)| all.insert(0, own));
        Ok(all)
    }

    /// All tensors one behind the other, by recursive doubling, as [`Sum::by_recursive_doubling`] adds them: in each round a member
    /// gets what another has.
    pub(crate) fn gathered_by_recursive_doubling(&self, to: &mut impl Members) -> Result<Vec<Vec<Output>>, GraphError> {
        let count = self.members.len();
        let rounds = count.ilog2();
        let extra = count - (1 << rounds);
        let mut all = self.parts();
        for pair in 0..extra {
            all[2 * pair + 1] = self.joined(to, "fold", 2 * pair + 1, all[2 * pair + 1], all[2 * pair])?;
        }
        let member_of = |number: usize| if number < extra { 2 * number + 1 } else { number + extra };
        for round in 0..rounds {
            let before = all.clone();
            for number in 0..1usize << rounds {
                let (member, partner) = (member_of(number), member_of(number ^ (1 << round)));
                let name = format!("gather_{round}");
                all[member] = self.joined(to, &name, member, before[member], before[partner])?;
            }
        }
        for pair in 0..extra {
            all[2 * pair] = all[2 * pair + 1];
        }
        Ok(all.into_iter().map(|(all, _)| vec![all]).collect())
    }

    /// All tensors one behind the other, on a binomial tree, as [`Sum::on_a_tree`] adds them.
    pub(crate) fn gathered_on_a_tree(&self, to: &mut impl Members) -> Result<Vec<Vec<Output>>, GraphError> {
        let mut all = self.parts();
        let rounds = self.members.len().next_power_of_two().ilog2();
        for round in 0..rounds {
            for (low, high) in self.pairs(round) {
                all[low] = self.joined(to, &format!("gather_{round}"), low, all[low], all[high])?;
            }
        }
        let bytes = [(self.message)(self.values)];
        for round in (0..rounds).rev() {
            for (low, high) in self.pairs(round) {
                let name = format!("{}pass_{round}", self.name);
                all[high].0 = (to.add(self.members[high], &name, "Gather", 0.0, &bytes, &[all[low].0])?, 0);
            }
        }
        Ok(all.into_iter().map(|(all, _)| vec![all]).collect())
    }

    /// All tensors one behind the other, by a server, which is the member `server`: every member gets them.
    pub(crate) fn gathered_by_a_server(
        &self,
        to: &mut impl Members,
        server: usize,
    ) -> Result<Vec<Vec<Output>>, GraphError> {
        let name = format!("{}gather", self.name);
        let all = to.add(server, &name, "Gather", 0.0, &[(self.bytes)(self.values)], self.tensors)?;
        Ok(vec![vec![(all, 0)]; self.members.len()])
    }

    /// What each member has before anything is gathered, and its size in values.
    fn parts(&self) -> Vec<(Output, u64)> {
        let count = self.members.len();
        self.tensors.iter().enumerate().map(|(at, &tensor)| (tensor, share(self.values, at, count))).collect()
    }

    /// What a member has once it got what another has.
    fn joined(
        &self,
        to: &mut impl Members,
        name: &str,
        member: usize,
        own: (Output, u64),
        other: (Output, u64),
    ) -> Result<(Output, u64), GraphError> {
        let (name, values) = (format!("{}{name}", self.name), own.1 + other.1);
        let bytes = [(self.message)(values)];
        let op = to.add(self.members[member], &name, "Gather", 0.0, &bytes, &[own.0, other.0])?;
        Ok(((op, 0), values))
    }

    /// The members of a binomial tree that exchange in a round.
    fn pairs(&self, round: u32) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (count, distance) = (self.members.len(), 1usize << round);
        (0..count).step_by(2 * distance).filter(move |low| low + distance < count).map(move |low| (low, low + distance))
    }

    /// Each server adds its share of all tensors, and every member gets the sums. Server s is the member `first + s`.
    pub(crate) fn by_servers(
        &self,
        to: &mut impl Members,
        first: usize,
        servers: usize,
    ) -> Result<Vec<Vec<Output>>, GraphError> {
        let values: Vec<u64> = (0..servers).map(|server| share(self.values, server, servers)).collect();
        let packs = self.pack(to, |_| values.clone())?;
        let mut results = vec![Vec::with_capacity(servers); self.members.len()];
        for (server, &values) in values.iter().enumerate() {
            let inputs: Vec<Output> = packs.iter().map(|&pack| (pack, server + 1)).collect();
            let cost = (self.add_ops)(values) * self.members.len() as f64;
            let name = format!("{}aggregate", self.name);
            let sum = to.add(first + server, &name, "Aggregate", cost, &[(self.bytes)(values)], &inputs)?;
            results.iter_mut().for_each(|result| result.push((sum, 0)));
        }
        Ok(results)
    }
}

/// The size of part number `part` if `values` are divided into `parts` parts whose sizes differ by at most 1.
pub(crate) fn share(values: u64, part: usize, parts: usize) -> u64 {
    let (part, parts, values) = (part as u128, parts as u128, u128::from(values));
    // A part of a u64.
    ((part + 1) * values / parts - part * values / parts) as u64
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
