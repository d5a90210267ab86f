//! The option `--pass` of verbs that read or make a graph.

use placebench::generator::Passes;

/// Passes over the graph.
#[derive(clap::Args)]
pub(crate) struct PassArgs {
    /// Changes the graph by a pass, as `name` or `name(parameter=value)` (see 'placebench list passes'); may be given several times, in
    /// their order. 'place' and 'convert' take them as part of the graph's name, too: 'convnet+prune+microbatch(8)'. compress and
    /// delay_receives change the graph when it is placed: of the command's verbs 'place' and 'run' take them.
    #[arg(long = "pass", value_name = "PASS")]
    steps: Vec<String>,
}

impl PassArgs {
    /// The passes.
    ///
    /// # Errors
    /// If there is no such pass or parameter.
    pub(crate) fn passes(&self) -> anyhow::Result<Passes> {
        Ok(Passes::new(self.steps.iter().flat_map(|text| Passes::split(text)))?)
    }
}
