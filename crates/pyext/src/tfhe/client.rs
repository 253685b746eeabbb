//! Keys of a client, and the keys that its server evaluates with.

use std::sync::Arc;

use ciphermill_client::tfhe::SealedKeys;
use ciphermill_lattice::{Csprng, SecretSeed};
use ciphermill_tfhe::parameters::recommended;
use ciphermill_tfhe::{Ciphertext, ClientKey, Encoding, KeyForm, KeyOrder, MessageRange, ParameterSet, judgement};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use super::words::TfheWord;
use super::{INTEGER_US, TfheCiphertexts, policy};
use crate::arrays::{self, Integers};
use crate::bytes::{Bytes, BytesList};
use crate::errors::{Class, Failure};
use crate::run::run;
use crate::secrets::{WRITE_BYTES, not_pickled};

/// The recommended parameter sets for messages of 1, 2, … bits.
#[pyfunction]
pub(crate) fn recommended_tfhe_sets() -> Vec<&'static str> {
    (1..).map_while(recommended).collect()
}

/// The secret keys of a client. They are neither printed nor pickled; only `to_secret_bytes` writes them.
#[pyclass(frozen, module = "ciphermill._native")]
pub(crate) struct TfheClientKey {
    key: Arc<ClientKey>,
    insecure: bool,
}

#[pymethods]
impl TfheClientKey {
    /// New keys of a named parameter set.
    #[staticmethod]
    #[pyo3(signature = (parameters, *, insecure=false))]
    fn generate(py: Python<'_>, parameters: &str, insecure: bool) -> Result<Self, Failure> {
        let parameters = ParameterSet::named(parameters, policy(insecure))?;
        let key = run(py, f64::INFINITY, move |_| Ok(ClientKey::generate(&parameters, &SecretSeed::from_os()?)))?;
        Ok(Self { key: Arc::new(key), insecure })
    }

    #[staticmethod]
    #[pyo3(signature = (data, *, insecure=false))]
    fn from_secret_bytes(data: Bytes<'_>, insecure: bool) -> Result<Self, Failure> {
        Ok(Self { key: Arc::new(ClientKey::from_secret_key_bytes(&data, policy(insecure))?), insecure })
    }

    /// The keys in clear, as `ciphermill tfhe keygen` writes them.
    fn to_secret_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.key.to_secret_key_bytes())
    }

    #[getter]
    fn parameters(&self) -> &str {
        &self.key.parameters().name
    }

    /// Bits of a message that the parameter set is made for.
    #[getter]
    fn message_bits(&self) -> u32 {
        self.key.parameters().message_bits
    }

    #[getter]
    fn tag(&self) -> String {
        self.key.tag().to_string()
    }

    /// Encrypts integers from `least` to `greatest`, encoded as those from `min` to `max`.
    fn encrypt(
        &self,
        py: Python<'_>,
        values: &Bound<'_, PyAny>,
        min: i64,
        max: i64,
        least: i64,
        greatest: i64,
    ) -> Result<TfheCiphertexts, Failure> {
        let values = Integers::new(values, "the array")?.to_vec();
        let range = MessageRange::new(Encoding::new(min, max, true)?.places(), least, greatest)?;
        let key = self.key.clone();
        let ciphertexts = run(py, INTEGER_US * values.len() as f64, move |cancel| {
            let mut rng = Csprng::from_os()?;
            let one = |&value: &i64| {
                cancel.check();
                Ok(key.encrypt_in(&range, value, KeyOrder::Big, &mut rng)?)
            };
            values.iter().map(one).collect::<Result<Vec<Ciphertext>, Failure>>()
        })?;
        Ok(TfheCiphertexts::new(ciphertexts))
    }

    /// The integers. A result that is wrong with a probability above the set's limit is refused.
    fn decrypt<'py>(&self, py: Python<'py>, ciphertexts: &TfheCiphertexts) -> Result<Bound<'py, PyAny>, Failure> {
        let (key, ciphertexts) = (self.key.clone(), ciphertexts.items.clone());
        let values = run(py, INTEGER_US * ciphertexts.len() as f64, move |cancel| {
            let one = |ciphertext: &Ciphertext| {
                cancel.check();
                let (range, variance) = super::integers::stated(ciphertext)?;
                require_probable(key.parameters(), judgement::log2_p_output(&range, variance))?;
                Ok(key.decrypt(&range.encoding(), ciphertext)?)
            };
            ciphertexts.iter().map(one).collect::<Result<Vec<i64>, Failure>>()
        })?;
        Ok(arrays::vector(py, values))
    }

    /// Encrypts bits for gates.
    fn encrypt_bits(&self, py: Python<'_>, bits: &Bound<'_, PyAny>) -> Result<TfheCiphertexts, Failure> {
        let bits = Integers::new(bits, "the array")?.to_vec();
        if let Some(other) = bits.iter().find(|&&bit| !matches!(bit, 0 | 1)) {
            return Err(Failure::new(Class::Range, format!("the array has the entry {other}; use 0 and 1")));
        }
        let key = self.key.clone();
        let ciphertexts = run(py, INTEGER_US * bits.len() as f64, move |cancel| {
            let mut rng = Csprng::from_os()?;
            let one = |&bit: &i64| {
                cancel.check();
                Ok(key.encrypt_bit(bit == 1, KeyOrder::Big, &mut rng)?)
            };
            bits.iter().map(one).collect::<Result<Vec<Ciphertext>, Failure>>()
        })?;
        Ok(TfheCiphertexts::new(ciphertexts))
    }

    fn decrypt_bits<'py>(&self, py: Python<'py>, bits: &TfheCiphertexts) -> Result<Bound<'py, PyAny>, Failure> {
        let (key, bits) = (self.key.clone(), bits.items.clone());
        let bits = run(py, INTEGER_US * bits.len() as f64, move |_| {
            bits.iter().map(|bit| Ok(key.decrypt_bit(bit)?)).collect::<Result<Vec<bool>, Failure>>()
        })?;
        Ok(PyArray1::from_vec(py, bits).into_any())
    }

    /// Encrypts a word of `bits` bits for tables of more than a digit.
    fn encrypt_word(&self, value: u64, bits: u32) -> Result<TfheWord, Failure> {
        Ok(TfheWord::new(self.key.encrypt_word(value, bits, &mut Csprng::from_os()?)?))
    }

    fn decrypt_word(&self, word: &TfheWord) -> Result<u128, Failure> {
        Ok(self.key.decrypt_word(&word.word)?)
    }

    /// New public keys for a server.
    fn evaluation(&self, py: Python<'_>) -> Result<TfheEvaluationKeys, Failure> {
        let key = self.key.clone();
        let keys = run(py, f64::INFINITY, move |cancel| {
            Ok(SealedKeys::generate(&key, KeyForm::Seeded, &|_, _, _| cancel.check())?)
        })?;
        Ok(TfheEvaluationKeys { keys: Arc::new(keys), insecure: self.insecure })
    }

    fn __repr__(&self) -> String {
        format!("<TfheClientKey of {}, key set {}>", self.parameters(), self.tag())
    }

    fn __reduce__(&self) -> Result<(), Failure> {
        Err(not_pickled("TfheClientKey", WRITE_BYTES))
    }
}

/// An error if a probability of failure is above the limit of the parameter set.
pub(super) fn require_probable(parameters: &ParameterSet, log2_p: f64) -> Result<(), Failure> {
    let limit = parameters.log2_p_fail_limit();
    if log2_p <= limit {
        return Ok(());
    }
    let message = format!(
        "the result would be wrong with a probability of 2^{log2_p:.1}, the limit of {} is 2^{limit}; apply a table \
         before, or use fewer messages or another set",
        parameters.name
    );
    Err(Failure::new(Class::Range, message))
}

/// The public keys with which a server computes on a client's ciphertexts.
#[pyclass(frozen, module = "ciphermill._native")]
pub(crate) struct TfheEvaluationKeys {
    pub(super) keys: Arc<SealedKeys>,
    pub(super) insecure: bool,
}

#[pymethods]
impl TfheEvaluationKeys {
    /// The bytes of the keys, as `ciphermill tfhe keygen` writes them into two files, or three for a set with words.
    fn parts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let SealedKeys { bootstrapping, keyswitching, conversion } = &*self.keys;
        let parts = [Some(bootstrapping), Some(keyswitching), conversion.as_ref()];
        PyList::new(py, parts.into_iter().flatten().map(|part| PyBytes::new(py, part)))
    }

    #[staticmethod]
    #[pyo3(signature = (parts, *, insecure=false))]
    fn from_parts(parts: BytesList<'_>, insecure: bool) -> Result<Self, Failure> {
        let count = parts.len();
        let mut parts = parts.iter().map(|part| part.to_vec());
        let (Some(bootstrapping), Some(keyswitching), conversion, None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(Failure::parameter(format!("{count} parts are not the keys of a server; use 2 or 3")));
        };
        let keys = SealedKeys { bootstrapping, keyswitching, conversion };
        Ok(Self { keys: Arc::new(keys), insecure })
    }

    #[getter]
    fn nbytes(&self) -> usize {
        let SealedKeys { bootstrapping, keyswitching, conversion } = &*self.keys;
        bootstrapping.len() + keyswitching.len() + conversion.as_ref().map_or(0, Vec::len)
    }

    fn __repr__(&self) -> String {
        format!("<TfheEvaluationKeys of {} bytes>", self.nbytes())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let (py, this) = (slf.py(), slf.get());
        let load = py.import("ciphermill.tfhe")?.getattr("_load_evaluation_keys")?;
        (load, (this.parts(py)?, this.insecure)).into_pyobject(py)
    }
}
