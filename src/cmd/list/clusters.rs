//! What `list clusters` says of a cluster: its devices by class, and what connects them.

use placebench::base::significant::{bytes_text, significant, time_text};
use placebench::datasets::{Cluster, DeviceId, Kind};
use placebench::generator::CLUSTER_FILES;

use super::{Detail, Item};

/// A preset with its devices and links.
pub(super) fn item(name: &str, cluster: &Cluster) -> Item {
    let summary = CLUSTER_FILES.iter().find(|file| file.name == name).map(|file| file.summary.to_owned());
    let mut details: Vec<Detail> = classes(cluster).iter().map(|devices| class(cluster, devices)).collect();
    details.push(Detail { name: "links".to_owned(), description: links(cluster) });
    if summary.is_some() {
        let description = "what ops reach: the peaks of the data sheets times a share, both in docs/CLUSTERS.md";
        details.push(Detail { name: "rates".to_owned(), description: description.to_owned() });
    }
    Item { details, ..Item::new(name, summary.unwrap_or_else(|| counts(cluster))) }
}

/// How many devices of each kind there are.
fn counts(cluster: &Cluster) -> String {
    let count = |kind: Kind| cluster.devices().iter().filter(|device| device.kind == kind).count();
    let kinds = Kind::ALL.into_iter().filter(|&kind| count(kind) > 0);
    kinds.map(|kind| format!("{} {kind}", count(kind))).collect::<Vec<_>>().join(", ")
}

/// The devices of each class, in the order in which the classes first come.
fn classes(cluster: &Cluster) -> Vec<Vec<DeviceId>> {
    let mut classes: Vec<Vec<DeviceId>> = Vec::new();
    for device in cluster.device_ids() {
        match classes.iter_mut().find(|class| cluster.class(class[0]) == cluster.class(device)) {
            Some(class) => class.push(device),
            None => classes.push(vec![device]),
        }
    }
    classes
}

fn class(cluster: &Cluster, devices: &[DeviceId]) -> Detail {
    let (kind, class) = (cluster.device(devices[0]).kind, cluster.class(devices[0]));
    let name = match class == kind.class() {
        true => format!("{} {kind}", devices.len()),
        false => format!("{} {kind} {class}", devices.len()),
    };
    let per = if cluster.is_in_seconds() { "s" } else { "EU" };
    let over = |value: &dyn Fn(DeviceId) -> Option<f64>, text: &dyn Fn(f64) -> String| {
        let values: Option<Vec<f64>> = devices.iter().map(|&device| value(device)).collect();
        values.map(|values| range(&values, text))
    };
    let memory = over(&|device| cluster.device(device).memory_bytes.map(|bytes| bytes as f64), &bytes_text);
    let speed = over(&|device| Some(cluster.device(device).speed), &operations);
    let matrix = over(&|device| cluster.roofline(device).matrix_speed, &operations);
    let bandwidth = over(&|device| cluster.roofline(device).memory_bandwidth, &bytes_text);
    let overhead = over(&|device| Some(cluster.op_overhead(device)).filter(|&time| time > 0.0), &|time| {
        time_text(time, if cluster.is_in_seconds() { "seconds" } else { "EU" })
    });
    let parts = [
        Some(memory.unwrap_or_else(|| "unlimited memory".to_owned())),
        bandwidth.map(|rate| format!("{rate}/{per}")),
        speed.map(|speed| format!("{speed}/{per}")),
        matrix.map(|speed| format!("matrix units {speed}/{per}")),
        overhead.map(|time| format!("{time} added to an op")),
    ];
    Detail { name, description: parts.into_iter().flatten().collect::<Vec<_>>().join(", ") }
}

/// Operations with three significant digits and a decimal prefix.
fn operations(value: f64) -> String {
    let (scale, unit) = match value {
        v if v >= 1e12 => (1e12, "Tops"),
        v if v >= 1e9 => (1e9, "Gops"),
        v if v >= 1e6 => (1e6, "Mops"),
        _ => (1.0, "ops"),
    };
    format!("{} {unit}", significant(value / scale))
}

/// The least and the largest of some values, once where they read the same.
fn range(values: &[f64], text: &dyn Fn(f64) -> String) -> String {
    let least = text(values.iter().copied().fold(f64::INFINITY, f64::min));
    let largest = text(values.iter().copied().fold(0.0, f64::max));
    if least == largest { least } else { format!("{least} to {largest}") }
}

fn links(cluster: &Cluster) -> String {
    let per = if cluster.is_in_seconds() { "s" } else { "EU" };
    let rate = |rate: f64| if rate.is_finite() { format!("{}/{per}", bytes_text(rate)) } else { "no limit".to_owned() };
    match cluster.topology() {
        Some(topology) => {
            let rates: Vec<f64> = topology.links.iter().map(|link| link.link.rate).collect();
            let switches = topology.vertices.len() - cluster.device_count();
            let through = match switches {
                0 => String::new(),
                1 => " and a switch".to_owned(),
                _ => format!(" and {switches} switches"),
            };
            format!("{} links{through}, {}", rates.len(), range(&rates, &rate))
        }
        None => {
            let others = |from: DeviceId| cluster.device_ids().filter(move |&to| to != from).map(move |to| (from, to));
            let pairs = cluster.device_ids().flat_map(others);
            let rates: Vec<f64> = pairs.map(|(from, to)| cluster.link(from, to).rate).collect();
            match rates.is_empty() {
                true => "none".to_owned(),
                false => format!("one between each two devices, {}", range(&rates, &rate)),
            }
        }
    }
}
