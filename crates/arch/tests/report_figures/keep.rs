//! Compares pages and data with the models, or writes them.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn writes() -> bool {
    std::env::var_os("CIPHERMILL_WRITE_DOCS").is_some_and(|value| value == "1")
}

/// Compares a report with docs/arch/<name>.json, or writes it there.
pub(crate) fn keep(name: &str, value: &impl Serialize) {
    keep_text(name, &(serde_json::to_string_pretty(value).expect("JSON") + "\n"));
}

fn keep_text(name: &str, text: &str) {
    let path = root().join("docs/arch").join(format!("{name}.json"));
    if writes() {
        std::fs::write(&path, text).expect("it is written");
        return;
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == text, "{} differs from the models; run scripts/arch.sh", path.display());
}

/// As [`keep`], with one row per line.
pub(crate) fn keep_rows(name: &str, rows: &[serde_json::Value]) {
    let rows: Vec<String> = rows.iter().map(ToString::to_string).collect();
    keep_text(name, &format!("[\n{}\n]\n", rows.join(",\n")));
}

/// Several tests write parts of the same page.
static PAGES: Mutex<()> = Mutex::new(());

/// Compares the part of a page between its two markers, or writes it there.
pub(crate) fn keep_part(page: &str, name: &str, part: &str) {
    let _one_at_a_time = PAGES.lock().unwrap_or_else(PoisonError::into_inner);
    let path = root().join(page);
    let text = std::fs::read_to_string(&path).expect("a page");
    let (begin, end) =
        (format!("<!-- {name} by crates/arch/tests/report_figures -->\n"), format!("<!-- end of {name} -->"));
    let start = text.find(&begin).unwrap_or_else(|| panic!("{page}: where {name} begins")) + begin.len();
    let stop = text.find(&end).unwrap_or_else(|| panic!("{page}: where {name} ends"));
    if writes() {
        std::fs::write(&path, [&text[..start], part, &text[stop..]].concat()).expect("it is written");
        return;
    }
    assert!(&text[start..stop] == part, "{page} has other figures for {name} than the models:\n{part}");
}

/// A table in Markdown.
pub(crate) fn table<const N: usize>(head: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut out = format!("\n| {} |\n|{}\n", head.join(" | "), " --- |".repeat(N));
    for row in rows {
        writeln!(out, "| {} |", row.join(" | ")).expect("a string");
    }
    out.push('\n');
    out
}

pub(crate) fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or(String::new(), |value| format!("{value:.digits$}"))
}
