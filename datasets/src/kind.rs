//! Device kinds, and the set of kinds that an op may run on.

use std::fmt;
use std::str::FromStr;

/// What sort of processor a device is (L §2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Kind {
    /// A general-purpose processor.
    Cpu = 0,
    /// A graphics processor.
    Gpu = 1,
    /// A tensor processing unit.
    Tpu = 2,
}

impl Kind {
    /// All kinds, in ascending order.
    pub const ALL: [Self; 3] = [Self::Cpu, Self::Gpu, Self::Tpu];

    /// Position in [`Kind::ALL`].
    #[inline]
    pub fn index(self) -> usize {
        self as usize
    }

    /// The name as files spell it: `CPU`, `GPU`, `TPU`.
    pub fn name(self) -> &'static str {
        ["CPU", "GPU", "TPU"][self.index()]
    }

    /// The class of devices that the kind names where a device names none: `cpu`, `gpu`, `tpu`.
    pub fn class(self) -> &'static str {
        ["cpu", "gpu", "tpu"][self.index()]
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| format!("unknown device kind '{text}': expected CPU, GPU or TPU"))
    }
}

/// A set of device kinds; L's constraint `ALL` is [`KindSet::ALL`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindSet(u8);

impl KindSet {
    /// No kind at all: what contradictory constraints leave.
    pub const EMPTY: Self = Self(0);
    /// Every kind: an op without a constraint.
    pub const ALL: Self = Self(0b111);

    /// The set of one kind.
    #[inline]
    pub const fn only(kind: Kind) -> Self {
        Self(1 << kind as u8)
    }

    /// Whether `kind` is in the set.
    #[inline]
    pub fn contains(self, kind: Kind) -> bool {
        self.0 & Self::only(kind).0 != 0
    }

    /// The kinds in both sets.
    #[inline]
    pub fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The kinds in either set.
    #[inline]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether no kind is in the set.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The kinds in the set, in ascending order.
    pub fn iter(self) -> impl Iterator<Item = Kind> {
        Kind::ALL.into_iter().filter(move |&kind| self.contains(kind))
    }

    /// The set as a bit mask: bit 0 CPU, bit 1 GPU, bit 2 TPU.
    #[inline]
    pub fn bits(self) -> u8 {
        self.0
    }

    /// The set of a bit mask, or `None` if a bit beyond the known kinds is set.
    pub fn from_bits(bits: u8) -> Option<Self> {
        (bits & !Self::ALL.0 == 0).then_some(Self(bits))
    }
}

impl Default for KindSet {
    fn default() -> Self {
        Self::ALL
    }
}

impl FromIterator<Kind> for KindSet {
    fn from_iter<I: IntoIterator<Item = Kind>>(kinds: I) -> Self {
        kinds.into_iter().fold(Self::EMPTY, |set, kind| set.union(Self::only(kind)))
    }
}

impl serde::Serialize for KindSet {
    /// As its text.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for KindSet {
    /// `ALL`, `NONE`, or the names joined by `|`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match *self {
            Self::ALL => "ALL".to_owned(),
            Self::EMPTY => "NONE".to_owned(),
            set => set.iter().map(Kind::name).collect::<Vec<_>>().join("|"),
        };
        f.pad(&text)
    }
}

impl fmt::Debug for KindSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for KindSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.eq_ignore_ascii_case("ALL") {
            return Ok(Self::ALL);
        }
        let set: Self = text.split('|').map(|part| part.trim().parse::<Kind>()).collect::<Result<_, _>>()?;
        Ok(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_set_survives_a_round_trip_through_text() {
        for bits in 1..8 {
            let set = KindSet::from_bits(bits).unwrap();
            assert_eq!(set.to_string().parse::<KindSet>(), Ok(set));
        }
    }

    #[test]
    fn an_unknown_kind_is_named_in_the_error() {
        assert!("CPU|NPU".parse::<KindSet>().unwrap_err().contains("'NPU'"));
        assert_eq!(KindSet::from_bits(8), None);
    }
}
