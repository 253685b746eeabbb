//! Records: the common format of every figure, for all models.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The schema of [`Record`].
pub const SCHEMA: &str = "ciphermill-arch/1";

/// The kind of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Label {
    /// Computed by a formula.
    Analytic,
    /// Counted in a run of a model.
    Simulated,
    /// Counted in a run of a model that was compared with the RTL.
    RtlChecked,
}

impl Label {
    /// The name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Analytic => "analytic",
            Self::Simulated => "simulated",
            Self::RtlChecked => "rtl-checked",
        }
    }
}

/// One figure of a model. Fields that do not apply are `null`.
///
/// # Example
/// ```
/// use ciphermill_arch::record::{Label, Record};
///
/// let record = Record::new("arch-ntt/n8192/p512", "paper", Label::Simulated, 237).with("n", 8192);
/// assert_eq!((record.cycles, record.label.name()), (237, "simulated"));
/// assert_eq!(record.params["n"], 8192);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`SCHEMA`].
    pub schema: String,
    /// The case, such as `arch-ntt/n8192/p512`.
    pub case: String,
    /// The parameters of the case.
    pub params: BTreeMap<String, Value>,
    /// From the first cycle to the last result.
    pub cycles: u64,
    /// Cycles per result in steady state.
    pub cycles_steady: Option<f64>,
    /// The share of cycles, 0 to 1, in which the limiting component works.
    pub utilization: Option<f64>,
    /// Whether the values agree with the reference; `None` if the model carries no values.
    pub correct: Option<bool>,
    /// The kind of the figure.
    pub label: Label,
    /// The name of the machine description.
    pub machine: String,
}

impl Record {
    /// A record of a case that took `cycles`, without optional fields.
    pub fn new(case: impl Into<String>, machine: impl Into<String>, label: Label, cycles: u64) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            case: case.into(),
            params: BTreeMap::new(),
            cycles,
            cycles_steady: None,
            utilization: None,
            correct: None,
            label,
            machine: machine.into(),
        }
    }

    /// Adds a parameter.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.params.insert(name.to_owned(), value.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_record_is_the_json_that_reports_have() {
        let mut record = Record::new("arch-ntt/n8192/p512", "paper", Label::RtlChecked, 237).with("n", 8192);
        record.cycles_steady = Some(135.5);
        record.correct = Some(true);
        let json = serde_json::to_value(&record).expect("JSON");
        let expected = json!({
            "schema": "ciphermill-arch/1", "case": "arch-ntt/n8192/p512", "params": {"n": 8192}, "cycles": 237,
            "cycles_steady": 135.5, "utilization": null, "correct": true, "label": "rtl-checked", "machine": "paper",
        });
        assert_eq!(json, expected);
        assert_eq!(serde_json::from_value::<Record>(json).expect("a record"), record);
        for label in [Label::Analytic, Label::Simulated, Label::RtlChecked] {
            assert_eq!(serde_json::to_value(label).expect("JSON"), label.name());
        }
    }
}
