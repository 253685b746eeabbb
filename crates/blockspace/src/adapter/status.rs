//! Statuses of failed commands on objects.

use crate::volume::VolumeError;
use ciphermill_device::{DeviceError, HandlerError, MemoryError, RunError, StorageError, StoreError};
use ciphermill_nvme::{CommandError, Status};

/// A metadata block has the magic and is otherwise not valid.
pub const METADATA_INVALID: Status = Status::vendor(0x01).do_not_retry();
/// The device takes no such object: unknown type, wrong size, no register for programs.
pub const OBJECT_REFUSED: Status = Status::vendor(0x02).do_not_retry();
/// The blocks of the object overlap those of another, or pass the half.
pub const OVERLAP: Status = Status::vendor(0x03).do_not_retry();
/// The namespace holds as many objects as it may.
pub const TOO_MANY_OBJECTS: Status = Status::vendor(0x04).do_not_retry();
/// The content is not an object of its type.
pub const CONTENT_REFUSED: Status = Status::vendor(0x05).do_not_retry();
/// The program that a write or read ran was rejected or failed.
pub const PROGRAM_FAILED: Status = Status::vendor(0x06).do_not_retry();
/// The result of the program is larger than there is room for.
pub const RESULT_TOO_LARGE: Status = Status::vendor(0x07).do_not_retry();
/// The object requires a computation and its key has no program.
pub const NO_PROGRAM: Status = Status::vendor(0x08).do_not_retry();
/// A vendor command names a register that holds nothing.
pub const NO_SUCH_OBJECT: Status = Status::vendor(0x09).do_not_retry();
/// A vendor command names a read that was closed, idle for too long, or never opened.
pub const NO_SUCH_READ: Status = Status::vendor(0x0a).do_not_retry();
/// The host has no right to this, or the object belongs to another host.
pub const ACCESS_DENIED: Status = Status::ACCESS_DENIED.do_not_retry();
/// The result of the program would be wrong with a probability above the limit.
pub const FAILURE_TOO_LIKELY: Status = Status::vendor(0x0b).do_not_retry();
/// A message of the program would leave its range, or a test vector does not cover it.
pub const RANGE_EXCEEDED: Status = Status::vendor(0x0c).do_not_retry();
/// The program needs the range of an object that does not state it.
pub const RANGE_UNKNOWN: Status = Status::vendor(0x0d).do_not_retry();
/// Too many commands are in progress; the host may try again.
pub const BUSY: Status = Status::vendor(0x10);

/// The status of a command that did nothing and that the host should send again.
pub(super) fn interrupted(what: &str) -> CommandError {
    CommandError::new(Status::COMMAND_INTERRUPTED, format!("{what}; try again later"))
}

pub(super) fn internal(what: impl Into<String>) -> CommandError {
    CommandError::new(Status::INTERNAL_ERROR, what)
}

/// The status of a volume error.
pub(super) fn of_volume(error: &VolumeError) -> CommandError {
    let text = error.to_string();
    match error {
        VolumeError::Damaged { lba, .. } => {
            CommandError::new(Status::UNRECOVERED_READ_ERROR.do_not_retry(), text).at(*lba)
        }
        VolumeError::Quota { .. }
        | VolumeError::NoSpace { .. }
        | VolumeError::Storage(StorageError::NoSpace { .. }) => {
            CommandError::new(Status::CAPACITY_EXCEEDED.do_not_retry(), text)
        }
        VolumeError::Busy { .. } => CommandError::new(BUSY, text),
        VolumeError::Failed | VolumeError::Storage(StorageError::Sync { .. } | StorageError::Gone { .. }) => {
            CommandError::new(Status::WRITE_FAULT.do_not_retry(), text)
        }
        VolumeError::Storage(_) => CommandError::new(Status::WRITE_FAULT, text),
        _ => internal(text),
    }
}

/// The status of a device error.
pub(super) fn of_device(error: &DeviceError) -> CommandError {
    let status = match error {
        _ if error.is_busy() => BUSY,
        DeviceError::UnknownType { .. }
        | DeviceError::TooLarge { .. }
        | DeviceError::NotAProgramRegister { .. }
        | DeviceError::NotComputable { .. }
        | DeviceError::Handler(HandlerError::WrongSize { .. })
        | DeviceError::Store(StoreError::EmptyObject) => OBJECT_REFUSED,
        DeviceError::InvalidProgram { .. } | DeviceError::Handler(_) => CONTENT_REFUSED,
        DeviceError::NoProgram { .. } => NO_PROGRAM,
        DeviceError::WouldDisarm { .. } => ACCESS_DENIED,
        DeviceError::ProgramFailed { cause, .. } | DeviceError::GivenProgramFailed { cause, .. } => of_run(cause),
        DeviceError::Store(error) => of_store(error),
        _ => Status::INTERNAL_ERROR,
    };
    CommandError::new(status, error.to_string())
}

fn of_run(cause: &RunError) -> Status {
    match cause {
        RunError::ResultTooLarge { .. } => RESULT_TOO_LARGE,
        RunError::OutOfReach { .. } => ACCESS_DENIED,
        RunError::Memory(MemoryError::Swap(_)) => Status::INTERNAL_ERROR,
        RunError::FailureTooLikely { .. } | RunError::FailureUnknown => FAILURE_TOO_LIKELY,
        RunError::Instruction { source: HandlerError::Range { .. }, .. } => RANGE_EXCEEDED,
        RunError::Instruction { source: HandlerError::UnknownRange { .. }, .. } => RANGE_UNKNOWN,
        _ => PROGRAM_FAILED,
    }
}

pub(super) fn of_store(error: &StoreError) -> Status {
    match error {
        StoreError::Quota { .. } | StoreError::NoSpace { .. } | StoreError::Storage(StorageError::NoSpace { .. }) => {
            Status::CAPACITY_EXCEEDED.do_not_retry()
        }
        StoreError::DamagedObject { .. } | StoreError::OtherContent { .. } => {
            Status::UNRECOVERED_READ_ERROR.do_not_retry()
        }
        StoreError::NotFound { .. } => NO_SUCH_OBJECT,
        StoreError::Failed | StoreError::Storage(StorageError::Sync { .. } | StorageError::Gone { .. }) => {
            Status::WRITE_FAULT.do_not_retry()
        }
        StoreError::Storage(_) => Status::WRITE_FAULT,
        _ => Status::INTERNAL_ERROR,
    }
}
