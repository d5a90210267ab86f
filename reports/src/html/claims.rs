//! The claims of a source on the page of its reproduction.

use placebench_harness::results::Row;
use placebench_harness::results::grid::GridError;
use placebench_harness::suite::Suite;

use super::escape::escape;
use super::grid;
use crate::claims::{claims_table, counts};
use crate::{Checked, claims_of, training_steps};

/// The section of the claims that a run was made to check; nothing for other runs. Rows must be all of the run.
pub(super) fn section(rows: &[Row], suite: &Suite) -> Result<String, GridError> {
    let Some(first) = rows.first() else { return Ok(String::new()) };
    if rows.iter().any(|row| row.suite != first.suite) {
        return Ok(String::new());
    }
    // The claims of a source are part of the program: that they can be read is tested.
    let Some(Ok(claims)) = claims_of(&first.suite) else { return Ok(String::new()) };
    let checked = Checked::new(&claims, rows, &training_steps(suite))?;
    let source = escape(&claims.source);
    let counted = escape(&counts(&claims, &checked).replace("**", ""));
    let options = claims.dimensions.iter().flat_map(|of| of.options.iter().map(move |option| (&of.name, option)));
    let readings: String = options
        .map(|(of, option)| {
            format!("<dt>{}: {}</dt><dd>{}</dd>\n", escape(of), escape(&option.name), escape(&option.text))
        })
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

#[cfg(test)]
mod tests {
    use placebench_harness::suite::BuiltIn;

    use super::*;

    fn rows(suite: &str) -> Vec<Row> {
        let rows = crate::summary::tests::rows();
        rows.into_iter().map(|row| Row { suite: suite.into(), ..row }).collect()
    }

    #[test]
    fn a_reproductions_page_has_its_source_its_readings_and_a_row_for_each_claim() {
        let suite = BuiltIn::find("tolstobrov").unwrap().suite().unwrap();
        let html = section(&rows("tolstobrov"), &suite).unwrap();
        let claims = claims_of("tolstobrov").unwrap().unwrap();
        assert!(html.starts_with("<section id=\"claims\"") && html.contains(&escape(&claims.source)), "{html}");
        for option in claims.dimensions.iter().flat_map(|of| &of.options) {
            let line = format!("{}</dt><dd>{}</dd>", escape(&option.name), escape(&option.text));
            assert!(html.contains(&line), "{line}");
        }
        for claim in &claims.claims {
            assert!(html.contains(&escape(&claim.text)), "{}", claim.text);
        }
        // The rows are of other graphs: nothing can be said.
        assert!(
            html.contains(&format!(
                "Of {} sentences ({} claims) 0 hold",
                claims.sentences().len(),
                claims.claims.len()
            )),
            "{html}"
        );
        assert!(!html.contains("**") && html.contains("placebench reproduce tolstobrov"), "{html}");
    }

    #[test]
    fn other_runs_and_tables_of_several_suites_have_no_claims() {
        let suite = BuiltIn::find("tolstobrov").unwrap().suite().unwrap();
        assert_eq!(section(&rows("mine"), &suite).unwrap(), "");
        assert_eq!(section(&[rows("tolstobrov"), rows("mine")].concat(), &suite).unwrap(), "");
        assert_eq!(section(&[], &suite).unwrap(), "");
    }
}
