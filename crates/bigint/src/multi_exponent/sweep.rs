//! Buckets without buckets: the bases of a window, sorted by digit, are multiplied to s from the greatest digit on, and s to t
//! whenever the digit goes down by 1. A base of digit d is then in d of the factors of t: t is the product of the bases to
//! their digits. That takes a product for each base and one for each digit up to the greatest (Pippenger's buckets with the
//! collection of buckets and their running products made one).

use super::super::work::Accumulator;
use super::chains::Singles;
use super::{OddModulus, Residues, Scratch, Wiped};

/// A step: the single that is multiplied to s, or [`FOLD`].
type Step = u32;

/// s is multiplied to t.
const FOLD: Step = Step::MAX;

/// The steps for `width` bits from `low` on of a row of weights, whose bases start at `first`. Empty if all are 0.
pub(super) fn program(weights: &[u64], low: u32, width: u32, first: u32) -> Vec<Step> {
    let mask = u64::MAX >> (u64::BITS - width);
    let mut digits: Vec<(u64, u32)> = (weights.iter().enumerate())
        .map(|(column, &weight)| (weight >> low & mask, first + column as u32))
        .filter(|&(digit, _)| digit > 0)
        .collect();
    digits.sort_unstable_by(|a, b| b.cmp(a));
    let mut steps = Vec::with_capacity(digits.len() + digits.first().map_or(0, |d| d.0 as usize));
    for (i, &(digit, single)) in digits.iter().enumerate() {
        steps.push(single);
        let next = digits.get(i + 1).map_or(0, |next| next.0);
        steps.extend((next..digit).map(|_| FOLD));
    }
    steps
}

/// What t becomes for each program.
pub(super) fn run_programs(modulus: &OddModulus, singles: &Singles<'_>, programs: &[Vec<Step>]) -> Residues {
    if modulus.kernel().lanes() == 1 {
        run_one_by_one(modulus, singles, programs)
    } else {
        run_side_by_side(modulus, singles, programs)
    }
}

fn run_one_by_one(modulus: &OddModulus, singles: &Singles<'_>, programs: &[Vec<Step>]) -> Residues {
    let kernel = modulus.kernel();
    let mut out = modulus.one(programs.len());
    let mut scratch = Scratch::new(kernel);
    let (mut s, mut t) = (Accumulator::new(kernel), Accumulator::new(kernel));
    for (out, program) in out.groups_mut().zip(programs) {
        let (mut factors, mut folds) = (0, 0);
        for &step in program {
            match (step, factors, folds) {
                (FOLD, _, 0) => t.set().copy_from_slice(s.get()),
                (FOLD, ..) => t.multiply(kernel, s.get(), &mut scratch.0),
                (single, 0, _) => s.set().copy_from_slice(singles.entry(single)),
                (single, ..) => s.multiply(kernel, singles.entry(single), &mut scratch.0),
            }
            *(if step == FOLD { &mut folds } else { &mut factors }) += 1;
        }
        if folds > 0 {
            out.copy_from_slice(t.get());
        }
    }
    out
}

/// A program per lane. Lanes multiply at the same time, some to s and some to t.
fn run_side_by_side(modulus: &OddModulus, singles: &Singles<'_>, programs: &[Vec<Step>]) -> Residues {
    let kernel = modulus.kernel();
    let (lanes, words) = (kernel.lanes(), kernel.group_words());
    let mut out = modulus.one(programs.len());
    let mut scratch = Scratch::new(kernel);
    // t, s and a third group: first what singles are multiplied, then the products.
    let (mut state, mut next) = (Wiped::zeroed(3 * words), Wiped::zeroed(3 * words));
    let (mut left, mut right) = (Wiped::zeroed(words), Wiped::zeroed(words));
    let (mut index, mut choice) = (vec![0; lanes], vec![0; lanes]);
    for (out, programs) in out.groups_mut().zip(programs.chunks(lanes)) {
        kernel.one(&mut state[..words]);
        kernel.one(&mut state[words..2 * words]);
        let steps = programs.iter().map(Vec::len).max().unwrap_or(0);
        for step in 0..steps {
            let step = |lane: usize| programs.get(lane).and_then(|p| p.get(step)).copied().unwrap_or(Singles::ONE);
            let folds = (0..lanes).filter(|&lane| step(lane) == FOLD).count();
            if folds < lanes {
                for (lane, index) in index.iter_mut().enumerate() {
                    *index = u64::from(if step(lane) == FOLD { Singles::ONE } else { step(lane) });
                }
                kernel.select_single_public(&mut state[2 * words..], &singles.words, &index);
            }
            let mut choose = |out: &mut [u64], from: &[u64], fold: u64, other: u64| {
                for (lane, choice) in choice.iter_mut().enumerate() {
                    *choice = if step(lane) == FOLD { fold } else { other };
                }
                // Of two or three groups reading all is faster than looking one up for each lane.
                kernel.select(out, from, &choice);
            };
            if folds == 0 || folds == lanes {
                // All to s from the third, or all to t from s.
                let to = if folds == 0 { words } else { 0 };
                kernel.multiply(&mut left, &state[to..to + words], &state[to + words..][..words], &mut scratch.0);
                state[to..to + words].copy_from_slice(&left);
                continue;
            }
            choose(&mut left, &state[..2 * words], 0, 1);
            choose(&mut right, &state[words..], 0, 1);
            kernel.multiply(&mut state[2 * words..], &left, &right, &mut scratch.0);
            choose(&mut next[..words], &state, 2, 0);
            choose(&mut next[words..2 * words], &state, 1, 2);
            std::mem::swap(&mut state, &mut next);
        }
        out.copy_from_slice(&state[..words]);
    }
    out
}
