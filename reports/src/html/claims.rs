//! The claims of a source on the page of its reproduction.

use placebench_harness::results::Row;
use placebench_harness::suite::Suite;
use polars::prelude::PolarsResult;

use super::escape::escape;
use super::grid;
use crate::claims::{claims_table, counts};
use crate::{Checked, claims_of, training_steps};

/// The section of the claims that a run was made to check; nothing for other runs. Rows must be all of the run.
pub(super) fn section(rows: &[Row], suite: &Suite) -> PolarsResult<String> {
    let Some(first) = rows.first() else { return Ok(String::new()) };
    if rows.iter().any(|row| row.suite != first.suite) {
        return Ok(String::new());
    }
    // The claims of a source are part of the program: that they can be read is tested.
    let Some(Ok(claims)) = claims_of(&first.suite) else { return Ok(String::new()) };
    let checked = Checked::new(&claims, rows, &training_steps(suite))?;
    let source = escape(&claims.source);
    let counted = escape(&counts(&claims, &checked).replace("**", ""));
    let readings: String = claims
        .readings
        .iter()
        .map(|reading| format!("<dt>{}</dt><dd>{}</dd>\n", escape(&reading.name), escape(&reading.text)))
        .collect();
    let table = grid(&claims_table(&claims, &checked));
    Ok(format!(
        "<section id=\"claims\" aria-labelledby=\"h-claims\">\n<h2 id=\"h-claims\">Claims of the source</h2>\n\
         <p class=\"prose\">{source}.</p>\n<p class=\"prose\">{counted}</p>\n<dl class=\"facts\">\n{readings}</dl>\n{table}\
         <p class=\"note\">✓ holds, ✗ does not hold, ? not decided, – cannot be tested; <code>placebench reproduce {}</code> \
         says why.</p>\n</section>\n",
        escape(&first.suite)
    ))
}
