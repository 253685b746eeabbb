//! The log of the server: lines on standard error, for people or as JSON.

use std::io::{self, IsTerminal};

use serde::Deserialize;
use tracing_subscriber::EnvFilter;

use crate::error::CliError;

/// How lines of the log look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    /// Text for people
    #[default]
    Text,
    /// One JSON object a line
    Json,
}

/// The filter of `tracing-subscriber`: a level, or directives as `info,ciphermill_nvme=debug`.
pub(super) fn filter(text: &str) -> Result<EnvFilter, String> {
    EnvFilter::try_new(text).map_err(|error| format!("`{text}`: {error}; as in info,ciphermill_nvme=debug"))
}

/// Begins to log.
pub(super) fn start(filter: &str, format: LogFormat) -> Result<(), CliError> {
    let parsed = self::filter(filter).map_err(|what| CliError::Usage(format!("log filter {what}")))?;
    let lines = tracing_subscriber::fmt().with_env_filter(parsed).with_writer(io::stderr);
    let started = match format {
        LogFormat::Text => lines.with_ansi(io::stderr().is_terminal()).try_init(),
        LogFormat::Json => lines.with_ansi(false).json().try_init(),
    };
    started.map_err(|error| CliError::Usage(format!("cannot start the log: {error}")))
}
