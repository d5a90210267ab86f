//! Distributions of costs, written as text: `uniform(1,100)`, `lognormal(3,1)`.

mod laws;

use std::fmt;
use std::str::FromStr;

use placebench_base::nearest;
use rand_distr::Distribution as _;
use serde::{Deserialize, Serialize};

use crate::random::{Stream, fill_below};
use laws::Law;

/// The largest sample: 2⁵³. Above it, not every integer is a double.
const LARGEST: f64 = 9_007_199_254_740_992.0;

/// The distribution of a cost or a size.
///
/// Samples are ≥ 0 and at most 2⁵³: a sample below or above counts as that limit. Where a count is needed (bytes), the
/// nearest one is taken. As text, and in TOML, a distribution is its name with its parameters:
///
/// ```
/// use placebench_generator::Distribution;
///
/// let sizes: Distribution = "lognormal(3, 1.5)".parse().unwrap();
/// assert_eq!(sizes, Distribution::LogNormal { mu: 3.0, sigma: 1.5 });
/// assert_eq!(Distribution::UNIFORM_1_100.to_string(), "uniform(1,100)");
/// assert_eq!(
///     "uniform(9,1)".parse::<Distribution>().unwrap_err().to_string(),
///     "'uniform(9,1)': the minimum 9 is above the maximum 1"
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Distribution {
    /// `constant(value)`: always the same.
    Constant {
        /// The value.
        value: f64,
    },
    /// `uniform(min,max)`: each integer of the range, ends included, equally often (L §6.2).
    Uniform {
        /// Least value.
        min: u64,
        /// Largest value.
        max: u64,
    },
    /// `lognormal(mu,sigma)`: e to the power of a normal variable; the median is e^mu.
    LogNormal {
        /// Mean of the logarithm.
        mu: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// `pareto(scale,shape)`: at least `scale`, above x with probability (scale/x)^shape.
    Pareto {
        /// Least value.
        scale: f64,
        /// Exponent of the tail: smaller is heavier, and up to 1 there is no mean.
        shape: f64,
    },
    /// `exponential(mean)`.
    Exponential {
        /// The mean.
        mean: f64,
    },
    /// Any other distribution of the crate `rand_distr`, with its parameters in that crate's order, times a factor:
    /// `gamma(2,30)`, `normal(50,10)`, `1000*beta(2,5)`.
    Other(Other),
}

/// A distribution of the crate `rand_distr`.
#[derive(Clone, Copy)]
pub struct Other {
    law: &'static Law,
    factor: f64,
    arguments: [f64; 3],
}

impl Other {
    fn arguments(&self) -> &[f64] {
        &self.arguments[..self.law.parameters.len()]
    }
}

impl PartialEq for Other {
    fn eq(&self, other: &Self) -> bool {
        self.law.name == other.law.name && self.factor == other.factor && self.arguments() == other.arguments()
    }
}

impl fmt::Debug for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl fmt::Display for Other {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.factor != 1.0 {
            write!(f, "{}*", self.factor)?;
        }
        let arguments: Vec<String> = self.arguments().iter().map(f64::to_string).collect();
        write!(f, "{}({})", self.law.name, arguments.join(","))
    }
}

/// Why a text is no distribution.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}': {fault}")]
pub struct DistributionError {
    text: String,
    fault: String,
}

impl Distribution {
    /// Each integer from 1 to 100 equally often: all weights of L's evaluation (L §6.2).
    pub const UNIFORM_1_100: Self = Self::Uniform { min: 1, max: 100 };

    /// Checks the parameters; parsed distributions have passed.
    ///
    /// # Errors
    /// If a parameter is not finite or out of range; the message is the fault alone.
    pub fn check(&self) -> Result<(), String> {
        let nonnegative = |name: &str, value: f64| {
            if value.is_finite() && (0.0..=LARGEST).contains(&value) {
                Ok(())
            } else {
                Err(format!("the {name} is {value}, but must be a finite number in [0, 2^53]"))
            }
        };
        let positive = |name: &str, value: f64| {
            if value == 0.0 { Err(format!("the {name} must not be 0")) } else { nonnegative(name, value) }
        };
        match *self {
            Self::Constant { value } => nonnegative("value", value),
            Self::Uniform { min, max } if min > max => Err(format!("the minimum {min} is above the maximum {max}")),
            Self::Uniform { max, .. } if max > LARGEST as u64 => Err(format!("the maximum {max} is above 2^53")),
            Self::Uniform { .. } => Ok(()),
            Self::LogNormal { mu, sigma } => {
                if mu.is_nan() || mu.abs() > 700.0 {
                    return Err(format!("mu is {mu}, but must be in [-700, 700]: it is the mean of the logarithm"));
                }
                nonnegative("sigma", sigma)
            }
            Self::Pareto { scale, shape } => positive("scale", scale).and(positive("shape", shape)),
            Self::Exponential { mean } => positive("mean", mean),
            Self::Other(other) => {
                positive("factor", other.factor).and_then(|()| other.law.sampler(other.arguments()).map(drop))
            }
        }
    }

    /// Whether all samples are the same.
    pub(crate) fn is_constant(&self) -> bool {
        match *self {
            Self::Constant { .. } => true,
            Self::Uniform { min, max } => min == max,
            Self::LogNormal { sigma, .. } => sigma == 0.0,
            _ => false,
        }
    }

    /// Writes one sample into each slot.
    pub(crate) fn fill<T: FromSample>(&self, rng: &mut Stream, slots: &mut [T]) {
        match *self {
            Self::Constant { value } => slots.fill(T::from_real(value)),
            Self::Uniform { min, max } => {
                fill_below(rng, max - min + 1, slots, |above| T::from_integer(min + above));
            }
            Self::LogNormal { mu, sigma } => {
                for slot in slots {
                    let normal: f64 = rand_distr::StandardNormal.sample(rng);
                    *slot = T::from_real(libm::exp(mu + sigma * normal).min(LARGEST));
                }
            }
            Self::Pareto { scale, shape } => {
                for slot in slots {
                    let uniform: f64 = rand_distr::OpenClosed01.sample(rng);
                    *slot = T::from_real((scale * libm::pow(uniform, -1.0 / shape)).min(LARGEST));
                }
            }
            Self::Exponential { mean } => {
                for slot in slots {
                    let exponential: f64 = rand_distr::Exp1.sample(rng);
                    *slot = T::from_real((mean * exponential).min(LARGEST));
                }
            }
            Self::Other(other) => {
                // Checked before: a distribution whose parameters are refused is never drawn from.
                let Ok(sample) = other.law.sampler(other.arguments()) else { return };
                for slot in slots {
                    let value = other.factor * sample(rng);
                    // Not a number is not above 0 either.
                    *slot = T::from_real(if value > 0.0 { value.min(LARGEST) } else { 0.0 });
                }
            }
        }
    }
}

/// A column's type: samples that are real numbers stay so in costs and are rounded in bytes.
pub(crate) trait FromSample: Copy {
    fn from_real(sample: f64) -> Self;
    fn from_integer(sample: u64) -> Self;
}

impl FromSample for f64 {
    fn from_real(sample: f64) -> Self {
        sample
    }

    fn from_integer(sample: u64) -> Self {
        sample as f64
    }
}

impl FromSample for u64 {
    fn from_real(sample: f64) -> Self {
        sample.round() as u64
    }

    fn from_integer(sample: u64) -> Self {
        sample
    }
}

impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Constant { value } => write!(f, "constant({value})"),
            Self::Uniform { min, max } => write!(f, "uniform({min},{max})"),
            Self::LogNormal { mu, sigma } => write!(f, "lognormal({mu},{sigma})"),
            Self::Pareto { scale, shape } => write!(f, "pareto({scale},{shape})"),
            Self::Exponential { mean } => write!(f, "exponential({mean})"),
            Self::Other(other) => write!(f, "{other}"),
        }
    }
}

impl FromStr for Distribution {
    type Err = DistributionError;

    fn from_str(text: &str) -> Result<Self, DistributionError> {
        parse(text)
            .and_then(|distribution| distribution.check().map(|()| distribution))
            .map_err(|fault| DistributionError { text: text.to_owned(), fault })
    }
}

impl TryFrom<String> for Distribution {
    type Error = DistributionError;

    fn try_from(text: String) -> Result<Self, DistributionError> {
        text.parse()
    }
}

impl From<Distribution> for String {
    fn from(distribution: Distribution) -> Self {
        distribution.to_string()
    }
}

fn parse(text: &str) -> Result<Distribution, String> {
    let (name, arguments) = call(text).ok_or("write it as name(parameters), such as uniform(1,100)")?;
    let real = |position: usize| real(&arguments, position);
    let integer = |position: usize| {
        let argument = arguments[position];
        argument.parse::<u64>().map_err(|_| format!("'{argument}' is not an integer ≥ 0"))
    };
    let expect = |names: &str, count: usize| {
        if arguments.len() == count { Ok(()) } else { Err(format!("expected {name}({names})")) }
    };
    match name {
        "constant" => expect("value", 1).and_then(|()| Ok(Distribution::Constant { value: real(0)? })),
        "uniform" => {
            expect("min,max", 2).and_then(|()| Ok(Distribution::Uniform { min: integer(0)?, max: integer(1)? }))
        }
        "lognormal" => {
            expect("mu,sigma", 2).and_then(|()| Ok(Distribution::LogNormal { mu: real(0)?, sigma: real(1)? }))
        }
        "pareto" => {
            expect("scale,shape", 2).and_then(|()| Ok(Distribution::Pareto { scale: real(0)?, shape: real(1)? }))
        }
        "exponential" => expect("mean", 1).and_then(|()| Ok(Distribution::Exponential { mean: real(0)? })),
        _ => other(name, &arguments).map(Distribution::Other),
    }
}

/// A distribution of the table of laws, perhaps with a factor before its name.
fn other(text: &str, arguments: &[&str]) -> Result<Other, String> {
    let (factor, name) = match text.split_once('*') {
        Some((factor, name)) => {
            let number =
                factor.trim().parse().map_err(|_| format!("the factor '{}' is not a number", factor.trim()))?;
            (number, name.trim())
        }
        None => (1.0, text),
    };
    let law = Law::named(name).ok_or_else(|| {
        let names: Vec<&str> = OWN.into_iter().chain(Law::names()).collect();
        match nearest(name, names.iter().copied()) {
            Some(nearest) => format!("unknown distribution '{name}': did you mean '{nearest}'?"),
            None => format!("unknown distribution '{name}': there are {}", names.join(", ")),
        }
    })?;
    if arguments.len() != law.parameters.len() {
        return Err(format!("expected {name}({})", law.parameters.join(",")));
    }
    let mut values = [0.0; 3];
    for (position, value) in values.iter_mut().enumerate().take(arguments.len()) {
        *value = real(arguments, position)?;
    }
    Ok(Other { law, factor, arguments: values })
}

/// The distributions that are drawn here, without `rand_distr`'s samplers.
const OWN: [&str; 5] = ["constant", "uniform", "lognormal", "pareto", "exponential"];

/// Splits `name(a, b)` into the name and the arguments.
pub(crate) fn call(text: &str) -> Option<(&str, Vec<&str>)> {
    let (name, rest) = text.trim().split_once('(')?;
    let arguments = rest.strip_suffix(')')?;
    Some((name.trim(), arguments.split(',').map(str::trim).collect()))
}

/// The argument at `position` as a real number.
pub(crate) fn real(arguments: &[&str], position: usize) -> Result<f64, String> {
    arguments[position].parse().map_err(|_| format!("'{}' is not a number", arguments[position]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};

    fn sample(text: &str, count: usize) -> Vec<f64> {
        let mut values = vec![0.0; count];
        text.parse::<Distribution>().unwrap().fill(&mut stream(1, Purpose::Ops, 0), &mut values);
        values
    }

    #[test]
    fn every_distribution_survives_a_round_trip_through_text() {
        for text in [
            "constant(2.5)",
            "uniform(1,100)",
            "lognormal(-3,0.5)",
            "pareto(2,1.16)",
            "exponential(40)",
            "1000*beta(2,5)",
            "normal(5,1)",
        ] {
            assert_eq!(text.parse::<Distribution>().unwrap().to_string(), text);
        }
        assert_eq!(" uniform( 1 , 9 ) ".parse(), Ok(Distribution::Uniform { min: 1, max: 9 }));
    }

    #[test]
    fn samples_have_the_mean_and_range_of_their_distribution() {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let uniform = sample("uniform(1,100)", 100_000);
        assert!(uniform.iter().all(|&x| (1.0..=100.0).contains(&x) && x.fract() == 0.0));
        assert!(uniform.contains(&1.0) && uniform.contains(&100.0));
        assert!((mean(&uniform) - 50.5).abs() < 0.5);
        assert!((mean(&sample("exponential(40)", 100_000)) - 40.0).abs() < 1.0);
        let mut lognormal = sample("lognormal(3,1)", 100_001);
        lognormal.sort_by(f64::total_cmp);
        assert!((lognormal[50_000] / f64::exp(3.0) - 1.0).abs() < 0.02);
        let pareto = sample("pareto(2,2)", 100_000);
        assert!(pareto.iter().all(|&x| x >= 2.0));
        let above_four = pareto.iter().filter(|&&x| x > 4.0).count() as f64 / 1e5;
        assert!((above_four - 0.25).abs() < 0.01);
        assert_eq!(sample("constant(7)", 2), [7.0, 7.0]);
    }

    /// Mean and variance of each law of the table, from textbooks.
    #[test]
    fn samples_of_rand_distr_have_the_moments_of_their_law() {
        for (text, mean, variance) in [
            ("1000*beta(2,5)", 1000.0 * 2.0 / 7.0, 1e6 * 10.0 / (49.0 * 8.0)),
            ("binomial(50,0.3)", 15.0, 10.5),
            ("chi_squared(7)", 7.0, 14.0),
            ("fisher_f(8,20)", 20.0 / 18.0, 2.0 * 400.0 * 26.0 / (8.0 * 324.0 * 16.0)),
            ("gamma(3,20)", 60.0, 1200.0),
            ("geometric(0.2)", 4.0, 20.0),
            ("gumbel(500,20)", 500.0 + 20.0 * 0.577_215_664_9, 400.0 * 9.869_604_401 / 6.0),
            ("hypergeometric(50,20,10)", 4.0, 10.0 * 0.4 * 0.6 * 40.0 / 49.0),
            ("inverse_gaussian(30,200)", 30.0, 27_000.0 / 200.0),
            ("normal(500,30)", 500.0, 900.0),
            ("pert(10,100,40)", (10.0 + 160.0 + 100.0) / 6.0, (45.0 - 10.0) * (100.0 - 45.0) / 7.0),
            ("poisson(25)", 25.0, 25.0),
            ("skew_normal(400,20,0)", 400.0, 400.0),
            ("triangular(10,70,40)", 40.0, 150.0),
            ("weibull(40,2)", 40.0 * 0.886_226_925_5, 1600.0 * (1.0 - std::f64::consts::FRAC_PI_4)),
            ("zipf(10,0)", 5.5, 8.25),
        ] {
            let values = sample(text, 200_000);
            let found = values.iter().sum::<f64>() / values.len() as f64;
            let spread = values.iter().map(|value| (value - found).powi(2)).sum::<f64>() / values.len() as f64;
            // Five standard errors of the mean.
            let error = 5.0 * f64::sqrt(variance / values.len() as f64);
            assert!((found - mean).abs() < error, "{text}: mean {found} instead of {mean}");
            assert!((spread / variance - 1.0).abs() < 0.1, "{text}: variance {spread} instead of {variance}");
        }
        // Laws without such moments, or with mass below 0: medians.
        for (text, median) in [
            ("cauchy(1000,1)", 1000.0),
            ("frechet(10,100,3)", 10.0 + 100.0 * f64::powf(std::f64::consts::LN_2, -1.0 / 3.0)),
            ("zeta(3)", 1.0),
            ("student_t(5)", 0.0),
            ("normal_inverse_gaussian(2,0)", 0.0),
        ] {
            let mut values = sample(text, 100_001);
            values.sort_by(f64::total_cmp);
            assert!((values[50_000] - median).abs() <= 0.02 * median + 0.02, "{text}: {}", values[50_000]);
            assert!(values.iter().all(|value| (0.0..=LARGEST).contains(value)), "{text}");
        }
    }

    #[test]
    fn heavy_tails_are_cut_off_where_doubles_stop_counting() {
        assert!(sample("pareto(1,0.001)", 1000).iter().all(|&x| x <= LARGEST));
        assert!(sample("lognormal(700,9)", 1000).iter().all(|&x| x <= LARGEST));
    }

    #[test]
    fn bad_parameters_are_explained_in_one_line() {
        for (text, part) in [
            ("uniform(5,1)", "minimum 5 is above the maximum 1"),
            ("uniform(1)", "expected uniform(min,max)"),
            ("uniform(-1,5)", "'-1' is not an integer"),
            ("norml(0,1)", "unknown distribution 'norml': did you mean 'normal'?"),
            ("xyz(0,1)", "there are constant, uniform, lognormal, pareto, exponential, beta, "),
            ("gamma(1)", "expected gamma(shape,scale)"),
            ("normal(0,-1)", "the deviation is -1, but must be at least 0"),
            ("0*normal(5,1)", "the factor must not be 0"),
            ("x*normal(5,1)", "the factor 'x' is not a number"),
            ("binomial(2.5,0.1)", "2.5 is not an integer"),
            ("gumbel(inf,1)", "the location is inf"),
            ("lognormal(NaN,1)", "mu is NaN"),
            ("lognormal(1,-2)", "sigma is -2"),
            ("pareto(0,1)", "scale must not be 0"),
            ("constant(inf)", "value is inf"),
            ("exponential(x)", "'x' is not a number"),
            ("12", "write it as name(parameters)"),
        ] {
            let message = text.parse::<Distribution>().unwrap_err().to_string();
            assert!(message.contains(part) && !message.contains('\n'), "{message}");
        }
    }
}
