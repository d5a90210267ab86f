//! Writes cluster TOML, as short as a person would.

use std::collections::{HashMap, HashSet};
use std::fmt::{self, Write as _};
use std::hash::Hash;
use std::io::Write as _;
use std::path::Path;

use crate::format::FormatError;
use crate::format::atomic::write_file;
use crate::format::quantity::memory_text;
use crate::format::text::Number;
use crate::{Cluster, Device, DeviceId, Link, Roofline, Topology, TransferOverheads};

/// Writes a cluster as TOML.
///
/// Equal devices with numbered names become one `[[device]]` with a count, and the most common link becomes `[link]`.
///
/// # Errors
/// If the file cannot be written, or a topology's names are not unique or not those of the devices.
pub fn write_cluster_toml(path: impl AsRef<Path>, cluster: &Cluster) -> Result<(), FormatError> {
    let path = path.as_ref();
    if let Some(topology) = cluster.topology() {
        check_names(cluster, topology).map_err(|message| {
            FormatError::file(path, message).remedy("give each device and switch a name of its own")
        })?;
    }
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write_text(&mut text, cluster);
    write_file(path, |out| out.write_all(text.as_bytes()).map_err(|error| FormatError::io(path, error)))
}

fn check_names(cluster: &Cluster, topology: &Topology) -> Result<(), String> {
    for (vertex, device) in topology.vertices.iter().zip(cluster.devices()) {
        if *vertex != device.name {
            return Err(format!("the topology calls the device '{}' '{vertex}'", device.name));
        }
    }
    let mut seen = HashSet::new();
    match topology.vertices.iter().find(|&name| !seen.insert(name)) {
        Some(name) => Err(format!("two vertices of the topology are named '{name}'")),
        None => Ok(()),
    }
}

fn write_text(text: &mut String, cluster: &Cluster) -> fmt::Result {
    if cluster.send_ops() != 0.0 {
        writeln!(text, "send_ops = {}", Number(cluster.send_ops()))?;
    }
    let ordered = || {
        let others = |from| cluster.device_ids().filter(move |&to| to != from).map(move |to| (from, to));
        cluster.device_ids().flat_map(others)
    };
    let common = most_common(ordered().map(|(from, to)| cluster.transfer_overheads(from, to)), |pair| {
        pair.values().map(f64::to_bits)
    });
    let common = common.unwrap_or_default();
    write_overheads(text, common, TransferOverheads::NONE)?;
    if !text.is_empty() {
        writeln!(text)?;
    }
    let taken: HashSet<&str> = names(cluster).collect();
    let mut next = 0;
    while next < cluster.device_count() {
        let id = DeviceId::new(next);
        let first = cluster.device(id);
        let (line, count) = numbered_run(cluster, id, &taken);
        writeln!(text, "[[device]]\nname = {}", quoted(line))?;
        if count > 1 {
            writeln!(text, "count = {count}")?;
        }
        writeln!(text, "kind = \"{}\"", first.kind)?;
        if let Some(bytes) = first.memory_bytes {
            writeln!(text, "memory = \"{}\"", memory_text(bytes))?;
        }
        match cluster.is_in_seconds() {
            true => writeln!(text, "speed = \"{} ops/s\"", Number(first.speed))?,
            false => writeln!(text, "speed = {}", Number(first.speed))?,
        }
        let Roofline { matrix_speed, memory_bandwidth } = cluster.roofline(id);
        if let Some(speed) = matrix_speed {
            writeln!(text, "matrix_speed = {}", Number(speed))?;
        }
        if let Some(bandwidth) = memory_bandwidth {
            writeln!(text, "memory_bandwidth = {}", Number(bandwidth))?;
        }
        if cluster.op_overhead(id) != 0.0 {
            writeln!(text, "op_overhead = {}", Number(cluster.op_overhead(id)))?;
        }
        if cluster.class(id) != first.kind.class() {
            writeln!(text, "class = {}", quoted(cluster.class(id)))?;
        }
        writeln!(text)?;
        next += count;
    }
    match cluster.topology() {
        Some(topology) => write_topology(text, cluster, topology)?,
        None => write_links(text, cluster)?,
    }
    for (from, to) in ordered() {
        let (there, back) = (cluster.transfer_overheads(from, to), cluster.transfer_overheads(to, from));
        let (name_from, name_to) = (quoted(&cluster.device(from).name), quoted(&cluster.device(to).name));
        if there == common || there == back && from > to {
            continue;
        }
        match there == back {
            true => writeln!(text, "[[overhead]]\nbetween = [{name_from}, {name_to}]")?,
            false => writeln!(text, "[[overhead]]\nfrom = {name_from}\nto = {name_to}")?,
        }
        write_overheads(text, there, common)?;
        writeln!(text)?;
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    Ok(())
}

fn names(cluster: &Cluster) -> impl Iterator<Item = &str> {
    let vertices = cluster.topology().map_or(&[][..], |topology| &topology.vertices);
    cluster.devices().iter().map(|device| device.name.as_str()).chain(vertices.iter().map(String::as_str))
}

/// How many devices from this one on one line with a count can say, and the name of that line.
fn numbered_run<'a>(cluster: &'a Cluster, id: DeviceId, taken: &HashSet<&str>) -> (&'a str, usize) {
    let first = cluster.device(id);
    let Some(prefix) = first.name.strip_suffix('0').filter(|prefix| !taken.contains(prefix)) else {
        return (&first.name, 1);
    };
    let nature = |id: DeviceId| {
        let Device { kind, memory_bytes, speed, name: _ } = cluster.device(id);
        (*kind, *memory_bytes, *speed, cluster.class(id), cluster.roofline(id), cluster.op_overhead(id))
    };
    let is_next = |&(number, other): &(usize, DeviceId)| {
        cluster.device(other).name.strip_prefix(prefix) == Some(number.to_string().as_str())
            && nature(other) == nature(id)
    };
    match cluster.device_ids().skip(id.index()).enumerate().take_while(is_next).count() {
        count @ 2.. => (prefix, count),
        _ => (&first.name, 1),
    }
}

fn write_link(text: &mut String, link: Link) -> fmt::Result {
    writeln!(text, "rate = {}", Number(link.rate))?;
    if link.latency != 0.0 {
        writeln!(text, "latency = {}", Number(link.latency))?;
    }
    writeln!(text)
}

/// The overheads that are not as all others.
fn write_overheads(text: &mut String, pair: TransferOverheads, others: TransferOverheads) -> fmt::Result {
    for ((name, value), other) in TransferOverheads::NAMES.into_iter().zip(pair.values()).zip(others.values()) {
        if value != other {
            writeln!(text, "{name} = {}", Number(value))?;
        }
    }
    Ok(())
}

/// The item that comes most often, by a key; of several the one that is first to come so often.
fn most_common<T: Copy, K: Eq + Hash>(items: impl Iterator<Item = T>, key: impl Fn(T) -> K) -> Option<T> {
    let mut counts = HashMap::new();
    let mut common: Option<(usize, T)> = None;
    for item in items {
        let count = counts.entry(key(item)).or_insert(0);
        *count += 1;
        if common.is_none_or(|(most, _)| *count > most) {
            common = Some((*count, item));
        }
    }
    common.map(|(_, item)| item)
}

fn write_links(text: &mut String, cluster: &Cluster) -> fmt::Result {
    let pairs =
        || cluster.device_ids().flat_map(move |a| cluster.device_ids().filter(move |&b| b > a).map(move |b| (a, b)));
    let both_ways = pairs().flat_map(|(a, b)| [cluster.link(a, b), cluster.link(b, a)]);
    let common = most_common(both_ways, |link| (link.rate.to_bits(), link.latency.to_bits()));
    let Some(common) = common else { return Ok(()) };
    writeln!(text, "[link]")?;
    write_link(text, common)?;
    for (a, b) in pairs() {
        let (there, back) = (cluster.link(a, b), cluster.link(b, a));
        let (name_a, name_b) = (quoted(&cluster.device(a).name), quoted(&cluster.device(b).name));
        if there == back {
            if there != common {
                writeln!(text, "[[pair]]\nbetween = [{name_a}, {name_b}]")?;
                write_link(text, there)?;
            }
            continue;
        }
        for (from, to, link) in [(&name_a, &name_b, there), (&name_b, &name_a, back)] {
            if link != common {
                writeln!(text, "[[pair]]\nfrom = {from}\nto = {to}")?;
                write_link(text, link)?;
            }
        }
    }
    Ok(())
}

fn write_topology(text: &mut String, cluster: &Cluster, topology: &Topology) -> fmt::Result {
    let switches: Vec<String> = topology.vertices[cluster.device_count()..].iter().map(|name| quoted(name)).collect();
    writeln!(text, "[topology]\nswitches = [{}]\n", switches.join(", "))?;
    for link in &topology.links {
        let [a, b] = [link.a, link.b].map(|vertex| quoted(&topology.vertices[vertex]));
        writeln!(text, "[[topology.link]]\nbetween = [{a}, {b}]")?;
        write_link(text, link.link)?;
    }
    Ok(())
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
