//! Reads cluster TOML.

use std::collections::HashMap;
use std::path::Path;

use placebench_base::did_you_mean;
use placebench_base::process::check_memory;
use serde::Deserialize;
use toml::Spanned;

use crate::cluster::check_pairs;
use crate::format::quantity::Quantity;
use crate::format::toml_text::{Keys, TomlText};
use crate::format::{FormatError, compressed};
use crate::{Cluster, Device, Kind, Link, Roofline, Time, Topology, TopologyLink, TransferOverheads};

const LINK_KEYS: &[(&str, Option<&Keys>)] = &[("rate", None), ("latency", None)];

const KEYS: Keys = Keys(&[
    ("send_ops", None),
    ("op_overhead", None),
    ("send_overhead", None),
    ("send_overhead_per_byte", None),
    ("receive_overhead", None),
    ("receive_overhead_per_byte", None),
    (
        "overhead",
        Some(&Keys(&[
            ("between", None),
            ("from", None),
            ("to", None),
            ("send_overhead", None),
            ("send_overhead_per_byte", None),
            ("receive_overhead", None),
            ("receive_overhead_per_byte", None),
        ])),
    ),
    (
        "device",
        Some(&Keys(&[
            ("name", None),
            ("count", None),
            ("kind", None),
            ("memory", None),
            ("speed", None),
            ("op_overhead", None),
            ("class", None),
            ("matrix_speed", None),
            ("memory_bandwidth", None),
            ("reached", None),
        ])),
    ),
    ("link", Some(&Keys(LINK_KEYS))),
    ("pair", Some(&Keys(&[("between", None), ("from", None), ("to", None), ("rate", None), ("latency", None)]))),
    (
        "topology",
        Some(&Keys(&[
            ("switches", None),
            ("switch", Some(&Keys(&[("name", None), ("count", None)]))),
            ("link", Some(&Keys(&[("between", None), ("spread", None), ("rate", None), ("latency", None)]))),
            ("torus", Some(&Keys(&[("of", None), ("shape", None), ("rate", None), ("latency", None)]))),
        ])),
    ),
]);

#[derive(Deserialize)]
struct ClusterFile {
    send_ops: Option<Spanned<f64>>,
    op_overhead: Option<Spanned<Quantity>>,
    send_overhead: Option<Spanned<Quantity>>,
    send_overhead_per_byte: Option<Spanned<Quantity>>,
    receive_overhead: Option<Spanned<Quantity>>,
    receive_overhead_per_byte: Option<Spanned<Quantity>>,
    #[serde(default)]
    overhead: Vec<Spanned<OverheadLine>>,
    #[serde(default)]
    device: Vec<Spanned<DeviceLine>>,
    link: Option<LinkLine>,
    #[serde(default)]
    pair: Vec<Spanned<PairLine>>,
    topology: Option<Spanned<TopologyTable>>,
}

impl ClusterFile {
    /// Whether a speed, rate or latency has a unit: all of them are seconds and per second.
    fn is_in_seconds(&self) -> bool {
        let has_unit = |quantity: &Spanned<Quantity>| quantity.get_ref().has_unit();
        let timed = |rate: &Spanned<Quantity>, latency: &Option<Spanned<Quantity>>| {
            has_unit(rate) || latency.as_ref().is_some_and(has_unit)
        };
        let mut links = self.topology.iter().flat_map(|table| &table.get_ref().link);
        let mut tori = self.topology.iter().flat_map(|table| &table.get_ref().torus);
        let mut devices = self.device.iter().map(Spanned::get_ref);
        self.op_overhead.as_ref().is_some_and(has_unit)
            || devices.any(|line| line.quantities().any(has_unit))
            || self.link.as_ref().is_some_and(|line| timed(&line.rate, &line.latency))
            || self.pair.iter().any(|line| timed(&line.get_ref().rate, &line.get_ref().latency))
            || links.any(|line| timed(&line.rate, &line.latency))
            || tori.any(|line| timed(&line.rate, &line.latency))
    }
}

#[derive(Deserialize)]
struct DeviceLine {
    name: String,
    count: Option<Spanned<usize>>,
    kind: Spanned<String>,
    memory: Option<Spanned<Quantity>>,
    speed: Spanned<Quantity>,
    op_overhead: Option<Spanned<Quantity>>,
    class: Option<Spanned<String>>,
    matrix_speed: Option<Spanned<Quantity>>,
    memory_bandwidth: Option<Spanned<Quantity>>,
    reached: Option<Spanned<f64>>,
}

impl DeviceLine {
    /// The quantities that have a unit of time, or none, together with all others.
    fn quantities(&self) -> impl Iterator<Item = &Spanned<Quantity>> {
        let optional = [&self.op_overhead, &self.matrix_speed, &self.memory_bandwidth];
        std::iter::once(&self.speed).chain(optional.into_iter().flatten())
    }
}

/// The two names of `between`.
#[derive(Deserialize)]
#[serde(try_from = "Vec<String>")]
struct Two([String; 2]);

impl TryFrom<Vec<String>> for Two {
    type Error = String;

    fn try_from(names: Vec<String>) -> Result<Self, String> {
        let count = names.len();
        let names = names.try_into().map(Self);
        names.map_err(|_| format!("'between' takes two names, and here are {count}"))
    }
}

#[derive(Deserialize)]
struct LinkLine {
    rate: Spanned<Quantity>,
    latency: Option<Spanned<Quantity>>,
}

#[derive(Deserialize)]
struct PairLine {
    between: Option<Spanned<Two>>,
    from: Option<Spanned<String>>,
    to: Option<Spanned<String>>,
    rate: Spanned<Quantity>,
    latency: Option<Spanned<Quantity>>,
}

#[derive(Deserialize)]
struct OverheadLine {
    between: Option<Spanned<Two>>,
    from: Option<Spanned<String>>,
    to: Option<Spanned<String>>,
    send_overhead: Option<Spanned<Quantity>>,
    send_overhead_per_byte: Option<Spanned<Quantity>>,
    receive_overhead: Option<Spanned<Quantity>>,
    receive_overhead_per_byte: Option<Spanned<Quantity>>,
}

#[derive(Deserialize)]
struct TopologyTable {
    #[serde(default)]
    switches: Vec<Spanned<String>>,
    #[serde(default)]
    switch: Vec<Spanned<SwitchLine>>,
    #[serde(default)]
    link: Vec<TopologyLinkLine>,
    #[serde(default)]
    torus: Vec<TorusLine>,
}

#[derive(Deserialize)]
struct SwitchLine {
    name: String,
    count: Spanned<usize>,
}

#[derive(Deserialize)]
struct TopologyLinkLine {
    between: Spanned<Two>,
    #[serde(default)]
    spread: bool,
    rate: Spanned<Quantity>,
    latency: Option<Spanned<Quantity>>,
}

#[derive(Deserialize)]
struct TorusLine {
    of: Spanned<String>,
    shape: Spanned<Vec<usize>>,
    rate: Spanned<Quantity>,
    latency: Option<Spanned<Quantity>>,
}

/// A larger number of devices is probably a mistake. Rates and latencies take 16 bytes a pair: 1.6 GB at this limit.
const MOST_DEVICES: usize = 10_000;

/// Bytes of a pair while a file is read: its link, perhaps as the lines say it, and what its transfers cost.
const PAIR_BYTES: usize = size_of::<Option<Link>>() + size_of::<Link>() + size_of::<TransferOverheads>();

/// Reads a cluster from TOML; the keys are described [here](super).
///
/// # Errors
/// The line that is wrong, with the nearest key where one is unknown; all that [`Cluster::new`] refuses.
pub fn read_cluster_toml(path: impl AsRef<Path>) -> Result<Cluster, FormatError> {
    let path = path.as_ref();
    let text = compressed::read_text(path)?;
    parse_cluster_toml(path, &text)
}

/// Reads a cluster from a TOML text; `path` stands for the file in messages.
///
/// # Errors
/// As [`read_cluster_toml`].
pub fn parse_cluster_toml(path: impl AsRef<Path>, text: &str) -> Result<Cluster, FormatError> {
    let text = TomlText { path: path.as_ref(), text };
    let file: ClusterFile = text.parse(&KEYS)?;
    let mut names = Names::default();
    let mut devices = Vec::new();
    let mut op_overheads = Vec::new();
    let mut classes: Vec<&str> = Vec::new();
    let mut rooflines = Vec::new();
    let op_overhead = overhead(&text, "op_overhead", file.op_overhead.as_ref())?.unwrap_or(0.0);
    for line in &file.device {
        add_devices(&text, line, &mut devices, &mut names)?;
        let of_line = overhead(&text, "op_overhead", line.get_ref().op_overhead.as_ref())?;
        op_overheads.resize(devices.len(), of_line.unwrap_or(op_overhead));
        let class = line.get_ref().class.as_ref().map(|class| class.get_ref().as_str());
        classes.resize(devices.len(), class.unwrap_or(devices[devices.len() - 1].kind.class()));
        rooflines.resize(devices.len(), roofline(&text, line.get_ref())?);
    }
    check_pairs(devices.len(), PAIR_BYTES).map_err(|error| FormatError::file(text.path, error))?;
    let fault = |error: crate::ClusterError| FormatError::file(text.path, error);
    let cluster = match &file.topology {
        Some(table) => {
            if file.link.is_some() || !file.pair.is_empty() {
                let error = text
                    .at(table.span(), "a topology beside [link] or [[pair]], but the rates of pairs follow from it");
                return Err(error.remedy("remove one of the two"));
            }
            let topology = topology(&text, table.get_ref(), &devices, &mut names)?;
            Cluster::from_topology(devices, topology).map_err(fault)?
        }
        None => {
            let links = links(&text, &file, &devices, &names)?;
            let n = devices.len();
            Cluster::new(devices, |from, to| links[from.index() * n + to.index()]).map_err(fault)?
        }
    };
    let cluster = cluster.with_op_overheads(|device| op_overheads[device.index()]).map_err(fault)?;
    let cluster = cluster.with_classes(|device| classes[device.index()]).map_err(fault)?;
    let cluster = cluster.with_rooflines(|device| rooflines[device.index()]).map_err(fault)?;
    let cluster = if file.is_in_seconds() { cluster.in_seconds() } else { cluster };
    let overheads = transfer_overheads(&text, &file, cluster.device_count(), &names)?;
    let cluster = match overheads {
        None => cluster,
        Some(all) => {
            let n = cluster.device_count();
            cluster.with_transfer_overheads(|from, to| all[from.index() * n + to.index()]).map_err(fault)?
        }
    };
    match &file.send_ops {
        None => Ok(cluster),
        Some(send_ops) => cluster.with_send_ops(*send_ops.get_ref()).map_err(|error| text.at(send_ops.span(), error)),
    }
}

/// What each name stands for: a device, the devices of a line with a count, or a switch. Vertex numbers as in
/// [`Topology`].
#[derive(Default)]
struct Names {
    vertices: HashMap<String, Vec<usize>>,
    /// The keys in the order of the file, for suggestions.
    order: Vec<String>,
}

impl Names {
    fn add(&mut self, name: &str, vertices: Vec<usize>) -> Result<(), String> {
        if self.vertices.insert(name.to_owned(), vertices).is_some() {
            return Err(format!("'{name}' is the name of something else already"));
        }
        self.order.push(name.to_owned());
        Ok(())
    }

    fn get<T>(&self, text: &TomlText<'_>, at: &Spanned<T>, name: &str) -> Result<&[usize], FormatError> {
        self.vertices.get(name).map(Vec::as_slice).ok_or_else(|| {
            let error = text.at(at.span(), format!("there is no '{name}'"));
            error.remedy(did_you_mean(name, self.order.iter().map(String::as_str)))
        })
    }
}

fn add_devices(
    text: &TomlText<'_>,
    line: &Spanned<DeviceLine>,
    devices: &mut Vec<Device>,
    names: &mut Names,
) -> Result<(), FormatError> {
    let DeviceLine { name, count, kind, memory, speed, .. } = line.get_ref();
    let kind_of: Kind = kind.get_ref().parse().map_err(|error| text.at(kind.span(), error))?;
    let memory_bytes = memory.as_ref().map(|memory| value(text, memory, Quantity::bytes)).transpose()?;
    let speed = value(text, speed, Quantity::speed)? * reached(text, line.get_ref())?;
    let first = devices.len();
    let added = count.as_ref().map_or(Ok(1), |count| count_of(text, count, name, "devices"))?;
    if added > MOST_DEVICES - first.min(MOST_DEVICES) {
        let error = text.at(line.span(), format!("{} devices with '{name}'", first + added));
        return Err(error.remedy(format!("a cluster has 1 to {MOST_DEVICES} devices")));
    }
    let mut add_name = |name: &str, vertices| {
        names.add(name, vertices).map_err(|message| text.at(line.span(), message).remedy("choose another name"))
    };
    if count.is_some() {
        add_name(name, (first..first + added).collect())?;
    }
    for number in 0..added {
        let name = count.as_ref().map_or_else(|| name.clone(), |_| format!("{name}{number}"));
        add_name(&name, vec![first + number])?;
        devices.push(Device { name, kind: kind_of, memory_bytes, speed });
    }
    Ok(())
}

/// How many devices or switches a line stands for.
fn count_of(text: &TomlText<'_>, count: &Spanned<usize>, name: &str, what: &str) -> Result<usize, FormatError> {
    match *count.get_ref() {
        count @ 1..=MOST_DEVICES => Ok(count),
        count_given => {
            let error = text.at(count.span(), format!("{count_given} {what} named '{name}'"));
            Err(error.remedy(format!("a cluster has 1 to {MOST_DEVICES} {what}")))
        }
    }
}

/// The links of a torus whose members are numbered by the last dimension first: each member with the next of each dimension,
/// and the last with the first where a dimension has more than two.
fn torus(shape: &[usize], members: usize) -> Result<Vec<(usize, usize)>, String> {
    let sizes = shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
    if shape.is_empty() {
        return Err("a torus without dimensions".to_owned());
    }
    if shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size)) != Some(members) {
        return Err(format!("a torus of {sizes} has not {members} members"));
    }
    let mut links = Vec::new();
    for member in 0..members {
        let mut stride = members;
        for &size in shape {
            stride /= size;
            let place = member / stride % size;
            if place + 1 < size {
                links.push((member, member + stride));
            } else if size > 2 {
                links.push((member - place * stride, member));
            }
        }
    }
    Ok(links)
}

/// The share of a device's peaks that ops reach.
fn reached(text: &TomlText<'_>, line: &DeviceLine) -> Result<f64, FormatError> {
    match &line.reached {
        None => Ok(1.0),
        Some(share) if *share.get_ref() > 0.0 && *share.get_ref() <= 1.0 => Ok(*share.get_ref()),
        Some(share) => {
            let error = text.at(share.span(), format!("reached is {}", share.get_ref()));
            Err(error.remedy("it is the share of the peak that ops reach: a number above 0 and at most 1"))
        }
    }
}

fn roofline(text: &TomlText<'_>, line: &DeviceLine) -> Result<Roofline, FormatError> {
    let reached = reached(text, line)?;
    let limit = |key: &str, quantity: &Option<Spanned<Quantity>>, convert: fn(&Quantity) -> Result<f64, String>| {
        let Some(quantity) = quantity else { return Ok(None) };
        match value(text, quantity, convert)? {
            limit if limit.is_finite() && limit > 0.0 => Ok(Some(limit * reached)),
            limit => {
                Err(text.at(quantity.span(), format!("{key} is {limit}")).remedy("it must be a finite number > 0"))
            }
        }
    };
    Ok(Roofline {
        matrix_speed: limit("matrix_speed", &line.matrix_speed, Quantity::speed)?,
        memory_bandwidth: limit("memory_bandwidth", &line.memory_bandwidth, Quantity::rate)?,
    })
}

fn value<T>(
    text: &TomlText<'_>,
    quantity: &Spanned<Quantity>,
    convert: impl Fn(&Quantity) -> Result<T, String>,
) -> Result<T, FormatError> {
    convert(quantity.get_ref()).map_err(|message| text.at(quantity.span(), message))
}

/// The overhead that a key sets, if it is there.
fn overhead(text: &TomlText<'_>, key: &str, at: Option<&Spanned<Quantity>>) -> Result<Option<Time>, FormatError> {
    let Some(at) = at else { return Ok(None) };
    match value(text, at, Quantity::duration)? {
        time if time.is_finite() && time >= 0.0 => Ok(Some(time)),
        time => Err(text.at(at.span(), format!("{key} is {time}")).remedy("it must be a finite number ≥ 0")),
    }
}

fn link(
    text: &TomlText<'_>,
    rate: &Spanned<Quantity>,
    latency: Option<&Spanned<Quantity>>,
) -> Result<Link, FormatError> {
    let link = Link {
        rate: value(text, rate, Quantity::rate)?,
        latency: latency.map_or(Ok(0.0), |latency| value(text, latency, Quantity::duration))?,
    };
    if link.rate.is_nan() || link.rate <= 0.0 {
        return Err(text.at(rate.span(), format!("the rate is {}", link.rate)).remedy("rates must be > 0"));
    }
    match latency {
        Some(at) if !(link.latency.is_finite() && link.latency >= 0.0) => Err(text
            .at(at.span(), format!("the latency is {}", link.latency))
            .remedy("latencies must be finite and ≥ 0")),
        _ => Ok(link),
    }
}

/// The keys that say which pairs of devices a line is about.
struct Ends<'a> {
    between: &'a Option<Spanned<Two>>,
    from: &'a Option<Spanned<String>>,
    to: &'a Option<Spanned<String>>,
}

impl Ends<'_> {
    /// The ordered pairs; `what` is the line, at `span`.
    fn pairs(
        &self,
        text: &TomlText<'_>,
        names: &Names,
        devices: usize,
        what: &str,
        span: std::ops::Range<usize>,
    ) -> Result<Vec<(usize, usize)>, FormatError> {
        let (from, to, both) = match (self.between, self.from, self.to) {
            (Some(ends), None, None) => {
                let Two([a, b]) = ends.get_ref();
                (names.get(text, ends, a)?, names.get(text, ends, b)?, true)
            }
            (None, Some(from), Some(to)) => {
                (names.get(text, from, from.get_ref())?, names.get(text, to, to.get_ref())?, false)
            }
            _ => {
                let error = text.at(span, format!("{what} has either 'between', or 'from' and 'to'"));
                return Err(error.remedy("between = [\"a\", \"b\"]"));
            }
        };
        if from.iter().chain(to).any(|&vertex| vertex >= devices) {
            return Err(text
                .at(span, format!("{what} is for devices, and this one names a switch"))
                .remedy("name devices"));
        }
        let there = from.iter().flat_map(|&from| to.iter().map(move |&to| (from, to)));
        let back = there.clone().filter(|_| both).map(|(from, to)| (to, from));
        Ok(there.clone().chain(back).collect())
    }
}

/// What the transfers of every ordered pair cost the devices, row-major; `None` if no key says anything of it.
fn transfer_overheads(
    text: &TomlText<'_>,
    file: &ClusterFile,
    devices: usize,
    names: &Names,
) -> Result<Option<Vec<TransferOverheads>>, FormatError> {
    let values = |keys: [&Option<Spanned<Quantity>>; 4], others: TransferOverheads| {
        let mut values = others.values();
        for ((value, name), key) in values.iter_mut().zip(TransferOverheads::NAMES).zip(keys) {
            *value = overhead(text, name, key.as_ref())?.unwrap_or(*value);
        }
        Ok::<_, FormatError>(TransferOverheads::from_values(values))
    };
    let keys =
        [&file.send_overhead, &file.send_overhead_per_byte, &file.receive_overhead, &file.receive_overhead_per_byte];
    if file.overhead.is_empty() && keys.iter().all(|key| key.is_none()) {
        return Ok(None);
    }
    let default = values(keys, TransferOverheads::NONE)?;
    let mut all = vec![default; devices * devices];
    for line in &file.overhead {
        let OverheadLine { between, from, to, .. } = line.get_ref();
        let of = line.get_ref();
        let keys = [&of.send_overhead, &of.send_overhead_per_byte, &of.receive_overhead, &of.receive_overhead_per_byte];
        let pair = values(keys, default)?;
        for (from, to) in (Ends { between, from, to }).pairs(text, names, devices, "an [[overhead]]", line.span())? {
            all[from * devices + to] = pair;
        }
    }
    Ok(Some(all))
}

/// Rate and latency of every ordered pair, row-major.
fn links(text: &TomlText<'_>, file: &ClusterFile, devices: &[Device], names: &Names) -> Result<Vec<Link>, FormatError> {
    let n = devices.len();
    let default = file.link.as_ref().map(|line| link(text, &line.rate, line.latency.as_ref())).transpose()?;
    let mut links = vec![default; n * n];
    for line in &file.pair {
        let PairLine { between, from, to, rate, latency } = line.get_ref();
        let link = link(text, rate, latency.as_ref())?;
        let ends = Ends { between, from, to };
        for (from, to) in ends.pairs(text, names, n, "a [[pair]]", line.span())? {
            links[from * n + to] = Some(link);
        }
    }
    // The diagonal is never asked for.
    let at_home = Link { rate: f64::INFINITY, latency: 0.0 };
    let filled = links.into_iter().enumerate().map(|(pair, link)| match link {
        Some(link) => Ok(link),
        None if pair / n == pair % n => Ok(at_home),
        None => {
            let (from, to) = (&devices[pair / n].name, &devices[pair % n].name);
            let message = format!("there is no link from '{from}' to '{to}'");
            Err(FormatError::file(text.path, message).remedy("add [link] for all pairs, or a [[pair]]"))
        }
    });
    filled.collect()
}

fn topology(
    text: &TomlText<'_>,
    table: &TopologyTable,
    devices: &[Device],
    names: &mut Names,
) -> Result<Topology, FormatError> {
    let mut vertices: Vec<String> = devices.iter().map(|device| device.name.clone()).collect();
    for switch in &table.switches {
        let added = names.add(switch.get_ref(), vec![vertices.len()]);
        added.map_err(|message| text.at(switch.span(), message).remedy("choose another name"))?;
        vertices.push(switch.get_ref().clone());
    }
    for line in &table.switch {
        let SwitchLine { name, count } = line.get_ref();
        let (first, count) = (vertices.len(), count_of(text, count, name, "switches")?);
        let mut add = |name: String, numbers| {
            let added = names.add(&name, numbers);
            added.map_err(|message| text.at(line.span(), message).remedy("choose another name"))
        };
        add(name.clone(), (first..first + count).collect())?;
        for number in 0..count {
            add(format!("{name}{number}"), vec![first + number])?;
            vertices.push(format!("{name}{number}"));
        }
    }
    let mut links = Vec::new();
    for line in &table.torus {
        let link = link(text, &line.rate, line.latency.as_ref())?;
        let members = names.get(text, &line.of, line.of.get_ref())?;
        let pairs = torus(line.shape.get_ref(), members.len())
            .map_err(|message| text.at(line.shape.span(), message).remedy("write a size for each dimension"))?;
        links.extend(pairs.into_iter().map(|(a, b)| TopologyLink { a: members[a], b: members[b], link }));
    }
    for line in &table.link {
        let link = link(text, &line.rate, line.latency.as_ref())?;
        let Two([a, b]) = line.between.get_ref();
        let (a, b) = (names.get(text, &line.between, a)?, names.get(text, &line.between, b)?);
        let is_within = line.between.get_ref().0[0] == line.between.get_ref().0[1];
        if line.spread && is_within {
            let error = text.at(line.between.span(), "'spread' is about two groups, and this is one");
            return Err(error.remedy("leave out 'spread': each two of the group have a link then"));
        }
        if line.spread {
            let (many, few) = if a.len() >= b.len() { (a, b) } else { (b, a) };
            if many.len() % few.len() != 0 {
                let message = format!("{} and {} do not go into each other evenly", many.len(), few.len());
                return Err(text.at(line.between.span(), message).remedy("leave out 'spread', or name equal parts"));
            }
            let each = many.len() / few.len();
            links.extend(many.iter().enumerate().map(|(at, &a)| TopologyLink { a, b: few[at / each], link }));
            continue;
        }
        // A line that names one group twice means all pairs within the group.
        let is_single = a.len() == 1;
        let wanted = (links.len() + a.len() * b.len()) as u64;
        check_memory(&[(wanted, 2 * size_of::<TopologyLink>() as u64)], || format!("a topology of {wanted} links"))
            .map_err(|error| text.at(line.between.span(), error))?;
        for &a in a {
            // Within one group each pair has one link.
            let others = b.iter().filter(|&&b| is_single || !is_within || b > a);
            links.extend(others.map(|&b| TopologyLink { a, b, link }));
        }
    }
    Ok(Topology { vertices, links })
}
