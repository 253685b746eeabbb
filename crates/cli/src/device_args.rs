//! Options of the device over a store, shared by all commands that open one.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ciphermill_client::engines::EngineName;
use ciphermill_client::size::Bytes;
use ciphermill_client::store::{self, DeviceSettings};
use ciphermill_device::Device;
use ciphermill_device::handlers::tfhe::LoadProgress;
use ciphermill_tfhe::judgement::{DEFAULT_LOG2_P_FAIL, PAPER_LOG2_P_FAIL};
use clap::Args;
use serde::Serialize;

use crate::error::CliError;
use crate::inputs::{BackendArg, SecurityArgs, engine_names};
use crate::output::Progress;

/// How the device over a store is set up.
#[derive(Args, Clone, Debug)]
pub(crate) struct DeviceArgs {
    /// Main memory for ciphertexts, as 4096 or 256M; the rest is paged to the store [default: 256M]
    #[arg(long, value_name = "BYTES")]
    pub(crate) memory: Option<Bytes>,
    /// Memory for loaded keys and prepared matrices; the least recently used make room [default: half of
    /// the process's memory]
    #[arg(long, value_name = "BYTES")]
    pub(crate) key_memory: Option<Bytes>,
    /// Transform that bootstraps use [default: fft]
    #[arg(long, value_enum, value_name = "NAME")]
    pub(crate) backend: Option<BackendArg>,
    /// Engine that computes [default: cpu]
    #[arg(long, value_name = "NAME", value_parser = engine_names())]
    pub(crate) engine: Option<EngineName>,
    /// Time limit of a program, by the estimate before and the clock during its run [default: 20]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) max_program_seconds: Option<Duration>,
    #[command(flatten)]
    pub(crate) results: ResultArgs,
    #[command(flatten)]
    pub(crate) security: SecurityArgs,
}

/// Which results of programs are accepted.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct ResultArgs {
    /// Accept programs whose result is wrong with a probability of up to 2^LOG2 [default: -64; for the NVME_TFHE sets -40]
    #[arg(long, value_name = "LOG2", value_parser = log2_probability, allow_negative_numbers = true)]
    pub(crate) max_log2_p_fail: Option<f64>,
    /// Assume that the messages of objects of an older format, which state no range, fit into every table
    #[arg(long)]
    pub(crate) assume_range: bool,
}

/// The settings of a device that accept results which it refuses by default.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Override {
    /// log2 of the accepted failure probability, if it is above the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_log2_p_fail: Option<f64>,
    assume_range: bool,
}

impl Override {
    /// The override in force; `None` if the device refuses at least as much as by default.
    pub(crate) fn of(settings: &DeviceSettings) -> Option<Self> {
        let max_log2_p_fail = settings.max_log2_p_fail.filter(|&limit| limit > DEFAULT_LOG2_P_FAIL);
        let found = Self { max_log2_p_fail, assume_range: settings.assume_range };
        (max_log2_p_fail.is_some() || found.assume_range).then_some(found)
    }
}

impl fmt::Display for Override {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(limit) = self.max_log2_p_fail {
            write!(
                f,
                "results may be wrong with a probability of up to 2^{limit} (max-log2-p-fail); the default is \
                 2^{DEFAULT_LOG2_P_FAIL}, or 2^{PAPER_LOG2_P_FAIL} for the NVME_TFHE sets"
            )?;
        }
        let separator = if self.max_log2_p_fail.is_some() && self.assume_range { "; " } else { "" };
        f.write_str(separator)?;
        if self.assume_range {
            f.write_str(
                "messages of objects that state no range are assumed to fit into every table, and results of unknown \
                 failure probability are accepted (assume-range)",
            )?;
        }
        Ok(())
    }
}

/// The options of the device by their names, for messages.
pub(crate) const DEVICE_OPTIONS: &str = "--memory, --key-memory, --backend, --engine, --max-program-seconds, \
     --max-log2-p-fail, --assume-range and --insecure-params";

impl DeviceArgs {
    pub(crate) fn settings(&self) -> DeviceSettings {
        DeviceSettings {
            memory: self.memory.map(|Bytes(bytes)| bytes),
            backend: self.backend.unwrap_or(BackendArg::Fft).into(),
            engine: self.engine.unwrap_or_default(),
            max_program_duration: self.max_program_seconds,
            key_memory: self.key_memory.map(|Bytes(bytes)| bytes),
            max_log2_p_fail: self.results.max_log2_p_fail,
            assume_range: self.results.assume_range,
            security: self.security.security(),
            ..DeviceSettings::default()
        }
    }

    /// Whether any of the options was given.
    pub(crate) fn is_given(&self) -> bool {
        self.memory.is_some()
            || self.key_memory.is_some()
            || self.backend.is_some()
            || self.engine.is_some()
            || self.max_program_seconds.is_some()
            || self.results.max_log2_p_fail.is_some()
            || self.results.assume_range
            || self.security.is_given()
    }
}

/// The device options of commands that only read a store. They have no effect there; scripts that give them keep working.
#[derive(Args, Clone, Debug)]
pub(crate) struct UnusedDeviceArgs {
    #[arg(long, hide = true, value_name = "BYTES")]
    memory: Option<Bytes>,
    #[arg(long, hide = true, value_enum, value_name = "NAME")]
    backend: Option<BackendArg>,
    #[arg(long, hide = true, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    max_program_seconds: Option<Duration>,
    #[arg(long, hide = true)]
    insecure_params: bool,
}

impl UnusedDeviceArgs {
    /// Whether any of the options was given.
    pub(crate) fn is_given(&self) -> bool {
        self.memory.is_some() || self.backend.is_some() || self.max_program_seconds.is_some() || self.insecure_params
    }

    pub(crate) fn settings(&self) -> DeviceSettings {
        DeviceSettings { memory: self.memory.map(|Bytes(bytes)| bytes), ..DeviceSettings::default() }
    }
}

pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.0..=1e9).contains(&value) => Ok(Duration::from_secs_f64(value)),
        _ => Err("not a number of seconds from 0 to 10^9".to_owned()),
    }
}

/// log2 of a probability, of an option or a file.
pub(crate) fn log2_probability(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (-1000.0..=0.0).contains(&value) => Ok(value),
        _ => Err("not the logarithm of a probability; use -1000 to 0".to_owned()),
    }
}

/// Opens the device over a store that must exist, with a progress bar.
pub(crate) fn open_existing(directory: &Path, settings: &DeviceSettings) -> Result<Device, CliError> {
    Ok(store::open_existing(directory, settings, progress())?)
}

/// Opens the device over a store, which is made where it does not exist, with a progress bar.
pub(crate) fn open(directory: &Path, settings: &DeviceSettings) -> Result<Device, CliError> {
    Ok(store::open(directory, settings, progress())?)
}

fn progress() -> LoadProgress {
    let bar = Progress::bar("loading the server key");
    Arc::new(move |done, all| bar.set(done, all))
}
