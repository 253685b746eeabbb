//! Parts of a record that takes hours: each is kept when it is complete, so that a run that was stopped goes on with the others.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

/// The kept parts of an area, in `.evidence/<area>`. They hold for the sources that they were made of: a commit that changes
/// one of them begins again, and so does a run with changes that are not committed.
#[derive(Debug)]
pub struct Parts {
    folder: PathBuf,
    /// The hash of the sources; `None` if some of them are not committed.
    sources: Option<String>,
}

impl Parts {
    /// The parts of an area whose figures depend on these paths, as git understands them.
    ///
    /// # Errors
    /// If git fails.
    pub fn of(area: &str, paths: &[&str]) -> Result<Self, String> {
        Ok(Self { folder: Path::new(".evidence").join(area), sources: hash(paths)? })
    }

    /// The part of this name, kept or made now. It is kept only if it is `whole`: that of a full run.
    ///
    /// # Errors
    /// That of `make`, or that the part cannot be kept.
    pub fn get(&self, name: &str, whole: bool, make: impl FnOnce() -> Result<Value, String>) -> Result<Value, String> {
        let file = self.folder.join(name).with_extension("json");
        let earlier = fs::read(&file).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        let same = |record: &Value| whole && self.sources.is_some() && record["sources"] == json!(self.sources);
        if let Some(mut record) = earlier.filter(same) {
            eprintln!("{name}: {} has the figures of these sources", file.display());
            return Ok(record["figures"].take());
        }
        let figures = make()?;
        if whole {
            let failed = |error: std::io::Error| format!("{}: {error}", file.display());
            fs::create_dir_all(&self.folder).map_err(failed)?;
            let record = json!({ "sources": self.sources, "figures": figures });
            fs::write(&file, record.to_string()).map_err(failed)?;
        }
        Ok(figures)
    }
}

/// The hash of the committed state of the paths; `None` if some of it is not committed.
fn hash(paths: &[&str]) -> Result<Option<String>, String> {
    let of = |arguments: &[&str]| git(&[arguments, &["--"], paths].concat(), &[]);
    if !of(&["status", "--porcelain"])?.is_empty() {
        return Ok(None);
    }
    // The mode, hash and name of each file.
    let hash = git(&["hash-object", "--stdin"], &of(&["ls-files", "--stage"])?)?;
    Ok(Some(String::from_utf8_lossy(&hash).trim().to_owned()))
}

fn git(arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("git {}: {error}", arguments.join(" "));
    let mut child = Command::new("git")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(&error))?;
    // Closed when it is written, which is before git says anything.
    child.stdin.take().ok_or_else(|| failed(&"no input"))?.write_all(input).map_err(|error| failed(&error))?;
    let output = child.wait_with_output().map_err(|error| failed(&error))?;
    if output.status.success() { Ok(output.stdout) } else { Err(failed(&output.status)) }
}
