//! Source files of the units.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::units::Unit;

/// The files of a folder with one folder for each unit, and which other files each of them names.
pub(crate) struct Sources {
    /// By the name of the module or package, which is that of its file.
    files: BTreeMap<String, Source>,
}

struct Source {
    path: PathBuf,
    uses: Vec<String>,
}

impl Sources {
    /// Reads all files of these folders.
    pub(crate) fn read(folders: &[PathBuf]) -> Result<Self, String> {
        let mut texts = Vec::new();
        for folder in folders {
            let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
            for entry in std::fs::read_dir(folder).map_err(failed)? {
                let path = entry.map_err(failed)?.path();
                if let Some(name) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".sv")) {
                    texts.push((name.to_owned(), std::fs::read_to_string(&path).map_err(failed)?, path));
                }
            }
        }
        let names: BTreeSet<String> = texts.iter().map(|(name, ..)| name.clone()).collect();
        let uses = |text: &str| -> Vec<String> {
            let code = text.lines().map(|line| line.split("//").next().unwrap_or_default());
            let words = code.flat_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
            words.filter_map(|word| names.get(word)).cloned().collect()
        };
        let files = texts.into_iter().map(|(name, text, path)| (name, Source { uses: uses(&text), path })).collect();
        Ok(Self { files })
    }

    /// Files that the tests of other units count: those of units that this one has as parts, and of units without parts. A
    /// unit without parts counts all that it has.
    pub(crate) fn counted_elsewhere(&self, unit: &Unit, units: &[Unit]) -> BTreeSet<&Path> {
        if unit.parts.is_empty() {
            return BTreeSet::new();
        }
        let others = units.iter().filter(|other| other.parts.is_empty() || unit.parts.contains(&other.name));
        let files = others.flat_map(|other| self.of(&other.name));
        files.filter(|path| !is_in(path, &unit.name)).collect()
    }

    /// The files in a unit's folder, and those that they use.
    fn of(&self, unit: &str) -> BTreeSet<&Path> {
        let mut found = BTreeSet::new();
        let mut open: Vec<&Source> = self.files.values().filter(|source| is_in(&source.path, unit)).collect();
        while let Some(source) = open.pop() {
            if found.insert(source.path.as_path()) {
                open.extend(source.uses.iter().map(|name| &self.files[name]));
            }
        }
        found
    }
}

fn is_in(path: &Path, unit: &str) -> bool {
    path.parent().is_some_and(|folder| folder.ends_with(unit))
}
