//! Which way costs least, counted in products of groups.

use super::super::exponent::SQUARING;
use super::{Kernel, Unsigned};

/// The inputs of the costs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) lanes: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) bits: u32,
    /// Weights that are not 0.
    pub(super) weights: usize,
    /// Putting eight operands side by side, in products.
    pub(super) gather: f64,
}

impl Shape {
    pub(super) fn of(weights: &Unsigned, kernel: &dyn Kernel) -> Self {
        Self {
            lanes: kernel.lanes(),
            rows: weights.rows,
            columns: weights.columns.len(),
            bits: weights.bits,
            weights: weights.values.iter().filter(|&&weight| weight != 0).count(),
            gather: gather_cost(kernel),
        }
    }
}

/// Operands move in time linear in their length, products take its square. Measured: 2 to 3.
fn gather_cost(kernel: &dyn Kernel) -> f64 {
    if kernel.lanes() == 1 { 0.0 } else { 3.0 / kernel.single_words() as f64 }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Way {
    /// Tables of the powers below 2^window (odd ones, on a path with one lane).
    Straus { window: u32 },
    /// Bases sorted by digits of up to `window` bits.
    Buckets { window: u32 },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) way: Way,
    /// Lanes per row of Straus' way.
    pub(super) parts: usize,
}

impl Plan {
    /// Every plan that can be best.
    pub(super) fn all(shape: &Shape) -> impl Iterator<Item = Plan> {
        let windows = 1..=10.min(shape.bits.max(1));
        let parts: Vec<usize> = (0..=shape.lanes.ilog2()).map(|p| 1 << p).collect();
        let straus = windows.clone().flat_map(move |window| {
            parts.clone().into_iter().map(move |parts| Plan { way: Way::Straus { window }, parts })
        });
        straus.chain(windows.map(|window| Plan { way: Way::Buckets { window }, parts: 1 }))
    }

    pub(super) fn best(shape: &Shape) -> Plan {
        let cost = |plan: &Plan| plan.cost(shape);
        Self::all(shape).min_by(|a, b| cost(a).total_cmp(&cost(b))).expect("there are plans")
    }

    /// In products of groups.
    pub(super) fn cost(&self, shape: &Shape) -> f64 {
        let Shape { lanes, rows, columns, bits, weights, gather } = *shape;
        let groups = |count: usize| count.div_ceil(lanes) as f64;
        let per_row = weights as f64 / rows.max(1) as f64;
        let squarings = f64::from(bits) * SQUARING;
        match self.way {
            Way::Straus { window } => {
                let width = if lanes == 1 { window } else { bits.div_ceil(bits.div_ceil(window).max(1)) };
                let (powers, digits) = if lanes == 1 {
                    (f64::from(1 << (window - 1)), f64::from(bits) / f64::from(window + 1))
                } else {
                    // A digit of 0 in one lane is none in all.
                    (f64::from(1 << width) - 1.0, f64::from(bits.div_ceil(window)))
                };
                let items = per_row * digits / self.parts as f64;
                groups(columns) * powers * (1.0 + gather)
                    + groups(rows * self.parts) * (items * (1.0 + gather) + squarings)
                    + (self.parts - 1) as f64 * groups(rows)
            }
            Way::Buckets { window } => {
                let windows = bits.div_ceil(window).max(1);
                let digits = f64::from(1 << bits.div_ceil(windows));
                // Four choices among two or three groups besides what is gathered.
                let step = 1.0 + 3.5 * gather;
                groups(rows * windows as usize) * (per_row * (1.0 - 1.0 / digits) + digits) * step
                    + groups(rows) * (squarings + f64::from(windows))
            }
        }
    }
}
