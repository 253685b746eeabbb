//! Multiples of p that bound the values of the lazy inverse; their proof stands in the module's doc.

/// A pass of three levels with inputs below B·p has outputs below 21·B·p.
pub(super) const GROWTH: u64 = 21;

/// Outputs of a pass other than the first are below 18·p, whatever its inputs; the first is below 2·p when reduced.
pub(super) const REDUCED: u64 = 18;

/// Values below 2^20·p < 2^51 are multiplied correctly.
pub(super) const LIMIT: u64 = 1 << 20;
