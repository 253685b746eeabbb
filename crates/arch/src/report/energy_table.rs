//! Energy tables: components with their areas, leakage and energies for each action, read from TOML.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::description;

/// Tables 4 to 6 of the RVFHE paper.
pub const ENERGY_PAPER: &str = include_str!("../../machines/energy-paper.toml");
/// Ranges from the literature.
pub const ENERGY_LITERATURE: &str = include_str!("../../machines/energy-literature.toml");
/// The schema of an energy table.
pub const ENERGY_SCHEMA: &str = "ciphermill-energy/1";
/// The maximum length of a table in bytes.
const MAX_BYTES: usize = 1 << 16;
const MAX_COMPONENTS: usize = 256;
/// The largest number in a table.
const MAX_VALUE: f64 = 1e12;

/// The actions with energies, each for one 32-bit word.
pub const ACTIONS: [&str; 10] = [
    "multiply",
    "add",
    "register-read",
    "register-write",
    "memory-read",
    "memory-write",
    "scratchpad-read",
    "scratchpad-write",
    "link-word",
    "dram-word",
];

/// A range of numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "[f64; 2]", into = "[f64; 2]")]
pub struct Range {
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

impl From<[f64; 2]> for Range {
    fn from([low, high]: [f64; 2]) -> Self {
        Self { low, high }
    }
}

impl From<Range> for [f64; 2] {
    fn from(range: Range) -> Self {
        [range.low, range.high]
    }
}

impl From<Range> for Value {
    fn from(range: Range) -> Self {
        Self::from(<[f64; 2]>::from(range).to_vec())
    }
}

impl Range {
    pub(super) fn times(self, factor: f64) -> Self {
        Self { low: self.low * factor, high: self.high * factor }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self { low: self.low + other.low, high: self.high + other.high }
    }
}

/// The unit that has one instance of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Per {
    /// Each lane has one.
    Lane,
    /// Each core has one.
    Core,
    /// The array has one.
    Array,
}

/// A component.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// Its name.
    pub name: String,
    /// The number of instances. A component named `adder` has as many instances per lane as the machine has adders.
    pub per: Per,
    /// The area of one instance, µm².
    pub area_um2: Range,
    /// The power that one instance always consumes, mW.
    pub leakage_mw: Range,
    /// The source of the numbers.
    pub source: String,
    /// Energies in pJ per word, for some of the [`ACTIONS`].
    #[serde(default)]
    pub action: BTreeMap<String, Range>,
}

/// A table of components.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnergyTable {
    schema: String,
    /// The name of the table.
    pub name: String,
    /// Its source, in one line.
    pub basis: String,
    /// Its components.
    pub component: Vec<Component>,
}

/// Errors of energy tables.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum EnergyError {
    /// Not TOML of this shape, or too long.
    #[error("the energy table cannot be read: {0}")]
    Syntax(String),
    /// An invalid range.
    #[error(
        "{field} of component `{component}` is {low} to {high}; use two numbers from 0 to 1e12, the smaller one first"
    )]
    Range {
        /// The component.
        component: String,
        /// The field.
        field: String,
        /// The given lower bound.
        low: f64,
        /// The given upper bound.
        high: f64,
    },
    /// An unknown action.
    #[error("component `{component}` has an unknown action `{action}`; use one of {}", ACTIONS.join(", "))]
    Action {
        /// The component.
        component: String,
        /// The name of the action.
        action: String,
    },
}

impl EnergyTable {
    /// Parses and checks a table.
    ///
    /// # Errors
    /// [`EnergyError`], which names the component and the field.
    ///
    /// # Example
    /// ```
    /// use ciphermill_arch::report::{ENERGY_PAPER, EnergyTable};
    ///
    /// assert_eq!(EnergyTable::from_toml(ENERGY_PAPER)?.name, "rvfhe-paper");
    /// assert!(EnergyTable::from_toml("name = 1").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_toml(text: &str) -> Result<Self, EnergyError> {
        if text.len() > MAX_BYTES {
            return Err(EnergyError::Syntax(format!("it has {} bytes; the limit is {MAX_BYTES}", text.len())));
        }
        let table: Self = description::read(text).map_err(EnergyError::Syntax)?;
        if table.schema != ENERGY_SCHEMA {
            return Err(EnergyError::Syntax(format!("its schema is `{}`, not `{ENERGY_SCHEMA}`", table.schema)));
        }
        if table.component.len() > MAX_COMPONENTS {
            return Err(EnergyError::Syntax(format!(
                "it has more than {MAX_COMPONENTS} components, which is the limit"
            )));
        }
        for component in &table.component {
            let check = |field: &str, Range { low, high }: Range| {
                if (0.0..=MAX_VALUE).contains(&low) && (low..=MAX_VALUE).contains(&high) {
                    return Ok(());
                }
                Err(EnergyError::Range { component: component.name.clone(), field: field.to_owned(), low, high })
            };
            check("area_um2", component.area_um2)?;
            check("leakage_mw", component.leakage_mw)?;
            for (action, energy) in &component.action {
                if !ACTIONS.contains(&action.as_str()) {
                    return Err(EnergyError::Action { component: component.name.clone(), action: action.clone() });
                }
                check(action, *energy)?;
            }
        }
        Ok(table)
    }
}
