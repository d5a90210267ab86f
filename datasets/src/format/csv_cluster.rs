//! Clusters as CSV, one row a device, after L §6.2: the transfer rates are an upper triangular matrix.
//!
//! ```text
//! id,name,kind,memory_bytes,speed,rate_0,rate_1,rate_2,latency_0,latency_1,latency_2
//! 0,cpu,CPU,68719476736,10,,30,30,,0.001,0.001
//! 1,gpu0,GPU,17179869184,80,,,60,,,0.0005
//! 2,gpu1,GPU,17179869184,80,,,,,,
//! ```
//!
//! Row `i` has, in `rate_j` for each `j > i`, the rate in bytes per time unit between devices `i` and `j`, both ways; the
//! other cells stay empty. The `latency_j` columns (in time units) may be left out, and so may `name`. An empty memory is
//! unlimited; `speed` is in operations per time unit. A column `op_overhead` (in time units) says what a device adds to each
//! op; left out or empty it is 0.
//!
//! Asymmetric links, topologies, overheads of transfers and the cost of send ops are beyond this format: cluster TOML has them.

use std::io::{BufReader, Read, Write};
use std::path::Path;

use csv::StringRecord;
use placebench_base::did_you_mean;

use super::atomic::write_file;
use super::csv_rows::{CsvRow, CsvRows, csv_error};
use super::entry::{Format, Holds, Mark};
use super::text::{Number, counted};
use super::{Detail, FormatError, compressed};
use crate::cluster::check_pairs;
use crate::{Cluster, Device, Link, Roofline};

/// The line of the table of formats.
pub(super) static FORMAT: Format = Format {
    name: "cluster_csv",
    mark: Mark::Extensions(&["csv"]),
    title: "a row for each device, with its rates to the others",
    lacks: &[
        Detail::OneWayLinks,
        Detail::Topology,
        Detail::SendOps,
        Detail::TransferOverheads,
        Detail::DeviceClasses,
        Detail::Rooflines,
    ],
    options: &[],
    holds: Holds::Cluster {
        read: |path| read_cluster_csv(path),
        write: Some(|path, cluster| write_cluster_csv(path, cluster)),
    },
};

const COLUMNS: [&str; 6] = ["id", "name", "kind", "memory_bytes", "speed", "op_overhead"];

/// Reads a cluster from CSV; the columns are described [here](self).
///
/// # Errors
/// The first line that is wrong; all that [`Cluster::new`] refuses.
pub fn read_cluster_csv(path: impl AsRef<Path>) -> Result<Cluster, FormatError> {
    let path = path.as_ref();
    parse_cluster_csv(path, BufReader::new(compressed::open(path)?))
}

/// Reads a cluster from CSV text; `path` stands for the file in messages.
///
/// # Errors
/// As [`read_cluster_csv`].
pub fn parse_cluster_csv(path: impl AsRef<Path>, text: impl Read) -> Result<Cluster, FormatError> {
    let path = path.as_ref();
    let mut rows = CsvRows::open_any(path, text)?;
    rows.require(&["id", "kind", "speed", "rate_0"])?;
    let count = rows.header().iter().filter(|name| name.starts_with("rate_")).count();
    check_pairs(count, size_of::<Link>()).map_err(|error| FormatError::at_line(path, 1, error))?;
    let has_latency = rows.header().iter().any(|name| name.starts_with("latency_"));
    let mut known: Vec<String> = COLUMNS.iter().map(|&column| column.to_owned()).collect();
    known.extend((0..count).map(|device| format!("rate_{device}")));
    known.extend((0..if has_latency { count } else { 0 }).map(|device| format!("latency_{device}")));
    rows.require(&known[COLUMNS.len()..].iter().map(String::as_str).collect::<Vec<_>>())?;
    if let Some(name) = rows.header().iter().find(|name| !known.contains(name)) {
        let error = FormatError::at_line(path, 1, format!("unknown column '{name}'"));
        return Err(error.remedy(did_you_mean(name, known.iter().map(String::as_str))));
    }

    let mut devices = Vec::with_capacity(count);
    let mut op_overheads = Vec::with_capacity(count);
    let mut upper = Vec::with_capacity(count * count);
    let mut record = StringRecord::new();
    while let Some(row) = rows.next(&mut record)? {
        let device = devices.len();
        row.check_id(device)?;
        if device >= count {
            let columns = counted(count as u64, "column");
            return Err(row
                .fault(format!("device {device} is one too many for {columns} of rates"))
                .remedy(format!("add rate_{device}")));
        }
        devices.push(Device {
            name: row.text("name").map_or_else(|| format!("d{device}"), str::to_owned),
            kind: row.required("kind", "CPU, GPU or TPU")?,
            memory_bytes: row.value("memory_bytes")?,
            speed: row.required("speed", "operations per time unit")?,
        });
        op_overheads.push(row.value::<f64>("op_overhead")?.unwrap_or(0.0));
        for other in 0..count {
            upper.push(link(&row, device, other, has_latency)?);
        }
    }
    if devices.len() < count {
        let found = counted(devices.len() as u64, "device");
        return Err(
            FormatError::file(path, format!("has {found}, but rates for {count}")).remedy("add the missing rows")
        );
    }
    Cluster::new(devices, |from, to| upper[from.min(to).index() * count + from.max(to).index()])
        .and_then(|cluster| cluster.with_op_overheads(|device| op_overheads[device.index()]))
        .map_err(|error| FormatError::file(path, error))
}

/// The link in row `device` to `other`, which must be there exactly above the diagonal.
fn link(row: &CsvRow<'_>, device: usize, other: usize, has_latency: bool) -> Result<Link, FormatError> {
    let (rate, latency) = (format!("rate_{other}"), format!("latency_{other}"));
    if other > device {
        let what = format!("what is between devices {device} and {other}");
        let latency = if has_latency { row.required(&latency, &what)? } else { 0.0 };
        return Ok(Link { rate: row.required(&rate, &what)?, latency });
    }
    match [rate, latency].iter().find(|&column| row.text(column).is_some()) {
        Some(column) => {
            let message =
                format!("{column} is given in the row of device {device}, but the matrix is upper triangular");
            Err(row.fault(message).remedy(format!("move it to the row of device {other}, or leave the cell empty")))
        }
        None => Ok(Link { rate: f64::INFINITY, latency: 0.0 }),
    }
}

/// Writes a cluster as CSV.
///
/// # Errors
/// If the file cannot be written, or the cluster has what CSV cannot say: links that differ by direction, a topology,
/// overheads of transfers, classes and rooflines of devices, a cost of send ops.
pub fn write_cluster_csv(path: impl AsRef<Path>, cluster: &Cluster) -> Result<(), FormatError> {
    let path = path.as_ref();
    let beyond = if cluster.topology().is_some() {
        Some("a topology")
    } else if !cluster.is_symmetric() {
        Some("links that differ by direction")
    } else if cluster.device_ids().any(|device| cluster.transfer_overheads_from(device).is_some()) {
        Some("overheads of transfers")
    } else if cluster.device_ids().any(|id| cluster.class(id) != cluster.device(id).kind.class()) {
        Some("classes of devices")
    } else if cluster.device_ids().any(|id| cluster.roofline(id) != Roofline::NONE) {
        Some("rooflines of devices")
    } else {
        (cluster.send_ops() != 0.0).then_some("a cost of send ops")
    };
    if let Some(beyond) = beyond {
        let message = format!("the cluster has {beyond}, which cluster CSV cannot say");
        return Err(FormatError::file(path, message).remedy("write it as .toml"));
    }
    if cluster.devices().iter().any(|device| device.name.is_empty()) {
        let message = "a device has the empty text as its name, which cluster CSV cannot say";
        return Err(FormatError::file(path, message).remedy("write it as .toml"));
    }
    write_file(path, |out| write_rows(out, cluster).map_err(|error| csv_error(path, error)))
}

fn write_rows(out: impl Write, cluster: &Cluster) -> Result<(), csv::Error> {
    let mut writer = csv::Writer::from_writer(out);
    let has_latency =
        cluster.device_ids().any(|device| cluster.latencies_from(device).iter().any(|&latency| latency > 0.0));
    let has_overhead = cluster.op_overheads().iter().any(|&overhead| overhead > 0.0);
    let columns = &COLUMNS[..if has_overhead { COLUMNS.len() } else { COLUMNS.len() - 1 }];
    let mut header: Vec<String> = columns.iter().map(|&column| column.to_owned()).collect();
    header.extend(cluster.device_ids().map(|device| format!("rate_{device}")));
    header.extend(cluster.device_ids().filter(|_| has_latency).map(|device| format!("latency_{device}")));
    writer.write_record(&header)?;
    for (device, of) in cluster.device_ids().zip(cluster.devices()) {
        let memory = of.memory_bytes.map_or_else(String::new, |bytes| bytes.to_string());
        let mut row =
            vec![device.to_string(), of.name.clone(), of.kind.to_string(), memory, Number(of.speed).to_string()];
        if has_overhead {
            row.push(Number(cluster.op_overhead(device)).to_string());
        }
        let cells = |values: &[f64]| -> Vec<String> {
            let cell = |(other, value): (usize, &f64)| match other > device.index() {
                true => Number(*value).to_string(),
                false => String::new(),
            };
            values.iter().enumerate().map(cell).collect()
        };
        row.extend(cells(cluster.rates_from(device)));
        if has_latency {
            row.extend(cells(cluster.latencies_from(device)));
        }
        writer.write_record(&row)?;
    }
    Ok(writer.flush()?)
}
