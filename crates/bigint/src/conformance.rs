//! The checks that every [`ModExpEngine`] must pass: equal to the plain definitions, bit for bit.
//!
//! Another crate calls [`check`] from a test of its engine, with the feature `conformance` of this crate in its
//! `dev-dependencies`.
//!
//! # Example
//! ```
//! use ciphermill_bigint::CpuEngine;
//! use ciphermill_bigint::conformance::{Extent, check};
//!
//! check(&CpuEngine::current(), &Extent { bits: vec![256, 512], powers: 1, ..Extent::default() });
//! ```

use num_bigint::BigUint;

use crate::{
    BaseHandle, BigIntError, EngineError, EngineModulus, Exponents, IntegerBatch, Job, MAX_ENTRY_RATIO, ModExpEngine,
    Output, PreparedBase, PreparedModulus, WeightMatrix, limbs,
    reference::{self, big},
};

/// The amount of work.
#[derive(Clone, Debug)]
pub struct Extent {
    /// Bits of the moduli. Even halves of at least 256 bits are also used as n of a modulus n².
    pub bits: Vec<u32>,
    /// Exponentiations of full width for each modulus.
    pub powers: usize,
    /// Lengths of the batches that are multiplied.
    pub lengths: Vec<usize>,
    /// Bits of the longest modulus that the engine supports, if the arithmetic supports longer ones.
    pub limit: Option<u32>,
    /// Names of the [jobs](Job::name) that the engine does not implement. It must refuse these, and no others, with
    /// [`EngineError::Unsupported`].
    pub unsupported: &'static [&'static str],
}

impl Default for Extent {
    /// Moduli of 256 to 2048 bits, batches around the widths of SIMD groups.
    fn default() -> Self {
        Self {
            bits: vec![256, 512, 1000, 1024, 2048],
            powers: 9,
            lengths: vec![1, 2, 3, 8, 9, 17],
            limit: None,
            unsupported: &[],
        }
    }
}

/// Runs all checks.
///
/// # Panics
/// At the first difference from the definitions, with the engine's name and the sizes.
pub fn check(engine: &dyn ModExpEngine, extent: &Extent) {
    let mut numbers = Numbers(0x0123_4567_89ab_cdef);
    for &bits in &extent.bits {
        for square in [false, true] {
            if square && (bits < 512 || !bits.is_multiple_of(128)) {
                continue;
            }
            let root = numbers.odd(if square { bits / 2 } else { bits });
            let uint = limbs::to_uint(&root);
            let modulus = if square { EngineModulus::SquareOf(&uint) } else { EngineModulus::Value(&uint) };
            let n = if square { big(&root).pow(2) } else { big(&root) };
            let prepared =
                engine.prepare(modulus).unwrap_or_else(|error| panic!("{}: {bits} bits: {error}", engine.info()));
            let what = format!("{}, {bits} bits{}", engine.info(), if square { ", a square" } else { "" });
            // The limbs of a square follow from those of its root.
            let width = if square { 2 * root.len() } else { root.len() };
            assert!((n.bits().div_ceil(64) as usize..=width).contains(&prepared.limbs()), "{what}: limbs of a result");
            let subject = Subject { prepared: &*prepared, n, what, unsupported: extent.unsupported };
            subject.products(&mut numbers, extent);
            subject.powers(&mut numbers, extent);
            subject.fixed_bases(&mut numbers, extent);
            subject.products_of_powers(&mut numbers);
            subject.several_jobs(&mut numbers);
            subject.refusals(&mut numbers);
            subject.two_moduli(engine, &mut numbers);
        }
    }
    foreign_bases(engine, &mut numbers, extent);
    refused_moduli(engine, &mut numbers, extent);
}

/// One prepared modulus.
struct Subject<'a> {
    prepared: &'a dyn PreparedModulus,
    n: BigUint,
    what: String,
    unsupported: &'static [&'static str],
}

impl Subject<'_> {
    /// The outcome of a job that the engine implements; `None` if it refuses one that it does not implement.
    fn supported<T>(&self, job: &str, outcome: Result<T, EngineError>) -> Option<Result<T, EngineError>> {
        supported(self.unsupported, job, outcome, &self.what)
    }

    fn bits(&self) -> u32 {
        self.n.bits() as u32
    }

    fn equal(&self, ours: Result<IntegerBatch, EngineError>, expected: &[BigUint], job: &str) {
        let ours = ours.unwrap_or_else(|error| panic!("{}, {job}: {error}", self.what));
        assert_eq!(ours.limbs(), self.prepared.limbs(), "{}, {job}: limbs", self.what);
        let ours: Vec<_> = ours.rows().map(big).collect();
        assert_eq!(ours, expected, "{}, {job}", self.what);
    }

    /// All lengths, one operand for many, operands at and above the modulus.
    fn products(&self, numbers: &mut Numbers, extent: &Extent) {
        let multiply = |a: &BigUint, b: &BigUint| reference::multiply(a, b, &self.n);
        for &len in &extent.lengths {
            let (a, b) = (numbers.batch(len, self.bits()), numbers.batch(len, self.bits()));
            let expected: Vec<_> = a.rows().zip(b.rows()).map(|(a, b)| multiply(&big(a), &big(b))).collect();
            self.equal(self.prepared.multiply(&a, &b), &expected, "multiply");
            let one = big(b.row(0));
            let expected: Vec<_> = a.rows().map(|a| multiply(&big(a), &one)).collect();
            self.equal(self.prepared.multiply(&a, &b.slice(0..1)), &expected, "multiply, one factor on the right");
            self.equal(self.prepared.multiply(&b.slice(0..1), &a), &expected, "multiply, one factor on the left");
        }
        let n = &self.n;
        let edges = [0u32.into(), 1u32.into(), n - 1u32, n.clone(), n + 1u32, (n << 1u32) - 1u32];
        let width = self.prepared.limbs() + 1;
        let batch = of(&edges, width);
        let expected: Vec<_> = edges.iter().map(|x| multiply(x, x)).collect();
        self.equal(self.prepared.multiply(&batch, &batch), &expected, "multiply at the edges");
        // A value as wide as a square and more enters reduced.
        let root_limbs = self.bits().div_ceil(128) as usize;
        let wide = numbers.batch(1, (MAX_ENTRY_RATIO * root_limbs * 64) as u32);
        let expected = [multiply(&big(wide.row(0)), &1u32.into())];
        self.equal(self.prepared.multiply(&wide, &IntegerBatch::from_u64s(&[1])), &expected, "multiply a wide value");
    }

    /// Full and short exponents, 0 and 1 among them; one base for many and one exponent for many.
    fn powers(&self, numbers: &mut Numbers, extent: &Extent) {
        let pow = |base: &[u64], exponent: &[u64]| reference::pow(&big(base), &big(exponent), &self.n);
        for (len, bits) in [(extent.powers, self.bits()), (3, 1), (3, 70)] {
            let bases = numbers.batch(len, self.bits());
            let mut rows = numbers.batch(len, bits);
            if bits > 1 && len > 2 {
                rows.row_mut(0).fill(0);
                rows.row_mut(1).fill(0);
                rows.row_mut(1)[0] = 1;
            }
            let each = Exponents::each(rows.clone(), bits).expect("as wide as declared");
            let expected: Vec<_> = bases.rows().zip(rows.rows()).map(|(b, e)| pow(b, e)).collect();
            self.equal(self.prepared.pow(&bases, &each), &expected, "pow");
            if bits < 128 {
                let expected: Vec<_> = rows.rows().map(|e| pow(bases.row(0), e)).collect();
                self.equal(self.prepared.pow(&bases.slice(0..1), &each), &expected, "pow of one base");
                let shared = Exponents::shared(&rows.uint(2), bits).expect("as wide as declared");
                let expected: Vec<_> = bases.rows().map(|b| pow(b, rows.row(2))).collect();
                self.equal(self.prepared.pow(&bases, &shared), &expected, "pow with one exponent");
                let zero = IntegerBatch::zeros(1, self.prepared.limbs());
                let expected = [pow(zero.row(0), rows.row(2))];
                self.equal(self.prepared.pow(&zero, &shared), &expected, "pow of 0");
            } else {
                // The exponent of strict blinding is shared and has full width.
                let shared = Exponents::shared(&rows.uint(len - 1), bits).expect("as wide as declared");
                let expected = [pow(bases.row(0), rows.row(len - 1))];
                self.equal(self.prepared.pow(&bases.slice(0..1), &shared), &expected, "pow with one wide exponent");
            }
        }
        let zero = Exponents::each(IntegerBatch::from_u64s(&[0, 0]), 0).expect("no bits");
        self.equal(self.prepared.pow(&numbers.batch(2, self.bits()), &zero), &vec![1u32.into(); 2], "pow with 0 bits");
    }

    fn fixed_bases(&self, numbers: &mut Numbers, extent: &Extent) {
        // The last width is that of the blinding with a fixed base.
        for bits in [1, 64, 130, self.bits() / 2] {
            let base = numbers.batch(1, self.bits());
            let Some(handle) = self.supported("prepare_base", self.prepared.prepare_base(&base, bits)) else { return };
            let handle = handle.unwrap_or_else(|error| panic!("{}, prepare_base: {error}", self.what));
            let exponents = numbers.batch(if bits > 130 { 1 } else { extent.powers.max(2) }, bits);
            let expected: Vec<_> =
                exponents.rows().map(|e| reference::pow(&big(base.row(0)), &big(e), &self.n)).collect();
            self.equal(self.prepared.pow_fixed(&handle, &exponents), &expected, "fixed_base_pow");
            assert!(handle.memory_bytes() > 0, "{}: a prepared base occupies memory", self.what);
            let wide = of(&[BigUint::from(1u32) << bits], bits as usize / 64 + 1);
            let refused = self.prepared.pow_fixed(&handle, &wide);
            assert!(
                matches!(refused, Err(EngineError::Operands(BigIntError::ExponentBits { index: 0, bits: b })) if b == bits),
                "{}: an exponent beyond the prepared width: {refused:?}",
                self.what
            );
        }
    }

    /// Weights of both signs, zero among them.
    fn products_of_powers(&self, numbers: &mut Numbers) {
        // Units: each is drawn until it has an inverse.
        let mut bases = numbers.batch(3, self.bits());
        for i in 0..3 {
            while big(bases.row(i)).modinv(&self.n).is_none() {
                let again = numbers.batch(1, self.bits());
                bases.row_mut(i).copy_from_slice(again.row(0));
            }
        }
        let wide = i128::from(u64::MAX);
        let rows: [[i128; 3]; 5] =
            [[1, 0, 5], [-3, 2, 0], [i128::from(u32::MAX), -1, -7], [0, 0, 0], [wide, -wide, 1 << 63]];
        let weights = WeightMatrix::new(3, rows.concat()).expect("three columns");
        let Some(output) = self.supported("multi_pow", self.prepared.multi_pow(&bases, &weights)) else { return };
        let power = |base: &BigUint, weight: i128| {
            let power = reference::pow(base, &weight.unsigned_abs().into(), &self.n);
            if weight < 0 { power.modinv(&self.n).expect("a unit") } else { power }
        };
        let product = |row: &[i128; 3]| {
            let one = BigUint::from(1u32);
            bases.rows().zip(row).fold(one, |p, (b, &w)| reference::multiply(&p, &power(&big(b), w), &self.n))
        };
        self.equal(output, &rows.iter().map(product).collect::<Vec<_>>(), "multi_pow");
        let refused = self.prepared.multi_pow(&bases.slice(0..2), &weights);
        assert!(
            matches!(refused, Err(EngineError::Operands(BigIntError::Length { .. }))),
            "{}: 2 bases and 3 columns: {refused:?}",
            self.what
        );
        let zeros = IntegerBatch::zeros(3, self.prepared.limbs());
        let refused = self.prepared.multi_pow(&zeros, &weights);
        assert!(
            matches!(refused, Err(EngineError::Operands(BigIntError::NotInvertible { .. }))),
            "{}: the inverse of 0: {refused:?}",
            self.what
        );
    }

    /// Another prepared modulus of the same engine does not take the place of the first one; a bad job among good ones
    /// leaves no output.
    fn two_moduli(&self, engine: &dyn ModExpEngine, numbers: &mut Numbers) {
        let root = numbers.odd(256);
        let other = engine.prepare(EngineModulus::Value(&limbs::to_uint(&root)));
        let other = other.unwrap_or_else(|error| panic!("{}: 256 bits: {error}", self.what));
        let (a, b) = (numbers.batch(2, 250), numbers.batch(2, 250));
        let products = |n: &BigUint| -> Vec<BigUint> {
            a.rows().zip(b.rows()).map(|(a, b)| reference::multiply(&big(a), &big(b), n)).collect()
        };
        for _ in 0..2 {
            self.equal(self.prepared.multiply(&a, &b), &products(&self.n), "multiply, one of two moduli");
            let theirs = other.multiply(&a, &b).unwrap_or_else(|error| panic!("{}: {error}", self.what));
            let theirs: Vec<_> = theirs.rows().map(big).collect();
            assert_eq!(theirs, products(&big(&root)), "{}: the other of two moduli", self.what);
        }
        let short = numbers.batch(3, 250);
        let outcome = self.prepared.run(&[Job::Multiply { a: &a, b: &b }, Job::Multiply { a: &a, b: &short }]);
        assert!(outcome.is_err(), "{}: a bad job among good ones", self.what);
    }

    /// Outputs come in the order of the jobs; no job gives none.
    fn several_jobs(&self, numbers: &mut Numbers) {
        let (a, b) = (numbers.batch(2, self.bits()), numbers.batch(2, self.bits()));
        let three = Exponents::shared(&limbs::to_uint(&[3]), 2).expect("two bits");
        let jobs =
            [Job::Multiply { a: &a, b: &b }, Job::Pow { bases: &a, exponents: &three }, Job::Multiply { a: &b, b: &b }];
        let outputs = self.prepared.run(&jobs).unwrap_or_else(|error| panic!("{}: {error}", self.what));
        assert_eq!(outputs.len(), jobs.len(), "{}: one output per job", self.what);
        let (a, b): (Vec<_>, Vec<_>) = (a.rows().map(big).collect(), b.rows().map(big).collect());
        let each = |f: &dyn Fn(usize) -> BigUint| (0..2).map(f).collect::<Vec<_>>();
        let multiply = |x: &BigUint, y: &BigUint| reference::multiply(x, y, &self.n);
        let expected = [
            each(&|i| multiply(&a[i], &b[i])),
            each(&|i| multiply(&multiply(&a[i], &a[i]), &a[i])),
            each(&|i| multiply(&b[i], &b[i])),
        ];
        for (output, expected) in outputs.into_iter().zip(&expected) {
            self.equal(Output::into_integers(output), expected, "one of several jobs");
        }
        assert!(self.prepared.run(&[]).expect("no job").is_empty(), "{}: no job, no output", self.what);
    }

    fn refusals(&self, numbers: &mut Numbers) {
        let (two, three) = (numbers.batch(2, self.bits()), numbers.batch(3, self.bits()));
        let length = |given: &Result<IntegerBatch, EngineError>| {
            matches!(given, Err(EngineError::Operands(BigIntError::Length { .. })))
        };
        assert!(length(&self.prepared.multiply(&two, &three)), "{}: 2 factors and 3", self.what);
        let exponents = Exponents::each(IntegerBatch::from_u64s(&[1, 2, 3]), 2).expect("two bits");
        assert!(length(&self.prepared.pow(&two, &exponents)), "{}: 2 bases and 3 exponents", self.what);
        let wide = IntegerBatch::zeros(1, MAX_ENTRY_RATIO * self.prepared.limbs() + 1);
        let refused = self.prepared.multiply(&wide, &wide);
        assert!(
            matches!(refused, Err(EngineError::Operands(BigIntError::TooWide { .. }))),
            "{}: a wide value",
            self.what
        );
        if let Some(refused) = self.supported("prepare_base", self.prepared.prepare_base(&two, 8)) {
            let refused = refused.map(drop);
            assert!(
                matches!(refused, Err(EngineError::Operands(BigIntError::Length { left: 2, right: 1 }))),
                "{}: two bases at once",
                self.what
            );
        }
    }
}

/// Another engine's prepared base.
struct Foreign;

impl PreparedBase for Foreign {
    fn memory_bytes(&self) -> u64 {
        1
    }
}

/// A base of another engine, and one of another modulus of the same engine.
fn foreign_bases(engine: &dyn ModExpEngine, numbers: &mut Numbers, extent: &Extent) {
    let Some(&bits) = extent.bits.first() else { return };
    let mut prepare = || {
        let n = limbs::to_uint(&numbers.odd(bits));
        engine.prepare(EngineModulus::Value(&n)).expect("a modulus that was prepared before")
    };
    let (first, second) = (prepare(), prepare());
    let exponent = IntegerBatch::from_u64s(&[1]);
    let what = engine.info().to_string();
    let base = first.prepare_base(&IntegerBatch::from_u64s(&[3]), 8);
    let mut handles = vec![BaseHandle::new(Foreign)];
    let base = supported(extent.unsupported, "prepare_base", base, &what);
    handles.extend(base.map(|base| base.unwrap_or_else(|error| panic!("{what}, prepare_base: {error}"))));
    for handle in handles {
        let refused = second.pow_fixed(&handle, &exponent);
        if let Some(refused) = supported(extent.unsupported, "fixed_base_pow", refused, &what) {
            assert!(matches!(refused, Err(EngineError::ForeignBase)), "{what}: a foreign base gives {refused:?}");
        }
    }
}

fn refused_moduli(engine: &dyn ModExpEngine, numbers: &mut Numbers, extent: &Extent) {
    let Some(&bits) = extent.bits.first() else { return };
    let mut even = numbers.odd(bits);
    even[0] ^= 1;
    let refused = engine.prepare(EngineModulus::Value(&limbs::to_uint(&even))).map(|_| ());
    assert!(
        matches!(refused, Err(EngineError::Operands(BigIntError::EvenModulus))),
        "{}: an even modulus: {refused:?}",
        engine.info()
    );
    let Some(limit) = extent.limit else { return };
    let long = limbs::to_uint(&numbers.odd(limit + 1));
    let half = limbs::to_uint(&numbers.odd(limit / 2 + 64));
    for modulus in [EngineModulus::Value(&long), EngineModulus::SquareOf(&half)] {
        // Roots below 256 bits are refused for their own size.
        if limit < 512 && matches!(modulus, EngineModulus::SquareOf(_)) {
            continue;
        }
        let refused = engine.prepare(modulus).map(|_| ());
        assert!(
            matches!(refused, Err(EngineError::ModulusBits { max, .. }) if max == limit),
            "{}: a long modulus: {refused:?}",
            engine.info()
        );
    }
}

/// The outcome of a job that the engine implements; `None` for a declared refusal.
fn supported<T>(
    unsupported: &[&str],
    job: &str,
    outcome: Result<T, EngineError>,
    what: &str,
) -> Option<Result<T, EngineError>> {
    let refused = matches!(outcome, Err(EngineError::Unsupported { .. }));
    assert_eq!(refused, unsupported.contains(&job), "{what}: support of {job} differs from the declaration");
    (!refused).then_some(outcome)
}

/// Numbers at a width.
fn of(values: &[BigUint], limbs: usize) -> IntegerBatch {
    IntegerBatch::from_biguints(values, limbs).expect("numbers of this width")
}

/// SplitMix64, as published by S. Vigna.
struct Numbers(u64);

impl Numbers {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Numbers of up to `bits` bits; one in four has long runs of equal bits, where carries go far.
    fn batch(&mut self, len: usize, bits: u32) -> IntegerBatch {
        let mut out = IntegerBatch::zeros(len, limbs::limbs_for(bits));
        let excess = out.limbs() as u32 * 64 - bits;
        for i in 0..len {
            let runs = self.word().is_multiple_of(4);
            for limb in out.row_mut(i) {
                *limb = match (runs, self.word()) {
                    (true, word) if word % 3 == 0 => 0,
                    (true, word) if word % 3 == 1 => u64::MAX,
                    (_, word) => word,
                };
            }
            if let Some(top) = out.row_mut(i).last_mut() {
                *top >>= excess;
            }
        }
        out
    }

    /// An odd number of exactly `bits` bits.
    fn odd(&mut self, bits: u32) -> Vec<u64> {
        let mut n = self.batch(1, bits).row(0).to_vec();
        n[0] |= 1;
        n[(bits as usize - 1) / 64] |= 1 << ((bits - 1) % 64);
        n
    }
}
