//! What nothing needs is left out.

use placebench_base::did_you_mean;
use placebench_base::params::Params;
use placebench_base::spec::SpecError;
use placebench_datasets::{DataflowGraph, GraphError, OpId};

use super::training_step::TrainingStep;
use crate::pass::{Kept, Pass, PassError, Passed};
use crate::rewrite::{Draft, Rewrite, refused_by};

/// Keeps the ops that the fetched ones need, over edges of any sort, and nothing else: what a session of TensorFlow executes of
/// its graph when some outputs are asked for.
///
/// Without names the fetched ops are those that change the variables of a training step, and in a graph without such ops all
/// that depend on its inputs and that nothing consumes.
///
/// # Complexity
/// O(ops + edges).
///
/// # Reference
/// M. Abadi et al.: TensorFlow: large-scale machine learning on heterogeneous distributed systems, 2015, §4.2.
pub(super) struct Prune {
    /// Names of fetched ops.
    fetch: Vec<String>,
}

impl Pass for Prune {
    const NAME: &'static str = "prune";
    const SUMMARY: &'static str = "keeps the ops that the fetched ones need";
    const SOURCE: &'static str = "Abadi et al. 2015, §4.2";
    const KEEPS: &'static [Kept] = &[Kept::Bytes, Kept::Results];

    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let names = |text: &str| {
            let list = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text).trim();
            if list.is_empty() {
                return Some(Vec::new());
            }
            list.split(',').map(|name| Some(name.trim().to_owned()).filter(|name| !name.is_empty())).collect()
        };
        let doc = "names of fetched ops, as one name or [name,name]; [] stands for the updates of the variables, or for all that \
                   depends on inputs and is not consumed where nothing is updated";
        Ok(Self { fetch: params.value("fetch", "[]", "a name or a list of names in brackets", doc, names)? })
    }

    fn apply(&self, graph: &DataflowGraph) -> Result<Passed, PassError> {
        let fetched = self.fetched(graph)?;
        let mut needed = vec![false; graph.op_count()];
        let mut open = fetched;
        while let Some(op) = open.pop() {
            if !std::mem::replace(&mut needed[op.index()], true) {
                open.extend(graph.predecessor_ops(op));
            }
        }
        only(graph, &needed).map_err(refused_by::<Self>)
    }
}

impl Prune {
    fn fetched(&self, graph: &DataflowGraph) -> Result<Vec<OpId>, PassError> {
        let named = |name: &String| {
            let found = graph.op_ids().find(|&op| graph.name(op) == Some(name));
            found.ok_or_else(|| {
                let remedy = did_you_mean(name, graph.op_ids().filter_map(|op| graph.name(op)));
                let remedy = if graph.has_names() { remedy } else { "its ops have no names".to_owned() };
                PassError::refused::<Self>(format!("the graph has no op '{name}' to fetch: {remedy}"))
            })
        };
        if !self.fetch.is_empty() {
            return self.fetch.iter().map(named).collect();
        }
        let step = TrainingStep::of(graph);
        let fetched: Vec<OpId> = match step.has_updates() {
            true => graph.op_ids().filter(|&op| step.is_update(op)).collect(),
            false => graph.op_ids().filter(|&op| step.takes_inputs(op) && graph.out_degree(op) == 0).collect(),
        };
        match fetched.is_empty() {
            true => Err(PassError::refused::<Self>(
                "no op updates a variable or takes data of an input and hands none on: name the fetched ops, as in prune(NAME)",
            )),
            false => Ok(fetched),
        }
    }
}

/// The graph of some of the ops.
fn only(graph: &DataflowGraph, needed: &[bool]) -> Result<Passed, GraphError> {
    let mut rewrite = Rewrite::new(graph);
    let mut new = vec![None; needed.len()];
    for op in graph.op_ids().filter(|op| needed[op.index()]) {
        new[op.index()] = Some(rewrite.add(Draft::of(graph, op)));
    }
    for (op, id) in graph.op_ids().zip(&new) {
        if let &Some(id) = id {
            rewrite.connect(op, id, |producer, port| Some((new[producer.index()]?, port)))?;
        }
    }
    rewrite.colocate(|op| new[op.index()])?;
    let kept = new.iter().flatten().count();
    rewrite.finish(format!("{kept} of {} ops kept", needed.len()))
}
