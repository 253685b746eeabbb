//! The sample of a program: additions, products with integers, and key switches against `ciphermill_tfhe::keyswitch`, one of them
//! with all rows of the paper's key.

mod support;

use ciphermill_cosim::Configuration;
use ciphermill_cosim::record::{self, Cycles};
use ciphermill_cosim::units::{TfheVector, WordOp};
use ciphermill_tfhe::dimension::{Decomposition, LweDimension};
use ciphermill_tfhe::keyswitch::{KeyswitchShape, LweKeyswitchKey};
use ciphermill_tfhe::lwe::LweCiphertext;
use support::{Source, counted, with_seeds};

/// Dimensions around the borders of words and beats, and the paper's.
const DIMENSIONS: [usize; 10] = [1, 8, 15, 16, 127, 128, 255, 800, 860, 1023];

fn sample(source: &mut Source, dimension: usize) -> Vec<u32> {
    (0..=dimension).map(|_| source.any() as u32).collect()
}

fn each(test: impl Fn(&'static Configuration)) {
    support::each("tfhe_vector", test);
}

#[test]
fn sums_and_products_are_those_of_the_elements() {
    each(|configuration| {
        with_seeds(|source| {
            for dimension in DIMENSIONS {
                let mut unit = TfheVector::new(configuration, source.any() as u32, dimension);
                let [x, y] = [(); 2].map(|()| sample(source, dimension));
                let by_element =
                    |f: fn(u32, u32) -> u32| -> Vec<u32> { x.iter().zip(&y).map(|(&x, &y)| f(x, y)).collect() };
                for (op, expected) in [
                    (WordOp::Add, by_element(u32::wrapping_add)),
                    (WordOp::Subtract, by_element(u32::wrapping_sub)),
                    (WordOp::Load, y.clone()),
                    (WordOp::Multiplicand, x.clone()),
                ] {
                    unit.give(WordOp::Load, &x);
                    unit.give(op, &y);
                    assert_eq!(unit.words(), expected, "{configuration}: n = {dimension}, {op:?}");
                    for index in [0, dimension / 2, dimension] {
                        assert_eq!(unit.element(index), expected[index], "{configuration}: element {index}");
                    }
                }
                for value in [0, 1, 2, 7, 8, u32::MAX, 1 << 31, source.any() as u32] {
                    unit.give(WordOp::Multiplicand, &x);
                    assert_eq!(unit.scale(value), 11 * 8 + 4, "{configuration}: cycles of a product");
                    let expected: Vec<u32> = x.iter().map(|&x| x.wrapping_mul(value)).collect();
                    assert_eq!(unit.words(), expected, "{configuration}: n = {dimension}, times {value}");
                }
            }
        });
    });
}

struct Case {
    key: LweKeyswitchKey,
    input: LweCiphertext<u64>,
    gadget: (u32, usize),
}

impl Case {
    fn random(source: &mut Source, input: usize, output: usize, gadget: (u32, usize)) -> Self {
        let shape = KeyswitchShape {
            input_dimension: LweDimension(input),
            output_dimension: LweDimension(output),
            decomposition: Decomposition::new(gadget.0 as usize, gadget.1),
        };
        let elements: Vec<u32> = (0..shape.len()).map(|_| source.any() as u32).collect();
        let corners = [0, 1, u64::MAX, 1 << 63, (1 << 63) - 1, 1 << 42, (1 << 42) - 1];
        let element = |source: &mut Source| match source.below(16) as usize {
            i if i < corners.len() => corners[i],
            _ => source.any(),
        };
        let input = LweCiphertext::from_elements((0..=input).map(|_| element(source)).collect());
        Self { key: LweKeyswitchKey::from_elements(&elements, shape).expect("a key of its shape"), input, gadget }
    }

    fn run(
        &self,
        unit: &mut TfheVector,
        coefficients: impl FnMut() -> bool,
        beats: impl FnMut() -> bool,
        limit: u64,
    ) -> u64 {
        // Rounded to 32 bits.
        let body = (self.input.body().wrapping_add(1 << 31) >> 32) as u32;
        unit.switch(self.gadget, (self.input.mask(), body), self.key.elements(), coefficients, beats, limit)
    }

    /// Beats of the key.
    fn beats(&self) -> u64 {
        (self.input.mask().len()
            * self.gadget.1
            * self.key.shape().output_dimension.lwe_size().div_ceil(TfheVector::LANES)) as u64
    }

    /// Cycles after which a unit has failed, also if coefficients and beats come late.
    fn limit(&self) -> u64 {
        64 * self.beats() + 1000
    }

    fn expected(&self) -> Vec<u32> {
        self.key.switch(&self.input).expect("a sample of the key's dimension").elements().to_vec()
    }
}

#[test]
fn key_switches_are_the_library_s_whatever_waits() {
    each(|configuration| {
        with_seeds(|source| {
            for dimension in DIMENSIONS {
                for gadget in [(3, 7), (1, 15), (4, 1), (4, 15), (2, 8)] {
                    let case = Case::random(source, 5, dimension, gadget);
                    let mut unit = TfheVector::new(configuration, source.any() as u32, dimension);
                    // The earlier sample must not count.
                    unit.give(WordOp::Load, &sample(source, dimension));
                    case.run(&mut unit, || true, || true, case.limit());
                    assert!(unit.words() == case.expected(), "{configuration}: n = {dimension}, {gadget:?}");
                    let coins: Vec<_> = (0..997).map(|_| (source.chance(1, 9), source.chance(2, 3))).collect();
                    let (mut first, mut second) = (coins.iter().cycle(), coins.iter().rev().cycle());
                    case.run(
                        &mut unit,
                        || first.next().is_some_and(|coin| coin.0),
                        || second.next().is_some_and(|coin| coin.1),
                        case.limit(),
                    );
                    assert!(unit.words() == case.expected(), "{configuration}: n = {dimension}, {gadget:?}, waits");
                }
            }
        });
    });
}

/// 16384·7 rows of 801 elements: one beat of the key in each cycle.
#[test]
fn a_key_switch_of_the_paper_takes_a_beat_in_each_cycle() {
    each(|configuration| {
        with_seeds(|source| {
            let case = Case::random(source, 16384, 800, (3, 7));
            let mut unit = TfheVector::new(configuration, source.any() as u32, 800);
            let bound = 16384 * 7 * 7;
            assert_eq!(case.beats(), bound);
            let cycles = case.run(&mut unit, || true, || true, 2 * bound);
            assert!(unit.words() == case.expected(), "{configuration}");
            assert_eq!(cycles, bound + 5, "{configuration}: cycles");
            counted(configuration, 1, "key switches");
            record::cycles(configuration, Cycles { cycles, latency: cycles, bound });
        });
    });
}

#[test]
fn reset_and_clear_in_mid_operation_leave_nothing_behind() {
    each(|configuration| {
        with_seeds(|source| {
            for round in 0..6 {
                let case = Case::random(source, 40, 200, (3, 7));
                let mut unit = TfheVector::new(configuration, source.any() as u32, 200);
                case.run(&mut unit, || true, || true, 1 + source.below(300));
                assert!(unit.is_busy(), "{configuration}: in mid operation");
                if round % 2 == 0 {
                    unit.clear();
                } else {
                    unit.reset();
                }
                assert!(!unit.is_busy(), "{configuration}: nothing is under way");
                assert_eq!(unit.words(), vec![0; 201], "{configuration}: an empty sample");
                case.run(&mut unit, || true, || true, case.limit());
                assert!(unit.words() == case.expected(), "{configuration}: round {round}");
            }
        });
    });
}
