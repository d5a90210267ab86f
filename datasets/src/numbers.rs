//! Whole numbers in 32 bits each where all of them fit, else in 64: half the memory for nearly every graph.

use std::ops::Range;

/// A list of whole numbers as it lies in memory.
///
/// Two lists with the same numbers are equal, whatever their widths.
#[derive(Clone, Copy, Debug)]
pub enum Numbers<'a> {
    /// Every number fits into 32 bits.
    Narrow(&'a [u32]),
    /// Some number may need 64 bits.
    Wide(&'a [u64]),
}

impl<'a> Numbers<'a> {
    /// The length of the list.
    #[inline]
    pub fn len(self) -> usize {
        match self {
            Self::Narrow(numbers) => numbers.len(),
            Self::Wide(numbers) => numbers.len(),
        }
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The number at a position.
    ///
    /// # Panics
    /// If the position is past the end.
    #[inline]
    pub fn at(self, place: usize) -> u64 {
        match self {
            Self::Narrow(numbers) => numbers[place].into(),
            Self::Wide(numbers) => numbers[place],
        }
    }

    /// The numbers at a range of positions.
    ///
    /// # Panics
    /// If a position is past the end.
    #[inline]
    #[must_use]
    pub fn slice(self, places: Range<usize>) -> Self {
        match self {
            Self::Narrow(numbers) => Self::Narrow(&numbers[places]),
            Self::Wide(numbers) => Self::Wide(&numbers[places]),
        }
    }

    /// All numbers in order.
    #[inline]
    pub fn iter(self) -> impl ExactSizeIterator<Item = u64> + DoubleEndedIterator + Clone + use<'a> {
        (0..self.len()).map(move |place| self.at(place))
    }

    /// A copy with 64 bits for each number.
    pub fn to_vec(self) -> Vec<u64> {
        match self {
            Self::Narrow(numbers) => numbers.iter().copied().map(u64::from).collect(),
            Self::Wide(numbers) => numbers.to_vec(),
        }
    }

    /// The sum, which always fits into 64 bits.
    pub fn sum(self) -> u128 {
        match self {
            // 2^32 numbers below 2^32 add up to less than 2^64, and no list is longer than memory.
            Self::Narrow(numbers) => numbers.chunks(1 << 31).map(|chunk| u128::from(sum_narrow(chunk))).sum(),
            Self::Wide(numbers) => numbers.iter().map(|&number| u128::from(number)).sum(),
        }
    }
}

fn sum_narrow(numbers: &[u32]) -> u64 {
    numbers.iter().map(|&number| u64::from(number)).sum()
}

impl PartialEq for Numbers<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Narrow(one), Self::Narrow(other)) => one == other,
            _ => self.len() == other.len() && self.iter().eq(other.iter()),
        }
    }
}

impl Eq for Numbers<'_> {}

/// A growing list of whole numbers. It becomes wide when the first number comes that needs more than 32 bits.
#[derive(Clone, Debug)]
pub(crate) enum NumberVec {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl Default for NumberVec {
    fn default() -> Self {
        Self::Narrow(Vec::new())
    }
}

impl From<Vec<u64>> for NumberVec {
    /// A list of the least width that fits all numbers.
    fn from(numbers: Vec<u64>) -> Self {
        if numbers.iter().all(|&number| u32::try_from(number).is_ok()) {
            Self::Narrow(numbers.iter().map(|&number| number as u32).collect())
        } else {
            Self::Wide(numbers)
        }
    }
}

impl PartialEq for NumberVec {
    fn eq(&self, other: &Self) -> bool {
        self.view() == other.view()
    }
}

impl Eq for NumberVec {}

impl NumberVec {
    /// An empty list with room for `capacity` narrow numbers.
    pub(crate) fn with_capacity(count: usize) -> Self {
        Self::Narrow(Vec::with_capacity(count))
    }

    /// A list of zeros that can hold numbers up to `most` without becoming wider.
    pub(crate) fn zeros(count: usize, most: u64) -> Self {
        if u32::try_from(most).is_ok() { Self::Narrow(vec![0; count]) } else { Self::Wide(vec![0; count]) }
    }

    #[inline]
    pub(crate) fn view(&self) -> Numbers<'_> {
        match self {
            Self::Narrow(numbers) => Numbers::Narrow(numbers),
            Self::Wide(numbers) => Numbers::Wide(numbers),
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.view().len()
    }

    #[inline]
    pub(crate) fn at(&self, place: usize) -> u64 {
        self.view().at(place)
    }

    #[inline]
    pub(crate) fn push(&mut self, number: u64) {
        match (&mut *self, u32::try_from(number)) {
            (Self::Narrow(numbers), Ok(number)) => numbers.push(number),
            (Self::Wide(numbers), _) => numbers.push(number),
            _ => {
                self.widen();
                self.push(number);
            }
        }
    }

    #[inline]
    pub(crate) fn set(&mut self, place: usize, number: u64) {
        match (&mut *self, u32::try_from(number)) {
            (Self::Narrow(numbers), Ok(number)) => numbers[place] = number,
            (Self::Wide(numbers), _) => numbers[place] = number,
            _ => {
                self.widen();
                self.set(place, number);
            }
        }
    }

    pub(crate) fn truncate(&mut self, count: usize) {
        match self {
            Self::Narrow(numbers) => numbers.truncate(count),
            Self::Wide(numbers) => numbers.truncate(count),
        }
    }

    /// Frees memory that is not used.
    pub(crate) fn shrink_to_fit(&mut self) {
        match self {
            Self::Narrow(numbers) => numbers.shrink_to_fit(),
            Self::Wide(numbers) => numbers.shrink_to_fit(),
        }
    }

    #[cold]
    fn widen(&mut self) {
        if let Self::Narrow(numbers) = self {
            let mut wide = Vec::with_capacity(numbers.capacity());
            wide.extend(numbers.iter().copied().map(u64::from));
            *self = Self::Wide(wide);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAST: u64 = u32::MAX as u64;

    fn is_narrow(numbers: &NumberVec) -> bool {
        matches!(numbers, NumberVec::Narrow(_))
    }

    #[test]
    fn a_list_is_narrow_until_a_number_needs_more() {
        let mut numbers = NumberVec::with_capacity(3);
        for number in [0, LAST, 7] {
            numbers.push(number);
        }
        assert!(is_narrow(&numbers));
        let mut pushed = numbers.clone();
        pushed.push(LAST + 1);
        assert_eq!((is_narrow(&pushed), pushed.view().to_vec()), (false, vec![0, LAST, 7, LAST + 1]));
        numbers.set(1, LAST + 1);
        assert_eq!((is_narrow(&numbers), numbers.view().to_vec()), (false, vec![0, LAST + 1, 7]));
        assert!(is_narrow(&NumberVec::from(vec![1, LAST])) && !is_narrow(&NumberVec::from(vec![1, LAST + 1])));
        assert!(is_narrow(&NumberVec::zeros(2, LAST)) && !is_narrow(&NumberVec::zeros(2, LAST + 1)));
    }

    #[test]
    fn lists_of_different_widths_are_equal_if_their_numbers_are() {
        let (narrow, wide) = (Numbers::Narrow(&[1, u32::MAX]), Numbers::Wide(&[1, LAST]));
        assert_eq!(narrow, wide);
        assert_eq!((narrow.sum(), wide.sum()), (1 + u128::from(LAST), 1 + u128::from(LAST)));
        assert_eq!(narrow.slice(1..2), Numbers::Wide(&[LAST]));
        assert_ne!(narrow, wide.slice(0..1));
        assert_eq!(Numbers::Wide(&[u64::MAX, u64::MAX]).sum(), 2 * u128::from(u64::MAX));
    }
}
