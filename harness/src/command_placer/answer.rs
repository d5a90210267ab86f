//! Reads what a placer's program wrote: one device a line.

use std::collections::HashMap;

use placebench_base::nearest;
use placebench_datasets::{DeviceId, Instance, Placement};

use super::Fault;
use super::error::shortened;

/// What a line may have beside its device: blanks, a carriage return.
const SLACK: usize = 16;

/// No placement of the instance is longer than this.
pub(super) fn most_bytes(instance: &Instance) -> usize {
    let devices = instance.cluster().devices();
    let longest = devices.iter().map(|device| device.name.len()).max().unwrap_or(0).max(10);
    // A program that prints something else altogether gets an error that says what, not how much.
    instance.graph().op_count().saturating_add(1).saturating_mul(longest + SLACK).max(1 << 16)
}

/// The placement that a text says: in each line the name of a device or, unless a device has that name, its id. Blanks
/// around it and empty lines at the end do not count.
pub(super) fn parse(stdout: &[u8], instance: &Instance) -> Result<Placement, Fault> {
    let cluster = instance.cluster();
    let expected = instance.graph().op_count();
    let names: HashMap<&str, DeviceId> =
        cluster.device_ids().map(|device| (cluster.device(device).name.as_str(), device)).collect();
    let device_of = |text: &str| match names.get(text) {
        Some(&device) => Some(device),
        None => text.parse().ok().filter(|&id: &u32| (id as usize) < cluster.device_count()).map(DeviceId),
    };
    let stdout = stdout.trim_ascii_end();
    let lines = || stdout.split(|&byte| byte == b'\n').filter(|_| !stdout.is_empty());
    let mut devices = Vec::with_capacity(expected);
    for (index, line) in lines().enumerate() {
        let text = String::from_utf8_lossy(line.trim_ascii());
        match device_of(&text) {
            Some(device) => devices.push(device),
            None => {
                let remedy = remedy(&text, instance);
                return Err(Fault::UnknownDevice { line: index + 1, text: shortened(&printable(&text), 60), remedy });
            }
        }
    }
    if devices.len() != expected {
        return Err(Fault::WrongCount { found: devices.len(), expected });
    }
    Ok(Placement::new(devices))
}

fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

fn remedy(text: &str, instance: &Instance) -> String {
    let names = || instance.cluster().devices().iter().map(|device| device.name.as_str());
    match nearest(text, names()) {
        Some(nearest) => format!("did you mean '{nearest}'?"),
        None => {
            format!("write a name like '{}' or an id from 0 to {}", names().next().unwrap_or("0"), names().count() - 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use placebench_datasets::{Cluster, Device, GraphBuilder, Kind, Link, OpSpec};

    use super::*;

    /// Three ops on devices that are named `gpu0`, `2` and `c`.
    fn instance() -> Instance {
        let mut builder = GraphBuilder::default();
        for _ in 0..3 {
            builder.add_op(OpSpec::cost(1.0), &[]);
        }
        let device = |name: &str| Device { name: name.to_owned(), kind: Kind::Gpu, memory_bytes: None, speed: 1.0 };
        let devices = ["gpu0", "2", "c"].map(device).to_vec();
        let cluster = Cluster::new(devices, |_, _| Link { rate: 1.0, latency: 0.0 }).unwrap();
        Instance::new(builder.build().unwrap(), cluster).unwrap()
    }

    fn devices(text: &str) -> Result<Vec<u32>, String> {
        let placement = parse(text.as_bytes(), &instance()).map_err(|fault| fault.to_string())?;
        Ok(placement.devices().iter().map(|device| device.0).collect())
    }

    #[test]
    fn a_line_is_a_name_or_an_id_and_the_name_goes_first() {
        assert_eq!(devices("gpu0\n2\nc\n").unwrap(), [0, 1, 2]);
        assert_eq!(devices("0\n1\n2").unwrap(), [0, 1, 1]);
        assert_eq!(devices("  c\r\ngpu0 \r\n\tc\r\n\r\n\n").unwrap(), [2, 0, 2]);
    }

    #[test]
    fn a_wrong_line_is_named_with_a_remedy() {
        let cases = [
            ("gpu0\nc\n", "wrote 2 line(s) to standard output, but the graph has 3 op(s)"),
            ("", "wrote 0 line(s)"),
            ("\n\n", "wrote 0 line(s)"),
            ("c\nc\nc\nc\n", "wrote 4 line(s)"),
            ("c\ngpu1\nc\n", "wrote 'gpu1' in line 2 of standard output, which is no device: did you mean 'gpu0'?"),
            ("c\n\nc\n", "wrote '' in line 2 of standard output"),
            ("c\n3\nc\n", "wrote '3' in line 2"),
            ("-1\nc\nc\n", "wrote '-1' in line 1"),
            ("Loading the model …\nc\nc\n", "write a name like 'gpu0' or an id from 0 to 2"),
            ("c\u{0}\nc\nc\n", "wrote 'c\u{fffd}' in line 1"),
        ];
        for (text, expected) in cases {
            let fault = devices(text).unwrap_err();
            assert!(fault.contains(expected), "{fault}\n   lacks   {expected}");
        }
    }
}
