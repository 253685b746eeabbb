//! Wrong results on request, so that a test sees how they are reported. Release builds do not listen to it.

/// The environment variable. With the value `wrong-result` every check of a result fails.
const VARIABLE: &str = "CIPHERMILL_TEST_FAULT";

/// The outcome of a check of a result: `right`, unless a test asks for wrong results.
pub(crate) fn judged(right: bool) -> bool {
    right && !(cfg!(debug_assertions) && std::env::var_os(VARIABLE).is_some_and(|value| value == "wrong-result"))
}
