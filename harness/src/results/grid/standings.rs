//! How candidates stand: their ratios to the best of each instance, and the means of these.

use std::collections::BTreeMap;

use placebench_algorithms::ONLINE;
use placebench_datasets::is_equal;
use serde::Serialize;

use super::{Grid, GridCell, ascending};
use crate::request::CHOSEN;
use crate::statistics;

/// What stands against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Candidates {
    /// Placers, each with its best scheduler on the instance.
    Placer,
    /// Schedulers, over the placements of all placers. `static`, `online` and `chosen` are left out: they run only with some placers.
    Scheduler,
    /// Placers with schedulers.
    Pair,
}

/// How the candidates of a grid stand.
///
/// A ratio is a candidate's value / the best of the instance; 1 where they are equal. Where the best is 0 there are no
/// ratios. A candidate takes part in the means unless it lacks a value on more than a share of the instances. A mean is
/// the geometric mean of the ratios over the common instances: those on which all that take part have one. So all means
/// are over the same instances, and a candidate that fails often does not narrow those of others.
#[derive(Clone, Debug, PartialEq)]
pub struct Standings {
    /// What stands against each other.
    pub by: Candidates,
    /// The names of the candidates, in the order of the rows.
    pub candidates: Vec<String>,
    /// What the columns of the matrices below are: an instance of the grid, and a placer where schedulers are compared.
    pub places: Vec<(usize, Option<usize>)>,
    /// By place, then by candidate: index of the cell that stands for it.
    cells: Vec<Vec<Option<u32>>>,
    /// By place, then by candidate.
    ratios: Vec<Vec<Option<f64>>>,
    /// Whether each candidate takes part in the means.
    pub takes_part: Vec<bool>,
    /// For each candidate the number of places on which others have a value, and it has none.
    pub lacking: Vec<usize>,
    /// Places on which at least one candidate has a value.
    pub instances: usize,
    /// Places that count in the means, in the order of their names.
    pub common: Vec<usize>,
    /// Places left out of the means because the best value is 0, or the best makespan is and the metric is not defined.
    pub zeros: usize,
    /// Geometric mean of each candidate's ratios over the common places; `None` if it takes no part, or there are none.
    pub means: Vec<Option<f64>>,
    /// The candidates, the best mean first; those without one behind them: fewer failures first, then by the mean of the
    /// ratios that they have. Equals stand in the order of the rows.
    pub order: Vec<usize>,
}

/// A candidate that lacks a value on more than this share of the instances takes no part in means, unless the caller
/// says otherwise: one failure in ten costs the others few instances, more would make means of what is left.
pub const DROP_FAILING: f64 = 0.1;

impl Standings {
    /// How the candidates of a grid stand, if those that lack values on more than a share of the instances take no part.
    ///
    /// # Complexity
    /// O(places · candidates), and a sort of the candidates.
    pub fn new(grid: &Grid, by: Candidates, drop_failing: f64) -> Self {
        let (candidates, places, cells) = match by {
            Candidates::Placer => by_placer(grid),
            Candidates::Scheduler => by_scheduler(grid),
            Candidates::Pair => by_pair(grid),
        };
        let mut standings = Self {
            by,
            takes_part: Vec::new(),
            lacking: Vec::new(),
            instances: 0,
            common: Vec::new(),
            zeros: 0,
            means: Vec::new(),
            order: Vec::new(),
            ratios: Vec::new(),
            candidates,
            places,
            cells,
        };
        standings.settle(grid, drop_failing);
        standings
    }

    fn settle(&mut self, grid: &Grid, drop_failing: f64) {
        let places = 0..self.places.len();
        let all = 0..self.candidates.len();
        let losses: Vec<Vec<Option<f64>>> = places
            .clone()
            .map(|place| all.clone().map(|own| Some(grid.loss(self.cell(grid, own, place)?.mean()?))).collect())
            .collect();
        let is_undefined: Vec<bool> = self.places.iter().map(|&(instance, _)| grid.is_undefined(instance)).collect();
        let has_values = |place: &usize| losses[*place].iter().any(Option::is_some);
        let is_run = |place: &usize| has_values(place) && !is_undefined[*place];
        self.instances = places.clone().filter(is_run).count();
        self.lacking = all
            .clone()
            .map(|own| places.clone().filter(is_run).filter(|&place| losses[place][own].is_none()).count())
            .collect();
        let most = drop_failing * self.instances as f64;
        self.takes_part = self.lacking.iter().map(|&lacking| self.instances > 0 && lacking as f64 <= most).collect();
        let none = vec![None; self.candidates.len()];
        let row =
            |(losses, &undefined): (&Vec<Option<f64>>, &bool)| if undefined { none.clone() } else { ratios(losses) };
        self.ratios = losses.iter().zip(&is_undefined).map(row).collect();
        let participants: Vec<usize> = all.clone().filter(|&own| self.takes_part[own]).collect();
        let has_all = |row: &[Option<f64>]| participants.iter().all(|&own| row[own].is_some());
        self.common =
            places.clone().filter(|&place| !participants.is_empty() && has_all(&self.ratios[place])).collect();
        // By name, so that sums over them do not depend on the order of the rows.
        let name = |place: &usize| {
            let (instance, placer) = self.places[*place];
            (&grid.instances[instance].key, placer.map(|placer| &grid.placers[placer]))
        };
        self.common.sort_by(|a, b| name(a).cmp(&name(b)));
        let is_zero = |&place: &usize| {
            is_undefined[place] || is_run(&place) && has_all(&losses[place]) && !has_all(&self.ratios[place])
        };
        self.zeros = places.clone().filter(is_zero).count();
        let mean = |own: usize| {
            let ratios = self.common.iter().filter_map(|&place| self.ratios[place][own]);
            self.takes_part[own].then(|| geometric_mean(ratios)).flatten()
        };
        self.means = all.clone().map(mean).collect();
        self.order = self.ordered();
    }

    fn ordered(&self) -> Vec<usize> {
        let own_mean =
            |own: usize| geometric_mean(self.ratios.iter().filter_map(|row| row[own])).unwrap_or(f64::INFINITY);
        let of = |class: Vec<usize>, value: &dyn Fn(usize) -> f64| {
            let values: Vec<f64> = class.iter().map(|&own| value(own)).collect();
            ascending(&values).into_iter().map(|index| class[index]).collect::<Vec<usize>>()
        };
        let mut classes: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for own in 0..self.candidates.len() {
            // Those with a mean come before any that fails.
            let class = if self.means[own].is_some() { 0 } else { 1 + self.lacking[own] };
            classes.entry(class).or_default().push(own);
        }
        let value = |own: usize| self.means[own].unwrap_or_else(|| own_mean(own));
        classes.into_values().flat_map(|class| of(class, &value)).collect()
    }

    /// The cell that stands for a candidate at a place.
    pub fn cell<'g>(&self, grid: &'g Grid, candidate: usize, place: usize) -> Option<&'g GridCell> {
        let index = self.cells[place][candidate]?;
        Some(&grid.instances[self.places[place].0].cells[index as usize])
    }

    /// A candidate's value at a place / the best there; 1 is the best. `None` without a value, or if the best is 0.
    pub fn ratio(&self, candidate: usize, place: usize) -> Option<f64> {
        self.ratios[place][candidate]
    }

    /// The candidates that none beats at a place: several where they tie.
    pub fn winners(&self, place: usize) -> Vec<usize> {
        (0..self.candidates.len()).filter(|&own| self.ratio(own, place) == Some(1.0)).collect()
    }

    /// Places at which none beats a candidate.
    pub fn wins(&self, candidate: usize) -> usize {
        self.ratios.iter().filter(|row| row[candidate] == Some(1.0)).count()
    }

    /// The candidates that take part, the best mean first.
    pub fn ranked(&self) -> Vec<usize> {
        self.order.iter().copied().filter(|&own| self.means[own].is_some()).collect()
    }

    /// Why a candidate lacks values: places by the reason.
    pub fn reasons(&self, grid: &Grid, candidate: usize) -> BTreeMap<String, usize> {
        let mut reasons = BTreeMap::new();
        for (place, row) in self.cells.iter().enumerate() {
            let is_undefined = grid.is_undefined(self.places[place].0);
            if row[candidate].is_none() && row.iter().any(Option::is_some) && !is_undefined {
                *reasons.entry(self.reason(grid, candidate, place).to_owned()).or_default() += 1;
            }
        }
        reasons
    }

    /// Why a candidate has no value at a place: what its first cell there says.
    fn reason<'g>(&self, grid: &'g Grid, candidate: usize, place: usize) -> &'g str {
        let (instance, of_placer) = self.places[place];
        let name = &self.candidates[candidate];
        let is_own = |cell: &&GridCell| {
            let (placer, scheduler) = (cell.placer as usize, cell.scheduler as usize);
            match self.by {
                Candidates::Placer => grid.placers[placer] == *name,
                Candidates::Scheduler => Some(placer) == of_placer && grid.schedulers[scheduler] == *name,
                Candidates::Pair => pair_name(grid, cell) == *name,
            }
        };
        grid.instances[instance].cells.iter().find(is_own).map_or("not run", |cell| grid.why(cell))
    }
}

/// The geometric mean, added in the order of the values: it does not depend on the order of the rows.
fn geometric_mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    statistics::geometric_mean(sorted)
}

/// Names of candidates, places, and by place and candidate the cell that stands for it.
type Matrix = (Vec<String>, Vec<(usize, Option<usize>)>, Vec<Vec<Option<u32>>>);

fn by_placer(grid: &Grid) -> Matrix {
    let places = (0..grid.instances.len()).map(|instance| (instance, None)).collect();
    (grid.placers.clone(), places, grid.best())
}

fn pair_name(grid: &Grid, cell: &GridCell) -> String {
    format!("{} + {}", grid.placers[cell.placer as usize], grid.schedulers[cell.scheduler as usize])
}

fn by_pair(grid: &Grid) -> Matrix {
    let mut column: BTreeMap<(u32, u32), usize> = BTreeMap::new();
    let mut names = Vec::new();
    for cell in grid.instances.iter().flat_map(|instance| &instance.cells) {
        column.entry((cell.placer, cell.scheduler)).or_insert_with(|| {
            names.push(pair_name(grid, cell));
            names.len() - 1
        });
    }
    let row = |instance: &super::GridInstance| {
        let mut row = vec![None; names.len()];
        for (index, cell) in (0..).zip(&instance.cells).filter(|(_, cell)| cell.mean().is_some()) {
            row[column[&(cell.placer, cell.scheduler)]] = Some(index);
        }
        row
    };
    let cells = grid.instances.iter().map(row).collect();
    let places = (0..grid.instances.len()).map(|instance| (instance, None)).collect();
    (names, places, cells)
}

/// Whether a scheduler runs with every placer that decides before the run.
fn is_general(name: &str) -> bool {
    name != "static" && name != ONLINE && name != CHOSEN
}

fn by_scheduler(grid: &Grid) -> Matrix {
    let general: Vec<usize> = (0..grid.schedulers.len()).filter(|&own| is_general(&grid.schedulers[own])).collect();
    let column: BTreeMap<u32, usize> = general.iter().enumerate().map(|(column, &own)| (own as u32, column)).collect();
    let (mut places, mut cells) = (Vec::new(), Vec::new());
    for (number, instance) in grid.instances.iter().enumerate() {
        let mut rows: BTreeMap<u32, Vec<Option<u32>>> = BTreeMap::new();
        for (index, cell) in (0..).zip(&instance.cells) {
            let Some(&column) = column.get(&cell.scheduler) else { continue };
            let row = rows.entry(cell.placer).or_insert_with(|| vec![None; general.len()]);
            row[column] = cell.mean().map(|_| index);
        }
        places.extend(rows.keys().map(|&placer| (number, Some(placer as usize))));
        cells.extend(rows.into_values());
    }
    (general.iter().map(|&own| grid.schedulers[own].clone()).collect(), places, cells)
}

/// Each value / the least; no number is a multiple of 0.
fn ratios(losses: &[Option<f64>]) -> Vec<Option<f64>> {
    let least = losses.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    let ratio = |loss: f64| if is_equal(loss, least) { 1.0 } else { loss / least };
    let counts = |loss: &f64| least > 0.0 && loss.is_finite();
    losses.iter().map(|loss| loss.filter(counts).map(ratio)).collect()
}
