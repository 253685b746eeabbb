//! Plans.

use std::sync::Arc;

use ciphermill_bfv::BfvError;
use ciphermill_bfv::parameters::ParameterSet;
use ciphermill_client::hmvp::KeySet;
use ciphermill_hmvp::{CpuEngine, Encryption, HmvpEngine, Plan, Request, Strategy};
use ciphermill_math::Isa;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::classes::{
    BfvPublicKey, BfvSecretKey, EncryptedVector, EvaluationKeys, MatVecClient, MatVecPlan, MatVecServer, PreparedMatrix,
};
use super::{server, two_party};
use crate::arrays::Integers;
use crate::bytes::Bytes;
use crate::errors::Failure;
use crate::json;
use crate::policy;
use crate::run::run;

/// Estimated microseconds of generating the keys of a plan, and of preparing them.
const KEYS_US: f64 = 20_000.0;

#[pymethods]
impl MatVecPlan {
    #[new]
    #[pyo3(signature = (rows, cols, *, matrix_bits=8, vector_bits=8, security=128, encryption="secret", strategy=None,
        parameters=None, log2_failure=-64.0, unsplit=false, flooding_bits=0, summands=1, insecure=false))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn new(
        py: Python<'_>,
        rows: usize,
        cols: usize,
        matrix_bits: u32,
        vector_bits: u32,
        security: u32,
        encryption: &str,
        strategy: Option<&str>,
        parameters: Option<&str>,
        log2_failure: f64,
        unsplit: bool,
        flooding_bits: u32,
        summands: u32,
        insecure: bool,
    ) -> Result<Self, Failure> {
        let policy = policy::security(insecure).bfv();
        let named = |name| ParameterSet::named(name, policy).map_err(BfvError::from);
        let request = Request {
            rows,
            cols,
            matrix_bits,
            vector_bits,
            security: policy::level(security)?,
            encryption: self::encryption(encryption)?,
            strategy: strategy.map(self::strategy).transpose()?,
            parameters: parameters.map(named).transpose()?,
            log2_failure,
            unsplit,
            flooding_bits,
            summands,
        };
        // Hundreds of candidates are weighed.
        let plan = run(py, f64::INFINITY, move |_| Ok(Plan::new(&request, Isa::current())?))?;
        Ok(Self { plan: Arc::new(plan) })
    }

    /// The costs of the plan and the reasons for its choices.
    fn explain<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>, Failure> {
        let plan = self.plan.clone();
        json::explanation(py, &run(py, f64::INFINITY, move |_| Ok(plan.explain()))?)
    }

    /// The shape (m, n) of the matrix.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.plan.request().rows, self.plan.request().cols)
    }

    #[getter]
    fn matrix_bits(&self) -> u32 {
        self.plan.request().matrix_bits
    }

    #[getter]
    fn vector_bits(&self) -> u32 {
        self.plan.request().vector_bits
    }

    #[getter]
    fn strategy(&self) -> &'static str {
        self.plan.strategy().name()
    }

    #[getter]
    fn parameters(&self) -> &str {
        &self.plan.context().parameters().name
    }

    #[getter]
    fn plaintext_modulus(&self) -> u64 {
        self.plan.context().t()
    }

    #[getter]
    fn encryption(&self) -> &'static str {
        match self.plan.request().encryption {
            Encryption::Secret => "secret",
            Encryption::Public => "public",
        }
    }

    /// New keys.
    fn keygen(&self, py: Python<'_>) -> Result<MatVecClient, Failure> {
        let plan = self.plan.clone();
        let keys = run(py, KEYS_US, move |_| Ok(KeySet::generate(&plan)?))?;
        Ok(MatVecClient { plan: self.plan.clone(), keys })
    }

    /// The client of a secret key that exists; the public and evaluation keys are made again from it.
    fn client(&self, py: Python<'_>, secret: &BfvSecretKey) -> Result<MatVecClient, Failure> {
        let (plan, secret) = (self.plan.clone(), secret.key.clone());
        let keys = run(py, KEYS_US, move |_| Ok(KeySet::of(&plan, secret)?))?;
        Ok(MatVecClient { plan: self.plan.clone(), keys })
    }

    /// The server's side of the plan, with the evaluation keys of one client.
    fn server(&self, py: Python<'_>, evaluation: &EvaluationKeys) -> Result<MatVecServer, Failure> {
        let (plan, galois) = (self.plan.clone(), evaluation.keys.clone());
        let engine = CpuEngine::new();
        let keys = run(py, KEYS_US, {
            let engine = engine.clone();
            move |_| Ok(engine.prepare(&plan, &galois)?)
        })?;
        Ok(MatVecServer { engine, keys })
    }

    /// Prepares a matrix without the keys of a client; `PreparedMatrix.for_server` shares it.
    #[pyo3(signature = (matrix, *, memory=None))]
    fn prepare(
        &self,
        py: Python<'_>,
        matrix: &Bound<'_, PyAny>,
        memory: Option<u64>,
    ) -> Result<PreparedMatrix, Failure> {
        let handle = server::prepare(py, &self.plan, CpuEngine::new(), matrix, memory)?;
        Ok(PreparedMatrix { plan: self.plan.clone(), keys: None, handle })
    }

    /// Encrypts under a public key. The plan needs `encryption="public"`.
    fn encrypt(
        &self,
        py: Python<'_>,
        public: &BfvPublicKey,
        values: &Bound<'_, PyAny>,
    ) -> Result<EncryptedVector, Failure> {
        let values = Integers::new(values, "the vector")?;
        EncryptedVector::encrypt_public(py, &self.plan, &public.key, values)
    }

    /// The guarantee of a masked product: log2 of the failure probability, words, and -log2 of the statistical distance.
    fn assess(&self) -> Result<(f64, String, Option<f64>), Failure> {
        two_party::assess(&self.plan)
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.plan.to_bytes())
    }

    #[staticmethod]
    #[pyo3(signature = (data, *, insecure=false))]
    fn from_bytes(py: Python<'_>, data: Bytes<'_>, insecure: bool) -> Result<Self, Failure> {
        let (data, policy) = (data.to_vec(), policy::security(insecure).bfv());
        let plan = run(py, f64::INFINITY, move |_| Ok(Plan::from_bytes(&data, policy, Isa::current())?))?;
        Ok(Self { plan: Arc::new(plan) })
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.plan.to_bytes() == other.plan.to_bytes()
    }

    fn __hash__(&self) -> u64 {
        crate::hash(&self.plan.to_bytes())
    }

    fn __repr__(&self) -> String {
        let request = self.plan.request();
        let (rows, cols, strategy) = (request.rows, request.cols, self.plan.strategy().name());
        format!(
            "MatVecPlan({rows}, {cols}, matrix_bits={}, vector_bits={}, strategy={strategy:?}, parameters={:?})",
            request.matrix_bits,
            request.vector_bits,
            self.plan.context().parameters().name
        )
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        // The policy was satisfied or waived when the plan was made.
        let load = slf.py().import("ciphermill._plans")?.getattr("_load_plan")?;
        Ok((load, (slf.get().to_bytes(slf.py()),)))
    }
}

fn encryption(name: &str) -> Result<Encryption, Failure> {
    match name {
        "secret" => Ok(Encryption::Secret),
        "public" => Ok(Encryption::Public),
        _ => Err(Failure::parameter(format!("encryption {name:?} is not supported; use \"secret\" or \"public\""))),
    }
}

fn strategy(name: &str) -> Result<Strategy, Failure> {
    Strategy::ALL.into_iter().find(|strategy| strategy.name() == name).ok_or_else(|| {
        let known = Strategy::ALL.map(|strategy| format!("{:?}", strategy.name())).join(", ");
        Failure::parameter(format!("strategy {name:?} is not supported; use one of {known}"))
    })
}
