//! The device in a directory, as commands open it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ciphermill_bfv::SecurityPolicy;
use ciphermill_bfv::hmvp::CpuEngine as MatVecCpuEngine;
use ciphermill_device::handlers::bfv::BfvHandler;
use ciphermill_device::handlers::paillier::PaillierHandler;
use ciphermill_device::handlers::tfhe::TfheHandler;
use ciphermill_device::{Device, DeviceConfig, Space, SpaceId};
use ciphermill_tfhe::CpuEngine;
use clap::Args;

use crate::error::CliError;
use crate::inputs::{BackendArg, SecurityArgs};
use crate::output::Progress;

/// Options of commands that open a store.
#[derive(Args, Clone, Debug)]
pub(crate) struct StoreArgs {
    /// Directory of the store; one process at a time may have it open
    #[arg(long, value_name = "DIR")]
    store: PathBuf,
    #[command(flatten)]
    options: DeviceArgs,
}

/// How the device over a store is set up.
#[derive(Args, Clone, Debug)]
pub(crate) struct DeviceArgs {
    /// Main memory for ciphertexts, in bytes; what does not fit is paged to the store [default: 268435456]
    #[arg(long, value_name = "BYTES")]
    memory: Option<u64>,
    /// Transform that bootstraps use
    #[arg(long, value_enum, default_value = "fft")]
    backend: BackendArg,
    /// Refuse programs that are estimated to run longer, and stop those that do [default: 20]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    max_program_seconds: Option<Duration>,
    #[command(flatten)]
    security: SecurityArgs,
}

/// The name of a store's object table; docs/device.md draws the directory.
const OBJECT_TABLE: &str = "objects.redb";

fn seconds(text: &str) -> Result<Duration, String> {
    let value: f64 = text.parse().map_err(|_| "not a number of seconds".to_owned())?;
    Duration::try_from_secs_f64(value).map_err(|error| error.to_string())
}

impl StoreArgs {
    /// Opens the device, and makes directory and store where there are none.
    pub(crate) fn create(&self) -> Result<Space, CliError> {
        Ok(open(&self.store, &self.options)?.space(SpaceId::EMBEDDED)?)
    }

    /// Opens the device over a store that must exist.
    pub(crate) fn open(&self) -> Result<Space, CliError> {
        Ok(self.open_device()?.space(SpaceId::EMBEDDED)?)
    }

    /// As [`open`](Self::open), for those who want the device's counters too.
    pub(crate) fn open_device(&self) -> Result<Device, CliError> {
        open_existing(&self.store, &self.options)
    }
}

/// Opens the device over a store that must exist: a mistyped name shall not make one, least of all among other files.
pub(crate) fn open_existing(directory: &Path, options: &DeviceArgs) -> Result<Device, CliError> {
    // Every store has its object table; the device judges whether it is one.
    if !directory.join(OBJECT_TABLE).exists() {
        return Err(CliError::NoStore { path: directory.to_owned() });
    }
    open(directory, options)
}

fn open(directory: &Path, options: &DeviceArgs) -> Result<Device, CliError> {
    let mut config = DeviceConfig::in_directory(directory);
    config.main_memory_bytes = options.memory.unwrap_or(config.main_memory_bytes);
    config.max_program_duration = options.max_program_seconds.unwrap_or(config.max_program_duration);
    let engine = Arc::new(CpuEngine::new(options.backend.into()));
    let progress = Progress::bar("loading the server key");
    let handler = TfheHandler::new(engine, options.security.policy())
        .with_progress(Arc::new(move |done, all| progress.set(done, all)));
    // BFV's standard knows no smaller level, so its sets need 128 bits whatever is accepted of TFHE's.
    let products = BfvHandler::new(Arc::new(MatVecCpuEngine::default()), SecurityPolicy::Require128Bits);
    let integers = PaillierHandler::new(options.security.paillier_keys());
    Ok(Device::open(config, vec![Arc::new(handler), Arc::new(products), Arc::new(integers)])?)
}
