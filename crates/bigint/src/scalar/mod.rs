//! 64-bit limbs, one residue per group. Residues are canonical.
//!
//! The rings ([`rings`]) and the products and reductions that they are made of ([`product`]) are written once, over the
//! operations of an instruction set on one limb and a row of limbs ([`Rows`]).

#[cfg(target_arch = "x86_64")]
mod adx;
mod portable;
mod product;
mod rings;

#[cfg(target_arch = "x86_64")]
pub(super) use adx::Adx;
pub(super) use portable::Portable;
pub(super) use rings::{Plain, Square};

/// Arithmetic of rows of limbs, least significant first. Constant-time for given lengths.
///
/// A value of the type is the proof that this CPU has the instructions.
pub(super) trait Rows: Copy + Send + Sync + 'static {
    // Where the halves pay was measured on Sapphire Rapids.
    /// Even lengths from here on are multiplied by three products of half the length.
    const SPLIT_MULTIPLY: usize;
    /// Even lengths from here on are squared by three squares of half the length.
    const SPLIT_SQUARE: usize;
    /// Even lengths from here on are reduced half by half.
    const SPLIT_REDUCE: usize;

    /// out = x·row, the lower limbs; the limb above is returned.
    fn multiply(self, out: &mut [u64], x: u64, row: &[u64]) -> u64;

    /// acc += x·row; the limb above is returned. Both of one length.
    fn multiply_add(self, acc: &mut [u64], x: u64, row: &[u64]) -> u64;

    /// acc = 2·acc + Σ aᵢ²·2^(128·i), for `acc` of twice the limbs of `a`; the sum must fit.
    fn double_add_squares(self, acc: &mut [u64], a: &[u64]);

    /// acc += addend + carry, both of one length; the carry out.
    fn add(self, acc: &mut [u64], addend: &[u64], carry: u64) -> u64;

    /// out = a − b, all of one length; the borrow out.
    fn subtract(self, out: &mut [u64], a: &[u64], b: &[u64]) -> u64;
}
