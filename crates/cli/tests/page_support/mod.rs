//! Commands of a page: their extraction, their execution in one shell, and the comparison with the printed output.

pub(crate) mod printed;
pub(crate) mod shell;

use std::fs;
use std::path::{Path, PathBuf};

/// A command of a page and the output that the page prints below it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The line of the page, from 1.
    pub(crate) line: usize,
    pub(crate) command: String,
    pub(crate) printed: Vec<String>,
}

impl Step {
    /// Whether the page prints an error of the command.
    pub(crate) fn fails(&self) -> bool {
        self.printed.iter().any(|line| line.starts_with("ciphermill: error: "))
    }
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The commands of the sessions of a page: code blocks in which `$ ` stands before a command.
pub(crate) fn sessions(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (line, text) in code(page, "```") {
        match (text.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step { line, command: command.to_owned(), printed: Vec::new() }),
            (None, Some(step)) => step.printed.push(text),
            (None, None) => {}
        }
    }
    steps
}

/// The commands of the scripts of a page: code blocks of language `sh`, without comments.
pub(crate) fn scripts(page: &str) -> Vec<Step> {
    let step = |(line, text): (usize, String)| {
        let command = text.split(" # ").next().unwrap_or_default().trim().to_owned();
        Step { line, command, printed: Vec::new() }
    };
    code(page, "```sh").into_iter().map(step).filter(|step| !step.command.is_empty()).collect()
}

/// The numbered lines of the code blocks that this line begins. Blocks without a `$ ` of a page of sessions are no
/// sessions; they have no line.
fn code(page: &str, begin: &str) -> Vec<(usize, String)> {
    let text = fs::read_to_string(root().join(page)).expect("the page");
    let (mut lines, mut block, mut inside) = (Vec::new(), Vec::new(), None);
    for (index, line) in text.lines().enumerate() {
        match inside {
            None if line.starts_with("```") => inside = Some(line == begin),
            None => {}
            Some(wanted) if line == "```" => {
                let session = begin != "```" || block.iter().any(|(_, line): &(usize, String)| line.starts_with("$ "));
                if wanted && session {
                    lines.append(&mut block);
                }
                block.clear();
                inside = None;
            }
            Some(_) => block.push((index + 1, line.to_owned())),
        }
    }
    lines
}
