//! When two computed numbers are equal: simulations and ranks that add the same numbers in another order differ by rounding.

/// The largest relative difference that counts as rounding.
///
/// A sum of a million positive numbers has a relative error of at most 10⁶ · 2⁻⁵³ ≈ 10⁻¹⁰, whatever the order of the
/// addition. Differences that anyone would call a result are far larger.
pub const ROUNDING: f64 = 1e-9;

/// Whether two numbers are equal up to rounding. Infinities equal themselves; NaN equals nothing.
///
/// # Example
/// ```
/// use placebench_datasets::is_equal;
///
/// assert!(is_equal(0.1 + 0.2, 0.3));
/// assert!(!is_equal(0.3, 0.300001));
/// ```
pub fn is_equal(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= ROUNDING * a.abs().max(b.abs()) && a.is_finite() && b.is_finite()
}

/// Whether `a` is less than `b` by more than rounding.
pub fn is_less(a: f64, b: f64) -> bool {
    a < b && !is_equal(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_in_another_order_are_equal_and_what_differs_by_more_is_not() {
        let parts = [0.1, 0.7, 1e6, 3.3e-4, 12.125];
        let (forth, back): (f64, f64) = (parts.iter().sum(), parts.iter().rev().sum());
        assert!(forth != back && is_equal(forth, back) && !is_less(forth, back) && !is_less(back, forth));
        assert!(!is_equal(1.0, 1.0 + 1e-8) && is_less(1.0, 1.0 + 1e-8) && !is_less(1.0 + 1e-8, 1.0));
    }

    #[test]
    fn zeros_infinities_and_what_is_no_number_are_as_expected() {
        assert!(is_equal(0.0, -0.0) && !is_equal(0.0, 1e-300));
        assert!(is_equal(f64::INFINITY, f64::INFINITY) && is_less(1.0, f64::INFINITY));
        assert!(!is_equal(f64::INFINITY, f64::NEG_INFINITY) && !is_equal(1.0, f64::INFINITY));
        assert!(!is_equal(f64::NAN, f64::NAN) && !is_less(f64::NAN, 1.0));
    }
}
