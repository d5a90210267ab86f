//! How executors that measure run a placement: what `[execute]` in suites and the options of `execute` set.

use std::fmt;
use std::str::FromStr;

use placebench_base::did_you_mean;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Settings of executors that measure. The simulator has none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExecuteSettings {
    /// Runs before the first that counts, at least 1. The first of them checks that each transfer's bytes arrive intact.
    pub warm_up: u32,
    /// Runs that count, at least 1.
    pub repetitions: u32,
    /// In which order devices execute their tasks.
    pub order: OrderMode,
    /// What the executors `threads` and `cuda` do while an op takes time.
    pub kernel: Kernel,
    /// How the executors `threads`, `jax` and `torch` move tensors.
    pub transport: Transport,
    /// What the mean op takes under the executor `threads`: it chooses the scale of time.
    pub mean_op: RealTime,
    /// Whether the kernel `compute` may run more devices than there are idle cores.
    pub oversubscribe: bool,
    /// How many virtual devices the executor `cuda` makes of one GPU; without it a device is a GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub virtual_devices: Option<u32>,
    /// How the executor `cuda` launches a step.
    #[serde(skip_serializing_if = "is_usual")]
    pub launch: Launch,
    /// Worker processes that were started by hand, one a device, as `address:port`; empty to start them here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
}

impl Default for ExecuteSettings {
    fn default() -> Self {
        Self {
            warm_up: 2,
            repetitions: 9,
            order: OrderMode::default(),
            kernel: Kernel::default(),
            transport: Transport::default(),
            mean_op: RealTime { seconds: 0.003 },
            oversubscribe: false,
            virtual_devices: None,
            launch: Launch::default(),
            hosts: Vec::new(),
        }
    }
}

impl ExecuteSettings {
    /// What is wrong with the settings, if anything: the name of one, and a remedy.
    ///
    /// # Errors
    /// The first fault.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        for (name, runs) in [("warm_up", self.warm_up), ("repetitions", self.repetitions)] {
            if !(1..=1_000_000).contains(&runs) {
                return Err((name, "must be from 1 to 1000000".to_owned()));
            }
        }
        let seconds = self.mean_op.seconds;
        if !(1e-6..=1e3).contains(&seconds) {
            return Err(("mean_op", "must be from 1 us to 1000 s".to_owned()));
        }
        if self.virtual_devices == Some(0) {
            return Err(("virtual_devices", "must be at least 1".to_owned()));
        }
        Ok(())
    }

    /// The names of settings that are not as usual.
    pub fn changed(&self) -> impl Iterator<Item = &'static str> + use<> {
        let usual = Self::default();
        [
            ("warm_up", self.warm_up != usual.warm_up),
            ("repetitions", self.repetitions != usual.repetitions),
            ("order", self.order != usual.order),
            ("kernel", self.kernel != usual.kernel),
            ("transport", self.transport != usual.transport),
            ("mean_op", self.mean_op != usual.mean_op),
            ("oversubscribe", self.oversubscribe),
            ("virtual_devices", self.virtual_devices.is_some()),
            ("launch", self.launch != usual.launch),
            ("hosts", !self.hosts.is_empty()),
        ]
        .into_iter()
        .filter_map(|(name, is_changed)| is_changed.then_some(name))
    }

    /// How often a placement is executed.
    pub fn runs(&self) -> u32 {
        self.warm_up.saturating_add(self.repetitions)
    }
}

/// Declares an enum of words: its names in files and on the command line.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $what:literal, { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// Its word in suites and on the command line.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let all = [$(Self::$variant),*];
                all.into_iter().find(|word| word.name() == text).ok_or_else(|| {
                    let words = all.map(Self::name);
                    format!("unknown {} '{text}': {}", $what, did_you_mean(text, words))
                })
            }
        }
    };
}

words! {
    /// In which order devices execute their tasks.
    OrderMode, "order", {
        /// In that of the simulated run.
        #[default]
        Replay = "replay",
        /// The scheduler decides during the run, among the tasks that are executable then.
        Dynamic = "dynamic",
    }
}

words! {
    /// What the executors `threads` and `cuda` do while an op takes time.
    Kernel, "kernel", {
        /// It waits until the op's time has passed. That checks the runtime and the synchronisation, not the costs.
        #[default]
        Wait = "wait",
        /// It multiplies matrices, or reads and writes memory: under `threads` as often as takes the op's time on an idle core,
        /// under `cuda` as much as the op's operations and bytes.
        Compute = "compute",
    }
}

words! {
    /// How the executors `threads`, `jax` and `torch` move tensors.
    Transport, "transport", {
        /// A copy from memory to memory: in one process, or in memory that processes of one host share.
        #[default]
        Memory = "memory",
        /// Over sockets, a process a device.
        Tcp = "tcp",
    }
}

words! {
    /// How the executor `cuda` launches a step.
    Launch, "launch", {
        /// Command by command; the step begins when all are issued.
        #[default]
        Commands = "commands",
        /// Captured once as a CUDA graph, and launched as a whole.
        Graph = "graph",
    }
}

fn is_usual(launch: &Launch) -> bool {
    *launch == Launch::default()
}

/// A length of real time, written `3 ms`: a number and `s`, `ms` or `us`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RealTime {
    /// The length in seconds.
    pub seconds: f64,
}

impl fmt::Display for RealTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.seconds {
            seconds if seconds >= 1.0 => write!(f, "{seconds} s"),
            seconds if seconds >= 1e-3 => write!(f, "{} ms", seconds * 1e3),
            seconds => write!(f, "{} us", seconds * 1e6),
        }
    }
}

impl FromStr for RealTime {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let split = text.find(|c: char| c.is_ascii_alphabetic() && !"eE".contains(c)).unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let divisor = match unit {
            "s" => Some(1.0),
            "ms" => Some(1e3),
            "us" => Some(1e6),
            _ => None,
        };
        match (number.trim().parse::<f64>(), divisor) {
            (Ok(number), Some(divisor)) if number.is_finite() && number > 0.0 => Ok(Self { seconds: number / divisor }),
            _ => Err(format!("'{text}' is no length of time: write a number and s, ms or us, as in 3ms")),
        }
    }
}

impl Serialize for RealTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RealTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_of_time_reads_back_as_it_was_written() {
        for (text, seconds) in [("3ms", 0.003), ("0.5 s", 0.5), ("250 us", 0.00025), ("1e-2 s", 0.01), ("2 s", 2.0)] {
            let time: RealTime = text.parse().unwrap();
            assert_eq!(time.seconds, seconds, "{text}");
            assert_eq!(time.to_string().parse::<RealTime>(), Ok(time), "{time}");
        }
        for text in ["3", "ms", "-3 ms", "0 s", "nan s", "3 min", ""] {
            assert!(text.parse::<RealTime>().unwrap_err().contains("write a number and s, ms or us"), "{text}");
        }
    }

    #[test]
    fn words_are_told_from_typos() {
        assert_eq!("compute".parse(), Ok(Kernel::Compute));
        assert_eq!("tpc".parse::<Transport>().unwrap_err(), "unknown transport 'tpc': did you mean 'tcp'?");
        assert_eq!("mpi".parse::<Transport>().unwrap_err(), "unknown transport 'mpi': use one of memory, tcp");
    }

    #[test]
    fn settings_that_make_no_sense_are_named() {
        let fault = |settings: ExecuteSettings| settings.check().unwrap_err().0;
        let usual = ExecuteSettings::default();
        assert_eq!(usual.check(), Ok(()));
        assert_eq!(fault(ExecuteSettings { warm_up: 0, ..usual.clone() }), "warm_up");
        assert_eq!(fault(ExecuteSettings { repetitions: 0, ..usual.clone() }), "repetitions");
        assert_eq!(fault(ExecuteSettings { virtual_devices: Some(0), ..usual.clone() }), "virtual_devices");
        assert_eq!(fault(ExecuteSettings { mean_op: RealTime { seconds: 1e9 }, ..usual }), "mean_op");
    }
}
