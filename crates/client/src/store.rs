//! Opening the device over a store: a directory of this machine.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use ciphermill_device::handlers;
use ciphermill_device::handlers::tfhe::LoadProgress;
use ciphermill_device::store::{SpaceId, SpaceLimits};
use ciphermill_device::{Device, DeviceConfig, DeviceError, Space, StoreError};
use ciphermill_tfhe::Backend;

use crate::engines::{EngineName, Engines};
use crate::error::ClientError;
use crate::security::Security;

/// The file name of a store's object table; docs/device.md draws the directory.
const OBJECT_TABLE: &str = "objects.redb";
/// The file name of the map of the namespaces' blocks; docs/blockspace.md draws it.
pub const BLOCK_MAP: &str = "blocks.redb";

/// Settings of a device. `None` selects the device's default.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// use ciphermill_client::store::{self, DeviceSettings};
/// use std::time::Duration;
///
/// let settings =
///     DeviceSettings { max_program_duration: Some(Duration::from_secs(5)), ..DeviceSettings::default() };
/// let device = store::open(directory.path(), &settings, Arc::new(|_, _| {}))?;
/// assert_eq!(device.config().max_program_duration, Duration::from_secs(5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct DeviceSettings {
    /// Main memory for ciphertexts, in bytes.
    pub memory: Option<u64>,
    /// The transform of bootstraps.
    pub backend: Backend,
    /// The engine that computes.
    pub engine: EngineName,
    /// The longest run time of a program.
    pub max_program_duration: Option<Duration>,
    /// log2 of the greatest failure probability of a program; `None` selects that of the parameter set.
    pub max_log2_p_fail: Option<f64>,
    /// Whether objects that do not state the range of their messages are assumed to have one that fits.
    pub assume_range: bool,
    /// The size limit of an object, in bytes.
    pub max_object_bytes: Option<u64>,
    /// Size limit of the swap area, in bytes.
    pub swap: Option<u64>,
    /// The most bytes of one space's registers in main memory and the swap area together.
    pub swap_of_space: Option<u64>,
    /// Memory for loaded keys and prepared operands, in bytes.
    pub key_memory: Option<u64>,
    /// For some spaces, bytes of it that other spaces never take away.
    pub key_memory_floors: BTreeMap<SpaceId, u64>,
    /// Which parameter sets are accepted.
    pub security: Security,
}

impl Default for DeviceSettings {
    fn default() -> Self {
        Self {
            memory: None,
            backend: Backend::Fft,
            engine: EngineName::Cpu,
            max_program_duration: None,
            max_log2_p_fail: None,
            assume_range: false,
            max_object_bytes: None,
            swap: None,
            swap_of_space: None,
            key_memory: None,
            key_memory_floors: BTreeMap::new(),
            security: Security::Require128Bits,
        }
    }
}

/// Opens the device over a store that must exist, so that a mistyped name does not make a new one.
///
/// # Errors
/// [`ClientError::NoStore`], or as [`open`].
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// use ciphermill_client::store::{self, DeviceSettings};
///
/// let settings = DeviceSettings::default();
/// let missing = store::open_existing(directory.path(), &settings, Arc::new(|_, _| {}));
/// assert!(matches!(missing, Err(ClientError::NoStore { .. })));
/// drop(store::open(directory.path(), &settings, Arc::new(|_, _| {}))?);
/// assert!(store::open_existing(directory.path(), &settings, Arc::new(|_, _| {})).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open_existing(
    directory: &Path,
    settings: &DeviceSettings,
    progress: LoadProgress,
) -> Result<Device, ClientError> {
    // Every store has an object table; the device judges whether the file is one.
    if !directory.join(OBJECT_TABLE).exists() {
        return Err(ClientError::NoStore { path: directory.to_owned() });
    }
    open(directory, settings, progress)
}

/// Opens the device over a store, and makes the directory and the store where they do not exist.
///
/// ```
/// use ciphermill_client::store::{self, DeviceSettings};
/// use std::sync::Arc;
///
/// # fn main() -> Result<(), ciphermill_client::ClientError> {
/// let directory = tempfile::tempdir().expect("a directory");
/// let settings = DeviceSettings::default();
/// assert!(store::open_existing(directory.path(), &settings, Arc::new(|_, _| {})).is_err());
/// let device = store::open(directory.path(), &settings, Arc::new(|_, _| {}))?;
/// assert!(device.types().iter().any(|known| known.name == "plain matrix"));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`ClientError::Device`]; [`ClientError::EngineLacks`] or [`ClientError::EngineInsecure`], as [`Engines::device`].
pub fn open(directory: &Path, settings: &DeviceSettings, progress: LoadProgress) -> Result<Device, ClientError> {
    let mut config = DeviceConfig::in_directory(directory);
    config.main_memory_bytes = settings.memory.unwrap_or(config.main_memory_bytes);
    config.max_program_duration = settings.max_program_duration.unwrap_or(config.max_program_duration);
    config.max_log2_p_fail = settings.max_log2_p_fail;
    config.assume_range = settings.assume_range;
    config.max_object_bytes = settings.max_object_bytes.unwrap_or(config.max_object_bytes);
    config.swap_bytes = settings.swap.unwrap_or(config.swap_bytes);
    config.swap_bytes_of_space = settings.swap_of_space.unwrap_or(config.swap_bytes / 2).max(1 << 12);
    config.key_memory.bytes = settings.key_memory.unwrap_or(config.key_memory.bytes);
    config.key_memory.floors.clone_from(&settings.key_memory_floors);
    let engines = Engines::new(settings.engine, settings.backend).device(settings.security)?;
    let security = settings.security;
    let policy = handlers::Policy { tfhe: security.tfhe(), bfv: security.bfv(), paillier: security.paillier() };
    Ok(Device::open(config, handlers::standard(engines, policy, Some(progress)))?)
}

/// The space of a device; if `make` is set, it is created where it does not exist, with the quotas of new spaces
/// ([`SpaceLimits::NEW`]).
///
/// # Errors
/// [`ClientError::NoSuchSpace`] or [`ClientError::Device`].
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// use ciphermill_client::store::{self, DeviceSettings};
/// use ciphermill_device::SpaceId;
///
/// let device = store::open(directory.path(), &DeviceSettings::default(), Arc::new(|_, _| {}))?;
/// let missing = store::space(&device, directory.path(), SpaceId(5), false);
/// assert!(matches!(missing, Err(ClientError::NoSuchSpace { space: 5, .. })));
/// assert_eq!(store::space(&device, directory.path(), SpaceId(5), true)?.id(), SpaceId(5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn space(device: &Device, directory: &Path, id: SpaceId, make: bool) -> Result<Space, ClientError> {
    match device.space(id) {
        Err(DeviceError::Store(StoreError::NoSuchSpace { .. })) if make => {
            Ok(device.create_space(id, SpaceLimits::NEW)?)
        }
        Err(DeviceError::Store(StoreError::NoSuchSpace { .. })) => {
            Err(ClientError::NoSuchSpace { path: directory.to_owned(), space: id.0 })
        }
        found => Ok(found?),
    }
}

/// A listing of the object types of a device, for help texts.
///
/// ```
/// let types = ciphermill_client::store::object_types();
/// assert!(types.to_string().starts_with("0 program"));
/// ```
#[must_use]
pub fn object_types() -> ObjectTypes {
    let mut types = vec![(0, "program")];
    types.extend(handlers::types().map(|known| (known.code.0, known.name)));
    types.sort_unstable();
    ObjectTypes(types)
}

/// The type codes and names of a device's objects.
#[derive(Clone, Debug)]
pub struct ObjectTypes(Vec<(u16, &'static str)>);

impl fmt::Display for ObjectTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (code, name)) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{code} {name}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use ciphermill_device::handler::{Role, Trigger};

    /// Callers refuse the same registers as the device.
    #[test]
    fn the_types_that_compute_on_reads_are_the_handlers() {
        let directory = tempfile::tempdir().expect("a directory");
        let device = open(directory.path(), &DeviceSettings::default(), Arc::new(|_, _| {})).expect("a new store");
        for known in device.types() {
            let computes = known.role == Role::Value(Trigger::OnRead);
            assert_eq!(handlers::instruction_set().computes_on_reads(known.code), computes, "{}", known.name);
        }
    }
}
