//! The parts that list scheduling is put together from, and which of them go together.

use super::favourites::FavouriteChildren;
use super::priority::Priority;
use crate::ranks::Average;
use crate::{Algorithm, Named, Params, SpecError};

/// Ops scheduled between two looks at the stop token.
pub(super) const STOP_INTERVAL: usize = 1024;

/// Which device an op goes to, or which pair of an op and a device comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// The earliest finish (HEFT; Min-Min as a pair).
    EarliestFinish,
    /// The earliest start (MCP; ETF as a pair).
    EarliestStart,
    /// The least sum of finish and optimistic cost (PEFT).
    FinishPlusCost,
    /// The earliest finish of the op's successors.
    Lookahead,
    /// One device for the critical path, the earliest finish for the others (CPOP).
    CriticalPath,
    /// One device after the other, each filled to its share of the memory (m-TOPO).
    Fill,
    /// The largest level less start plus advantage of the device (DLS); pairs only.
    DynamicLevel,
    /// The earliest start, where devices wait for the favourite child of their last op (m-SCT); pairs only.
    FavouriteChild,
}

impl Named for Selection {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("earliest_finish", Self::EarliestFinish),
        ("earliest_start", Self::EarliestStart),
        ("finish_plus_cost", Self::FinishPlusCost),
        ("lookahead", Self::Lookahead),
        ("critical_path", Self::CriticalPath),
        ("fill", Self::Fill),
        ("dynamic_level", Self::DynamicLevel),
        ("favourite_child", Self::FavouriteChild),
    ];
}

/// What is picked in each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pick {
    /// The ready op of the highest priority, then a device for it.
    Op,
    /// The best of all pairs of a ready op and a feasible device; the priority breaks ties.
    Pair,
}

impl Named for Pick {
    const NAMES: &'static [(&'static str, Self)] = &[("op", Self::Op), ("pair", Self::Pair)];
}

/// Whether ops may go into gaps, as users say it.
#[derive(Clone, Copy, PartialEq)]
enum Insertion {
    Yes,
    No,
    /// Yes if an op is picked first and then a device for it.
    Auto,
}

impl Named for Insertion {
    const NAMES: &'static [(&'static str, Self)] = &[("true", Self::Yes), ("false", Self::No), ("auto", Self::Auto)];
}

/// A list scheduler put together from its parts: every one of the literature here is one combination, and the other
/// combinations are its ablations.
///
/// | placer | priority | pick | selection | insertion |
/// |---|---|---|---|---|
/// | heft | upward_rank | op | earliest_finish | yes |
/// | cpop | upward_downward | op | critical_path | yes |
/// | peft | optimistic_cost | op | finish_plus_cost | yes |
/// | lookahead | upward_rank | op | lookahead | yes |
/// | mcp | alap | op | earliest_start | yes |
/// | etf | static_level | pair | earliest_start | no |
/// | dls | median_level | pair | dynamic_level | no |
/// | m_topo | topological | op | fill | no |
/// | m_etf | topological | pair | earliest_start | no |
/// | m_sct | topological | pair | favourite_child | no |
///
/// An op is ready when its predecessors are scheduled. Ops of equal priority go in topological order. Colocated ops
/// follow the first of them that is scheduled, for which the memory of the whole group must be there (L §4.3).
///
/// # Reference
/// Y.-K. Kwok, I. Ahmad, *Static Scheduling Algorithms for Allocating Directed Task Graphs to Multiprocessors*, ACM
/// Computing Surveys 31(4), 1999, 406–471, doi:10.1145/344588.344618, for list scheduling and its parts; the named
/// combinations cite their own.
///
/// # Complexity
/// With pick=op, O(edges · devices + ops · devices · log ops), lookahead excepted: see [`Lookahead`](crate::placers::Lookahead).
/// With pick=pair, O(edges · devices + ops · devices · log ops) too, and up to 40 bytes for each pair of a device and an
/// op that was ready when the device was busy.
///
/// # Ties
/// Of devices: the lowest id. Of pairs: the op of the higher priority, then the lowest device id.
///
/// # Deviations
/// Pairs come without insertion: with it, every reservation would change the start of every ready op on that device.
#[derive(Clone, Copy, Debug)]
pub struct ListScheduling {
    /// The order of the ops.
    pub priority: Priority,
    /// What is picked in each step.
    pub pick: Pick,
    /// The device.
    pub selection: Selection,
    /// Whether an op may go into a gap between others.
    pub insertion: bool,
    /// How costs that differ between devices are averaged.
    pub average: Average,
    /// How favourite children are found, for [`Selection::FavouriteChild`].
    pub favourites: FavouriteChildren,
    /// Whether devices have their memory under the memory rule `peak` too, as the authors of m-TOPO, m-ETF and m-SCT want.
    pub keeps_peaks: bool,
}

impl Algorithm for ListScheduling {
    const NAME: &str = "list";
    const SUMMARY: &str = "list scheduling from named parts: heft, cpop, peft and the others are combinations";
    const SOURCE: &str = "Kwok, Ahmad 1999";

    /// The defaults are HEFT's.
    fn new(params: &mut Params) -> Result<Self, SpecError> {
        let priority = "order of the ops: upward_rank, upward_downward, optimistic_cost, static_level, median_level, alap, \
                        top_level or topological";
        let pick = "what is picked: the most urgent op, then a device; or the best pair of both";
        let selection = "the device: earliest_finish, earliest_start, and with pick=op finish_plus_cost, lookahead, \
                         critical_path or fill, with pick=pair dynamic_level or favourite_child";
        let insertion = "whether ops may go into gaps: true, false or auto (with pick=op)";
        let priority = params.word("priority", Priority::UpwardRank, priority)?;
        let pick = params.word("pick", Pick::Op, pick)?;
        let selection = params.word("selection", Selection::EarliestFinish, selection)?;
        let insertion = match params.word("insertion", Insertion::Auto, insertion)? {
            Insertion::Auto => pick == Pick::Op,
            insertion => insertion == Insertion::Yes,
        };
        let average = Average::param(params, Average::Time)?;
        // Only m_sct lets users choose these, and only memory-constrained placers keep peaks.
        let favourites = FavouriteChildren::params(&mut Params::none())?;
        let list = Self { priority, pick, selection, insertion, average, favourites, keeps_peaks: false };
        list.check()?;
        Ok(list)
    }
}

impl ListScheduling {
    /// Whether the parts go together.
    ///
    /// # Errors
    /// [`SpecError::BadValue`] with the part that does not go with the others, and what it must be.
    pub fn check(&self) -> Result<(), SpecError> {
        let name = self.selection.name();
        let bad = |param: &str, value: &str, expected: String| {
            Err(SpecError::BadValue { owner: Self::NAME.into(), param: param.into(), value: value.into(), expected })
        };
        match (self.pick, self.selection) {
            (Pick::Op, Selection::DynamicLevel | Selection::FavouriteChild) => {
                return bad("pick", "op", format!("'pair' with selection={name}"));
            }
            (Pick::Pair, Selection::EarliestFinish | Selection::EarliestStart) => {}
            (Pick::Pair, Selection::FavouriteChild) => {}
            (Pick::Pair, Selection::DynamicLevel) if self.priority.is_level() => {}
            (Pick::Pair, Selection::DynamicLevel) => {
                let levels = "'upward_rank', 'optimistic_cost', 'static_level' or 'median_level'";
                return bad("priority", self.priority.name(), format!("{levels} with selection={name}"));
            }
            (Pick::Pair, _) => return bad("pick", "pair", format!("'op' with selection={name}")),
            (Pick::Op, _) => {}
        }
        if self.pick == Pick::Pair && self.insertion {
            return bad("insertion", "true", "'false' with pick=pair".into());
        }
        Ok(())
    }
}
