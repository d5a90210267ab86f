//! The rows of nets and the weights of vertices that hMETIS's and PaToH's files share.

use super::lines::Line;
use crate::format::FormatError;

/// The nets of a file, row by row.
pub(super) struct NetRows {
    /// The number of the first vertex.
    base: u64,
    vertices: u32,
    /// Whether a row begins with the net's weight.
    is_weighted: bool,
    pub(super) offsets: Vec<u64>,
    pub(super) pins: Vec<u32>,
    pub(super) weights: Vec<u64>,
    /// Each weight counted once for every pin but one.
    volume: u64,
}

impl NetRows {
    pub(super) fn new(base: u64, vertices: u32, is_weighted: bool) -> Self {
        Self { base, vertices, is_weighted, offsets: vec![0], pins: Vec::new(), weights: Vec::new(), volume: 0 }
    }

    /// Number of nets so far.
    pub(super) fn len(&self) -> u64 {
        self.offsets.len() as u64 - 1
    }

    /// The weights, if the file has them.
    pub(super) fn weights(&self) -> Option<Vec<u64>> {
        self.is_weighted.then(|| self.weights.clone())
    }

    /// Reads the next net.
    pub(super) fn read(&mut self, line: &Line<'_>) -> Result<(), FormatError> {
        let mut words = line.words();
        let weight = match (self.is_weighted, self.is_weighted.then(|| words.next()).flatten()) {
            (true, Some(word)) => line.whole(word, "a net's weight")?,
            _ => 1,
        };
        let first = self.pins.len();
        let beyond = self.base + u64::from(self.vertices);
        for word in words {
            let pin = line.whole(word, "a pin")?;
            if !(self.base..beyond).contains(&pin) {
                let fault = line.fault(format!("the net has the pin {pin}"));
                let last = beyond.saturating_sub(1);
                return Err(fault.remedy(format!("vertices are numbered from {} to {last}", self.base)));
            }
            self.pins.push((pin - self.base) as u32);
        }
        let net = &mut self.pins[first..];
        net.sort_unstable();
        if net.is_empty() {
            let remedy = if line.is_blank() { "name its vertices, or remove the empty line" } else { NAME };
            return Err(line.fault("the net has no pins").remedy(remedy));
        }
        if let Some(pair) = net.windows(2).find(|pair| pair[0] == pair[1]) {
            let twice = format!("the net has the pin {} twice", u64::from(pair[0]) + self.base);
            return Err(line.fault(twice).remedy("remove one"));
        }
        let further = net.len() as u64 - 1;
        line.add(&mut self.volume, weight, further, "nets' weights, each counted for every pin but one,")?;
        if self.is_weighted {
            self.weights.push(weight);
        }
        self.offsets.push(self.pins.len() as u64);
        Ok(())
    }
}

const NAME: &str = "name its vertices, or remove it";

/// The weights of vertices.
#[derive(Default)]
pub(super) struct VertexWeights {
    pub(super) weights: Vec<u64>,
    sum: u64,
}

impl VertexWeights {
    pub(super) fn read(&mut self, line: &Line<'_>, word: &[u8]) -> Result<(), FormatError> {
        let weight = line.whole(word, "a vertex's weight")?;
        line.add(&mut self.sum, weight, 1, "vertices' weights")?;
        self.weights.push(weight);
        Ok(())
    }
}
