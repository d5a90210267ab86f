//! The distributions of the crate `rand_distr` by name.

use std::fmt::Display;

use rand_distr::{
    Beta, Binomial, Cauchy, ChiSquared, Distribution, FisherF, Frechet, Gamma, Geometric, Gumbel, Hypergeometric,
    InverseGaussian, Normal, NormalInverseGaussian, Pert, Poisson, SkewNormal, StudentT, Triangular, Weibull, Zeta,
    Zipf,
};

use crate::random::Stream;

/// Draws a sample.
pub(super) type Sampler = Box<dyn Fn(&mut Stream) -> f64>;

/// A distribution by name.
pub(super) struct Law {
    pub(super) name: &'static str,
    /// The names of its parameters.
    pub(super) parameters: &'static [&'static str],
    make: fn(&[f64]) -> Result<Sampler, String>,
}

impl Law {
    /// The law of a name.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        LAWS.iter().find(|law| law.name == name)
    }

    /// The names of all laws.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        LAWS.iter().map(|law| law.name)
    }

    /// What draws samples, for a value of each parameter.
    pub(super) fn sampler(&self, arguments: &[f64]) -> Result<Sampler, String> {
        if let Some((name, value)) = self.parameters.iter().zip(arguments).find(|(_, value)| !value.is_finite()) {
            return Err(format!("the {name} is {value}, but must be a finite number"));
        }
        (self.make)(arguments)
    }
}

const LAWS: &[Law] = &[
    Law { name: "beta", parameters: &["alpha", "beta"], make: |a| real(Beta::new(a[0], a[1])) },
    Law {
        name: "binomial",
        parameters: &["trials", "probability"],
        make: |a| integer(Binomial::new(whole(a[0])?, a[1])),
    },
    Law { name: "cauchy", parameters: &["median", "scale"], make: |a| real(Cauchy::new(a[0], a[1])) },
    Law { name: "chi_squared", parameters: &["freedom"], make: |a| real(ChiSquared::new(a[0])) },
    Law { name: "fisher_f", parameters: &["freedom1", "freedom2"], make: |a| real(FisherF::new(a[0], a[1])) },
    Law {
        name: "frechet",
        parameters: &["location", "scale", "shape"],
        make: |a| real(Frechet::new(a[0], a[1], a[2])),
    },
    Law { name: "gamma", parameters: &["shape", "scale"], make: |a| real(Gamma::new(a[0], a[1])) },
    Law { name: "geometric", parameters: &["probability"], make: |a| integer(Geometric::new(a[0])) },
    Law { name: "gumbel", parameters: &["location", "scale"], make: |a| real(Gumbel::new(a[0], a[1])) },
    Law {
        name: "hypergeometric",
        parameters: &["population", "marked", "draws"],
        make: |a| integer(Hypergeometric::new(whole(a[0])?, whole(a[1])?, whole(a[2])?)),
    },
    Law { name: "inverse_gaussian", parameters: &["mean", "shape"], make: |a| real(InverseGaussian::new(a[0], a[1])) },
    Law {
        name: "normal",
        parameters: &["mean", "deviation"],
        // The library would mirror it.
        make: |a| match a[1] < 0.0 {
            true => Err(format!("the deviation is {}, but must be at least 0", a[1])),
            false => real(Normal::new(a[0], a[1])),
        },
    },
    Law {
        name: "normal_inverse_gaussian",
        parameters: &["alpha", "beta"],
        make: |a| real(NormalInverseGaussian::new(a[0], a[1])),
    },
    Law { name: "pert", parameters: &["min", "max", "mode"], make: |a| real(Pert::new(a[0], a[1]).with_mode(a[2])) },
    Law { name: "poisson", parameters: &["mean"], make: |a| real(Poisson::new(a[0])) },
    Law {
        name: "skew_normal",
        parameters: &["location", "scale", "shape"],
        make: |a| real(SkewNormal::new(a[0], a[1], a[2])),
    },
    Law { name: "student_t", parameters: &["freedom"], make: |a| real(StudentT::new(a[0])) },
    Law { name: "triangular", parameters: &["min", "max", "mode"], make: |a| real(Triangular::new(a[0], a[1], a[2])) },
    Law { name: "weibull", parameters: &["scale", "shape"], make: |a| real(Weibull::new(a[0], a[1])) },
    Law { name: "zeta", parameters: &["exponent"], make: |a| real(Zeta::new(a[0])) },
    Law { name: "zipf", parameters: &["largest", "exponent"], make: |a| real(Zipf::new(a[0], a[1])) },
];

fn real<D: Distribution<f64> + 'static, E: Display>(made: Result<D, E>) -> Result<Sampler, String> {
    made.map(|law| Box::new(move |rng: &mut Stream| law.sample(rng)) as Sampler).map_err(|error| error.to_string())
}

fn integer<D: Distribution<u64> + 'static, E: Display>(made: Result<D, E>) -> Result<Sampler, String> {
    made.map(|law| Box::new(move |rng: &mut Stream| law.sample(rng) as f64) as Sampler)
        .map_err(|error| error.to_string())
}

fn whole(value: f64) -> Result<u64, String> {
    if value >= 0.0 && value.fract() == 0.0 && value <= 9_007_199_254_740_992.0 {
        Ok(value as u64)
    } else {
        Err(format!("{value} is not an integer ≥ 0"))
    }
}
