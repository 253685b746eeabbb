//! The device in a directory, as commands open it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ciphermill_device::handlers::tfhe::LoadProgress;
use ciphermill_device::handlers::{self, Engines, Policy};
use ciphermill_device::{Device, DeviceConfig};
use clap::Args;

use crate::error::CliError;
use crate::inputs::size::Bytes;
use crate::inputs::{BackendArg, SecurityArgs};
use crate::output::Progress;

/// How the device over a store is set up.
#[derive(Args, Clone, Debug)]
pub(crate) struct DeviceArgs {
    /// Main memory for ciphertexts, as 4096 or 256M; what does not fit is paged to the store [default: 256M]
    #[arg(long, value_name = "BYTES")]
    pub(crate) memory: Option<Bytes>,
    /// Transform that bootstraps use [default: fft]
    #[arg(long, value_enum)]
    pub(crate) backend: Option<BackendArg>,
    /// Refuse programs that are estimated to run longer, and stop those that do [default: 20]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) max_program_seconds: Option<Duration>,
    #[command(flatten)]
    pub(crate) security: SecurityArgs,
}

/// The same from wherever it was configured; what is not set is the device's default.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceSettings {
    pub(crate) memory: Option<Bytes>,
    pub(crate) backend: Option<BackendArg>,
    pub(crate) max_program_duration: Option<Duration>,
    pub(crate) max_object_bytes: Option<Bytes>,
    pub(crate) security: SecurityArgs,
}

impl DeviceArgs {
    pub(crate) fn settings(&self) -> DeviceSettings {
        DeviceSettings {
            memory: self.memory,
            backend: self.backend,
            max_program_duration: self.max_program_seconds,
            max_object_bytes: None,
            security: self.security,
        }
    }

    /// Whether any of the options was given.
    pub(crate) fn is_given(&self) -> bool {
        self.memory.is_some()
            || self.backend.is_some()
            || self.max_program_seconds.is_some()
            || self.security.is_given()
    }
}

/// The name of a store's object table; docs/device.md draws the directory.
const OBJECT_TABLE: &str = "objects.redb";
/// The name of the map of the blocks of namespaces; docs/blockspace.md draws it.
pub(crate) const BLOCK_MAP: &str = "blocks.redb";

pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=1e9).contains(&value) => Ok(Duration::from_secs_f64(value)),
        _ => Err("not a number of seconds from 0 to 10^9".to_owned()),
    }
}

/// Opens the device over a store that must exist: a mistyped name shall not make one, least of all among other files.
pub(crate) fn open_existing(directory: &Path, settings: &DeviceSettings) -> Result<Device, CliError> {
    // Every store has its object table; the device judges whether it is one.
    if !directory.join(OBJECT_TABLE).exists() {
        return Err(CliError::NoStore { path: directory.to_owned() });
    }
    open(directory, settings)
}

/// Opens the device, and makes directory and store where there are none.
pub(crate) fn open(directory: &Path, settings: &DeviceSettings) -> Result<Device, CliError> {
    let mut config = DeviceConfig::in_directory(directory);
    config.main_memory_bytes = settings.memory.map_or(config.main_memory_bytes, |Bytes(bytes)| bytes);
    config.max_program_duration = settings.max_program_duration.unwrap_or(config.max_program_duration);
    config.max_object_bytes = settings.max_object_bytes.map_or(config.max_object_bytes, |Bytes(bytes)| bytes);
    let engines = Engines::cpu(settings.backend.unwrap_or(BackendArg::Fft).into());
    let policy = Policy { tfhe: settings.security.policy(), paillier: settings.security.paillier_keys() };
    let progress = Progress::bar("loading the server key");
    let report: LoadProgress = Arc::new(move |done, all| progress.set(done, all));
    Ok(Device::open(config, handlers::standard(engines, policy, Some(report)))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ciphermill_device::handler::{Role, Trigger};

    /// What commands refuse before they ask the device is what the device refuses.
    #[test]
    fn the_types_that_compute_on_reads_are_the_handlers() {
        let directory = tempfile::tempdir().expect("a directory");
        let settings = DeviceSettings {
            memory: None,
            backend: None,
            max_program_duration: None,
            max_object_bytes: None,
            security: SecurityArgs::default(),
        };
        let device = open(directory.path(), &settings).expect("a new store");
        for known in device.types() {
            let computes = known.role == Role::Value(Trigger::OnRead);
            assert_eq!(handlers::instruction_set().computes_on_reads(known.code), computes, "{}", known.name);
        }
    }
}
