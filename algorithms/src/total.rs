//! Floats in heaps and sorted keys, and sums whose last digits rounding decides.

use std::cmp::Ordering;

use placebench_datasets::is_equal;

/// A float that orders by value: heaps and keys need a total order, and times and weights are never NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Total(pub(crate) f64);

impl Eq for Total {}

impl PartialOrd for Total {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Total {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Orders two sums; those that are equal up to rounding are ties. For the least or largest of some candidates: a sort
/// needs an order that is transitive, see [`steady`].
#[inline]
pub(crate) fn compare(a: f64, b: f64) -> Ordering {
    if is_equal(a, b) { Ordering::Equal } else { a.total_cmp(&b) }
}

/// A sum without the last 22 of its 52 bits, in which sums that are equal up to rounding differ: a key for sorts and heaps.
///
/// Of a million such pairs, about one lies on both sides of a step and has two keys.
#[inline]
pub(crate) fn steady(sum: f64) -> Total {
    const LAST: u64 = (1 << 22) - 1;
    Total(f64::from_bits((sum.to_bits() + LAST.div_ceil(2)) & !LAST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_in_another_order_are_ties_and_have_the_same_key() {
        let (a, b) = (0.1 + 0.2, 0.3);
        assert!(a > b);
        assert_eq!(compare(a, b), Ordering::Equal);
        assert_eq!(steady(a), steady(b));
    }

    #[test]
    fn what_differs_by_more_keeps_its_order_and_small_integers_keep_their_value() {
        assert_eq!(compare(1.0, 1.00001), Ordering::Less);
        assert!(steady(1.0) < steady(1.00001));
        for exact in [0.0, 1.0, 7.5, 1e6, f64::INFINITY] {
            assert_eq!(steady(exact).0, exact);
        }
    }
}
