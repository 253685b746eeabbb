//! Parts of a record that takes hours: each is kept when it is complete, so that a run that was stopped goes on with the others.

use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};

/// The kept parts of an area, in `.evidence/<area>`. They hold for the sources, the processor and the compiler that they were
/// made with: a commit that changes one of the sources begins again. A run is not kept, and keeps nothing, if some of the
/// sources are not committed, or if a variable `CIPHERMILL_…` shortens or changes it.
#[derive(Debug)]
pub struct Parts {
    folder: PathBuf,
    paths: &'static [&'static str],
    /// What the parts hold for.
    key: Option<String>,
}

/// A part of a record by its name, and the run that makes it.
pub type Part = (&'static str, fn() -> Result<Value, Box<dyn Error>>);

/// Makes the parts of an area's record one after the other, and writes it. `CIPHERMILL_EVIDENCE_PARTS`, a list of names with
/// commas, takes some parts only.
///
/// # Errors
/// That of the first part that fails, or that something cannot be kept or written.
pub fn run(area: &str, paths: &'static [&'static str], parts: &[Part]) -> Result<(), Box<dyn Error>> {
    let chosen = std::env::var("CIPHERMILL_EVIDENCE_PARTS").ok();
    let takes = |name: &str| chosen.as_ref().is_none_or(|chosen| chosen.split(',').any(|part| part == name));
    let (kept, mut record) = (Parts::of(area, paths)?, serde_json::Map::new());
    for (name, make) in parts.iter().filter(|(name, _)| takes(name)) {
        record.insert((*name).to_owned(), kept.get(name, || make().map_err(|error| error.to_string()))?);
    }
    crate::write(&Value::Object(record))?;
    if chosen.is_none() {
        kept.finish();
    }
    Ok(())
}

/// Variables that change no figure.
const NEUTRAL: [&str; 2] = ["CIPHERMILL_EVIDENCE", "CIPHERMILL_EVIDENCE_PARTS"];

impl Parts {
    /// The parts of an area whose figures depend on these paths, as git understands them.
    ///
    /// # Errors
    /// If git or the compiler does not answer.
    pub fn of(area: &str, paths: &'static [&'static str]) -> Result<Self, String> {
        Ok(Self { folder: Path::new(".evidence").join(area), paths, key: key(paths)? })
    }

    /// The part of this name, kept or made now, with its time.
    ///
    /// # Errors
    /// That of `make`, or that the part cannot be kept.
    pub fn get(&self, name: &str, make: impl FnOnce() -> Result<Value, String>) -> Result<Value, String> {
        let file = self.folder.join(format!("{name}.json"));
        let earlier = fs::read(&file).ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        let same = |record: &Value| self.key.is_some() && record["key"] == json!(self.key);
        if let Some(mut record) = earlier.filter(same) {
            eprintln!("{name}: {} has the figures of these sources", file.display());
            return Ok(record["figures"].take());
        }
        let begun = Instant::now();
        let mut figures = make()?;
        figures["wall_s"] = json!(begun.elapsed().as_secs_f64());
        // The sources must not have changed while the part was made.
        if self.key.is_some() && key(self.paths)? == self.key {
            let failed = |error: std::io::Error| format!("{}: {error}", file.display());
            fs::create_dir_all(&self.folder).map_err(failed)?;
            let record = json!({ "key": self.key, "figures": figures });
            fs::write(&file, record.to_string()).map_err(failed)?;
        }
        Ok(figures)
    }

    /// Forgets all parts, as the record is complete: the next run makes them again.
    pub fn finish(self) {
        // Nothing was kept, perhaps.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn key(paths: &[&str]) -> Result<Option<String>, String> {
    let changes = |name: &OsString| {
        let name = name.to_string_lossy();
        name.starts_with("CIPHERMILL_") && !NEUTRAL.contains(&&*name)
    };
    if std::env::vars_os().any(|(name, _)| changes(&name)) {
        return Ok(None);
    }
    let Some(sources) = hash(paths)? else { return Ok(None) };
    let cpu = fs::read_to_string("/proc/cpuinfo").map_err(|error| format!("/proc/cpuinfo: {error}"))?;
    let cpu = cpu.lines().filter(|line| line.starts_with("model") || line.starts_with("cpu family")).take(3);
    let compiler = output(Command::new("rustc").arg("--version"), &[])?;
    Ok(Some(format!("{sources} {:?} {}", cpu.collect::<Vec<_>>(), String::from_utf8_lossy(&compiler))))
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
    output(Command::new("git").args(arguments), input)
}

/// What a command prints.
fn output(command: &mut Command, input: &[u8]) -> Result<Vec<u8>, String> {
    let what = format!("{command:?}");
    let failed = |error: &dyn std::fmt::Display| format!("{what}: {error}");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|error| failed(&error))?;
    // Closed when it is written, which is before the command says anything.
    child.stdin.take().ok_or_else(|| failed(&"no input"))?.write_all(input).map_err(|error| failed(&error))?;
    let output = child.wait_with_output().map_err(|error| failed(&error))?;
    if output.status.success() { Ok(output.stdout) } else { Err(failed(&output.status)) }
}
