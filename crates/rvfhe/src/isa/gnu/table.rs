//! The table of encodings of the reference page.

use std::fmt::Write as _;

use crate::isa::encoding::{Encoding, Mnemonic, PaperMnemonic};

/// The line before the table.
pub const TABLE_BEGIN: &str = "<!-- encodings: made by the example rvfhe-generate -->";
/// The line after the table.
pub const TABLE_END: &str = "<!-- end of encodings -->";

/// A Markdown table of all encodings. Each row is an instruction with its bits from 31 to 0, as fixed bits and as
/// operands with their width, and with its mask and value.
///
/// # Example
/// ```
/// use ciphermill_rvfhe::isa::gnu;
///
/// assert!(gnu::encoding_table().contains("| `rv_xrvfhe` | `madd` |"));
/// ```
#[must_use]
pub fn encoding_table() -> String {
    let ours = Mnemonic::ALL.into_iter().map(Mnemonic::encoding);
    let encodings = ours.chain(PaperMnemonic::ALL.into_iter().map(PaperMnemonic::encoding));
    let mut text =
        "| source | instruction | bits 31 … 0 | mask | value |\n| --- | --- | --- | --- | --- |\n".to_owned();
    for encoding in encodings {
        let Encoding { name, extension, mask, value, .. } = encoding;
        let bits = layout(encoding);
        let _ = writeln!(text, "| `{extension}` | `{name}` | `{bits}` | `{mask:#010x}` | `{value:#010x}` |");
    }
    text
}

/// The bits from 31 to 0: fixed bits as digits, operands as `name:width`.
fn layout(encoding: &Encoding) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut bit = 32;
    // Whether the last part consists of fixed bits, so that the next one extends it.
    let mut digits = false;
    while bit > 0 {
        bit -= 1;
        if let Some(field) = encoding.fields.iter().find(|field| field.high == bit) {
            parts.push(format!("{}:{}", field.name, field.width()));
            bit = field.low;
            digits = false;
        } else {
            // The field boundaries of R-type instructions.
            if !digits || [24, 19, 14, 11, 6].contains(&bit) {
                parts.push(String::new());
            }
            digits = true;
            if let Some(part) = parts.last_mut() {
                part.push(if encoding.value >> bit & 1 == 1 { '1' } else { '0' });
            }
        }
    }
    parts.join(" ")
}

/// `page` with the table between [`TABLE_BEGIN`] and [`TABLE_END`], or `None` if one of them is missing.
///
/// # Example
/// ```
/// use ciphermill_rvfhe::isa::gnu::{TABLE_BEGIN, TABLE_END, encoding_table, with_table};
///
/// let page = format!("Encodings:\n{TABLE_BEGIN}\n{TABLE_END}\n");
/// let filled = with_table(&page).expect("both lines are present");
/// assert!(filled.contains(&encoding_table()));
/// assert_eq!(with_table("no table"), None);
/// ```
#[must_use]
pub fn with_table(page: &str) -> Option<String> {
    let (before, rest) = page.split_once(TABLE_BEGIN)?;
    let (_, after) = rest.split_once(TABLE_END)?;
    Some(format!("{before}{TABLE_BEGIN}\n{}{TABLE_END}{after}", encoding_table()))
}
