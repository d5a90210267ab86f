//! Which kinds of device a node may run on: its device string, and the ops that exist on the CPU alone.

use crate::{Kind, KindSet};

/// The kinds that a device string allows: `/job:w/task:0/device:GPU:1`, `/cpu:0`, `/device:GPU:*`, or an empty one.
///
/// Job, replica, task and device number say where the node ran in one cluster. A placement problem asks where it will
/// run, so only the type is kept.
pub(super) fn kinds(device: &str) -> Result<KindSet, String> {
    let mut kinds = KindSet::ALL;
    for part in device.split('/').filter(|part| !part.is_empty()) {
        let (key, value) = part.split_once(':').unwrap_or((part, ""));
        let (device_type, number) = match key.to_ascii_lowercase().as_str() {
            "job" if !value.is_empty() => continue,
            "replica" | "task" if is_number(value) => continue,
            "device" => value.split_once(':').unwrap_or((value, "*")),
            "cpu" | "gpu" | "tpu" => (key, if value.is_empty() { "*" } else { value }),
            _ => {
                let remedy = "expected parts like /job:worker, /task:0 and /device:GPU:1";
                return Err(format!("device '{device}' has a part '{part}': {remedy}"));
            }
        };
        if !is_number(number) {
            return Err(format!("device '{device}' has the number '{number}': expected a number or '*'"));
        }
        kinds = KindSet::only(kind(device_type).ok_or_else(|| {
            format!("device '{device}' is of unknown type '{device_type}': expected CPU, GPU or TPU")
        })?);
    }
    Ok(kinds)
}

fn is_number(text: &str) -> bool {
    text == "*" || (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()))
}

fn kind(device_type: &str) -> Option<Kind> {
    let name = device_type.to_ascii_uppercase();
    name.strip_prefix("XLA_").unwrap_or(&name).parse().ok()
}

/// The device string that allows a set of kinds, if one can: TensorFlow has none for two kinds of three.
pub(super) fn device_string(kinds: KindSet) -> Option<String> {
    match kinds {
        KindSet::ALL => Some(String::new()),
        _ => Kind::ALL.into_iter().find(|&kind| KindSet::only(kind) == kinds).map(|kind| format!("/device:{kind}:*")),
    }
}

/// Whether an op exists for the CPU alone: it handles text, files, Python objects, the host's queues, tables or
/// datasets.
///
/// | what | ops |
/// |---|---|
/// | checks and printing | `Abort`, `Assert`, `Print`, `PrintV2` |
/// | Python | `PyFunc`, `PyFuncStateless`, `EagerPyFunc` |
/// | text and its formats | `AsString`, `Substr`, `String…`, `Regex…`, `Unicode…`, `Parse…`, `Encode…`, `Decode…` |
/// | files | `ReadFile`, `WriteFile`, `MatchingFiles`, `ShardedFilename`, `Save…`, `Restore…`, `Merge…Checkpoints`, readers |
/// | summaries | `…Summary` |
/// | queues, barriers, tables | `…Queue`, `…QueueV2`, `Queue…`, `Barrier…`, `…HashTable…`, `LookupTable…`, `InitializeTable…` |
/// | input pipelines | `…Dataset…`, `…Iterator…` |
/// | no kernel elsewhere | `RandomShuffle`, `EditDistance`, `…CandidateSampler` |
pub(super) fn cpu_only(op: &str) -> bool {
    const EXACT: [&str; 16] = [
        "Abort",
        "Assert",
        "Print",
        "PrintV2",
        "PyFunc",
        "PyFuncStateless",
        "EagerPyFunc",
        "AsString",
        "Substr",
        "ReadFile",
        "WriteFile",
        "MatchingFiles",
        "ShardedFilename",
        "MergeV2Checkpoints",
        "RandomShuffle",
        "EditDistance",
    ];
    const BEGINNINGS: [&str; 16] = [
        "String",
        "Regex",
        "StaticRegex",
        "Unicode",
        "Parse",
        "Encode",
        "Decode",
        "Save",
        "Restore",
        "Reader",
        "Queue",
        "Barrier",
        "LookupTable",
        "InitializeTable",
        "Iterator",
        "MakeIterator",
    ];
    const ENDINGS: [&str; 7] = ["Reader", "ReaderV2", "Summary", "Queue", "QueueV2", "Iterator", "CandidateSampler"];
    const PARTS: [&str; 2] = ["HashTable", "Dataset"];
    EXACT.contains(&op)
        || BEGINNINGS.iter().any(|text| op.starts_with(text))
        || ENDINGS.iter().any(|text| op.ends_with(text))
        || PARTS.iter().any(|text| op.contains(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_of_a_device_string_is_all_that_counts() {
        for (device, expected) in [
            ("", KindSet::ALL),
            ("/job:worker/task:3", KindSet::ALL),
            ("/job:w/replica:0/task:0/device:GPU:1", KindSet::only(Kind::Gpu)),
            ("/cpu:0", KindSet::only(Kind::Cpu)),
            ("/device:GPU:*", KindSet::only(Kind::Gpu)),
            ("/device:TPU", KindSet::only(Kind::Tpu)),
            ("/device:XLA_GPU:0", KindSet::only(Kind::Gpu)),
        ] {
            assert_eq!(kinds(device), Ok(expected), "{device}");
        }
    }

    #[test]
    fn a_device_string_that_no_rule_fits_is_refused() {
        for device in ["/device:NPU:0", "/gpu:one", "/task:", "worker", "/job:"] {
            assert!(kinds(device).is_err(), "{device}");
        }
    }

    #[test]
    fn kinds_survive_a_device_string_where_one_can_say_them() {
        for bits in 1..8 {
            let set = KindSet::from_bits(bits).unwrap();
            if let Some(device) = device_string(set) {
                assert_eq!(kinds(&device), Ok(set));
            }
        }
        assert_eq!(device_string(KindSet::from_bits(3).unwrap()), None);
    }

    #[test]
    fn arithmetic_runs_anywhere_and_text_on_the_cpu() {
        assert!(
            ["Assert", "StringJoin", "FIFOQueueV2", "OneShotIterator", "ScalarSummary"]
                .map(cpu_only)
                .iter()
                .all(|&x| x)
        );
        assert!(["MatMul", "VariableV2", "Identity", "NoOp", "StridedSlice"].map(cpu_only).iter().all(|&x| !x));
    }
}
