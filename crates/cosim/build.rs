//! Verilates every configuration of `hw/units.toml` and links the models.
//!
//! `CIPHERMILL_HW=all` takes all configurations instead of those marked `quick`; `CIPHERMILL_HW=unit,unit/configuration,…`
//! takes those. `CIPHERMILL_HW_COVERAGE=1` and `CIPHERMILL_HW_TRACE=1` build what line and toggle coverage and FST waveforms
//! need. Verilator is the one that `scripts/setup.sh hw` installs, or that `VERILATOR_ROOT` names. `CIPHERMILL_HW_FOLDER` names
//! another folder than `hw`, such as a copy with a fault in it. `CIPHERMILL_HW_OPT` is the C++ compiler's level, 1 if it says
//! nothing: 0 is right for what runs once, 2 for long simulations.

#[path = "build/objects.rs"]
mod objects;
#[path = "build/ports.rs"]
mod ports;
#[path = "build/shim.rs"]
mod shim;
#[path = "build/sources.rs"]
mod sources;
#[path = "build/tables.rs"]
mod tables;
#[path = "build/units.rs"]
mod units;
#[path = "build/verilator.rs"]
mod verilator;

use std::env;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use units::Selection;

fn main() {
    if let Err(message) = build() {
        // Cargo shows the standard error of a build script that fails.
        eprintln!("ciphermill-cosim: {message}");
        std::process::exit(1);
    }
}

fn build() -> Result<(), String> {
    for name in [
        "CIPHERMILL_HW",
        "CIPHERMILL_HW_COVERAGE",
        "CIPHERMILL_HW_FOLDER",
        "CIPHERMILL_HW_OPT",
        "CIPHERMILL_HW_TRACE",
        "VERILATOR_ROOT",
    ] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let crate_folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("CARGO_MANIFEST_DIR is not set")?);
    let repository = crate_folder.ancestors().nth(2).ok_or("the crate is not in crates/")?.to_owned();
    let hw = env::var_os("CIPHERMILL_HW_FOLDER").map_or_else(|| repository.join("hw"), PathBuf::from);
    println!("cargo::rerun-if-changed={}", hw.join("units.toml").display());
    println!("cargo::rerun-if-changed={}", hw.join("rtl").display());
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed={}", hw.join("lint/waivers.vlt").display());

    let selection = Selection::new(env::var("CIPHERMILL_HW").ok().as_deref());
    let units = units::read(&hw.join("units.toml"))?;
    selection.check(&units)?;
    let tool = verilator::Verilator::find(&repository, &hw.join("rtl"))?;
    println!("cargo::rerun-if-changed={}", tool.program().display());
    let store = store(&out);
    std::fs::create_dir_all(&store).map_err(|error| format!("{}: {error}", store.display()))?;
    // Only counters ask which file belongs to which unit.
    let sources = tool.coverage.then(|| sources::Sources::read(tool.folders())).transpose()?;
    let mut models = Vec::new();
    let mut registry = String::new();
    let mut externs = String::new();
    let mut entries = String::new();
    for unit in &units {
        let counted_elsewhere = sources.as_ref().map(|sources| sources.counted_elsewhere(unit, &units));
        let counted_elsewhere = counted_elsewhere.unwrap_or_default();
        for configuration in
            unit.configuration.iter().filter(|configuration| selection.takes(&unit.name, configuration))
        {
            let name = format!("{}_{}", unit.name, configuration.name);
            let folder = out.join(&name);
            let top = configuration.top.as_deref().or(unit.top.as_deref()).unwrap_or(&unit.name);
            let mut files = Vec::new();
            if let Some(kind) = &unit.tables {
                for table in tables::tables(kind, &configuration.parameters)? {
                    // The model's source names this path, so it depends on the table alone.
                    let path = store.join(format!("{:016x}.hex", objects::hash(&table.text)));
                    if !path.exists() {
                        objects::place(&path, table.text.as_bytes())?;
                    }
                    println!("cargo::rerun-if-changed={}", path.display());
                    files.push((table.parameter, path));
                }
            }
            let module = verilator::Module {
                top,
                name: &name,
                parameters: &configuration.parameters,
                files: &files,
                wide: unit.wide,
                counted_elsewhere: &counted_elsewhere,
            };
            tool.translate(&module, &folder)?;
            let ports = ports::read(&folder.join(format!("V{name}.h")))?;
            let shim = folder.join("shim.cpp");
            write(&shim, &shim::cpp(&name, &ports))?;
            models.push(folder);
            externs.push_str(&shim::externs(&name));
            entries.push_str(&shim::entry(&unit.name, configuration, &name, &ports));
        }
    }
    // Clippy has the build script run for itself alone, and links nothing.
    if env::var_os("RUSTC_WORKSPACE_WRAPPER").is_none_or(|wrapper| !wrapper.to_string_lossy().contains("clippy-driver"))
    {
        let mut compiler = tool.compiler(level(env::var("CIPHERMILL_HW_OPT").ok().as_deref())?);
        let mut units = tool.library();
        units.extend(verilator::translation_units(&models, !tool.trace)?);
        compiler.objects(objects::objects(&compiler, &units, &tool.include(), &out, &store)?);
        compiler.try_compile("ciphermill_cosim_models").map_err(|error| error.to_string())?;
    }
    println!("cargo::rustc-link-lib=stdc++");
    if tool.trace {
        println!("cargo::rustc-link-lib=z");
        println!("cargo::rustc-link-lib=lz4");
    }
    let _ = writeln!(registry, "/// The simulator.\npub const VERILATOR: &str = {:?};\n", tool.version()?);
    let _ = write!(
        registry,
        "unsafe extern \"C\" {{\n{externs}}}\n\n/// Every configuration that was built.\npub static CONFIGURATIONS: &[Configuration] = &[\n{entries}];\n"
    );
    write(&out.join("registry.rs"), &registry)
}

/// The folder of objects and tables: in the target folder, with the other results of the hardware's flow.
fn store(out: &Path) -> PathBuf {
    // <target>/<profile>/build/<crate>/out
    let target = out.ancestors().nth(4).filter(|_| out.ancestors().nth(2).is_some_and(|path| path.ends_with("build")));
    target.map_or_else(|| out.join("models"), |target| target.join("hw/models"))
}

fn level(stated: Option<&str>) -> Result<u32, String> {
    match stated {
        None | Some("") => Ok(1),
        Some(text) => text.parse().map_err(|_| format!("CIPHERMILL_HW_OPT is `{text}`, not a number")),
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}
