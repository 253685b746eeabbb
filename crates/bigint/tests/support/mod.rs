//! GMP, through gmpy2 in a separate process, as an oracle.

use ciphermill_testing::{Need, not_run};
use std::io::{BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use ciphermill_bigint::IntegerBatch;

mod numbers;

pub(crate) use numbers::Numbers;

/// The process.
pub(crate) struct Gmp {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Gmp {
    /// Starts it with the Python of `.venv`; `None`, and a report, if that has no gmpy2.
    pub(crate) fn start() -> Option<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let python = root.join(".venv/bin/python");
        let has_gmpy2 = Command::new(&python)
            .args(["-c", "import gmpy2"])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if !has_gmpy2 {
            not_run(Need::Python, "comparison with GMP: .venv has no gmpy2; use `make setup`");
            return None;
        }
        let script = root.join("crates/bigint/tests/support/gmp_oracle.py");
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
    pub(crate) fn multiply(&mut self, n: &[u64], a: &IntegerBatch, b: &IntegerBatch) -> IntegerBatch {
        self.ask(0, n, a, b)
    }

    /// Each base to its exponent modulo n.
    pub(crate) fn pow(&mut self, n: &[u64], bases: &IntegerBatch, exponents: &IntegerBatch) -> IntegerBatch {
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

/// The subject of one comparison with GMP.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// Bits of the modulus.
    pub(crate) bits: u32,
    /// Modulo the square of a number of half the bits.
    pub(crate) square: bool,
    /// Products per modulus.
    pub(crate) products: usize,
    /// Exponentiations with exponents as long as the modulus.
    pub(crate) powers: usize,
}

/// Compares one sample on one path with GMP.
///
/// # Panics
/// At the first difference.
pub(crate) fn compare(gmp: &mut Gmp, numbers: &mut Numbers, path: ciphermill_bigint::Path, sample: Sample) {
    use ciphermill_bigint::{Exponents, OddModulus, limbs};
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
