//! Has a driver measure the devices.

use placebench_algorithms::StopToken;
use serde::Deserialize;
use serde_json::Value;

use super::{CalibrateSettings, CalibrationError, Measured, threads};
use crate::execute::driver::{PYTHON_VARIABLE, python};
use crate::process::{self, Ending, Limits};

/// What a driver says while it measures.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Event {
    Calibration(Measured),
    Error {
        message: String,
    },
    #[serde(other)]
    Other,
}

/// What a driver may write.
const MOST_BYTES: usize = 1 << 30;

/// Measures the devices, and answers with what was measured, read and as it was written.
///
/// # Errors
/// If the driver cannot be started, fails, is told to stop, or answers nonsense.
pub fn measure(settings: &CalibrateSettings, stop: &StopToken) -> Result<(Measured, Value), CalibrationError> {
    if settings.driver == "threads" {
        let measured = threads::measure(settings, stop)?;
        let value = serde_json::to_value(&measured).map_err(|error| CalibrationError::Answer(error.to_string()))?;
        return Ok((measured, value));
    }
    let failed = |reason: String| CalibrationError::Driver(format!("{}: {reason}", settings.driver));
    let (python, mut command) = python();
    command.args(["calibrate", &settings.driver]);
    command.arg(format!("--devices={}", settings.cpus)).arg(format!("--gpus={}", settings.gpus));
    if settings.driver != "tensorflow" {
        command.arg(format!("--transport={}", settings.transport));
    }
    if !settings.hosts.is_empty() {
        command.arg(format!("--hosts={}", settings.hosts.join(",")));
    }
    command.args(settings.graphs.iter().map(|graph| format!("--graph={graph}")));
    let limits = Limits { time: None, memory_bytes: None, output_bytes: MOST_BYTES, stop };
    let finished = process::run(&mut command, &limits).map_err(|error| {
        failed(format!("cannot start {python}: {error}; set {PYTHON_VARIABLE} to a Python that has the driver"))
    })?;
    if matches!(finished.ending, Ending::TimedOut | Ending::Stopped) {
        return Err(failed("stopped before it had measured everything".to_owned()));
    }
    let text = String::from_utf8_lossy(&finished.stdout);
    for line in text.lines() {
        let unusable = |error: serde_json::Error| CalibrationError::Answer(error.to_string());
        let value: Value = serde_json::from_str(line).map_err(unusable)?;
        match Event::deserialize(&value).map_err(unusable)? {
            Event::Calibration(measured) => return Ok((measured, value)),
            Event::Error { message } => return Err(failed(message)),
            Event::Other => {}
        }
    }
    let stderr = String::from_utf8_lossy(&finished.stderr).into_owned();
    let said = stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing").trim().to_owned();
    Err(failed(format!("the driver ended without an answer: {said}")))
}
