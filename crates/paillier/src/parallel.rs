//! Batches in parallel.

use std::ops::Range;
use std::sync::OnceLock;

use ciphermill_bigint::{OddModulus, Residues};
use ciphermill_math::fork::Mark;
use rayon::prelude::*;

use crate::error::PaillierError;

/// Whether this process is a forked child of one that worked here: it has the pool of its parent, but none of its threads, and
/// would wait for them forever.
fn in_forked_child() -> bool {
    static FIRST: OnceLock<Mark> = OnceLock::new();
    let here = Mark::now();
    *FIRST.get_or_init(|| here) != here
}

/// Work on `len` elements, range after range, in as many tasks as this thread's pool has threads; the results in order. Ranges
/// start at multiples of `lanes`. The first error in order is returned, whatever thread meets one first. A forked child
/// works on the calling thread alone.
pub(crate) fn in_ranges<T: Send>(
    lanes: usize,
    len: usize,
    work: impl Fn(Range<usize>) -> Result<T, PaillierError> + Sync,
) -> Result<Vec<T>, PaillierError> {
    let threads = if in_forked_child() { 1 } else { rayon::current_num_threads() };
    let chunk = len.div_ceil(threads).next_multiple_of(lanes).max(1);
    if threads == 1 || len <= lanes {
        return Ok(vec![work(0..len)?]);
    }
    let ranges: Vec<_> = (0..len).step_by(chunk).map(|start| start..(start + chunk).min(len)).collect();
    ranges.into_par_iter().map(&work).collect::<Vec<_>>().into_iter().collect()
}

/// As [`in_ranges`], where the results are residues of one modulus.
pub(crate) fn residues(
    ring: &OddModulus,
    len: usize,
    work: impl Fn(Range<usize>) -> Result<Residues, PaillierError> + Sync,
) -> Result<Residues, PaillierError> {
    let mut parts = in_ranges(ring.lanes(), len, work)?;
    Ok(if parts.len() == 1 { parts.remove(0) } else { Residues::concat(&parts) })
}
