//! The output of a command: results on standard output, progress on standard error.

use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

use ciphermill_client::key_files::KeyFile;
use comfy_table::{ContentArrangement, Table, presets};
use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use serde::Serialize;

use crate::error::CliError;

/// Writes bytes to standard output.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(CliError::Output)
}

/// Writes text and a line feed to standard output.
pub(crate) fn line(text: &str) -> Result<(), CliError> {
    bytes(format!("{text}\n").as_bytes())
}

/// Writes a value as indented JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<(), CliError> {
    let text = serde_json::to_string_pretty(value).map_err(|error| CliError::Output(error.into()))?;
    line(&text)
}

/// Writes the JSON form, or else the text for people.
pub(crate) fn result(as_json: bool, value: &impl Serialize, text: &str) -> Result<(), CliError> {
    if as_json { json(value) } else { line(text) }
}

/// An empty table with a header.
pub(crate) fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header);
    table
}

/// A table of the key files that were written.
pub(crate) fn key_files(files: &[KeyFile]) -> Table {
    let mut table = table(["key", "file", "size"]);
    for file in files {
        table.add_row([file.what, &file.path.to_string_lossy(), &human_bytes(file.bytes)]);
    }
    table
}

/// A bar for work of known length. It is drawn from the first call of [`set`](Self::set) on, only where standard error is
/// a terminal, and goes when all is done or it is dropped.
pub(crate) struct Progress(ProgressBar);

impl Progress {
    /// A bar; its length comes with the first call of [`set`](Self::set).
    pub(crate) fn bar(what: &'static str) -> Self {
        let bar = ProgressBar::new(0).with_message(what);
        if let Ok(style) = ProgressStyle::with_template("{msg} {wide_bar} {percent:>3} % {eta}") {
            bar.set_style(style);
        }
        Self(bar)
    }

    /// A bar for simulated cycles, with their number per second and the time left. The time is right if
    /// [`set`](Self::set) gets the number of all cycles.
    pub(crate) fn cycles(what: &'static str) -> Self {
        let bar = ProgressBar::new(0).with_message(what);
        let template = "{msg} {wide_bar} {human_pos} of {human_len} cycles, {rate} cycles/s, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.with_key("rate", |state: &ProgressState, out: &mut dyn fmt::Write| {
                let _ = write!(out, "{:.0}", state.per_sec());
            }));
        }
        Self(bar)
    }

    /// A spinner for work of unknown length.
    pub(crate) fn spinner(what: &'static str) -> Self {
        let bar = ProgressBar::new_spinner().with_message(what);
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(bar)
    }

    /// Work done and all work.
    pub(crate) fn set(&self, done: u64, all: u64) {
        if done < all && self.0.is_finished() {
            // Other work of the same kind.
            self.0.reset();
        }
        self.0.set_length(all);
        self.0.set_position(done);
        if done >= all {
            self.0.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// A number of bytes for people, to three digits in powers of 1000.
pub(crate) fn human_bytes(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        // 999.5 would print as 1000.
        if value < 999.5 {
            let digits = if unit == "B" || value >= 99.95 {
                0
            } else if value >= 9.995 {
                1
            } else {
                2
            };
            return format!("{value:.digits$} {unit}");
        }
        value /= 1000.0;
    }
    format!("{value:.2} TB")
}

/// A time for people: in milliseconds, or in microseconds below one.
pub(crate) fn human_time(ns: u64) -> String {
    if ns < 1_000_000 { format!("{:.3} µs", ns as f64 / 1e3) } else { format!("{:.3} ms", ns as f64 / 1e6) }
}

/// A time for people: in milliseconds, or in seconds from one on.
pub(crate) fn human_seconds(seconds: f64) -> String {
    // 999.95 ms would print as 1000.0.
    if seconds < 0.99995 { format!("{:.1} ms", seconds * 1e3) } else { format!("{seconds:.1} s") }
}

/// A number of things, with the plural of their name.
pub(crate) fn count(number: u64, name: &str) -> String {
    format!("{number} {name}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_read_well() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.00 kB"),
            (3_264, "3.26 kB"),
            (99_960, "100 kB"),
            (999_600, "1.00 MB"),
            (1_048_576_000, "1.05 GB"),
            (5_000_000_000_000, "5.00 TB"),
        ] {
            assert_eq!(human_bytes(bytes), text);
        }
    }

    #[test]
    fn times_and_numbers_read_well() {
        for (seconds, text) in
            [(0.0, "0.0 ms"), (0.24996, "250.0 ms"), (0.99996, "1.0 s"), (1.26, "1.3 s"), (80.0, "80.0 s")]
        {
            assert_eq!(human_seconds(seconds), text);
        }
        assert_eq!([0, 1, 2].map(|number| count(number, "word")), ["0 words", "1 word", "2 words"]);
    }
}
