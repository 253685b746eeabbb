//! The planner's search.

use super::candidates::{
    Chain, MAX_LIMBS, POLYNOMIAL_SIZES, paper_chain, plaintext_modulus, prime_lengths, splittings,
};
use super::choice::{Choice, Judgement, Layout, judge, needed_modulus, widest};
use super::cost::product_us;
use super::names;
use super::request::{PlanError, Request, Strategy};
use crate::Algorithm;
use crate::row_packed::RowPackedOptions;
use ciphermill_bfv::keyswitch::Gadget;
use ciphermill_bfv::noise;
use ciphermill_bfv::parameters::{ERROR_STD_DEV, ParameterSet, REQUIRED_SECURITY_BITS};

/// A candidate that will do.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) choice: Choice,
    pub(super) algorithm: Box<dyn Algorithm>,
    /// Estimated microseconds of a product.
    pub(super) time: f64,
}

/// The fastest candidate of the strategies that the request admits.
pub(super) fn best(request: &Request) -> Result<Found, PlanError> {
    let strategies = request.strategy.map_or(Strategy::ALL.to_vec(), |strategy| vec![strategy]);
    let mut best: Option<Found> = None;
    let mut reason = None;
    for strategy in strategies.into_iter().rev() {
        match best_of(request, strategy) {
            Ok(found) if best.as_ref().is_none_or(|best| found.time < best.time) => best = Some(found),
            Ok(_) => {}
            Err(error) => reason = reason.or(Some(error)),
        }
    }
    best.ok_or_else(|| reason.expect("a strategy without candidate says why"))
}

/// The fastest candidate of one strategy.
pub(super) fn best_of(request: &Request, strategy: Strategy) -> Result<Found, PlanError> {
    let mut search = Search { request, strategy, best: None, nearest: None };
    match &request.parameters {
        Some(set) => search.given(set)?,
        None => {
            if strategy == Strategy::Algorithm1 {
                search.paper();
            }
            if search.best.is_none() {
                search.chains();
            }
        }
    }
    let Search { best, nearest, .. } = search;
    best.ok_or_else(|| PlanError::NoParameters { what: reason(request, nearest.as_ref()) })
}

/// Why no candidate will do.
fn reason(request: &Request, nearest: Option<&(String, Judgement)>) -> String {
    let what = match nearest {
        Some((name, judgement)) => format!("the nearest, {name}, has {}", judgement.says(request)),
        None => "none has room for the plaintext modulus, the noise of a fresh vector, and the entries".to_owned(),
    };
    format!(
        "{what}; use fewer bits or columns, allow entries to be split, ask for less security or flooding, or accept a greater \
         failure probability"
    )
}

struct Search<'a> {
    request: &'a Request,
    strategy: Strategy,
    best: Option<Found>,
    /// The least failure probability of a candidate that will not do, and its parameter set.
    nearest: Option<(String, Judgement)>,
}

impl Search<'_> {
    /// Tries the parameter set that the request gives.
    fn given(&mut self, set: &ParameterSet) -> Result<(), PlanError> {
        let request = self.request;
        names::require_own(set)?;
        // A set below 128 bits was opted in to.
        let bits = set.security().bits;
        if bits >= REQUIRED_SECURITY_BITS && !set.keeps(request.security) {
            return Err(PlanError::Security { name: set.name.clone(), bits, required: request.security.bits() });
        }
        if set.special_moduli.is_empty() {
            let what =
                format!("{} has no special modulus, without which no key is switched; give another set", set.name);
            return Err(PlanError::NoParameters { what });
        }
        if self.strategy.is_batched() && !set.has_slots() {
            let what = format!(
                "plaintexts of {} have no slots, as t is not a prime that is 1 modulo 2N; use another strategy or set",
                set.name
            );
            return Err(PlanError::NoParameters { what });
        }
        let chain = Chain::of(set);
        let given = set.plaintext_modulus;
        let mut too_small = None;
        let mut holds = false;
        for (matrix, vector) in splittings(request) {
            let (matrix_bits, vector_bits) = (widest(&matrix), widest(&vector));
            let needed = needed_modulus(request.cols, matrix_bits, vector_bits);
            if u128::from(given) < needed {
                too_small =
                    Some(PlanError::PlaintextModulus { given, cols: request.cols, matrix_bits, vector_bits, needed });
            } else {
                holds = true;
                self.layouts(&chain, set, &matrix, &vector);
            }
        }
        match too_small {
            Some(error) if !holds => Err(error),
            _ => Ok(()),
        }
    }

    /// Tries the paper's chain.
    fn paper(&mut self) {
        let keeps = |chain: &Chain| {
            let set = chain.set(2, Gadget::Limbs { limbs_per_digit: 1 });
            set.is_some_and(|set| set.keeps(self.request.security))
        };
        let Some(chain) = paper_chain().filter(keeps) else { return };
        for (matrix, vector) in splittings(self.request) {
            self.chain(&chain, &matrix, &vector);
        }
    }

    /// Tries for each splitting the smallest sufficient N and the next one, which may suit a large matrix better. For
    /// each N it tries the least sufficient number of moduli, with primes of all lengths: more moduli only take longer.
    fn chains(&mut self) {
        for (matrix, vector) in splittings(self.request) {
            let mut sizes_left = 2;
            for n in POLYNOMIAL_SIZES {
                let mut lengths_of = (1..=MAX_LIMBS).map(|limbs| (limbs, prime_lengths(self.request, n, limbs)));
                let does = lengths_of.any(|(limbs, lengths)| {
                    // All lengths are tried even if one does.
                    lengths.into_iter().filter(|&bits| self.uniform(n, limbs, bits, &matrix, &vector)).count() > 0
                });
                sizes_left -= usize::from(does || sizes_left < 2);
                if sizes_left == 0 {
                    break;
                }
            }
        }
    }

    /// Tries the chain of primes of one length; whether it will do.
    fn uniform(&mut self, n: usize, limbs: usize, bits: u32, matrix: &[u32], vector: &[u32]) -> bool {
        self.may_do(limbs as u32 * bits, matrix, vector)
            && Chain::uniform(n, limbs, bits).is_some_and(|chain| self.chain(&chain, matrix, vector))
    }

    /// Whether a ciphertext modulus of this length could suffice, whatever its primes. In every strategy, the errors of
    /// a fresh vector reach an entry multiplied by a row of the matrix, unless special primes are divided out after the
    /// product as in algorithm 1.
    fn may_do(&self, ciphertext_bits: u32, matrix: &[u32], vector: &[u32]) -> bool {
        let request = self.request;
        let needed = needed_modulus(request.cols, widest(matrix), widest(vector));
        let limit = f64::from(ciphertext_bits) - 1.0 - (needed as f64).log2();
        let fresh = ERROR_STD_DEV.log2() + f64::from(widest(matrix) - 1) + (request.cols as f64).log2() / 2.0;
        let least = if self.strategy == Strategy::Algorithm1 { 0.0 } else { fresh };
        noise::log2_failure(limit - f64::from(request.flooding_bits), least.exp2(), 1.0) <= request.log2_failure
    }

    /// Tries one chain with the plaintext modulus that the splitting needs; whether it will do.
    fn chain(&mut self, chain: &Chain, matrix: &[u32], vector: &[u32]) -> bool {
        let needed = needed_modulus(self.request.cols, widest(matrix), widest(vector));
        let Some(t) = plaintext_modulus(self.strategy, chain.polynomial_size, needed) else { return false };
        // The gadgets of row-packed keys are its own; other strategies take that of the parameter set.
        let gadgets = match self.strategy {
            Strategy::RowPacked => vec![Gadget::Limbs { limbs_per_digit: 1 }],
            _ => chain.gadgets(),
        };
        let mut sets = gadgets.into_iter().map_while(|gadget| chain.set(t, gadget));
        sets.any(|set| self.layouts(chain, &set, matrix, vector))
    }

    /// Tries the layouts of the strategy; whether one will do.
    fn layouts(&mut self, chain: &Chain, set: &ParameterSet, matrix: &[u32], vector: &[u32]) -> bool {
        let choice = |layout| Choice {
            layout,
            parameters: set.clone(),
            matrix_parts: matrix.to_vec(),
            vector_parts: vector.to_vec(),
        };
        match self.strategy {
            Strategy::Algorithm1 => self.consider(choice(Layout::Algorithm1)),
            Strategy::RotateAndSum => self.consider(choice(Layout::RotateAndSum)),
            Strategy::Diagonal => self.consider(choice(Layout::Diagonal)),
            Strategy::RowPacked => self.row_packed(chain, choice),
        }
    }

    /// The coarsest digits that do, for the giant steps' keys whose errors are only added, then for the baby steps' keys
    /// whose errors the matrix multiplies; then the best number of baby steps.
    fn row_packed(&mut self, chain: &Chain, choice: impl Fn(Layout) -> Choice) -> bool {
        let n = chain.polynomial_size;
        let rows_per_plaintext = n / self.request.cols.next_power_of_two().min(n);
        let plaintexts = self.request.rows.min(n).div_ceil(rows_per_plaintext).next_power_of_two();
        let balanced = 1 << (plaintexts.trailing_zeros().div_ceil(2));
        let gadgets = chain.gadgets();
        for &baby_gadget in &gadgets {
            for &giant_gadget in &gadgets {
                let options = |baby_steps| RowPackedOptions { baby_steps, baby_gadget, giant_gadget };
                if !self.consider(choice(Layout::RowPacked(options(balanced)))) {
                    continue;
                }
                for log2 in 0..=plaintexts.trailing_zeros() {
                    self.consider(choice(Layout::RowPacked(options(1 << log2))));
                }
                return true;
            }
        }
        false
    }

    /// Whether a candidate will do; the fastest is kept.
    fn consider(&mut self, choice: Choice) -> bool {
        let Ok(algorithm) = choice.algorithm(self.request) else {
            return false;
        };
        let judgement = judge(self.request, &choice, &*algorithm);
        if !judgement.keeps(self.request) {
            if self.nearest.as_ref().is_none_or(|(_, nearest)| judgement.log2_failure < nearest.log2_failure) {
                self.nearest = Some((choice.parameters.name.clone(), judgement));
            }
            return false;
        }
        let time = product_us(&choice, &*algorithm);
        if self.best.as_ref().is_none_or(|best| time < best.time) {
            self.best = Some(Found { choice, algorithm, time });
        }
        true
    }
}
