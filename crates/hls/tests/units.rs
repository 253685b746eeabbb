//! The modules of hw/rtl/hls are those that the compiler makes of hw/hls.
//!
//! `CIPHERMILL_REWRITE_GOLDEN=1 cargo test -p ciphermill-hls --test units` writes them.

use std::collections::BTreeMap;
use std::path::Path;

use ciphermill_hls::schedule::Target;
use ciphermill_hls::{Memories, Options, Source};
use serde::Deserialize;

#[derive(Deserialize)]
struct File {
    unit: Vec<Unit>,
}

#[derive(Deserialize)]
struct Unit {
    configuration: Vec<Configuration>,
}

#[derive(Deserialize)]
struct Configuration {
    top: Option<String>,
    hls: Option<Compiled>,
}

/// A function and its macros.
#[derive(Deserialize)]
struct Compiled {
    source: String,
    function: String,
    defines: BTreeMap<String, i64>,
}

#[test]
fn modules_are_those_of_their_sources() {
    let hw = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hw");
    let listed = std::fs::read_to_string(hw.join("units.toml")).expect("hw/units.toml");
    let listed: File = toml::from_str(&listed).unwrap_or_else(|error| panic!("hw/units.toml: {error}"));
    let target = Target::ecp5(120.0);
    let mut count = 0;
    for one in listed.unit.iter().flat_map(|unit| &unit.configuration) {
        let (Some(top), Some(Compiled { source, function, defines })) = (&one.top, &one.hls) else { continue };
        let from = Source::read(&hw.join("hls").join(source)).unwrap_or_else(|error| panic!("{error}"));
        let defines: Vec<(String, String)> =
            defines.iter().map(|(name, value)| (name.clone(), value.to_string())).collect();
        let design = from.compile(&defines, function, &target).unwrap_or_else(|error| panic!("{top}: {error}"));
        let source = format!("hw/hls/{source}");
        let made = design.to_systemverilog(&Options { name: top, source: &source, memories: Memories::Inside });
        let path = hw.join(format!("rtl/hls/{top}.sv"));
        if std::env::var_os("CIPHERMILL_REWRITE_GOLDEN").is_some() {
            std::fs::write(&path, &made).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
        let known = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(made == known, "{} is not what the compiler makes of {source}", path.display());
        count += 1;
    }
    assert!(count > 10, "hw/units.toml names {count} modules from C");
}
