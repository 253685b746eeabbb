//! Random programs of the accepted subset, and the checks that each of them passes.

use ciphermill_hls::Source;

mod check;
mod expression;
mod generate;
pub(crate) mod reference;
mod statement;

pub(crate) use check::check;
pub(crate) use generate::{Parameter, Program};

/// The begin of each C file: its headers and the names that types have.
pub(crate) const HEAD: &str = "#include <assert.h>\n#include <stdbool.h>\n#include <stdint.h>\n\
    typedef uint8_t word8;\ntypedef uint16_t word16;\ntypedef uint32_t word32;\ntypedef uint64_t word64;\n";

impl Program {
    /// The program with its headers.
    pub(crate) fn source(&self) -> Source {
        Source::new(format!("random{}.c", self.number), format!("{HEAD}{}", self.text))
    }
}

/// A sequence of random numbers (splitmix64), which the C programs draw their inputs from as well.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `count`.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        (self.draw() % count as u64) as usize
    }

    /// A number from a range, both ends included.
    pub(crate) fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below(most - least + 1)
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}
