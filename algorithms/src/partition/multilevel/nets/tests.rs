//! Laws of nets, from the definition.

use std::collections::BTreeSet;

use super::*;
use crate::partition::multilevel::random::Random;
use crate::partition::multilevel::refinement::gain_cache::GainUpdate;

/// The weight of each net for each block beyond the first that it is in.
fn by_definition(nets: &Nets, block_of: &[u32]) -> i64 {
    let blocks = |net: u32| nets.pins(net).iter().map(|&pin| block_of[pin as usize]).collect::<BTreeSet<u32>>();
    (0..nets.net_count() as u32).map(|net| nets.net_weight(net) * (blocks(net).len() as i64 - 1)).sum()
}

#[test]
fn connections_tell_what_any_move_changes_after_every_move() {
    for (seed, blocks) in [(1, 2usize), (2, 3), (3, 8), (4, 40)] {
        let nets = Nets::tangle(seed);
        let max_block_weights = vec![nets.total_weight(); blocks];
        let mut random = Random::new(seed, 7);
        let block_of: Vec<u32> = (0..100).map(|_| random.below(blocks) as u32).collect();
        let mut partition = PartitionedGraph::new(&nets, &max_block_weights, block_of, |_| true);
        for _ in 0..60 {
            let (vertex, to) = (random.below(100) as u32, random.below(blocks) as u32);
            if partition.block_of[vertex as usize] != to {
                partition.relocate(vertex, to, |_, _, _| ());
            }
            let now = by_definition(&nets, &partition.block_of);
            assert_eq!((partition.cut(), nets.cut(&partition.block_of)), (now, now));
            for vertex in 0..100u32 {
                let own = partition.block_of[vertex as usize];
                let block = random.below(blocks) as u32;
                let mut moved = partition.block_of.clone();
                moved[vertex as usize] = block;
                let gain = partition.connection_to(vertex, block) - partition.connection_to(vertex, own);
                assert_eq!(gain, now - by_definition(&nets, &moved), "{seed}: {vertex} to {block}");
            }
        }
    }
}

#[test]
fn what_a_move_means_for_others_is_what_looking_again_tells() {
    let mut seen = [0; 3];
    for (seed, blocks) in [(1, 2usize), (2, 3), (3, 8), (4, 40)] {
        let nets = Nets::tangle(seed);
        for room in [nets.total_weight(), nets.total_weight() / blocks as i64 * 11 / 10 + 3] {
            let max_block_weights = vec![room; blocks];
            let block_of = (0..100).map(|vertex| vertex % blocks as u32).collect();
            let mut partition = PartitionedGraph::new(&nets, &max_block_weights, block_of, |_| true);
            let mut random = Random::new(seed, 7);
            let gain = |partition: &PartitionedGraph<'_, Nets>, vertex: u32| {
                partition.best_move(vertex).map(|target| target.gain)
            };
            for _ in 0..1000 {
                let (vertex, to) = (random.below(100) as u32, random.below(blocks) as u32);
                if partition.block_of[vertex as usize] == to || partition.room(to) < nets.weight(vertex) {
                    continue;
                }
                let mut known: Vec<Option<i64>> = (0..100).map(|vertex| gain(&partition, vertex)).collect();
                partition.relocate(vertex, to, |partition, near, change| {
                    let (before, now) = (known[near as usize], gain(partition, near));
                    match partition.gain_update(near, before, change) {
                        GainUpdate::Unchanged => assert_eq!((now, seen[0] += 1), (before, ())),
                        GainUpdate::Gain(gain) => assert_eq!((now, seen[1] += 1), (Some(gain), ())),
                        GainUpdate::Unknown => seen[2] += 1,
                    }
                    known[near as usize] = now;
                });
            }
        }
    }
    assert!(seen.iter().all(|&count| count > 1000), "{seen:?}");
}

#[test]
fn a_swap_costs_what_both_moves_do_and_what_is_told_beyond() {
    let nets = Nets::tangle(5);
    let max_block_weights = [nets.total_weight(); 3];
    let block_of: Vec<u32> = (0..100).map(|vertex| vertex * 7 % 3).collect();
    let partition = PartitionedGraph::new(&nets, &max_block_weights, block_of.clone(), |_| true);
    for (one, other) in (0..100).flat_map(|one| (0..one).map(move |other| (one, other))) {
        let (a, b) = (block_of[one as usize], block_of[other as usize]);
        if a == b {
            continue;
        }
        let loss = |vertex, from, to| partition.connection_to(vertex, from) - partition.connection_to(vertex, to);
        let told = loss(one, a, b) + loss(other, b, a) + Nets::cost_of_swap(&partition, one, other);
        let mut swapped = block_of.clone();
        swapped.swap(one as usize, other as usize);
        assert_eq!(told, by_definition(&nets, &swapped) - by_definition(&nets, &block_of), "{one} {other}");
    }
}

#[test]
fn parts_and_clusters_cost_what_the_whole_does() {
    let nets = Nets::tangle(6);
    let cluster_of: Vec<u32> = (0..100).map(|vertex| vertex * 31 % 23).collect();
    let coarse = nets.contract(&cluster_of, 23);
    let coarse_block_of: Vec<u32> = (0..23).map(|cluster| cluster % 4).collect();
    let block_of: Vec<u32> = cluster_of.iter().map(|&cluster| coarse_block_of[cluster as usize]).collect();
    assert_eq!(coarse.cut(&coarse_block_of), nets.cut(&block_of));
    assert_eq!(coarse.total_weight(), nets.total_weight());
    // Halves first, then quarters within each: what both steps cost adds up.
    let halves: Vec<u32> = block_of.iter().map(|block| block / 2).collect();
    let within = |half: u32| {
        let members: Vec<u32> = (0..100).filter(|&vertex| halves[vertex as usize] == half).collect();
        let mut index = vec![0; 100];
        (0..).zip(&members).for_each(|(new, &vertex)| index[vertex as usize] = new);
        let part = nets.induced(&members, &index, |vertex| halves[vertex as usize] == half);
        part.cut(&members.iter().map(|&vertex| block_of[vertex as usize]).collect::<Vec<u32>>())
    };
    assert_eq!(nets.cut(&halves) + within(0) + within(1), nets.cut(&block_of));
}

#[test]
fn neighbourhoods_are_closed_rows() {
    let graph = UndirectedGraph::from_edges(4, [(0, 1, 5), (1, 2, 7)].into_iter(), None).expect("edges");
    let nets = neighbourhoods(&graph).expect("few nets");
    assert_eq!([0, 1, 2, 3].map(|net| nets.pins(net)), [&[0, 1][..], &[0, 1, 2], &[1, 2], &[3]]);
}
