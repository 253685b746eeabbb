//! GMP, through gmpy2 in a process of its own, as an oracle.

use std::io::{BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use ciphermill_math::bigint::IntegerBatch;

/// The process.
pub struct Gmp {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Gmp {
    /// Starts it with the Python of `.venv`. Where that has no gmpy2, `None` after a line that says so, or, if
    /// `CIPHERMILL_REQUIRE_PYTHON` is set as `make test` does, a panic.
    pub fn start() -> Option<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let python = root.join(".venv/bin/python");
        let has_gmpy2 = Command::new(&python)
            .args(["-c", "import gmpy2"])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if !has_gmpy2 {
            assert!(
                std::env::var_os("CIPHERMILL_REQUIRE_PYTHON").is_none_or(|value| value.is_empty()),
                "{} has no gmpy2; scripts/setup.sh test installs it",
                python.display()
            );
            println!("skipped: comparison with GMP, as .venv has no gmpy2; `make setup` installs it");
            return None;
        }
        let script = root.join("crates/math/tests/bigint_support/gmp_oracle.py");
        let mut child = Command::new(python)
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Some(Self { child, input, output })
    }

    /// a·b mod n, row by row.
    pub fn multiply(&mut self, n: &[u64], a: &IntegerBatch, b: &IntegerBatch) -> IntegerBatch {
        self.ask(0, n, a, b)
    }

    /// Each base to its exponent modulo n.
    pub fn pow(&mut self, n: &[u64], bases: &IntegerBatch, exponents: &IntegerBatch) -> IntegerBatch {
        self.ask(1, n, bases, exponents)
    }

    fn ask(&mut self, operation: u32, n: &[u64], a: &IntegerBatch, b: &IntegerBatch) -> IntegerBatch {
        assert!(a.len() == b.len() && a.limbs() == n.len() && (operation == 1 || b.limbs() == n.len()));
        let mut request = Vec::new();
        for word in [operation, a.len() as u32, 8 * n.len() as u32, 8 * b.limbs() as u32] {
            request.extend(word.to_le_bytes());
        }
        let rows = a.rows().zip(b.rows()).flat_map(|(a, b)| a.iter().chain(b));
        request.extend(n.iter().chain(rows).flat_map(|word| word.to_le_bytes()));
        let input = self.input.as_mut().expect("still running");
        // The oracle reads a request whole before it answers.
        input.write_all(&request).and_then(|()| input.flush()).expect("the oracle reads");
        let mut answer = vec![0; a.len() * 8 * n.len()];
        self.output.read_exact(&mut answer).expect("the oracle answers");
        let words =
            answer.chunks_exact(8).map(|bytes| u64::from_le_bytes(bytes.try_into().expect("8 bytes"))).collect();
        IntegerBatch::from_words(n.len(), words)
    }
}

impl Drop for Gmp {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// SplitMix64, as published by S. Vigna.
pub struct Numbers(pub u64);

impl Numbers {
    /// The next word.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// An odd number of exactly `bits` bits.
    pub fn modulus(&mut self, bits: u32) -> Vec<u64> {
        let mut n = self.below(bits);
        n[0] |= 1;
        n[(bits as usize - 1) / 64] |= 1 << ((bits - 1) % 64);
        n
    }

    /// A number of up to `bits` bits; one in eight has long runs of equal bits, where carries go far.
    pub fn below(&mut self, bits: u32) -> Vec<u64> {
        let runs = self.word() % 8 == 0;
        let mut n: Vec<u64> = (0..bits.div_ceil(64))
            .map(|_| match (runs, self.word()) {
                (true, word) if word % 3 == 0 => 0,
                (true, word) if word % 3 == 1 => u64::MAX,
                (_, word) => word,
            })
            .collect();
        if let (rest @ 1..=63, Some(top)) = (bits % 64, n.last_mut()) {
            *top &= (1 << rest) - 1;
        }
        n
    }

    /// `count` numbers of up to `bits` bits.
    pub fn batch(&mut self, count: usize, bits: u32) -> IntegerBatch {
        let words = (0..count).flat_map(|_| self.below(bits)).collect();
        IntegerBatch::from_words(bits.div_ceil(64) as usize, words)
    }
}

/// What one comparison with GMP is about.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Bits of the modulus.
    pub bits: u32,
    /// Modulo the square of a number of half the bits.
    pub square: bool,
    /// Products per modulus.
    pub products: usize,
    /// Exponentiations with exponents as long as the modulus.
    pub powers: usize,
}

/// Compares one sample on one path with GMP.
///
/// # Panics
/// At the first difference.
pub fn compare(gmp: &mut Gmp, numbers: &mut Numbers, path: ciphermill_math::bigint::Path, sample: Sample) {
    use ciphermill_math::bigint::{Exponents, OddModulus, limbs};
    let Sample { bits, square, products, powers } = sample;
    let ring = if square {
        OddModulus::square_of(&limbs::to_uint(&numbers.modulus(bits / 2)), path)
    } else {
        OddModulus::new(&limbs::to_uint(&numbers.modulus(bits)), path)
    }
    .expect("a modulus of this size is supported");
    let bits = 64 * ring.limbs() as u32;
    let (a, b) = (numbers.batch(products, bits), numbers.batch(products, bits));
    let (x, y) = (ring.enter(&a).expect("as wide as the modulus"), ring.enter(&b).expect("as wide as the modulus"));
    let ours = ring.leave(&ring.multiply(&x, &y).expect("equal lengths"));
    assert!(ours == gmp.multiply(ring.value(), &a, &b), "products differ: {path}, {sample:?}");
    // A square is another kernel.
    let ours = ring.leave(&ring.square(&x));
    assert!(ours == gmp.multiply(ring.value(), &a, &a), "squares differ: {path}, {sample:?}");
    if powers > 0 {
        let (bases, exponents) = (numbers.batch(powers, bits), numbers.batch(powers, bits));
        let expected = gmp.pow(ring.value(), &bases, &exponents);
        let exponents = Exponents::each(exponents, bits).expect("as wide as the modulus");
        let ours = ring.pow(&ring.enter(&bases).expect("as wide as the modulus"), &exponents).expect("equal lengths");
        assert!(ring.leave(&ours) == expected, "powers differ: {path}, {sample:?}");
    }
}
