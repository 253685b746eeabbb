//! Parsing of TOML descriptions, with bounded error messages.

use serde::de::DeserializeOwned;

/// The maximum length in bytes of a parser's message. The parser quotes the faulty line, however long it is.
const MAX_MESSAGE: usize = 1000;

/// Parses a description.
///
/// # Errors
/// The parser's message, with the faulty line if it is short.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    toml::from_str(text).map_err(|error| {
        let whole = error.to_string();
        if whole.len() <= MAX_MESSAGE {
            return whole;
        }
        let at = error.span().map_or(0, |span| span.start);
        let line = 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count();
        let message: String = error.message().chars().take(MAX_MESSAGE).collect();
        format!("line {line}: {message}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_not_shown() {
        let short = read::<toml::Table>("a = 1\nb = [").unwrap_err();
        assert!(short.contains("b = ["), "{short}");
        let nested = format!("a = 1\nb = {}", "[".repeat(50_000));
        let keys = format!("a = 1\nb = 2\n{} = ", "x".repeat(50_000));
        let twice = format!("{0} = 1\n{0} = 2", "y".repeat(50_000));
        for (text, line) in [(nested, 2), (keys, 3), (twice, 2)] {
            let error = read::<toml::Table>(&text).unwrap_err();
            assert!(
                error.len() < 1100 && error.starts_with(&format!("line {line}: ")),
                "{} bytes: {error:.200}",
                error.len()
            );
        }
    }
}
