//! TFHE: test vectors, server keys, LWE ciphertexts, and the paper's four arithmetic instructions.
//!
//! Objects are the sealed byte forms of `ciphermill-tfhe`. A Key ID has two parts, the bootstrapping key (data id 1) and the
//! key-switching key (data id 2), of one key set. Ciphertexts under the small and the big key are both accepted; an
//! instruction computes on operands of one kind.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ciphermill_program::{DataId, Instruction, KeyId, TypeCode, VrId};
use ciphermill_tfhe::server_key::{KeyHeader, MAX_KEY_LEN, validate_key};
use ciphermill_tfhe::{
    BootstrapEngine, BootstrapJob, Ciphertext, KeyKind, KeyOrder, KeyTag, LoadedServerKey, ParameterSet,
    SecurityPolicy, TestVector, TfheError,
};
use ciphermill_wire::WireError;

use super::{ContentError, downcast, invalid, loaded, operand_error, read_whole};
use crate::handler::{
    HandlerError, KeyContext, KeyPart, KeyShape, ObjectHandler, Residency, Role, Trigger, TypeDescriptor,
};

const TYPES: [TypeDescriptor; 4] = [
    TypeDescriptor {
        code: TypeCode::TV,
        name: "test vector",
        residency: Residency::Persistent,
        role: Role::TestVector,
    },
    TypeDescriptor { code: TypeCode::KEY, name: "TFHE server key", residency: Residency::Persistent, role: Role::Key },
    TypeDescriptor {
        code: TypeCode::TLWE_COR,
        name: "TLWE ciphertext, compute-on-read",
        residency: Residency::Paged,
        role: Role::Value(Trigger::OnRead),
    },
    TypeDescriptor {
        code: TypeCode::TLWE_COW,
        name: "TLWE ciphertext, compute-on-write",
        residency: Residency::Paged,
        role: Role::Value(Trigger::OnWrite),
    },
];

/// Nanoseconds per butterfly-sized step of a bootstrap before any has been timed: slow on purpose, so that a program is
/// sooner refused than cut off.
const INITIAL_NS_PER_STEP: f64 = 2.0;

/// Called with (ciphertexts loaded, all ciphertexts) while a bootstrapping key is brought into the engine's form.
pub type LoadProgress = Arc<dyn Fn(u64, u64) + Send + Sync>;

/// The handler. One engine computes for all keys.
pub struct TfheHandler {
    engine: Arc<dyn BootstrapEngine>,
    policy: SecurityPolicy,
    progress: Option<LoadProgress>,
    /// Bits of an f64: the mean of what bootstraps took, in nanoseconds per step of [`bootstrap_steps`].
    ns_per_step: AtomicU64,
}

impl std::fmt::Debug for TfheHandler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TfheHandler").field("engine", &self.engine.name()).field("policy", &self.policy).finish()
    }
}

/// What is known of a Key ID before its keys are loaded.
#[derive(Debug)]
struct Shape {
    parameters: ParameterSet,
    tag: KeyTag,
}

/// A loaded key, as the device hands it back to [`ObjectHandler::execute`].
struct Loaded(Arc<dyn LoadedServerKey>);

impl TfheHandler {
    /// A handler that computes with `engine` and accepts keys that `policy` allows.
    #[must_use]
    pub fn new(engine: Arc<dyn BootstrapEngine>, policy: SecurityPolicy) -> Self {
        Self { engine, policy, progress: None, ns_per_step: AtomicU64::new(INITIAL_NS_PER_STEP.to_bits()) }
    }

    /// Reports the loading of bootstrapping keys.
    #[must_use]
    pub fn with_progress(mut self, progress: LoadProgress) -> Self {
        self.progress = Some(progress);
        self
    }

    fn check_ciphertext(&self, id: VrId, ciphertext: &Ciphertext, shape: &Shape) -> Result<(), HandlerError> {
        if ciphertext.key_tag() != shape.tag {
            let what = format!(
                "ciphertext of key set {:016x}, but key {} holds key set {:016x}; store it under its own key",
                ciphertext.key_tag().0,
                id.key_id,
                shape.tag.0
            );
            return Err(HandlerError::Invalid { id, what });
        }
        shape.parameters.check_ciphertext(ciphertext).map_err(|e| invalid(id, e))
    }

    fn bootstrap(&self, key: &Loaded, input: &Ciphertext, vector: &TestVector) -> Result<Ciphertext, TfheError> {
        let start = Instant::now();
        let result = key.0.bootstrap_batch(&[BootstrapJob { input, test_vector: vector }])?;
        let observed = start.elapsed().as_nanos() as f64 / bootstrap_steps(key.0.parameters());
        // A lost update between two threads costs one sample of an average.
        let mean = f64::from_bits(self.ns_per_step.load(Ordering::Relaxed));
        self.ns_per_step.store((0.75 * mean + 0.25 * observed).to_bits(), Ordering::Relaxed);
        result.into_iter().next().ok_or_else(|| TfheError::Transform("the engine gave no result".to_owned()))
    }
}

/// Butterfly-sized steps of a bootstrap: n·(k+1)·(l+1) transforms of N·log2(N).
fn bootstrap_steps(parameters: &ParameterSet) -> f64 {
    let transforms =
        parameters.lwe_dimension.0 * parameters.glwe_dimension.glwe_size() * (parameters.pbs.level_count.0 + 1);
    let size = parameters.polynomial_size;
    transforms as f64 * size.get() as f64 * f64::from(size.log2())
}

fn key_kind(id: VrId) -> Result<KeyKind, HandlerError> {
    match id.data_id {
        DataId::BOOTSTRAPPING_KEY => Ok(KeyKind::Bootstrap),
        DataId::KEY_SWITCHING_KEY => Ok(KeyKind::Keyswitch),
        other => {
            let what = format!("no TFHE key has data id {other}; 1 is the bootstrapping key, 2 the key-switching key");
            Err(HandlerError::Invalid { id, what })
        }
    }
}

impl ContentError for TfheError {
    fn into_io(self) -> Result<std::io::Error, Self> {
        match self {
            Self::Io(source) | Self::Wire(WireError::Io(source)) => Ok(source),
            other => Err(other),
        }
    }
}

fn ciphertext(id: VrId, bytes: &[u8]) -> Result<Ciphertext, HandlerError> {
    Ciphertext::from_bytes(bytes).map_err(|e| operand_error(id, &e))
}

impl ObjectHandler for TfheHandler {
    fn name(&self) -> &'static str {
        "tfhe"
    }

    fn types(&self) -> &[TypeDescriptor] {
        &TYPES
    }

    fn describe_key(&self, id: VrId, _size: u64, head: &mut dyn Read) -> Result<Arc<dyn KeyShape>, HandlerError> {
        let (_, header, parameters) = KeyHeader::open(key_kind(id)?, head, self.policy).map_err(|e| invalid(id, e))?;
        Ok(Arc::new(Shape { parameters, tag: header.tag() }))
    }

    fn check_size(&self, id: VrId, size: u64, shape: Option<&dyn KeyShape>) -> Result<(), HandlerError> {
        let wrong = |expected: String| HandlerError::WrongSize { id, given: size, expected };
        if id.type_code == TypeCode::KEY {
            key_kind(id)?;
            let range = 1..=MAX_KEY_LEN;
            return if range.contains(&size) { Ok(()) } else { Err(wrong(format!("1 to {MAX_KEY_LEN}"))) };
        }
        let Some(shape) = downcast::<Shape>(shape) else {
            // Without a key, the largest objects of any admissible set bound what may arrive.
            let max = if id.type_code == TypeCode::TV { 16 << 20 } else { 4 << 20 };
            return if (1..=max).contains(&size) { Ok(()) } else { Err(wrong(format!("1 to {max}"))) };
        };
        let spec = shape.parameters.spec();
        if id.type_code == TypeCode::TV {
            let expected = spec.sealed_test_vector_len();
            return if size == expected { Ok(()) } else { Err(wrong(expected.to_string())) };
        }
        let small = spec.sealed_ciphertext_len(KeyOrder::Small);
        let big = spec.sealed_ciphertext_len(KeyOrder::Big);
        if size == small || size == big {
            Ok(())
        } else {
            Err(wrong(format!("{small} (small key) or {big} (big key)")))
        }
    }

    fn validate(
        &self,
        id: VrId,
        size: u64,
        content: &mut dyn Read,
        shape: Option<&dyn KeyShape>,
    ) -> Result<(), HandlerError> {
        let shape: Option<&Shape> = downcast(shape);
        if id.type_code == TypeCode::KEY {
            let header = validate_key(key_kind(id)?, content, self.policy).map_err(|e| invalid(id, e))?;
            if let Some(other) = shape
                && (header.tag() != other.tag || header.spec() != other.parameters.spec())
            {
                let what = format!(
                    "key set {:016x} ({}) does not go with key set {:016x} ({}), the other part stored under key {}; delete \
                     that first or use another Key ID",
                    header.tag().0,
                    header.spec().name,
                    other.tag.0,
                    other.parameters.name,
                    id.key_id
                );
                return Err(HandlerError::Invalid { id, what });
            }
            return Ok(());
        }
        let bytes = read_whole(id, size, content)?;
        if id.type_code == TypeCode::TV {
            let vector = TestVector::from_bytes(&bytes).map_err(|e| invalid(id, e))?;
            return shape.map_or(Ok(()), |s| s.parameters.check_test_vector(&vector).map_err(|e| invalid(id, e)));
        }
        let ciphertext = Ciphertext::from_bytes(&bytes).map_err(|e| invalid(id, e))?;
        shape.map_or(Ok(()), |shape| self.check_ciphertext(id, &ciphertext, shape))
    }

    fn open_key(&self, key_id: KeyId, parts: Vec<KeyPart>) -> Result<Arc<dyn KeyContext>, HandlerError> {
        let (mut bootstrap, mut keyswitch) = (None, None);
        for part in parts {
            match key_kind(part.id)? {
                KeyKind::Bootstrap => bootstrap = Some(part),
                KeyKind::Keyswitch => keyswitch = Some(part),
            }
        }
        let missing =
            |id: VrId, what: &str| HandlerError::KeyIncomplete { key: key_id, missing: format!("{what} {id}") };
        let mut bootstrap =
            bootstrap.ok_or_else(|| missing(VrId::bootstrapping_key(key_id), "the bootstrapping key"))?;
        let mut keyswitch =
            keyswitch.ok_or_else(|| missing(VrId::key_switching_key(key_id), "the key-switching key"))?;
        let mut progress = |done, all| {
            if let Some(report) = &self.progress {
                report(done, all);
            }
        };
        self.engine
            .load(&mut bootstrap.content, &mut keyswitch.content, self.policy, &mut progress)
            .map(|key| Arc::new(Loaded(key)) as Arc<dyn KeyContext>)
            .map_err(|e| invalid(bootstrap.id, e))
    }

    fn needs_key(&self, instruction: &Instruction) -> bool {
        matches!(instruction, Instruction::Bootstrap { .. })
    }

    fn estimate(&self, instruction: &Instruction, _operands: &[Option<u64>], shape: Option<&dyn KeyShape>) -> Duration {
        let nanoseconds = match (instruction, downcast::<Shape>(shape)) {
            (Instruction::Bootstrap { .. }, Some(shape)) => {
                f64::from_bits(self.ns_per_step.load(Ordering::Relaxed)) * bootstrap_steps(&shape.parameters)
            }
            // A pass over a ciphertext with its checksums, a nanosecond a byte.
            (_, Some(shape)) => shape.parameters.sealed_ciphertext_len(KeyOrder::Big) as f64,
            (_, None) => 0.0,
        };
        Duration::from_nanos(nanoseconds as u64)
    }

    fn execute(
        &self,
        instruction: &Instruction,
        operands: &[&[u8]],
        key: Option<&dyn KeyContext>,
        result: &mut Vec<u8>,
    ) -> Result<(), HandlerError> {
        let value = match (*instruction, operands) {
            (Instruction::Bootstrap { tv, n }, [vector, input]) => {
                let key: &Loaded = loaded(key, "a bootstrap")?;
                let vector = TestVector::from_bytes(vector).map_err(|e| operand_error(tv, &e))?;
                self.bootstrap(key, &ciphertext(n, input)?, &vector).map_err(|e| operand_error(n, &e))?
            }
            (Instruction::HomAdd { n1, n2 }, [lhs, rhs]) => {
                let mut sum = ciphertext(n1, lhs)?;
                sum.add_assign(&ciphertext(n2, rhs)?).map_err(|e| operand_error(n2, &e))?;
                sum
            }
            (Instruction::HomSub { n1, n2 }, [lhs, rhs]) => {
                let mut difference = ciphertext(n1, lhs)?;
                difference.sub_assign(&ciphertext(n2, rhs)?).map_err(|e| operand_error(n2, &e))?;
                difference
            }
            (Instruction::HomIntMult { n, value }, [input]) => {
                let mut product = ciphertext(n, input)?;
                product.scalar_mul_assign(value);
                product
            }
            _ => return Err(HandlerError::Unsupported { handler: self.name(), opcode: instruction.opcode() }),
        };
        result.extend_from_slice(&value.to_bytes());
        Ok(())
    }
}
