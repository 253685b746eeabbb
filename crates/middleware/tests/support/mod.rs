//! A toy scheme, an embedded device that has it, and helpers; shared by the tests of this crate.
#![allow(dead_code)] // each test binary uses a part

pub(crate) mod gated;
pub(crate) mod memory;
pub(crate) mod nvme;

use ciphermill_device::{
    Device, DeviceConfig, HandlerError, ObjectHandler, Space, SpaceId, SpaceLimits,
    handler::{KeyContext, KeyPart, KeyShape, Residency, Role, Trigger, TypeDescriptor},
};
use ciphermill_middleware::{BlobId, EmbeddedTransport, Metadata, Transport, WriteMode};
use ciphermill_program::{Bindings, Instruction, KeyId, TypeCode, VrId, assemble};
use std::{io::Read, sync::Arc, time::Duration};
use tempfile::TempDir;

/// The largest blob the test devices take.
pub(crate) const MAX_OBJECT_BYTES: u64 = 300 << 20;

/// Numbers of 8 bytes in place of ciphertexts (types 3 and 4), and tables of any size (type 1), which must not begin with
/// `BAD`. It adds, subtracts and multiplies in the clear.
#[derive(Debug)]
struct Toy;

const fn toy_type(code: TypeCode, name: &'static str, residency: Residency, role: Role) -> TypeDescriptor {
    TypeDescriptor { code, name, residency, role }
}

const TOY_TYPES: [TypeDescriptor; 3] = [
    toy_type(TypeCode::TV, "toy table", Residency::Persistent, Role::TestVector),
    toy_type(TypeCode::TLWE_COR, "toy number, on read", Residency::Paged, Role::Value(Trigger::OnRead)),
    toy_type(TypeCode::TLWE_COW, "toy number, on write", Residency::Paged, Role::Value(Trigger::OnWrite)),
];

impl ObjectHandler for Toy {
    fn name(&self) -> &'static str {
        "toy"
    }

    fn types(&self) -> &[TypeDescriptor] {
        &TOY_TYPES
    }

    fn describe_key(&self, id: VrId, _: u64, _: &mut dyn Read) -> Result<Arc<dyn KeyShape>, HandlerError> {
        Err(HandlerError::Invalid { id, what: "the toy scheme has no keys".to_owned() })
    }

    fn check_size(&self, id: VrId, size: u64, _: Option<&dyn KeyShape>) -> Result<(), HandlerError> {
        match id.type_code {
            TypeCode::TV => Ok(()),
            _ if size == 8 => Ok(()),
            _ => Err(HandlerError::WrongSize { id, given: size, expected: "8".to_owned() }),
        }
    }

    fn validate(&self, id: VrId, _: u64, content: &mut dyn Read, _: Option<&dyn KeyShape>) -> Result<(), HandlerError> {
        let mut head = Vec::new();
        content.take(3).read_to_end(&mut head).map_err(|error| HandlerError::read(id, error))?;
        match head.as_slice() {
            b"BAD" => Err(HandlerError::Invalid { id, what: "it begins with BAD".to_owned() }),
            _ => Ok(()),
        }
    }

    fn open_key(&self, key: KeyId, _: Vec<KeyPart>) -> Result<Arc<dyn KeyContext>, HandlerError> {
        Err(HandlerError::KeyIncomplete { key, missing: "everything".to_owned() })
    }

    fn needs_key(&self, _: &Instruction) -> bool {
        false
    }

    fn estimate(&self, _: &Instruction, _: &[Option<u64>], _: Option<&dyn KeyShape>) -> Duration {
        Duration::ZERO
    }

    fn execute(
        &self,
        instruction: &Instruction,
        operands: &[&[u8]],
        _: Option<&dyn KeyContext>,
        result: &mut Vec<u8>,
    ) -> Result<(), HandlerError> {
        let number = |index: usize| operands[index].try_into().map(u64::from_le_bytes).unwrap_or(0);
        let value = match *instruction {
            Instruction::HomAdd { .. } => number(0).wrapping_add(number(1)),
            Instruction::HomSub { .. } => number(0).wrapping_sub(number(1)),
            Instruction::HomIntMult { value, .. } => number(0).wrapping_mul(i64::from(value) as u64),
            _ => return Err(HandlerError::Unsupported { handler: "toy", opcode: instruction.opcode() }),
        };
        result.extend_from_slice(&value.to_le_bytes());
        Ok(())
    }
}

/// Something a transport can be had from, that can lose its process and be started again.
pub(crate) trait Host: Sized {
    /// An empty space with these quotas, of a device with the toy scheme and [`MAX_OBJECT_BYTES`].
    fn start(limits: SpaceLimits) -> Self;
    /// A way to it.
    fn transport(&self) -> Arc<dyn Transport>;
    /// Everything that is not on disk is lost. The caller has dropped all transports.
    fn restart(self) -> Self;
}

/// A device of this process, on disk.
pub(crate) struct EmbeddedHost {
    directory: TempDir,
    device: Device,
}

const SPACE: SpaceId = SpaceId(7);

fn open(directory: &TempDir) -> Device {
    let mut config = DeviceConfig::in_directory(directory.path());
    config.max_object_bytes = MAX_OBJECT_BYTES;
    Device::open(config, vec![Arc::new(Toy)]).unwrap()
}

impl EmbeddedHost {
    pub(crate) fn space(&self) -> Space {
        self.device.space(SPACE).unwrap()
    }
}

impl Host for EmbeddedHost {
    fn start(limits: SpaceLimits) -> Self {
        let directory = TempDir::new().unwrap();
        let device = open(&directory);
        device.create_space(SPACE, limits).unwrap();
        Self { directory, device }
    }

    fn transport(&self) -> Arc<dyn Transport> {
        Arc::new(EmbeddedTransport::new(self.space()))
    }

    fn restart(self) -> Self {
        let Self { directory, device } = self;
        drop(device);
        let device = open(&directory);
        Self { directory, device }
    }
}

/// A toy device in memory, for tests of what lies above it.
pub(crate) fn in_memory() -> Space {
    let device = Device::open(DeviceConfig::in_memory(), vec![Arc::new(Toy)]).unwrap();
    device.space(SpaceId::EMBEDDED).unwrap()
}

pub(crate) fn register(text: &str) -> VrId {
    text.parse().unwrap()
}

pub(crate) fn blob(text: &str) -> BlobId {
    text.parse().unwrap()
}

/// Metadata without flags.
pub(crate) fn metadata(text: &str) -> Metadata {
    Metadata::new(register(text))
}

/// The bytes of a toy number.
pub(crate) fn number(value: u64) -> Vec<u8> {
    value.to_le_bytes().to_vec()
}

/// Bytes that repeat only after 251 × 256 and differ from one `seed` to the next.
pub(crate) fn pattern(size: usize, seed: u8) -> Vec<u8> {
    (0..size).map(|index| (index % 251) as u8 ^ (index / 251 % 256) as u8 ^ seed).collect()
}

/// A program in its binary form; registers are written out, as in `homadd 4:0:3, 3:0:2`.
pub(crate) fn program(source: &str) -> Vec<u8> {
    assemble(source, &Bindings::default()).unwrap().program.encode()
}

/// Writes a blob from memory by way of the bare transport.
pub(crate) fn put(transport: &dyn Transport, metadata: Metadata, bytes: &[u8]) {
    let mut content = bytes;
    transport.write(&metadata, bytes.len() as u64, &mut content, WriteMode::Compute).unwrap();
}
