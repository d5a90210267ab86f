//! What a pass is: a graph in, another graph and where its ops come from out.

use std::fmt;
use std::str::FromStr;

use placebench_base::params::{ParamSpec, Params};
use placebench_base::process::{NotEnoughMemory, check_memory};
use placebench_base::spec::{Spec, SpecError};
use placebench_base::{Listed, find};
use placebench_datasets::{DataflowGraph, GraphError, Instance, InstanceError, OpId, PlacedGraph, Placement};
use serde::{Deserialize, Serialize};

use crate::passes::PASSES;
use crate::placed_pass::{Changed, PlacedPass};

/// What a pass leaves as it was, op by op: laws that tests hold each pass to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// The sum of operations, and that of measured times, over all ops.
    Work,
    /// The bytes of every tensor that is still there.
    Bytes,
    /// What the fetched ops compute.
    Results,
}

/// A pass over graphs. Its fields are its parameters.
pub trait Pass: Sized + Send + Sync + 'static {
    /// Unique name.
    const NAME: &'static str;
    /// One plain sentence.
    const SUMMARY: &'static str;
    /// Where it comes from: a short citation.
    const SOURCE: &'static str;
    /// What it leaves as it was.
    const KEEPS: &'static [Kept];

    /// Declares and reads all parameters, in the order in which they are to be listed. The first may be given without its name.
    ///
    /// # Errors
    /// If a value is not what its parameter takes.
    fn new(params: &mut Params) -> Result<Self, SpecError>;

    /// Makes the new graph.
    ///
    /// # Errors
    /// One line, if the graph is none that the pass is for.
    fn apply(&self, graph: &DataflowGraph) -> Result<Passed, PassError>;
}

/// What a pass answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Passed {
    /// The new graph.
    pub graph: DataflowGraph,
    /// From which ops of the old graph each op of the new one comes.
    pub origin: Origin,
    /// One line of what was done.
    pub line: String,
}

/// For each op of a new graph the ops of an old one that it comes from, ascending; none for an op that a pass added.
///
/// 4 bytes an op and 4 an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    offsets: Vec<u32>,
    ops: Vec<OpId>,
}

impl Default for Origin {
    fn default() -> Self {
        Self { offsets: vec![0], ops: Vec::new() }
    }
}

impl Origin {
    /// Each op comes from itself.
    pub fn same(op_count: usize) -> Self {
        Self { offsets: (0..=op_count as u32).collect(), ops: (0..op_count).map(OpId::new).collect() }
    }

    /// Adds the entry of the next new op.
    pub fn push(&mut self, old: impl IntoIterator<Item = OpId>) {
        let begin = self.ops.len();
        self.ops.extend(old);
        self.ops[begin..].sort_unstable();
        self.offsets.push(self.ops.len() as u32);
    }

    /// Number of new ops.
    pub fn op_count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The old ops that a new op comes from.
    pub fn of(&self, op: OpId) -> &[OpId] {
        &self.ops[self.offsets[op.index()] as usize..self.offsets[op.index() + 1] as usize]
    }

    /// The origin of a second pass' graph in the graph before the first, whose own origin this is.
    #[must_use]
    pub fn then(&self, second: &Self) -> Self {
        let mut whole = Self::default();
        for op in (0..second.op_count()).map(OpId::new) {
            let mut old: Vec<OpId> = second.of(op).iter().flat_map(|&middle| self.of(middle)).copied().collect();
            old.sort_unstable();
            old.dedup();
            whole.push(old);
        }
        whole
    }
}

/// Why a pass does not change a graph.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PassError {
    /// The graph is none that it is for.
    #[error("pass '{pass}': {reason}")]
    Refused {
        /// The pass.
        pass: &'static str,
        /// Why, and what to do.
        reason: String,
    },
    /// The new graph does not fit into memory.
    #[error("pass '{pass}': {error}")]
    Memory {
        /// The pass.
        pass: &'static str,
        /// What is there and what it would take.
        error: NotEnoughMemory,
    },
    /// The new graph is refused.
    #[error("pass '{pass}': {source}")]
    Graph {
        /// The pass.
        pass: &'static str,
        /// Why.
        source: GraphError,
    },
    /// The graph is not placed yet.
    #[error("pass '{pass}' changes a graph that is placed: give it to 'place' or to a suite")]
    NotPlaced {
        /// The pass.
        pass: &'static str,
    },
    /// The new graph does not fit its cluster.
    #[error("pass '{pass}': {source}")]
    Instance {
        /// The pass.
        pass: &'static str,
        /// Why.
        source: InstanceError,
    },
}

impl PassError {
    /// Checks that a graph of about this number of ops and edges fits, before a pass takes memory or time for it.
    ///
    /// # Errors
    /// If it would not.
    pub(crate) fn check_size<P: Pass>(ops: f64, edges: f64) -> Result<(), Self> {
        // Casts saturate.
        let parts = [(ops as u64, OP_BYTES), (edges as u64, EDGE_BYTES)];
        let fits = check_memory(&parts, || format!("a graph of about {ops:.0} ops and {edges:.0} edges"));
        fits.map_err(|error| Self::Memory { pass: P::NAME, error })
    }

    /// A refusal of a pass.
    pub fn refused<P: Pass>(reason: impl Into<String>) -> Self {
        Self::Refused { pass: P::NAME, reason: reason.into() }
    }
}

/// Bytes an op with its name, and an edge, take at most while a graph is built.
const OP_BYTES: u64 = 400;
const EDGE_BYTES: u64 = 44;

/// A pass that was read: over a graph, or over one that is placed.
enum Apply {
    Graph(Box<OverGraph>),
    Placed(Box<OverPlaced>),
}

type OverGraph = dyn Fn(&DataflowGraph) -> Result<Passed, PassError> + Send + Sync;
type OverPlaced = dyn Fn(&PlacedGraph<'_>) -> Result<Changed, PassError> + Send + Sync;

type Read = dyn Fn(&mut Params) -> Result<Apply, SpecError> + Send + Sync;

/// A line of the table of passes.
pub struct PassEntry {
    /// Unique name.
    pub name: &'static str,
    /// One plain sentence.
    pub summary: &'static str,
    /// Where it comes from: a short citation.
    pub source: &'static str,
    /// What it leaves as it was.
    pub keeps: &'static [Kept],
    /// Whether it changes a graph that is placed, between placement and execution.
    pub is_after_placement: bool,
    read: Box<Read>,
}

impl Listed for PassEntry {
    const WHAT: &'static str = "pass";
    const LIST: &'static str = "passes";

    fn name(&self) -> &str {
        self.name
    }

    fn summary(&self) -> &str {
        self.summary
    }
}

impl PassEntry {
    pub(crate) fn of<P: Pass>() -> Self {
        let read = |params: &mut Params| -> Result<Apply, SpecError> {
            let pass = P::new(params)?;
            Ok(Apply::Graph(Box::new(move |graph| pass.apply(graph))))
        };
        let (name, summary, source, keeps) = (P::NAME, P::SUMMARY, P::SOURCE, P::KEEPS);
        Self { name, summary, source, keeps, is_after_placement: false, read: Box::new(read) }
    }

    pub(crate) fn of_placed<P: PlacedPass>() -> Self {
        let read = |params: &mut Params| -> Result<Apply, SpecError> {
            let pass = P::new(params)?;
            Ok(Apply::Placed(Box::new(move |placed| pass.apply(placed))))
        };
        let (name, summary, source, keeps) = (P::NAME, P::SUMMARY, P::SOURCE, P::KEEPS);
        Self { name, summary, source, keeps, is_after_placement: true, read: Box::new(read) }
    }

    /// The parameters with their defaults.
    pub fn params(&self) -> Vec<ParamSpec> {
        let mut params = Params::none();
        // Defaults are never refused: a test reads every pass with them.
        let _ = (self.read)(&mut params);
        params.declared()
    }
}

/// Passes that change a graph one after another: `prune`, then `microbatch(m=8)`; and at the end those that change it when it is
/// placed: `compress(bits=16)`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Passes {
    steps: Vec<Spec>,
}

impl Passes {
    /// The passes of the texts, in their order.
    ///
    /// # Errors
    /// If there is no such pass or parameter, or a value is not what its parameter takes. If a pass over the graph comes behind one
    /// over the placed graph, or one of these comes twice.
    pub fn new<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Result<Self, SpecError> {
        Self::ordered(texts.into_iter().map(|text| step(text.as_ref())).collect::<Result<_, _>>()?)
    }

    /// These passes, then others.
    ///
    /// # Errors
    /// If they do not follow each other, as in [`Passes::new`].
    pub fn then(&self, others: &Self) -> Result<Self, SpecError> {
        Self::ordered(self.steps.iter().chain(&others.steps).cloned().collect())
    }

    /// The steps, if those over the placed graph come last, each of them once.
    fn ordered(steps: Vec<Spec>) -> Result<Self, SpecError> {
        let refused = |step: &Spec, reason: String| Err(SpecError::Together { owner: step.name.clone(), reason });
        let first = steps.iter().position(is_after_placement).unwrap_or(steps.len());
        let placed = &steps[first..];
        if let Some(late) = placed.iter().find(|step| !is_after_placement(step)) {
            let what = "changes the graph before it is placed: give it before";
            return refused(late, format!("{what} '{}', which changes what is placed", placed[0].name));
        }
        match (0..placed.len()).find(|&at| placed[..at].iter().any(|other| other.name == placed[at].name)) {
            None => Ok(Self { steps }),
            Some(at) => refused(&placed[at], "changes what is placed, and is given twice: give it once".to_owned()),
        }
    }

    /// The passes over the graph, which come before its placement.
    #[must_use]
    pub fn before_placement(&self) -> Self {
        Self { steps: self.steps.iter().filter(|step| !is_after_placement(step)).cloned().collect() }
    }

    /// The passes over the placed graph.
    #[must_use]
    pub fn after_placement(&self) -> Self {
        Self { steps: self.steps.iter().filter(|step| is_after_placement(step)).cloned().collect() }
    }

    /// Their names, in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().map(|step| step.name.as_str())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The parts of a text between its `+`; those within parentheses belong to a value.
    pub fn split(text: &str) -> Vec<&str> {
        let (mut parts, mut begin, mut depth) = (Vec::new(), 0, 0u32);
        for (at, character) in text.char_indices() {
            match character {
                '(' | '[' => depth += 1,
                ')' | ']' => depth = depth.saturating_sub(1),
                '+' if depth == 0 => {
                    parts.push(&text[begin..at]);
                    begin = at + 1;
                }
                _ => {}
            }
        }
        parts.push(&text[begin..]);
        parts
    }

    /// The name of a graph without the passes at its end: `convnet` of `convnet+prune+microbatch(m=8)`.
    pub fn base_name(name: &str) -> &str {
        let mut base = name;
        for part in Self::split(name).into_iter().skip(1).rev() {
            if Self::new([part]).is_err() {
                break;
            }
            base = &base[..base.len() - part.len() - 1];
        }
        base
    }

    /// Changes a graph by one pass after another. Answers with the last graph, where its ops come from in the first, and a line
    /// for each pass.
    ///
    /// # Errors
    /// That of the first pass that refuses its graph, as one over a placed graph does.
    pub fn apply(&self, graph: DataflowGraph) -> Result<Chained, PassError> {
        // Before work is done that would be lost.
        let after = self
            .steps
            .iter()
            .find_map(|step| PASSES.iter().find(|entry| entry.name == step.name && entry.is_after_placement));
        if let Some(entry) = after {
            return Err(PassError::NotPlaced { pass: entry.name });
        }
        let mut chained = Chained { origin: Origin::same(graph.op_count()), graph, lines: Vec::new() };
        for step in &self.steps {
            // Both were checked when the steps were read.
            let Ok(entry) = find(PASSES.iter(), &step.name) else { continue };
            let Ok(Apply::Graph(apply)) = (entry.read)(&mut Params::of(step)) else { continue };
            let passed = apply(&chained.graph)?;
            let origin = chained.origin.then(&passed.origin);
            chained = Chained { graph: passed.graph, origin, lines: chained.lines };
            chained.lines.push(format!("{step}: {}", passed.line));
        }
        Ok(chained)
    }

    /// Changes a placed graph by the passes that come after placement, one after another.
    ///
    /// The placement has to fit the instance ([`Placement::check`]).
    ///
    /// # Errors
    /// That of the first pass that refuses its graph.
    pub fn apply_placed(&self, instance: &Instance, placement: &Placement) -> Result<ChangedPlacement, PassError> {
        let (instance, placement) = (instance.clone(), placement.clone());
        let mut changed = ChangedPlacement { instance, placement, lines: Vec::new() };
        for step in &self.steps {
            // Both were checked when the steps were read.
            let Ok(entry) = find(PASSES.iter(), &step.name) else { continue };
            let Ok(Apply::Placed(apply)) = (entry.read)(&mut Params::of(step)) else { continue };
            let Changed { instance, placement, line } =
                apply(&PlacedGraph::new(&changed.instance, &changed.placement))?;
            (changed.instance, changed.placement) = (instance, placement);
            changed.lines.push(format!("{step}: {line}"));
        }
        Ok(changed)
    }
}

/// What passes over a placed graph answer that follow each other.
#[derive(Clone, Debug)]
pub struct ChangedPlacement {
    /// The last graph on the cluster. Its first ops are those of the first graph.
    pub instance: Instance,
    /// The device of each op.
    pub placement: Placement,
    /// One line a pass.
    pub lines: Vec<String>,
}

/// Whether a step is over a placed graph.
fn is_after_placement(step: &Spec) -> bool {
    PASSES.iter().any(|entry| entry.name == step.name && entry.is_after_placement)
}

/// What passes answer that follow each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Chained {
    /// The graph of the last.
    pub graph: DataflowGraph,
    /// From which ops of the first graph each of its ops comes.
    pub origin: Origin,
    /// One line a pass.
    pub lines: Vec<String>,
}

/// A pass with the parameters given, checked; numbers as they are printed. The first parameter may go without its name: `microbatch(8)`.
fn step(text: &str) -> Result<Spec, SpecError> {
    let name = text.split_once('(').map_or(text, |(name, _)| name).trim();
    let entry = find(PASSES.iter(), name)?;
    let declared = entry.params();
    let given = text.split_once('(').map(|(_, list)| list.trim_end().trim_end_matches(')').trim());
    if declared.is_empty() && given.is_some_and(|given| !given.is_empty()) {
        let reason = "takes no parameters: leave them out".to_owned();
        return Err(SpecError::Together { owner: name.to_owned(), reason });
    }
    let named = declared.first().and_then(|first| {
        let (name, list) = text.split_once('(')?;
        let value = list.split([',', ')']).next()?;
        let is_bare = !value.trim().is_empty() && !value.contains('=');
        is_bare.then(|| format!("{name}({}={list}", first.name))
    });
    let parsed = named.as_deref().unwrap_or(text).parse();
    let closed = named.as_ref().filter(|_| text.trim_end().ends_with(')'));
    let spec: Spec = parsed.map_err(|error| match (error, closed) {
        (SpecError::Syntax { .. }, None) => SpecError::Syntax { text: text.trim().to_owned() },
        // Of what was given, not of what was made of it.
        (SpecError::Syntax { .. }, Some(_)) => SpecError::Together {
            owner: name.to_owned(),
            reason: format!(
                "'{}' is not understood: only the first value goes without the name of its parameter",
                text.trim()
            ),
        },
        (error, _) => error,
    })?;
    spec.check_names(&declared)?;
    // The values are checked by reading them.
    (entry.read)(&mut Params::of(&spec)).map(drop)?;
    let printed = |value: String| match (value.parse::<u64>(), value.parse::<f64>()) {
        (Ok(number), _) => number.to_string(),
        (_, Ok(number)) if number.is_finite() => match number.to_string() {
            plain if plain.len() <= LONGEST_NUMBER => plain,
            _ => format!("{number:e}"),
        },
        _ => value,
    };
    Ok(Spec { params: spec.params.into_iter().map(|(name, value)| (name, printed(value))).collect(), ..spec })
}

/// Characters of a number up to which it is printed without an exponent.
const LONGEST_NUMBER: usize = 20;

impl fmt::Display for Passes {
    /// `prune+microbatch(m=8)`; nothing without passes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let steps: Vec<String> = self.steps.iter().map(Spec::to_string).collect();
        f.pad(&steps.join("+"))
    }
}

impl FromStr for Passes {
    type Err = SpecError;

    /// Reads what [`Passes`] prints.
    fn from_str(text: &str) -> Result<Self, SpecError> {
        if text.is_empty() { Ok(Self::default()) } else { Self::new(Self::split(text)) }
    }
}

impl TryFrom<Vec<String>> for Passes {
    type Error = SpecError;

    fn try_from(texts: Vec<String>) -> Result<Self, SpecError> {
        Self::new(texts)
    }
}

impl From<Passes> for Vec<String> {
    fn from(passes: Passes) -> Self {
        passes.steps.iter().map(Spec::to_string).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_read_back_as_they_were_written_and_the_first_parameter_needs_no_name() {
        let passes = Passes::new(["prune", "microbatch(8)"]).unwrap();
        assert_eq!(passes.to_string(), "prune+microbatch(m=8)");
        assert_eq!(passes.to_string().parse::<Passes>().unwrap(), passes);
        assert_eq!(Passes::new([" microbatch( 8 )"]).unwrap().to_string(), "microbatch(m=8)");
        assert!("".parse::<Passes>().unwrap().is_empty());
        assert_eq!(Passes::new(["microbatch(+04)"]).unwrap(), Passes::new(["microbatch(4)"]).unwrap());
        assert_eq!("prune(a+b)+fuse".parse::<Passes>().unwrap().to_string(), "prune(fetch=a+b)+fuse");
        for (name, base) in [
            ("convnet+prune+microbatch(m=8)", "convnet"),
            ("convnet", "convnet"),
            ("a+b.csv+fuse", "a+b.csv"),
            ("prune+fuse", "prune"),
            ("leveled(a+b)+prune(fetch=x+y)", "leveled(a+b)"),
        ] {
            assert_eq!(Passes::base_name(name), base);
        }
        assert!(["prune+", "+prune", "prune++fuse"].iter().all(|text| text.parse::<Passes>().is_err()));
        let small = Passes::new(["compress(cost=1e-300)"]).unwrap();
        assert_eq!(small.to_string(), "compress(cost=1e-300)");
        assert_eq!(small.to_string().parse::<Passes>().unwrap(), small);
    }

    #[test]
    fn what_is_no_pass_is_refused_with_what_there_is() {
        let refused = |text: &str| Passes::new([text]).unwrap_err().to_string();
        assert!(refused("prunne").contains("did you mean 'prune'?"), "{}", refused("prunne"));
        assert!(refused("microbatch(n=8)").contains("has no parameter 'n'"), "{}", refused("microbatch(n=8)"));
        assert!(refused("microbatch(0)").contains("'m' is '0'"), "{}", refused("microbatch(0)"));
        assert!(refused("microbatch(8").contains("is no name with parameters"), "{}", refused("microbatch(8"));
        let reason = "'compress(16,32)' is not understood: only the first value goes without the name of its parameter";
        assert_eq!(refused("compress(16,32)"), format!("'compress': {reason}"));
        assert_eq!(refused("cse(1)"), "'cse': takes no parameters: leave them out");
        assert_eq!(Passes::new(["cse()"]).unwrap(), Passes::new(["cse"]).unwrap());
    }

    #[test]
    fn passes_over_a_placed_graph_come_last_and_once() {
        let refused = |texts: &[&str]| Passes::new(texts).unwrap_err().to_string();
        let late =
            "'cse': changes the graph before it is placed: give it before 'compress', which changes what is placed";
        assert_eq!(refused(&["compress", "delay_receives", "cse"]), late);
        let first = Passes::new(["prune", "compress"]).unwrap();
        assert_eq!(first.then(&Passes::new(["cse"]).unwrap()).unwrap_err().to_string(), late);
        let twice = "'compress': changes what is placed, and is given twice: give it once";
        assert_eq!(refused(&["compress(16)", "delay_receives", "compress(8)"]), twice);
        assert_eq!(
            first.then(&Passes::new(["delay_receives"]).unwrap()).unwrap().to_string(),
            "prune+compress+delay_receives"
        );
    }

    #[test]
    fn origins_of_passes_that_follow_each_other_are_joined() {
        let mut first = Origin::default();
        first.push([OpId(4), OpId(2)]);
        first.push([OpId(3)]);
        first.push([]);
        let mut second = Origin::default();
        second.push([OpId(0), OpId(1)]);
        second.push([OpId(2)]);
        let whole = first.then(&second);
        assert_eq!(whole.of(OpId(0)), [OpId(2), OpId(3), OpId(4)]);
        assert!(whole.of(OpId(1)).is_empty());
    }
}
