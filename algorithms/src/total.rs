//! Floats in heaps and sorted keys.

/// A float that orders by value: heaps and keys need a total order, and times and weights are never NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Total(pub(crate) f64);

impl Eq for Total {}

impl PartialOrd for Total {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Total {
    #[inline]
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}
