//! `placebench tutorial`: the files of the tutorial's study.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, bail};
use serde::Serialize;

use crate::output::{Exit, Form, shown, write_file};

/// Arguments of `tutorial`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder to write them into.
    folder: PathBuf,
}

const FILES: [(&str, &str); 2] = [
    ("communication.toml", include_str!("../../docs/tutorial/communication.toml")),
    ("my_placer.py", include_str!("../../docs/tutorial/my_placer.py")),
];

/// What the verb answers.
#[derive(Serialize)]
struct Answer {
    files: Vec<String>,
}

pub(crate) fn execute(args: &Args, form: Form) -> anyhow::Result<Exit> {
    let files = FILES.map(|(name, text)| (args.folder.join(name), text));
    if let Some((known, _)) = files.iter().find(|(path, _)| path.exists()) {
        bail!("{}: exists: choose another folder", known.display());
    }
    std::fs::create_dir_all(&args.folder).with_context(|| shown(&args.folder))?;
    for (index, (path, text)) in files.iter().enumerate() {
        let written = write_file(path, |out| out.write_all(text.as_bytes()));
        if written.is_err() {
            // Half of the files would keep the next try from writing them.
            files[..index].iter().for_each(|(path, _)| drop(std::fs::remove_file(path)));
        }
        written?;
    }
    let answer = Answer { files: files.iter().map(|(path, _)| shown(path)).collect() };
    form.print(&answer, || {
        format!(
            "{}\nthe tutorial: https://github.com/placebench/placebench/blob/main/docs/TUTORIAL.md\n",
            answer.files.join("\n")
        )
    })?;
    Ok(Exit::SUCCESS)
}
