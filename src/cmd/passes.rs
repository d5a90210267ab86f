//! The option `--pass` of verbs that read or make a graph.

use placebench::generator::Passes;

/// Passes over the graph.
#[derive(clap::Args)]
pub(crate) struct PassArgs {
    /// Changes the graph by a pass, as `name` or `name(parameter=value)` (see 'placebench list passes'); may be given several times, in
    /// their order. The same as its name with the passes: 'convnet+prune+microbatch(8)'. 'place' alone takes compress and
    /// delay_receives, which change the graph when it is placed.
    #[arg(long = "pass", value_name = "PASS")]
    steps: Vec<String>,
}

impl PassArgs {
    /// The passes.
    ///
    /// # Errors
    /// If there is no such pass or parameter.
    pub(crate) fn passes(&self) -> anyhow::Result<Passes> {
        Ok(Passes::new(&self.steps)?)
    }
}
