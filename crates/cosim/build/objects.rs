//! Objects of translation units, kept under a hash of their sources: a translation unit without changes is not compiled
//! again, in any build.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// An object is removed after this time without use.
const KEPT: Duration = Duration::from_secs(14 * 24 * 3600);

/// Compiles translation units, or finds their objects in `store`. `library` is the folder of Verilator's headers, and `out`
/// that of the compiler's files.
///
/// # Errors
/// A message, if a file cannot be read or written, or the compiler fails.
pub(crate) fn objects(
    compiler: &cc::Build,
    units: &[String],
    library: &Path,
    out: &Path,
    store: &Path,
) -> Result<Vec<PathBuf>, String> {
    fs::create_dir_all(store).map_err(|error| format!("{}: {error}", store.display()))?;
    let mut hasher = DefaultHasher::new();
    identity(compiler)?.hash(&mut hasher);
    contents(library, &mut hasher)?;
    let common = hasher.finish();
    let mut objects = Vec::new();
    let mut missing = Vec::new();
    let mut build = compiler.clone();
    for (number, text) in units.iter().enumerate() {
        let object = store.join(format!("{:016x}.o", key(common, text)?));
        // Another build removes only old objects.
        let used = File::options().append(true).open(&object).and_then(|file| file.set_modified(SystemTime::now()));
        if used.is_err() {
            let path = out.join(format!("models_{number}.cpp"));
            fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
            build.file(&path);
            missing.push(object.clone());
        }
        objects.push(object);
    }
    if !missing.is_empty() {
        let compiled = build.try_compile_intermediates().map_err(|error| error.to_string())?;
        for (from, to) in compiled.iter().zip(&missing) {
            let bytes = fs::read(from).map_err(|error| format!("{}: {error}", from.display()))?;
            place(to, &bytes)?;
        }
    }
    prune(store);
    Ok(objects)
}

/// The compiler with its options and its version.
fn identity(compiler: &cc::Build) -> Result<String, String> {
    let tool = compiler.try_get_compiler().map_err(|error| error.to_string())?;
    let version = tool.to_command().arg("--version").output().map_err(|error| error.to_string())?;
    // The whole command would bring cargo's environment, which is another one each time.
    Ok(format!("{:?} {:?} {}", tool.path(), tool.args(), String::from_utf8_lossy(&version.stdout)))
}

/// Writes a file, whole or not at all: another build may read it at the same time.
pub(crate) fn place(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let failure = |error| format!("{}: {error}", path.display());
    let unfinished = path.with_extension(format!("{}", std::process::id()));
    fs::write(&unfinished, bytes).map_err(failure)?;
    fs::rename(&unfinished, path).map_err(failure)
}

/// Hashes names and contents of all files below a folder.
fn contents(folder: &Path, hasher: &mut DefaultHasher) -> Result<(), String> {
    let failure = |error| format!("{}: {error}", folder.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failure)? {
        paths.push(entry.map_err(failure)?.path());
    }
    paths.sort();
    for path in paths {
        if path.is_dir() {
            contents(&path, hasher)?;
        } else {
            path.file_name().hash(hasher);
            fs::read(&path).map_err(failure)?.hash(hasher);
        }
    }
    Ok(())
}

/// A hash of `common`, of the files that a translation unit includes, and of the headers in their folders.
fn key(common: u64, text: &str) -> Result<u64, String> {
    let mut hasher = DefaultHasher::new();
    common.hash(&mut hasher);
    for line in text.lines() {
        let Some(path) = line.strip_prefix("#include \"").and_then(|rest| rest.strip_suffix('"')) else {
            line.hash(&mut hasher);
            continue;
        };
        let mut files = vec![PathBuf::from(path)];
        let folder = Path::new(path).parent().ok_or_else(|| format!("{path} is in no folder"))?;
        let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut headers: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        headers.retain(|path| path.extension().is_some_and(|extension| extension == "h"));
        headers.sort();
        files.extend(headers);
        for file in files {
            // The folder is the build's own; name and contents are those of the model.
            file.file_name().hash(&mut hasher);
            fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?.hash(&mut hasher);
        }
    }
    Ok(hasher.finish())
}

/// A hash of a text.
pub(crate) fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Removes old objects and unfinished files, as far as it can. Tables stay: a built simulation reads them.
fn prune(store: &Path) {
    let now = SystemTime::now();
    let Ok(entries) = fs::read_dir(store) else { return };
    for entry in entries.flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "hex") {
            continue;
        }
        let used = entry.metadata().and_then(|metadata| metadata.modified());
        if used.is_ok_and(|used| now.duration_since(used).is_ok_and(|age| age > KEPT)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
