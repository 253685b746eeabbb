//! Names that C, its headers and compilers use.

/// Words of C that begin or change statements and declarations.
const WORDS: &str = "auto break case const continue default do else enum extern for goto if inline register restrict return sizeof \
    static struct switch typedef union volatile while";

/// Types of C and its headers.
const TYPES: &str = "bool char double float int int8_t int16_t int32_t int64_t long ptrdiff_t short signed size_t uint8_t uint16_t \
    uint32_t uint64_t unsigned void _Bool __int128";

/// Macros of the built-in headers, and macros of compilers whose names do not begin with an underscore.
const MACROS: &str = "NULL assert false linux offsetof static_assert true unix";

/// Whether a text is a name of C in ASCII, which the module can have as well.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether a macro with this name would change the meaning of C or of its headers.
pub(super) fn is_of_c(name: &str) -> bool {
    [WORDS, TYPES, MACROS].iter().flat_map(|all| all.split_whitespace()).any(|word| word == name) || is_limit(name)
}

/// Whether a compiler or its headers may define a macro with this name.
pub(super) fn is_predefined(name: &str) -> bool {
    let is_reserved =
        name.strip_prefix('_').is_some_and(|rest| rest.starts_with(|c: char| c == '_' || c.is_ascii_uppercase()));
    is_reserved || is_of_c(name)
}

/// Whether a name is that of a limit or of a constant in `<stdint.h>`, such as `UINT8_MAX`.
fn is_limit(name: &str) -> bool {
    let Some((of, "MAX" | "MIN" | "C")) = name.rsplit_once('_') else { return false };
    let width = of.strip_prefix('U').unwrap_or(of).strip_prefix("INT");
    let width = width.map(|width| width.trim_end_matches(|c: char| c.is_ascii_digit()));
    matches!(width, Some("" | "MAX" | "PTR" | "_FAST" | "_LEAST"))
        || matches!(of, "PTRDIFF" | "SIG_ATOMIC" | "SIZE" | "WCHAR" | "WINT")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_headers_are_known() {
        for name in ["UINT8_MAX", "INT64_MIN", "UINT_FAST16_MAX", "INTPTR_MIN", "UINT32_C", "SIZE_MAX", "bool", "for"] {
            assert!(is_of_c(name), "{name}");
        }
        for name in ["INTERVAL_MAX", "MAX", "LOG_N", "Q", "UINT", "POINT_MAX", "_X", "__x"] {
            assert!(!is_of_c(name), "{name}");
        }
        assert!(is_predefined("__GNUC__") && is_predefined("_LP64") && !is_predefined("_x") && !is_predefined("N"));
    }
}
