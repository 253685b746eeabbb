//! The baseline programs: forward transforms in C, compiled with gcc. `crates/arch/baseline` contains the ELF files.

use std::str::FromStr;

use ciphermill_math::Modulus;
use ciphermill_math::ntt::reference;

use super::error::{ElfError, ScalarError};
use super::machine::ScalarMachine;
use super::program::Program;
use super::simulate::{Execution, simulate};
use super::timing::Causes;

/// The modular arithmetic of a baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Variant {
    /// Products by one 64-bit remainder; sums and differences by a conditional correction.
    Naive,
    /// A remainder after each operation, and in the cyclic transform twiddle factors computed during the transform:
    /// four divisions per butterfly there, three in the negacyclic transform.
    Textbook,
    /// Products by Shoup's method: three multiplications, no division.
    Shoup,
    /// The RVFHE instructions madd, msub and mmul on scalar registers.
    Rvfhe,
}

impl Variant {
    /// All variants.
    pub const ALL: [Variant; 4] = [Variant::Naive, Variant::Textbook, Variant::Shoup, Variant::Rvfhe];

    /// The name, which is also that of the file `ntt-<name>.elf`.
    pub const fn name(self) -> &'static str {
        match self {
            Variant::Naive => "naive",
            Variant::Textbook => "textbook",
            Variant::Shoup => "shoup",
            Variant::Rvfhe => "rvfhe",
        }
    }

    /// The committed ELF file.
    pub const fn elf(self) -> &'static [u8] {
        match self {
            Variant::Naive => include_bytes!("../../baseline/ntt-naive.elf"),
            Variant::Textbook => include_bytes!("../../baseline/ntt-textbook.elf"),
            Variant::Shoup => include_bytes!("../../baseline/ntt-shoup.elf"),
            Variant::Rvfhe => include_bytes!("../../baseline/ntt-rvfhe.elf"),
        }
    }

    /// The program.
    ///
    /// # Errors
    /// None in a build whose tests pass.
    pub fn program(self) -> Result<Program, ElfError> {
        Program::from_elf(self.elf())
    }

    /// Whether each factor has Shoup's companion.
    const fn has_companions(self) -> bool {
        matches!(self, Variant::Shoup | Variant::Rvfhe)
    }
}

impl FromStr for Variant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = || Self::ALL.map(Self::name).join(", ");
        Self::ALL
            .into_iter()
            .find(|one| one.name() == text)
            .ok_or_else(|| format!("`{text}` is unknown; use one of {}", names()))
    }
}

/// The ring of a transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ring {
    /// Word k of the result is the sum of a_j·ω^(jk), with ω = ψ²: modulo X^N − 1, natural order in and out. Bit
    /// reversal, then decimation in time, as in the RVFHE paper.
    Cyclic,
    /// [`reference::prime::forward`]: modulo X^N + 1, natural order in, bit-reversed order out.
    Negacyclic,
}

impl Ring {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Ring::Cyclic => "cyclic",
            Ring::Negacyclic => "negacyclic",
        }
    }
}

/// A transform on the base core.
///
/// # Example
/// ```
/// use ciphermill_arch::scalar::{Baseline, Ring, ScalarMachine, Variant, run};
/// use ciphermill_math::Modulus;
///
/// let modulus = Modulus::new(2_013_265_921)?;
/// let baseline = Baseline { variant: Variant::Shoup, ring: Ring::Negacyclic, polynomial_size: 16, modulus };
/// let words: Vec<u32> = (0..16).collect();
/// let run = run(&ScalarMachine::rocket()?, &baseline, &words)?;
/// assert_eq!(run.output, baseline.golden(&words)?);
/// assert_eq!(run.butterflies, 32);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Baseline {
    /// The arithmetic.
    pub variant: Variant,
    /// The ring.
    pub ring: Ring,
    /// N: a power of two from 2 to 2^14.
    pub polynomial_size: usize,
    /// A prime below 2^31 that is 1 modulo 2N.
    pub modulus: Modulus,
}

/// The result of a transform. Reading the input and writing the output are not measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalarRun {
    /// The transformed words.
    pub output: Vec<u32>,
    /// Instructions of the transform.
    pub instructions: u64,
    /// Instructions of the whole program.
    pub program_instructions: u64,
    /// Cycles of the transform; simulated.
    pub cycles: u64,
    /// The cycles by cause.
    pub causes: Causes,
    /// N/2 · log2 N.
    pub butterflies: u64,
}

impl ScalarRun {
    /// Cycles divided by butterflies. The cycles include bit reversal and loops.
    pub fn cycles_per_butterfly(&self) -> f64 {
        self.cycles as f64 / self.butterflies as f64
    }
}

/// A limit well above the instructions of any transform here.
const INSTRUCTIONS_MAX: u64 = 1 << 28;

impl Baseline {
    /// The smallest N.
    pub const POLYNOMIAL_SIZE_MIN: usize = 2;
    /// The largest N.
    pub const POLYNOMIAL_SIZE_MAX: usize = 1 << 14;

    /// The program's input: a header, the words, the twiddle factors.
    ///
    /// # Errors
    /// If size, modulus or input are invalid.
    pub fn input(&self, words: &[u32]) -> Result<Vec<u8>, ScalarError> {
        let psi = self.check(words)?;
        let n = self.polynomial_size;
        let ring = match self.ring {
            Ring::Cyclic => 0,
            Ring::Negacyclic => 1,
        };
        let header = [u32::from_le_bytes(*b"NTT1"), ring, n.trailing_zeros(), self.modulus.value() as u32];
        let mut bytes = Vec::with_capacity(16 + 12 * n);
        bytes.extend(header.iter().chain(words).flat_map(|word| word.to_le_bytes()));
        for factor in self.factors(psi) {
            bytes.extend((factor as u32).to_le_bytes());
            if self.variant.has_companions() {
                bytes.extend(self.modulus.shoup_quotient_32(factor).to_le_bytes());
            }
        }
        Ok(bytes)
    }

    /// The expected transform of these words, by the reference of `ciphermill_math`.
    ///
    /// # Errors
    /// If size, modulus or input are invalid.
    pub fn golden(&self, words: &[u32]) -> Result<Vec<u32>, ScalarError> {
        let psi = self.check(words)?;
        let (n, m) = (self.polynomial_size, self.modulus);
        let mut values: Vec<u64> = words.iter().map(|&word| word.into()).collect();
        if self.ring == Ring::Cyclic {
            // Sum of a_j ω^(jk) = sum of (a_j ψ^-j) ψ^(j(2k+1)): the negacyclic transform of the untwisted words. ψ^(2N) is 1.
            let inverse = m.pow(psi, 2 * n as u64 - 1);
            let mut power = 1;
            for value in &mut values {
                *value = m.mul(*value, power);
                power = m.mul(power, inverse);
            }
        }
        reference::prime::forward(m, &mut values);
        if self.ring == Ring::Cyclic {
            // The reference returns bit-reversed order.
            let bits = n.trailing_zeros();
            values = (0..n).map(|k| values[reference::bit_reverse(k, bits)]).collect();
        }
        Ok(values.into_iter().map(|value| value as u32).collect())
    }

    /// Checks size, modulus and input. Returns ψ, a primitive root of unity of order 2N.
    fn check(&self, words: &[u32]) -> Result<u64, ScalarError> {
        let n = self.polynomial_size;
        let (min, max) = (Self::POLYNOMIAL_SIZE_MIN, Self::POLYNOMIAL_SIZE_MAX);
        if !n.is_power_of_two() || !(min..=max).contains(&n) {
            return Err(ScalarError::PolynomialSize { given: n, min, max });
        }
        let modulus = self.modulus.value();
        let unfit = ScalarError::Modulus { given: modulus, polynomial_size: n, step: 2 * n };
        let Some(psi) = self.modulus.primitive_root_2n(n).filter(|_| modulus >> 31 == 0) else { return Err(unfit) };
        if words.len() != n {
            return Err(ScalarError::InputLength { given: words.len(), wanted: n });
        }
        if let Some(index) = words.iter().position(|&word| u64::from(word) >= modulus) {
            return Err(ScalarError::InputRange { index, given: words[index], modulus });
        }
        Ok(psi)
    }

    /// The twiddle factors in the order of the transform's reads.
    fn factors(&self, psi: u64) -> Vec<u64> {
        let (n, m) = (self.polynomial_size, self.modulus);
        match self.ring {
            Ring::Negacyclic => reference::prime::twiddles(m, psi, n),
            Ring::Cyclic => {
                // The level with half-length h has h entries from index h on. Entry 0 is unused.
                let mut factors = vec![1; n];
                for log_half in 0..n.trailing_zeros() {
                    let half = 1usize << log_half;
                    let root = m.pow(psi, (n / half) as u64);
                    for k in 1..half {
                        factors[half + k] = m.mul(factors[half + k - 1], root);
                    }
                }
                factors
            }
        }
    }

    /// N/2 · log2 N.
    pub fn butterflies(&self) -> u64 {
        (self.polynomial_size as u64 / 2) * u64::from(self.polynomial_size.trailing_zeros())
    }
}

/// Runs a transform on a core. The input is N words below the modulus.
///
/// # Errors
/// If size, modulus or input are invalid, or the machine has invalid fields.
///
/// # Example
/// ```
/// use ciphermill_arch::scalar::{Baseline, Ring, ScalarError, ScalarMachine, Variant, run};
/// use ciphermill_math::Modulus;
///
/// let modulus = Modulus::new(2_013_265_921)?;
/// let baseline = Baseline { variant: Variant::Rvfhe, ring: Ring::Cyclic, polynomial_size: 16, modulus };
/// let short = run(&ScalarMachine::rocket()?, &baseline, &[1, 2, 3]);
/// assert!(matches!(short, Err(ScalarError::InputLength { given: 3, wanted: 16 })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run(machine: &ScalarMachine, baseline: &Baseline, input: &[u32]) -> Result<ScalarRun, ScalarError> {
    let job = baseline.input(input)?;
    let program = baseline.variant.program()?;
    let wanted = 4 * baseline.polynomial_size;
    let region = (program.symbol("transform_begin")?, program.symbol("transform_end")?);
    let execution = Execution {
        program: &program,
        input: &job,
        output_max: wanted,
        instructions_max: INSTRUCTIONS_MAX,
        region: Some(region),
    };
    let report = simulate(machine, &execution)?;
    if report.status != 0 {
        return Err(ScalarError::Status { status: report.status });
    }
    if report.output.len() != wanted {
        return Err(ScalarError::OutputLength { given: report.output.len(), wanted });
    }
    let measured = report.region.ok_or(ScalarError::Region { begin: region.0, end: region.1 })?;
    Ok(ScalarRun {
        output: report.output.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect(),
        instructions: measured.instructions,
        program_instructions: report.whole.instructions,
        cycles: measured.cycles,
        causes: measured.causes,
        butterflies: baseline.butterflies(),
    })
}
