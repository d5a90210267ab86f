//! `placebench generate`: makes a graph or a cluster from a preset or a parameter file, with a manifest to check it by.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use placebench::algorithms::nearest;
use placebench::datasets::format::{self, GraphHeader};
use placebench::generator::{
    ClusterParams, LeveledParams, Manifest, cluster_preset, generate_cluster, generate_leveled,
};

use super::convert::{extension, write_cluster, write_graph};
use super::source::write_file;
use crate::output::print;

/// Arguments of `generate`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A preset (see 'placebench list presets' and 'placebench list clusters') or a parameter file (TOML).
    #[arg(required_unless_present_any = ["check", "print_parameters"])]
    what: Option<String>,

    /// Where to write: without extension a graph folder with its manifest; .csv, .pb, .pbtxt, .dot; with --cluster or for a
    /// cluster preset .toml or .csv.
    #[arg(long, short, required_unless_present_any = ["check", "print_parameters"])]
    out: Option<PathBuf>,

    /// Seed.
    #[arg(long, default_value_t = 0)]
    seed: u64,

    /// The parameter file describes a cluster, not a graph.
    #[arg(long)]
    cluster: bool,

    /// Replaces an existing output.
    #[arg(long, short)]
    force: bool,

    /// Makes the graph of this folder's manifest again and compares both with it, instead of writing anything.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["what", "out", "force", "cluster"])]
    check: Option<PathBuf>,

    /// Prints the parameters of a graph preset as TOML, to start a parameter file from.
    #[arg(long, value_name = "PRESET", conflicts_with_all = ["what", "out", "force", "cluster", "check"])]
    print_parameters: Option<String>,
}

const MANIFEST: &str = "manifest.toml";

pub(crate) fn execute(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(folder) = &args.check {
        return check(folder);
    }
    if let Some(preset) = &args.print_parameters {
        let params = LeveledParams::preset(preset).ok_or_else(|| unknown(preset))?;
        print(&toml::to_string(&params)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (Some(what), Some(out)) = (&args.what, &args.out) else { bail!("give what to generate and --out") };
    if out.exists() && !args.force {
        bail!("{}: exists: --force replaces it", out.display());
    }
    let is_file = Path::new(what).is_file();
    if args.cluster && is_file {
        let text = std::fs::read_to_string(what).with_context(|| what.clone())?;
        let params = ClusterParams::from_toml(&text).map_err(|error| anyhow!("{what}: {error}"))?;
        write_cluster(out, &generate_cluster(&params, args.seed)?)?;
    } else if let Some(cluster) = cluster_preset(what, args.seed) {
        write_cluster(out, &cluster?)?;
    } else {
        let params = match LeveledParams::preset(what) {
            Some(params) => params,
            None if is_file => {
                let text = std::fs::read_to_string(what).with_context(|| what.clone())?;
                LeveledParams::from_toml(&text).map_err(|error| anyhow!("{what}: {error}"))?
            }
            None => return Err(unknown(what)),
        };
        return generate_graph(args, what, out, &params);
    }
    print(&format!("{}\n", out.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn generate_graph(args: &Args, what: &str, out: &Path, params: &LeveledParams) -> anyhow::Result<ExitCode> {
    let made = generate_leveled(params, args.seed)?;
    let name = Path::new(what).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let manifest = Manifest::new(params, args.seed, &made);
    let mut header = GraphHeader::named(&name);
    header.title = format!("leveled random graph '{name}', seed {}", args.seed);
    header.units.time = "execution units".to_owned();
    header.provenance.insert("generator".to_owned(), format!("placebench {}", manifest.version).into());
    header.provenance.insert("sha256".to_owned(), manifest.sha256.clone().into());
    write_graph(out, &header, &made.graph, args.force)?;
    if extension(out).is_empty() {
        write_file(&out.join(MANIFEST), |file| std::io::Write::write_all(file, manifest.to_toml().as_bytes()))?;
    }
    let stats = &made.stats;
    print(&format!(
        "{}: {} ops, {} edges ({} between levels, {} long-range), {} levels, {} colocated\nSHA-256 {}\n",
        out.display(),
        stats.nodes,
        stats.edges,
        stats.level_edges,
        stats.random_edges,
        stats.levels,
        stats.colocated_nodes,
        manifest.sha256
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn check(folder: &Path) -> anyhow::Result<ExitCode> {
    let path = folder.join(MANIFEST);
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let manifest = Manifest::from_toml(&text).map_err(|error| anyhow!("{}: {error}", path.display()))?;
    let (_, graph) = format::read_graph(folder)?;
    manifest.check_graph(&graph).with_context(|| folder.display().to_string())?;
    manifest.check().with_context(|| path.display().to_string())?;
    print(&format!("{}: the graph is what its manifest says, and comes out again\n", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn unknown(name: &str) -> anyhow::Error {
    let names = LeveledParams::PRESETS.into_iter().chain(ClusterParams::PRESETS);
    match nearest(name, names) {
        Some(nearest) => anyhow!("no file and no preset is named '{name}': did you mean '{nearest}'?"),
        None => anyhow!(
            "no file and no preset is named '{name}': see 'placebench list presets' and 'placebench list clusters'"
        ),
    }
}
