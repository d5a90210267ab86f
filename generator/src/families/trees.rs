//! In-trees and out-trees.

use placebench_base::params::{Named, Params};
use placebench_base::spec::SpecError;
use placebench_datasets::OpId;

use crate::random::{Purpose, below, stream};
use crate::{GeneratorError, GraphFamily, Sketch, Source};

/// How a tree branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Each op has `degree` children, level by level, until there are enough ops.
    Complete,
    /// Each op is the child of a uniformly random one that has fewer than `degree` children.
    Random,
}

impl Named for Shape {
    const NAMES: &'static [(&'static str, Self)] = &[("complete", Self::Complete), ("random", Self::Random)];
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tree {
    nodes: u32,
    degree: u32,
    shape: Shape,
}

impl Tree {
    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let shape = "complete (level by level) or random (each op under a random one that has room)";
        Ok(Self {
            nodes: params.number("nodes", 63, 1.., "number of ops")?,
            degree: params.number("degree", 2, 1.., "most children of an op")?,
            shape: params.word("shape", Shape::Complete, shape)?,
        })
    }

    /// The parent of each op but the first, which is the root; parents come before their children.
    fn parents(&self, seed: u64) -> Vec<u32> {
        if self.shape == Shape::Complete {
            return (1..self.nodes).map(|op| (op - 1) / self.degree).collect();
        }
        let mut rng = stream(seed, Purpose::Structure, 0);
        let mut open = vec![0u32];
        let mut children = vec![0u32; self.nodes as usize];
        let mut parent = |op: u32| {
            let at = below(&mut rng, open.len() as u64) as usize;
            let parent = open[at];
            children[parent as usize] += 1;
            if children[parent as usize] == self.degree {
                open.swap_remove(at);
            }
            open.push(op);
            parent
        };
        (1..self.nodes).map(&mut parent).collect()
    }
}

/// A tree whose edges lead away from its root, the only source: each op has one predecessor.
///
/// There are n ops and n − 1 edges. A random tree of unlimited degree is a random recursive tree.
///
/// # Reference
/// T. C. Hu: Parallel sequencing and assembly line problems. Operations Research 9(6), 1961, 841–848, for trees as precedence;
/// R. T. Smythe, H. M. Mahmoud: A survey of recursive trees. Theory of Probability and Mathematical Statistics 51, 1995.
pub(super) struct OutTree(Tree);

impl GraphFamily for OutTree {
    const NAME: &'static str = "out_tree";
    const SUMMARY: &'static str = "a tree whose edges lead away from its root";
    const SOURCE: &'static str = "Hu 1961; Smythe, Mahmoud 1995";
    const COSTS: Source = Source::Drawn;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Tree::new(params).map(Self)
    }

    fn build(&self, sketch: &mut Sketch, seed: u64) -> Result<(), GeneratorError> {
        sketch.expect(f64::from(self.0.nodes), f64::from(self.0.nodes - 1))?;
        sketch.task("Root", &[])?;
        for parent in self.0.parents(seed) {
            sketch.task("Task", &[OpId(parent)])?;
        }
        Ok(())
    }
}

/// A tree whose edges lead to its root, the only sink: each op has one successor. The mirror image of [`OutTree`].
pub(super) struct InTree(Tree);

impl GraphFamily for InTree {
    const NAME: &'static str = "in_tree";
    const SUMMARY: &'static str = "a tree whose edges lead to its root, as in a reduction";
    const SOURCE: &'static str = "Hu 1961; Smythe, Mahmoud 1995";
    const COSTS: Source = Source::Drawn;

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        Tree::new(params).map(Self)
    }

    fn build(&self, sketch: &mut Sketch, seed: u64) -> Result<(), GeneratorError> {
        sketch.expect(f64::from(self.0.nodes), f64::from(self.0.nodes - 1))?;
        // Numbered backwards, so that children come before their parents.
        let last = self.0.nodes - 1;
        let mut children: Vec<Vec<OpId>> = vec![Vec::new(); self.0.nodes as usize];
        for (child, parent) in (1..).zip(self.0.parents(seed)) {
            children[parent as usize].push(OpId(last - child));
        }
        for (op, mut children) in children.into_iter().enumerate().rev() {
            children.reverse();
            sketch.task(if op == 0 { "Root" } else { "Task" }, &children)?;
        }
        Ok(())
    }
}
