//! A scheme that the device's engine does not implement: its objects are stored, its instructions are refused.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use ciphermill_program::{Instruction, KeyId, Scheme, VrId};

use crate::handler::{HandlerError, Job, KeyContext, KeyPart, KeyShape, ObjectHandler, TypeDescriptor};

/// Checks and stores the objects of another handler, and refuses its instructions with [`HandlerError::EngineLacks`].
///
/// # Example
/// ```
/// use std::sync::Arc;
/// use ciphermill_device::ObjectHandler;
/// use ciphermill_device::handlers::StoredOnly;
/// use ciphermill_device::handlers::tfhe::TfheHandler;
/// use ciphermill_tfhe::{Backend, CpuEngine, SecurityPolicy};
///
/// let tfhe = TfheHandler::new(Arc::new(CpuEngine::new(Backend::Fft)), SecurityPolicy::Require128Bits);
/// let stored_only = StoredOnly::new(Arc::new(tfhe), "rtl");
/// assert_eq!(stored_only.name(), "tfhe");
/// ```
#[derive(Debug)]
pub struct StoredOnly {
    inner: Arc<dyn ObjectHandler>,
    engine: String,
}

impl StoredOnly {
    /// The objects of `inner`; `engine` is the name of the engine that does not implement the scheme.
    #[must_use]
    pub fn new(inner: Arc<dyn ObjectHandler>, engine: impl Into<String>) -> Self {
        Self { inner, engine: engine.into() }
    }

    fn lacks(&self) -> HandlerError {
        HandlerError::EngineLacks { engine: self.engine.clone(), scheme: self.inner.scheme().name }
    }
}

impl ObjectHandler for StoredOnly {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn scheme(&self) -> &'static Scheme {
        self.inner.scheme()
    }

    fn types(&self) -> &[TypeDescriptor] {
        self.inner.types()
    }

    fn describe_key(&self, id: VrId, size: u64, head: &mut dyn Read) -> Result<Arc<dyn KeyShape>, HandlerError> {
        self.inner.describe_key(id, size, head)
    }

    fn check_size(&self, id: VrId, size: u64, shape: Option<&dyn KeyShape>) -> Result<(), HandlerError> {
        self.inner.check_size(id, size, shape)
    }

    fn validate_bytes(&self, id: VrId, size: u64) -> u64 {
        self.inner.validate_bytes(id, size)
    }

    fn validate(
        &self,
        id: VrId,
        size: u64,
        content: &mut dyn Read,
        shape: Option<&dyn KeyShape>,
    ) -> Result<(), HandlerError> {
        self.inner.validate(id, size, content, shape)
    }

    /// Nothing is loaded.
    fn key_bytes(&self, _shape: &dyn KeyShape) -> u64 {
        0
    }

    fn open_key(&self, _key_id: KeyId, _parts: Vec<KeyPart>) -> Result<Arc<dyn KeyContext>, HandlerError> {
        Err(self.lacks())
    }

    /// No key is loaded for an instruction that is refused.
    fn needs_key(&self, _instruction: &Instruction) -> bool {
        false
    }

    fn estimate(&self, _: &Instruction, _: &[Option<u64>], _: Option<&dyn KeyShape>) -> Duration {
        Duration::ZERO
    }

    fn execute(&self, _job: &Job<'_>, _result: &mut Vec<u8>) -> Result<(), HandlerError> {
        Err(self.lacks())
    }
}
