//! The compiler's statements about sizes and numbers that do not fit are exact: suggested values compile, and no others
//! do.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::{Arc, Mutex};

use ciphermill_arch::array::{CIPHERMILL, LANE, Machine, PAPER};
use ciphermill_math::Modulus;
use ciphermill_rvfhe::compiler::{CompileError, Direction, Fitting, Ring, Target, Task, Transform, compile};

/// 2^31 − 2^27 + 1 has roots of unity of order 2^27.
const MODULUS: u64 = 2_013_265_921;

/// The logarithms of the possible sizes for sixteen cores of 32 lanes.
const SHAPE: RangeInclusive<u32> = 10..=16;

/// Polynomials by N and number.
type Polynomials = BTreeMap<(usize, u64), Arc<[u32]>>;

/// Values that are almost all different. They are computed once, because that takes longer than compiling.
fn polynomial(size: usize, number: u64) -> Arc<[u32]> {
    static MADE: Mutex<Polynomials> = Mutex::new(Polynomials::new());
    let value = |i: u64| ((i + (number << 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % MODULUS;
    let make = || (0..size as u64).map(|i| value(i) as u32).collect();
    MADE.lock().unwrap().entry((size, number)).or_insert_with(make).clone()
}

/// A task without its N.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Transform(Ring, Direction),
    Product(Ring),
    KeySwitch(u64),
}

impl Kind {
    fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for ring in [Ring::Cyclic, Ring::Negacyclic, Ring::Complex] {
            all.extend([Direction::Forward, Direction::Inverse].map(|direction| Self::Transform(ring, direction)));
        }
        all.extend([Ring::Cyclic, Ring::Negacyclic].map(Self::Product));
        all.extend((1..=16).map(Self::KeySwitch));
        all
    }

    fn task(self, log_size: u32) -> Task {
        let (polynomial_size, modulus) = (1 << log_size, Modulus::new(MODULUS).unwrap());
        // Larger sizes are refused before operands are looked at.
        let polynomial = |number| polynomial(if log_size > *SHAPE.end() { 0 } else { polynomial_size }, number);
        match self {
            Self::Transform(ring, direction) => {
                Task::Transform(Transform { polynomial_size, modulus, ring, direction })
            }
            Self::Product(ring) => Task::Product { polynomial_size, modulus, ring, operand: polynomial(0) },
            Self::KeySwitch(digits) => {
                let pair = |digit| [2 * digit, 2 * digit + 1].map(polynomial);
                Task::KeySwitch { polynomial_size, modulus, key: (0..digits).map(pair).collect() }
            }
        }
    }
}

/// A machine with the results of all requests to it.
struct Grid {
    target: Target,
    kind: Kind,
    /// The result of compiling, by the logarithm of N and the number in flight.
    made: HashMap<(u32, usize), Result<(), CompileError>>,
}

impl Grid {
    fn ask(&mut self, log_size: u32, in_flight: usize) -> Result<(), CompileError> {
        let (target, kind) = (&self.target, self.kind);
        let compiled = || compile(target, &kind.task(log_size), in_flight).map(drop);
        self.made.entry((log_size, in_flight)).or_insert_with(compiled).clone()
    }

    /// Every N that compiles.
    fn sizes(&mut self, in_flight: usize) -> Vec<usize> {
        SHAPE.filter(|log_size| self.ask(*log_size, in_flight).is_ok()).map(|log_size| 1 << log_size).collect()
    }

    /// Checks every statement of an error.
    fn check(&mut self, log_size: u32, in_flight: usize, error: CompileError) {
        let what = format!("{:?}, 2^{log_size}, {in_flight} in flight: {error}", self.kind);
        let fitting = match error {
            CompileError::InFlight { given, max } => {
                assert_eq!(given, in_flight, "{what}");
                let fits: Vec<_> = (1..=2 * max).filter(|count| self.ask(log_size, *count).is_ok()).collect();
                assert_eq!(fits, Vec::from_iter(1..=max), "{what}");
                return;
            }
            CompileError::PolynomialSize { given, fitting } => {
                assert_eq!(given, 1 << log_size, "{what}");
                fitting
            }
            CompileError::Scratchpad { needed, have, fitting }
            | CompileError::DataRows { needed, have, fitting }
            | CompileError::TwiddleRows { needed, have, fitting }
            | CompileError::Instructions { needed, have, fitting } => {
                assert!(needed > have, "{what}");
                fitting
            }
            _ => panic!("{what}"),
        };
        let (with_as_many, with_one) = (self.sizes(in_flight), self.sizes(1));
        match fitting {
            Fitting::Sizes { in_flight: as_many, sizes } => {
                assert_eq!((as_many, &sizes), (in_flight, &with_as_many), "{what}");
                assert!(!sizes.is_empty(), "{what}");
            }
            Fitting::WithOne { in_flight: as_many, sizes } => {
                assert_eq!((as_many, &sizes), (in_flight, &with_one), "{what}");
                assert!(with_as_many.is_empty() && !sizes.is_empty(), "{what}");
            }
            Fitting::Nothing { .. } => assert!(with_as_many.is_empty() && with_one.is_empty(), "{what}"),
        }
    }
}

/// Every operation, ring, direction and number of digits; every N; up to eight in flight, and invalid numbers.
fn what_errors_say_is_so(text: &str) {
    let target = Machine::from_toml(text).unwrap().target();
    for kind in Kind::all() {
        let mut grid = Grid { target: target.clone(), kind, made: HashMap::new() };
        for log_size in 1..=18_u32 {
            // An N that does not fit sixteen cores of 32 lanes is refused before the count is checked: each with its own count.
            let outside = !SHAPE.contains(&log_size);
            for in_flight in (0..=8).filter(|count| !outside || log_size as usize % 9 == *count) {
                if let Err(error) = grid.ask(log_size, in_flight) {
                    grid.check(log_size, in_flight, error);
                }
            }
        }
    }
}

#[test]
fn what_errors_say_is_so_on_our_machine() {
    what_errors_say_is_so(CIPHERMILL);
}

#[test]
fn what_errors_say_is_so_on_the_papers_machine() {
    what_errors_say_is_so(PAPER);
}

#[test]
fn what_errors_say_is_so_on_cores_as_the_rtl_has_them() {
    what_errors_say_is_so(LANE);
}

/// The table of docs/rvfhe.md: the maximum number of digits of a key switch.
#[test]
fn the_page_says_how_many_digits_fit() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rvfhe.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, table) = page.split_once("| machine | N | 1 | 2 | 3 | 4 | 5 to 8 |\n").expect("a table");
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    let said: Vec<Vec<&str>> = rows.map(|line| line.split('|').map(str::trim).skip(1).take(7).collect()).collect();
    let mut wanted = Vec::new();
    for (names, texts) in [("`ciphermill`, `lane`", vec![CIPHERMILL, LANE]), ("`paper`", vec![PAPER])] {
        let most = |log_size: u32| {
            let most = texts.iter().map(|text| most_digits(&Machine::from_toml(text).unwrap().target(), log_size));
            let most: Vec<_> = most.collect();
            assert!(most.iter().all(|one| *one == most[0]), "{names}, 2^{log_size}");
            most[0]
        };
        for (row, (name, sizes)) in
            [("2^12", 12..=12), ("2^13", 13..=13), ("2^14 and up", 14..=*SHAPE.end())].into_iter().enumerate()
        {
            let most: Vec<_> = sizes.map(most).collect();
            assert!(most.iter().all(|one| *one == most[0]), "{names}, {name}");
            let most = most[0];
            assert!(most[4..].iter().all(|digits| *digits == most[4]), "{names}, {name}");
            let cells =
                most[..5].iter().map(|digits| if *digits == 0 { "none".to_owned() } else { digits.to_string() });
            let head = [if row == 0 { names } else { "" }, name].map(str::to_owned);
            wanted.push(Vec::from_iter(head.into_iter().chain(cells)));
        }
        assert!((*SHAPE.start()..12).all(|log_size| most(log_size) == [0; 8]), "{names}");
    }
    assert_eq!(said, wanted);
}

/// The maximum with one to eight in flight.
fn most_digits(target: &Target, log_size: u32) -> [u64; 8] {
    std::array::from_fn(|before| {
        let fits = |digits| compile(target, &Kind::KeySwitch(digits).task(log_size), before + 1).is_ok();
        let most = (1..=16).take_while(|digits| fits(*digits)).last().unwrap_or(0);
        // More digits take more rows of every memory: the next two stand for all, which the tests above look at.
        assert!((most + 1..=16).take(2).all(|digits| !fits(digits)));
        most
    })
}
