//! Keys.

use std::ops::Range;
use std::sync::Arc;

use ciphermill_paillier::{
    Blinding, CiphertextVector, Csprng, KeyBits, PaillierError, PlaintextVector, PublicKey, SecretKey, fixed_point,
    packing,
};
use num_bigint::{BigInt, BigUint};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use super::classes::{
    PaillierPacked, PaillierPacking, PaillierPlain, PaillierPublicKey, PaillierSecretKey, PaillierVector,
};
use super::{CHUNK, blinding, estimate, policy, us};
use crate::arrays::Integers;
use crate::bytes::Bytes;
use crate::errors::Failure;
use crate::run::run;
use crate::secrets::{WRITE_BYTES, not_pickled};

#[pymethods]
impl PaillierPublicKey {
    /// The key of a modulus n, for example of another library. Encryption then blinds by full-length exponents.
    #[staticmethod]
    #[pyo3(signature = (n, *, insecure=false))]
    fn from_modulus(n: BigUint, insecure: bool) -> Result<Self, Failure> {
        Ok(Self { key: PublicKey::from_modulus(&n, policy(insecure))?, insecure })
    }

    #[staticmethod]
    #[pyo3(signature = (data, *, insecure=false))]
    fn from_bytes(data: Bytes<'_>, insecure: bool) -> Result<Self, Failure> {
        Ok(Self { key: PublicKey::from_bytes(&data, policy(insecure))?, insecure })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.key.to_bytes())
    }

    /// The modulus.
    #[getter]
    fn n(&self) -> BigUint {
        self.key.modulus()
    }

    /// Bits of the modulus.
    #[getter]
    fn bits(&self) -> u32 {
        self.key.bits().get()
    }

    /// The greatest magnitude of a plaintext.
    #[getter]
    fn max_plaintext(&self) -> BigUint {
        self.key.max_plaintext()
    }

    /// The name that all objects of this key carry.
    #[getter]
    fn tag(&self) -> String {
        self.key.tag().to_string()
    }

    #[pyo3(signature = (plain, *, strict=false))]
    fn encrypt(&self, py: Python<'_>, plain: &PaillierPlain, strict: bool) -> Result<PaillierVector, Failure> {
        let key = self.key.clone();
        encrypt(py, &self.key, plain, strict, move |part, blinding, rng| key.encrypt(part, blinding, rng))
    }

    #[pyo3(signature = (packing, values, *, strict=false))]
    fn pack(
        &self,
        py: Python<'_>,
        packing: &PaillierPacking,
        values: &Bound<'_, PyAny>,
        strict: bool,
    ) -> Result<PaillierPacked, Failure> {
        let (key, packing) = (self.key.clone(), packing.packing);
        let values = Integers::new(values, "the array")?.to_vec();
        let estimate = estimate(us::ENCRYPT, self.bits(), packing.plaintexts(values.len()));
        run(py, estimate, move |cancel| {
            let mut rng = Csprng::from_os()?;
            let blinding = blinding(&key, strict);
            let packed = packing::PackedPlaintext::pack(packing, &values)?.encrypt_by(&key, |plaintexts| {
                by_chunks(plaintexts.len(), cancel, |range| key.encrypt(&plaintexts.slice(range)?, blinding, &mut rng))
            })?;
            Ok(PaillierPacked { packed: Arc::new(packed) })
        })
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.key == other.key
    }

    fn __hash__(&self) -> u64 {
        crate::hash(&self.key.to_bytes())
    }

    fn __repr__(&self) -> String {
        format!("<PaillierPublicKey of {} bits, tag {}>", self.bits(), self.tag())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        // As `from_bytes` with the policy that admitted the key.
        let (py, this) = (slf.py(), slf.get());
        let load = py.import("ciphermill.paillier")?.getattr("_load_public_key")?;
        let arguments = (this.to_bytes(py), this.insecure);
        (load, arguments).into_pyobject(py)
    }
}

#[pymethods]
impl PaillierSecretKey {
    /// A new key.
    #[staticmethod]
    #[pyo3(signature = (bits, *, insecure=false))]
    fn generate(py: Python<'_>, bits: u32, insecure: bool) -> Result<Self, Failure> {
        let bits = KeyBits::with_policy(bits, policy(insecure))?;
        let key = run(py, f64::INFINITY, move |_| Ok(SecretKey::generate(bits, &mut Csprng::from_os()?)?))?;
        Ok(Self { key: Arc::new(key), insecure })
    }

    /// The key of two primes, for example of another library.
    #[staticmethod]
    #[pyo3(signature = (p, q, *, insecure=false))]
    fn from_primes(py: Python<'_>, p: BigUint, q: BigUint, insecure: bool) -> Result<Self, Failure> {
        let key = run(py, f64::INFINITY, move |_| {
            Ok(SecretKey::from_primes(&p, &q, policy(insecure), &mut Csprng::from_os()?)?)
        })?;
        Ok(Self { key: Arc::new(key), insecure })
    }

    #[staticmethod]
    #[pyo3(signature = (data, *, insecure=false))]
    fn from_secret_bytes(py: Python<'_>, data: Bytes<'_>, insecure: bool) -> Result<Self, Failure> {
        let data = zeroize::Zeroizing::new(data.to_vec());
        let key = run(py, f64::INFINITY, move |_| Ok(SecretKey::from_secret_key_bytes(&data, policy(insecure))?))?;
        Ok(Self { key: Arc::new(key), insecure })
    }

    /// The key in clear, as `ciphermill paillier keygen` writes it.
    fn to_secret_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.key.to_secret_key_bytes())
    }

    #[getter]
    fn public(&self) -> PaillierPublicKey {
        PaillierPublicKey { key: self.key.public_key().clone(), insecure: self.insecure }
    }

    #[getter]
    fn tag(&self) -> String {
        self.key.tag().to_string()
    }

    /// Encrypts as the public key does, in less time.
    #[pyo3(signature = (plain, *, strict=false))]
    fn encrypt(&self, py: Python<'_>, plain: &PaillierPlain, strict: bool) -> Result<PaillierVector, Failure> {
        let key = self.key.clone();
        encrypt(py, self.key.public_key(), plain, strict, move |part, blinding, rng| key.encrypt(part, blinding, rng))
    }

    /// The numbers: an array of int64 if they are integers that fit, of float64 otherwise; a list of integers, to be
    /// divided by the power of two of the scale, if `exact`.
    #[pyo3(signature = (vector, *, exact=false))]
    fn decrypt<'py>(
        &self,
        py: Python<'py>,
        vector: &PaillierVector,
        exact: bool,
    ) -> Result<Bound<'py, PyAny>, Failure> {
        let (key, vector) = (self.key.clone(), vector.vector.clone());
        let (fraction_bits, fits) = (vector.fraction_bits(), *vector.bound() <= BigUint::from(i64::MAX as u64));
        let estimate = estimate(us::DECRYPT, key.bits().get(), vector.len());
        let numbers = run(py, estimate, move |cancel| {
            let mut numbers = Vec::with_capacity(vector.len());
            for start in (0..vector.len()).step_by(CHUNK) {
                cancel.check();
                let part = vector.ciphertexts().slice(start..(start + CHUNK).min(vector.len()))?;
                let part =
                    fixed_point::FixedPointVector::from_parts(part, vector.fraction_bits(), vector.bound().clone())?;
                numbers.extend(part.decrypt(&key)?);
            }
            Ok(numbers)
        })?;
        if exact || (fraction_bits == 0 && !fits) {
            let mantissas = numbers.iter().map(fixed_point::Number::mantissa).collect::<Vec<&BigInt>>();
            return Ok(PyList::new(py, mantissas)?.into_any());
        }
        if fraction_bits == 0 {
            let integers = numbers.iter().map(|number| i64::try_from(number.mantissa()).unwrap_or_default());
            return Ok(PyArray1::from_vec(py, integers.collect()).into_any());
        }
        let nearest = |(index, number): (usize, &fixed_point::Number)| {
            number.to_f64().ok_or(fixed_point::FixedPointError::Binary64 { index })
        };
        let floats = numbers.iter().enumerate().map(nearest).collect::<Result<Vec<f64>, _>>()?;
        Ok(PyArray1::from_vec(py, floats).into_any())
    }

    /// The values of packed ciphertexts: an array of int64 if they fit, else a list of integers.
    fn unpack<'py>(&self, py: Python<'py>, packed: &PaillierPacked) -> Result<Bound<'py, PyAny>, Failure> {
        let (key, packed) = (self.key.clone(), packed.packed.clone());
        let estimate = estimate(us::DECRYPT, key.bits().get(), packed.ciphertexts().len());
        let values = run(py, estimate, move |_| Ok(packed.decrypt(&key)?))?;
        Ok(match values.iter().map(|&value| i64::try_from(value)).collect::<Result<Vec<_>, _>>() {
            Ok(values) => PyArray1::from_vec(py, values).into_any(),
            Err(_) => PyList::new(py, values)?.into_any(),
        })
    }

    fn __repr__(&self) -> String {
        format!("<PaillierSecretKey of {} bits, tag {}>", self.key.bits().get(), self.key.tag())
    }

    fn __reduce__(&self) -> Result<(), Failure> {
        Err(not_pickled("PaillierSecretKey", WRITE_BYTES))
    }
}

/// Encrypts plain numbers under `public` by `encrypt`, that of either key.
fn encrypt<F>(
    py: Python<'_>,
    public: &PublicKey,
    plain: &PaillierPlain,
    strict: bool,
    encrypt: F,
) -> Result<PaillierVector, Failure>
where
    F: Fn(&PlaintextVector, Blinding, &mut Csprng) -> Result<CiphertextVector, PaillierError> + Send + 'static,
{
    let (public, plain) = (public.clone(), plain.plain.clone());
    run(py, estimate(us::ENCRYPT, public.bits().get(), plain.len()), move |cancel| {
        let (mut rng, blinding) = (Csprng::from_os()?, blinding(&public, strict));
        let vector = plain.encrypt_by(&public, |plaintexts| {
            by_chunks(plaintexts.len(), cancel, |range| encrypt(&plaintexts.slice(range)?, blinding, &mut rng))
        })?;
        Ok(PaillierVector { vector: Arc::new(vector) })
    })
}

/// The ciphertexts of all elements, chunk by chunk, so that a signal ends the work.
fn by_chunks(
    len: usize,
    cancel: &crate::run::Cancel,
    mut encrypt: impl FnMut(Range<usize>) -> Result<CiphertextVector, PaillierError>,
) -> Result<CiphertextVector, PaillierError> {
    // All threads have work in each chunk.
    let chunk = CHUNK * rayon::current_num_threads();
    let mut parts = Vec::with_capacity(len.div_ceil(chunk));
    for start in (0..len.max(1)).step_by(chunk) {
        cancel.check();
        parts.push(encrypt(start..(start + chunk).min(len))?);
    }
    CiphertextVector::concat(&parts)
}
