//! What `hw/units.toml` says.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

#[derive(Deserialize)]
struct File {
    unit: Vec<Unit>,
}

/// A unit: a module and the configurations it is built in.
#[derive(Deserialize)]
pub(crate) struct Unit {
    pub(crate) name: String,
    pub(crate) top: Option<String>,
    pub(crate) tables: Option<String>,
    /// Whether it computes on numbers of many words, which are better left in loops and calls than unrolled.
    #[serde(default)]
    pub(crate) wide: bool,
    /// Modules that the flow maps one by one. A unit that has some is an engine, or a large part of one.
    #[serde(default)]
    pub(crate) parts: Vec<String>,
    pub(crate) configuration: Vec<Configuration>,
}

/// One instantiation of a unit.
#[derive(Deserialize)]
pub(crate) struct Configuration {
    pub(crate) name: String,
    /// The module, if it is another one than the unit's.
    pub(crate) top: Option<String>,
    #[serde(default)]
    pub(crate) parameters: BTreeMap<String, i64>,
    #[serde(default)]
    pub(crate) quick: bool,
}

/// The units of a file, in its order.
pub(crate) fn read(path: &Path) -> Result<Vec<Unit>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let file: File = toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(file.unit)
}

/// Which configurations are built.
pub(crate) enum Selection {
    Quick,
    All,
    Named(Vec<String>),
}

impl Selection {
    /// From the value of `CIPHERMILL_HW`.
    pub(crate) fn new(value: Option<&str>) -> Self {
        match value {
            None | Some("" | "quick") => Self::Quick,
            Some("all") => Self::All,
            Some(names) => Self::Named(names.split(',').map(str::to_owned).collect()),
        }
    }

    /// Refuses names of nothing: tests of no configuration would pass.
    pub(crate) fn check(&self, units: &[Unit]) -> Result<(), String> {
        let Self::Named(names) = self else { return Ok(()) };
        for name in names {
            let is = |unit: &Unit| {
                let (unit_name, configuration) = match name.split_once('/') {
                    Some((unit_name, configuration)) => (unit_name, Some(configuration)),
                    None => (name.as_str(), None),
                };
                let has = |wanted| unit.configuration.iter().any(|one| one.name == wanted);
                unit.name == unit_name && configuration.is_none_or(has)
            };
            if !units.iter().any(is) {
                return Err(format!("CIPHERMILL_HW: hw/units.toml has no unit or configuration `{name}`"));
            }
        }
        Ok(())
    }

    pub(crate) fn takes(&self, unit: &str, configuration: &Configuration) -> bool {
        match self {
            Self::Quick => configuration.quick,
            Self::All => true,
            Self::Named(names) => {
                let whole = format!("{unit}/{}", configuration.name);
                names.iter().any(|name| name == unit || *name == whole)
            }
        }
    }
}
