//! A calibration is worth what the machine was quiet.

use placebench_algorithms::StopToken;
use serde_json::Value;

use super::{CalibrateSettings, CalibrationError, Measured, measure};
use crate::measurement::{LoadMeter, machine_cores};

/// Cores that other processes may use before it is measured again.
pub const LOUD: f64 = 0.05;
/// Cores that other processes may use before the calibration is refused.
pub const TOO_LOUD: f64 = 0.20;
/// How often it is measured until it is quiet.
const TRIES: usize = 3;

/// What was measured, and what others did meanwhile.
#[derive(Clone, Debug)]
pub struct QuietMeasurement {
    /// As it was read.
    pub measured: Measured,
    /// As it was written.
    pub value: Value,
    /// Cores that other processes used on the mean; `None` where the system does not say it.
    pub other_load: Option<f64>,
}

/// Measures the devices while the machine is quiet: again if other processes used more than [`LOUD`], up to three times. The
/// quietest counts, and is refused above [`TOO_LOUD`]. With `anyway` it is measured once, whatever others do. `say` gets lines
/// for whoever waits.
///
/// # Errors
/// As [`measure`], and if others were too loud each time.
pub fn measure_quietly(
    settings: &CalibrateSettings,
    anyway: bool,
    stop: &StopToken,
    say: &mut dyn FnMut(&str),
) -> Result<QuietMeasurement, CalibrationError> {
    let once = || {
        let before = LoadMeter::now(&[]);
        let (measured, value) = measure(settings, stop)?;
        let others = before.zip(LoadMeter::now(&[])).map(|(before, after)| before.others_until(&after));
        let other_load = others.zip(machine_cores()).map(|(share, cores)| share * cores as f64);
        Ok(QuietMeasurement { measured, value, other_load })
    };
    quietest(once, |found| found.other_load, anyway, say)
}

fn quietest<T>(
    mut once: impl FnMut() -> Result<T, CalibrationError>,
    load: impl Fn(&T) -> Option<f64>,
    anyway: bool,
    say: &mut dyn FnMut(&str),
) -> Result<T, CalibrationError> {
    let percent = |load: f64| format!("other processes used {:.0} % of a core", load * 100.0);
    let mut best = once()?;
    for again in 2..=TRIES {
        let Some(loud) = load(&best).filter(|&load| load > LOUD && !anyway) else { break };
        say(&format!("{}: measuring again ({again} of {TRIES})", percent(loud)));
        let next = once()?;
        if load(&next) < load(&best) {
            best = next;
        }
    }
    match load(&best) {
        Some(loud) if loud > TOO_LOUD && !anyway => Err(CalibrationError::Busy { cores: loud, tries: TRIES }),
        Some(loud) if loud > LOUD => {
            say(&format!("{} meanwhile: times are those of a machine that is not idle", percent(loud)));
            Ok(best)
        }
        _ => Ok(best),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The load that counts, the error, and what was said, where measurements see these loads one after the other.
    fn of(loads: &[f64], anyway: bool) -> (Result<f64, String>, usize, Vec<String>) {
        let (mut count, mut said) = (0, Vec::new());
        let once = || {
            count += 1;
            Ok(loads[count - 1])
        };
        let found = quietest(once, |&load| Some(load), anyway, &mut |line| said.push(line.to_owned()));
        (found.map_err(|error| error.to_string()), count, said)
    }

    #[test]
    fn a_quiet_machine_is_measured_once() {
        assert_eq!(of(&[0.05], false), (Ok(0.05), 1, vec![]));
    }

    #[test]
    fn a_loud_one_is_measured_again_and_the_quietest_counts() {
        let again = |load, try_| format!("other processes used {load} % of a core: measuring again ({try_} of 3)");
        assert_eq!(of(&[0.3, 0.04], false), (Ok(0.04), 2, vec![again(30, 2)]));
        let loud =
            "other processes used 10 % of a core meanwhile: times are those of a machine that is not idle".to_owned();
        assert_eq!(of(&[0.3, 0.1, 0.2], false), (Ok(0.1), 3, vec![again(30, 2), again(10, 3), loud]));
    }

    #[test]
    fn one_that_stays_too_loud_is_refused_unless_told_otherwise() {
        let (found, count, _) = of(&[0.5, 0.3, 0.4], false);
        let message =
            "other processes used 30 % of a core in the quietest of 3 measurements: stop them, or use --anyway";
        assert_eq!((found.unwrap_err().as_str(), count), (message, 3));
        let (found, count, said) = of(&[0.5], true);
        assert_eq!((found, count, said.len()), (Ok(0.5), 1, 1));
    }
}
