//! SplitMix64: unrelated numbers from neighbouring ones, the same on every machine.

/// What SplitMix64 adds to its state at each step: 2⁶⁴ over the golden ratio, made odd.
pub(crate) const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The number that SplitMix64 gives next in a state; its next state is `state + STEP`.
///
/// # Reference
/// G. L. Steele, D. Lea, C. H. Flood, *Fast Splittable Pseudorandom Number Generators*, OOPSLA 2014, 453–472,
/// doi:10.1145/2660193.2660195.
#[inline]
pub(crate) fn split_mix(state: u64) -> u64 {
    let mut z = state.wrapping_add(STEP);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_authors_program() {
        // The first outputs for the seed 1234567, as they are printed for splitmix64.c.
        let numbers = [6457827717110365317, 3203168211198807973, 9817491932198370423];
        for (step, number) in (0..).zip(numbers) {
            assert_eq!(split_mix(1_234_567_u64.wrapping_add(STEP.wrapping_mul(step))), number);
        }
    }
}
