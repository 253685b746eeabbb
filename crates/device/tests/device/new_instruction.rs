//! A scheme that the crates do not know: its handler alone brings types and an instruction to text, binary form, verifier and
//! device.

use ciphermill_device::{
    Device, DeviceConfig, DeviceError, HandlerError, ObjectHandler, ReadMode, RunError, SpaceId, WriteOptions,
    handler::{Job, KeyContext, KeyPart, KeyShape, Premises, Residency, Role, Trigger, TypeDescriptor},
};
use ciphermill_program::{
    Bindings, Effect, Facts, Instruction, InstructionSpec, KeyId, LogProbability, ObjectClass, Opcode, Operand,
    Program, ResultLength, Scheme, TypeCode, VrId, assemble, disassemble,
};
use std::{io::Read, sync::Arc, time::Duration};

const ON_READ: TypeCode = TypeCode(100);
const ON_WRITE: TypeCode = TypeCode(101);
const MAXIMUM_OPCODE: Opcode = Opcode(900);

static BYTES: ObjectClass = ObjectClass::ciphertext("a string of bytes", ON_READ, ON_WRITE);
static MAXIMUM: InstructionSpec = InstructionSpec::new(
    MAXIMUM_OPCODE,
    "max",
    &[Operand::write("n1", &BYTES), Operand::read("n2", &BYTES)],
    "n1 ← the greatest byte of n2, repeated",
)
.result(ResultLength::OfOperand(0));
static SCHEME: Scheme = Scheme { name: "Bytes", classes: &[&BYTES], instructions: &[&MAXIMUM], opcodes: &[900..=909] };

const TYPES: [TypeDescriptor; 2] = [
    TypeDescriptor {
        code: ON_READ,
        name: "bytes, on read",
        residency: Residency::Paged,
        role: Role::Value(Trigger::OnRead),
    },
    TypeDescriptor {
        code: ON_WRITE,
        name: "bytes, on write",
        residency: Residency::Paged,
        role: Role::Value(Trigger::OnWrite),
    },
];

/// With the failure of its instruction.
#[derive(Debug)]
struct Bytes(LogProbability);

impl ObjectHandler for Bytes {
    fn name(&self) -> &'static str {
        "bytes"
    }

    fn scheme(&self) -> &'static Scheme {
        &SCHEME
    }

    fn types(&self) -> &[TypeDescriptor] {
        &TYPES
    }

    fn describe_key(&self, id: VrId, _: u64, _: &mut dyn Read) -> Result<Arc<dyn KeyShape>, HandlerError> {
        Err(HandlerError::Invalid { id, what: "there are no keys".to_owned() })
    }

    fn check_size(&self, _: VrId, _: u64, _: Option<&dyn KeyShape>) -> Result<(), HandlerError> {
        Ok(())
    }

    fn validate(&self, _: VrId, _: u64, _: &mut dyn Read, _: Option<&dyn KeyShape>) -> Result<(), HandlerError> {
        Ok(())
    }

    fn key_bytes(&self, _: &dyn KeyShape) -> u64 {
        0
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

    fn effect(&self, _: &Instruction, _: &[Facts], _: Premises<'_>) -> Result<Effect, HandlerError> {
        Ok(Effect { failure: self.0, ..Effect::default() })
    }

    fn execute(&self, job: &Job<'_>, result: &mut Vec<u8>) -> Result<(), HandlerError> {
        let &Job { instruction, operands, .. } = job;
        assert_eq!(instruction.opcode(), MAXIMUM_OPCODE);
        let greatest = operands[0].iter().copied().max().unwrap_or(0);
        result.resize(operands[0].len(), greatest);
        Ok(())
    }
}

#[test]
fn a_handler_alone_adds_an_instruction() {
    let device = Device::open(DeviceConfig::in_memory(), vec![Arc::new(Bytes(LogProbability::NEVER))]).unwrap();
    let set = device.instruction_set();
    // `t` becomes a temporary of the class that the instruction writes.
    let text = "MAX t, 100:0:1\nreturn t";
    let program = assemble(set, text, &Bindings::new()).unwrap().program;
    assert_eq!(disassemble(&program), "max 100:0:4294901760, 100:0:1\nreturn 100:0:4294901760\n");
    assert_eq!(Program::decode(set, &program.encode()).unwrap(), program);

    let space = device.space(SpaceId::EMBEDDED).unwrap();
    let register = |text: &str| text.parse::<VrId>().unwrap();
    space.write_bytes(register("100:0:1"), &[3, 200, 7], WriteOptions::default()).unwrap();
    space.write_bytes(register("0:0:0"), &program.encode(), WriteOptions::default()).unwrap();
    assert_eq!(space.read_bytes(register("100:0:1"), ReadMode::Compute).unwrap(), [200; 3]);

    // The verifier knows its classes; sets without it refuse its opcode.
    let wrong = assemble(set, "max 100:0:2, 0:0:0\nreturn 100:0:2", &Bindings::new()).unwrap().program;
    let error = space.check(&wrong).unwrap_err();
    let source = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
    assert!(source.contains("the instruction needs a string of bytes (type 100 or 101) here"), "{source}");
    let error = Program::decode(ciphermill_device::handlers::instruction_set(), &program.encode()).unwrap_err();
    assert!(error.to_string().contains("opcode 900 is unknown"), "{error}");
}

#[test]
fn an_unknown_failure_needs_the_opt_in() {
    let register = |text: &str| text.parse::<VrId>().unwrap();
    let run = |failure, assume_range| {
        let config = DeviceConfig { assume_range, ..DeviceConfig::in_memory() };
        let device = Device::open(config, vec![Arc::new(Bytes(failure))]).unwrap();
        let space = device.space(SpaceId::EMBEDDED).unwrap();
        space.write_bytes(register("100:0:1"), &[5, 9], WriteOptions::default()).unwrap();
        let text = "max t, 100:0:1\nreturn t";
        space.run(&assemble(device.instruction_set(), text, &Bindings::new()).unwrap().program)
    };
    for (failure, assume_range) in [
        (LogProbability::new(-64.0), false),
        (LogProbability::NEVER, false),
        (LogProbability::new(-64.0), true),
        (LogProbability::UNKNOWN, true),
    ] {
        assert_eq!(run(failure, assume_range).unwrap(), [9, 9], "{failure:?}");
    }
    let refused = |failure, assume_range| match run(failure, assume_range).unwrap_err() {
        DeviceError::GivenProgramFailed { cause, .. } => *cause,
        other => panic!("{other}"),
    };
    assert!(matches!(refused(LogProbability::UNKNOWN, false), RunError::FailureUnknown));
    for assume_range in [false, true] {
        let cause = refused(LogProbability::new(-63.9), assume_range);
        assert!(matches!(cause, RunError::FailureTooLikely { log2_p_fail: -63.9, limit: -64.0 }), "{cause}");
    }
}
