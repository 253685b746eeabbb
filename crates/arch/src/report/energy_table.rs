//! Energy tables: components with their areas, leakage and energies for each action, read from TOML.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use crate::description;

/// The paper's Tables 4 to 6.
pub const ENERGY_PAPER: &str = include_str!("../../machines/energy-paper.toml");
/// Ranges from the literature.
pub const ENERGY_LITERATURE: &str = include_str!("../../machines/energy-literature.toml");
/// The schema that a table names.
pub const ENERGY_SCHEMA: &str = "ciphermill-energy/1";
/// Bytes of a table, at most.
const MAX_BYTES: usize = 1 << 16;
const MAX_COMPONENTS: usize = 256;
/// The greatest number in a table.
const MAX_VALUE: f64 = 1e12;

/// Actions that a table may give energies for, of one 32-bit word each.
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

/// From the least to the most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "[f64; 2]", into = "[f64; 2]")]
pub struct Range {
    /// The least.
    pub low: f64,
    /// The most.
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

/// How many of a component an array has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Per {
    /// One in each lane.
    Lane,
    /// One in each core.
    Core,
    /// One.
    Array,
}

/// A component.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// Its name.
    pub name: String,
    /// How many there are. Lanes have as many of a component named `adder` as the machine says.
    pub per: Per,
    /// Of one, µm².
    pub area_um2: Range,
    /// What one takes all the time, mW.
    pub leakage_mw: Range,
    /// Where the numbers are from.
    pub source: String,
    /// Of [`ACTIONS`], pJ for a word.
    #[serde(default)]
    pub action: BTreeMap<String, Range>,
}

/// A table of components.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnergyTable {
    schema: String,
    /// Its name.
    pub name: String,
    /// Where it is from, in a line.
    pub basis: String,
    /// Its components.
    pub component: Vec<Component>,
}

/// What is wrong with a table.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum EnergyError {
    /// No TOML of this shape, or too long.
    #[error("the energy table cannot be read: {0}")]
    Syntax(String),
    /// A range that is none.
    #[error(
        "{field} of component `{component}` is {low} to {high}: two numbers from 0 to 1e12 are wanted, the least first"
    )]
    Range {
        /// Whose.
        component: String,
        /// Which.
        field: String,
        /// As given.
        low: f64,
        /// As given.
        high: f64,
    },
    /// An action that nothing counts.
    #[error("component `{component}` has an action `{action}`, which is none of {}", ACTIONS.join(", "))]
    Action {
        /// Whose.
        component: String,
        /// Its name.
        action: String,
    },
}

impl EnergyTable {
    /// Reads and checks a table.
    ///
    /// # Errors
    /// [`EnergyError`] names the component and the field.
    pub fn from_toml(text: &str) -> Result<Self, EnergyError> {
        if text.len() > MAX_BYTES {
            return Err(EnergyError::Syntax(format!("it has {} bytes; at most {MAX_BYTES} are read", text.len())));
        }
        let table: Self = description::read(text).map_err(EnergyError::Syntax)?;
        if table.schema != ENERGY_SCHEMA {
            return Err(EnergyError::Syntax(format!("its schema is `{}`, not `{ENERGY_SCHEMA}`", table.schema)));
        }
        if table.component.len() > MAX_COMPONENTS {
            return Err(EnergyError::Syntax(format!("it has more than {MAX_COMPONENTS} components")));
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
