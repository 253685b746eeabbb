//! The server's side.

use std::sync::Arc;

use ciphermill_tfhe::{
    Backend, BootstrapJob, Ciphertext, CpuEngine, Job, KeyOrder, Output, PreparedKey, SelectorFile, TfheEngine, gates,
};
use pyo3::prelude::*;

use super::client::require_probable;
use super::integers::{stated, unpaired};
use super::words::{TfheWord, TfheWordTable};
use super::{TfheCiphertexts, TfheEvaluationKeys, TfheTable, policy};
use crate::errors::{Class, Failure};
use crate::run::run;

/// Bootstraps between two looks at whether the caller has gone, for each thread.
const BATCH: usize = 8;

/// A server with the loaded keys of one client.
#[pyclass(frozen, module = "ciphermill._native")]
pub(crate) struct TfheServer {
    key: Arc<dyn PreparedKey>,
    insecure: bool,
}

#[pymethods]
impl TfheServer {
    /// Loads the keys; at most `memory` bytes are used.
    #[new]
    #[pyo3(signature = (keys, *, memory=None))]
    fn new(py: Python<'_>, keys: &TfheEvaluationKeys, memory: Option<u64>) -> Result<Self, Failure> {
        let (sealed, policy) = (keys.keys.clone(), policy(keys.insecure));
        let mut engine = CpuEngine::new(Backend::Fft);
        if let Some(bytes) = memory {
            engine = engine.with_max_key_bytes(bytes);
        }
        let key = run(py, f64::INFINITY, move |cancel| {
            Ok(engine.prepare(sealed.parts(), policy, &mut |_, _| cancel.check())?)
        })?;
        Ok(Self { key, insecure: keys.insecure })
    }

    #[getter]
    fn parameters(&self) -> &str {
        &self.key.parameters().name
    }

    #[getter]
    fn insecure(&self) -> bool {
        self.insecure
    }

    #[getter]
    fn tag(&self) -> String {
        self.key.tag().to_string()
    }

    /// Bytes that the keys occupy.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.key.memory_bytes()
    }

    /// The values of a table at encrypted integers, by one bootstrap each.
    fn apply(&self, py: Python<'_>, table: &TfheTable, inputs: &TfheCiphertexts) -> Result<TfheCiphertexts, Failure> {
        let parameters = self.key.parameters();
        let bounds = inputs.items.iter().map(|input| {
            let (range, variance) = stated(input)?;
            let bounds = parameters.bootstrap_bounds(&input.bounds(), table.table.as_ref(), KeyOrder::Big)?;
            require_probable(parameters, parameters.log2_p_lookup(&range, variance, input.choice()))?;
            Ok(bounds)
        });
        let bounds = bounds.collect::<Result<Vec<_>, Failure>>()?;
        let (key, vector, inputs) = (self.key.clone(), table.vector.clone(), inputs.items.clone());
        let outputs = run(py, f64::INFINITY, move |cancel| {
            let mut outputs = Vec::with_capacity(inputs.len());
            for batch in inputs.chunks(BATCH * rayon::current_num_threads()) {
                cancel.check();
                let job = |input| Job::Bootstrap(BootstrapJob { input, test_vector: &vector });
                let jobs: Vec<_> = batch.iter().map(job).collect();
                outputs.extend(key.run(&jobs)?.into_iter().filter_map(Output::into_ciphertext));
            }
            Ok(outputs)
        })?;
        let labelled = outputs.into_iter().zip(bounds).map(|(output, bounds)| output.with_bounds(bounds));
        Ok(TfheCiphertexts::new(labelled.collect()))
    }

    /// A gate on pairs of bits: `and`, `nand`, `or`, `nor`, `xor` or `xnor`.
    fn gate(
        &self,
        py: Python<'_>,
        name: &str,
        left: &TfheCiphertexts,
        right: &TfheCiphertexts,
    ) -> Result<TfheCiphertexts, Failure> {
        let gate = gate(name)?;
        if left.items.len() != right.items.len() {
            let message = unpaired("bits", left.items.len(), right.items.len());
            return Err(Failure::parameter(message));
        }
        let (key, left, right) = (self.key.clone(), left.items.clone(), right.items.clone());
        let outputs = run(py, f64::INFINITY, move |cancel| {
            let one = |(left, right): (&Ciphertext, &Ciphertext)| {
                cancel.check();
                Ok(gates::evaluate(&*key, gate, left, right)?)
            };
            left.iter().zip(&*right).map(one).collect::<Result<Vec<_>, Failure>>()
        })?;
        Ok(TfheCiphertexts::new(outputs))
    }

    /// The negated bits; it takes no bootstrap.
    fn invert(&self, bits: &TfheCiphertexts) -> TfheCiphertexts {
        TfheCiphertexts::new(bits.items.iter().map(gates::not).collect())
    }

    /// The words that tables have at one word.
    fn look_up(
        &self,
        py: Python<'_>,
        word: &TfheWord,
        tables: Vec<PyRef<'_, TfheWordTable>>,
    ) -> Result<Vec<TfheWord>, Failure> {
        let tables: Vec<_> = tables.iter().map(|table| table.table.clone()).collect();
        let (key, word) = (self.key.clone(), word.word.clone());
        word.check(key.parameters(), key.tag())?;
        let words = run(py, f64::INFINITY, move |cancel| {
            let lost = || Failure::new(Class::Base, "the engine returned another output than asked for");
            let select = Job::Select(ciphermill_tfhe::SelectJob { word: &word });
            let mut file = SelectorFile::new();
            for output in key.run(&[select])? {
                let Output::Selectors(selectors) = output else { return Err(lost()) };
                file.put(0, &selectors)?;
            }
            let mut words = Vec::with_capacity(tables.len());
            for table in &tables {
                cancel.check();
                let look_up = Job::LookUp(ciphermill_tfhe::LookUpJob { file: &file, table });
                for output in key.run(&[look_up])? {
                    let Output::Word(word) = output else { return Err(lost()) };
                    words.push(word);
                }
            }
            Ok(words)
        })?;
        Ok(words.into_iter().map(TfheWord::new).collect())
    }

    fn __repr__(&self) -> String {
        format!("<TfheServer of {}, key set {}>", self.parameters(), self.tag())
    }
}

fn gate(name: &str) -> Result<gates::Gate, Failure> {
    use gates::Gate::{And, Nand, Nor, Or, Xnor, Xor};
    Ok(match name {
        "and" => And,
        "nand" => Nand,
        "or" => Or,
        "nor" => Nor,
        "xor" => Xor,
        "xnor" => Xnor,
        _ => {
            let message =
                format!("gate {name:?} is not supported; use \"and\", \"nand\", \"or\", \"nor\", \"xor\" or \"xnor\"");
            return Err(Failure::parameter(message));
        }
    })
}
