//! Progress reports of long operations.

/// Called with (work done, all work) while something long runs.
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);
