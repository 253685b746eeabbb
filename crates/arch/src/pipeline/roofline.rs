//! The roofline of the encrypted matrix-vector product and its parts (Fig. 2 of the paper), by formulas.
//!
//! An operation is a modular multiplication with its additions. Per kernel, in a ring of N with l primes, K special
//! ones, d digits, c = l + K, words of w bytes:
//!
//! | kernel | multiplications | bytes from and to memory |
//! | --- | --- | --- |
//! | transform | N/2·log2 N | 2·N·w: in and out, twiddles on the chip |
//! | key switch | (d + 2)·c transforms, 2·d·c·N with the key, 2·l·K·N for the division | (l + 2·d·c + 2·l)·N·w: polynomial, key, result |
//! | product of m × n | all transforms ([`Counts`]); 2·c·N per product; (parts·K + 1)·l·N per row, parts 1 or 2, for the rescale and the division by 2^L; a key switch without its transforms per merge | m·n entries, 2·c·T·N·w of the vector, the keys, 2·l·N·w per tile |
//!
//! No data between the stages of a product goes to memory. Its keys, 2·d·c·N·w for each level, are read once if they
//! fit on the chip, and for each merge otherwise.

use serde::{Deserialize, Serialize};

use super::error::{PipelineError, require_positive, require_range};
use super::job::{Counts, Job};
use super::machine::MAX_CLOCK_MHZ;
use super::parts::{Body, Ring};
use crate::description;
use crate::record::{Label, Record};

/// The schema of a roofline file.
pub const ROOFLINE_SCHEMA: &str = "ciphermill-roofline/1";
/// The paper's board, with and without its two engines, its CPU, and a GPU.
pub const CHAM_ROOFLINE: &str = include_str!("../../machines/cham-roofline.toml");

const MAX_RATE: f64 = 1e18;
const MAX_BYTES: u64 = 1 << 40;
/// The maximum number of cycles of a point: 2^53, up to which an f64 represents every integer.
const MAX_CYCLES: f64 = (1_u64 << 53) as f64;

/// A platform with its two ceilings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Platform {
    /// The name.
    pub name: String,
    /// The horizontal ceiling: modular multiplications per second.
    pub multiplications_per_second: f64,
    /// The sloped ceiling: bytes per second from and to memory.
    pub bytes_per_second: f64,
    /// On-chip memory for keys, in bytes.
    pub on_chip_bytes: u64,
    /// The clock, which converts times to cycles.
    pub clock_mhz: f64,
    /// The source of the numbers.
    pub basis: String,
}

/// Platforms, and the sizes of data in memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RooflineMachine {
    schema: String,
    word_bytes: u64,
    entry_bytes: u64,
    #[serde(default)]
    platform: Vec<Platform>,
}

impl RooflineMachine {
    /// Parses and checks a description.
    ///
    /// # Errors
    /// If the text is not TOML of this shape, a number is out of range, or it has no platform.
    pub fn from_toml(text: &str) -> Result<Self, PipelineError> {
        let syntax = |why: String| PipelineError::Syntax { what: "roofline", why };
        let machine: Self = description::read(text).map_err(syntax)?;
        if machine.schema != ROOFLINE_SCHEMA {
            return Err(syntax(format!("its schema is `{}`, not `{ROOFLINE_SCHEMA}`", machine.schema)));
        }
        require_range("word_bytes", machine.word_bytes, 1, 64)?;
        require_range("entry_bytes", machine.entry_bytes, 1, 64)?;
        require_range("number of platforms", machine.platform.len() as u64, 1, 1024)?;
        for platform in &machine.platform {
            let what = |field: &str| format!("{field} of platform `{}`", platform.name);
            require_positive(what("multiplications_per_second"), platform.multiplications_per_second, MAX_RATE)?;
            require_positive(what("bytes_per_second"), platform.bytes_per_second, MAX_RATE)?;
            require_positive(what("clock_mhz"), platform.clock_mhz, MAX_CLOCK_MHZ)?;
            require_range(what("on_chip_bytes"), platform.on_chip_bytes, 0, MAX_BYTES)?;
        }
        Ok(machine)
    }

    /// The platforms.
    pub fn platforms(&self) -> &[Platform] {
        &self.platform
    }
}

/// A kernel below the roofline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kernel {
    /// The transform of one polynomial modulo one prime, from memory to memory.
    Ntt,
    /// A separate key switch.
    KeySwitch,
    /// A product.
    Hmvp(Job),
}

impl Kernel {
    fn name(&self) -> String {
        match self {
            Self::Ntt => "ntt".to_owned(),
            Self::KeySwitch => "key-switch".to_owned(),
            Self::Hmvp(Job { rows, columns }) => format!("hmvp/m{rows}/n{columns}"),
        }
    }
}

/// The ceiling that limits a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// The sloped ceiling.
    Memory,
    /// The horizontal ceiling.
    Compute,
}

/// A kernel on a platform.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RooflinePoint {
    /// The platform's name.
    pub platform: String,
    /// The kernel.
    pub kernel: Kernel,
    /// Modular multiplications.
    pub multiplications: u64,
    /// Bytes from and to memory.
    pub bytes: u64,
    /// Multiplications per byte.
    pub intensity: f64,
    /// The attainable multiplications per second on the platform.
    pub attainable: f64,
    /// The time of the kernel at that rate.
    pub seconds: f64,
    /// The limit.
    pub bound: Bound,
    /// Whether the keys stay on the chip.
    pub keys_on_chip: bool,
    clock_mhz: f64,
    share: f64,
}

/// Data for a plot: ceilings, and the points below them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Roofline {
    /// Always analytic.
    pub label: Label,
    /// The ceilings.
    pub platforms: Vec<Platform>,
    /// The points, platform by platform.
    pub points: Vec<RooflinePoint>,
}

/// Places a transform, a key switch, and products below the rooflines of all platforms.
///
/// # Errors
/// If a job is out of range, or a platform is so slow that a point takes more than 2^53 cycles.
///
/// # Example
/// ```
/// use ciphermill_arch::pipeline::{Body, CHAM_PAPER, CHAM_ROOFLINE, Job, PipelineMachine, RooflineMachine, roofline};
///
/// let (platforms, machine) = (RooflineMachine::from_toml(CHAM_ROOFLINE)?, PipelineMachine::from_toml(CHAM_PAPER)?);
/// let roofline = roofline(&platforms, &machine.ring(), Body::Sum, &[Job { rows: 1024, columns: 256 }])?;
/// assert!(roofline.points.iter().all(|point| point.seconds > 0.0 && point.attainable > 0.0));
/// assert_eq!(roofline.points.len() % roofline.platforms.len(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn roofline(machine: &RooflineMachine, ring: &Ring, body: Body, jobs: &[Job]) -> Result<Roofline, PipelineError> {
    let mut points = Vec::new();
    let kernels = [Kernel::Ntt, Kernel::KeySwitch].into_iter().chain(jobs.iter().map(|&job| Kernel::Hmvp(job)));
    let kernels: Vec<Kernel> = kernels.collect();
    for platform in &machine.platform {
        for &kernel in &kernels {
            points.push(point(machine, platform, ring, body, kernel)?);
        }
    }
    Ok(Roofline { label: Label::Analytic, platforms: machine.platform.clone(), points })
}

/// Multiplications of one transform.
fn transform(ring: &Ring) -> u64 {
    ring.polynomial_size / 2 * u64::from(ring.polynomial_size.ilog2())
}

/// Multiplications of a key switch without its transforms.
fn switching(ring: &Ring) -> u64 {
    let Ring { polynomial_size: n, limbs, special_limbs, digits } = *ring;
    2 * digits * ring.chain() * n + 2 * limbs * special_limbs * n
}

fn point(
    machine: &RooflineMachine,
    platform: &Platform,
    ring: &Ring,
    body: Body,
    kernel: Kernel,
) -> Result<RooflinePoint, PipelineError> {
    let Ring { polynomial_size: n, limbs, special_limbs, digits } = *ring;
    let (chain, word) = (ring.chain(), machine.word_bytes);
    let key_bytes = 2 * digits * chain * n * word;
    let (multiplications, bytes, keys_on_chip) = match kernel {
        Kernel::Ntt => (transform(ring), 2 * n * word, false),
        Kernel::KeySwitch => {
            let multiplications = (digits + 2) * chain * transform(ring) + switching(ring);
            (multiplications, 3 * limbs * n * word + key_bytes, false)
        }
        Kernel::Hmvp(job) => {
            let Counts { products, ntts, key_switches } = job.counts(ring, body)?;
            let shape = job.shape(ring)?;
            let parts = match body {
                Body::Transform => 2,
                Body::Sum => 1,
            };
            let rows = shape.rows * (parts * special_limbs + 1) * limbs * n;
            let multiplications =
                ntts * transform(ring) + products * 2 * chain * n + rows + key_switches * switching(ring);
            let levels = (0..shape.tiles()).map(|tile| shape.levels(tile)).max().unwrap_or(0);
            let resident = u64::from(levels) * key_bytes;
            let fits = resident <= platform.on_chip_bytes;
            let keys = if fits { resident } else { key_switches * key_bytes };
            let vector = 2 * chain * shape.column_tiles * n * word;
            let result = shape.tiles() * 2 * limbs * n * word;
            (multiplications, job.rows * job.columns * machine.entry_bytes + vector + keys + result, fits)
        }
    };
    let intensity = multiplications as f64 / bytes as f64;
    let under_memory = intensity * platform.bytes_per_second;
    let attainable = under_memory.min(platform.multiplications_per_second);
    let bound = if under_memory < platform.multiplications_per_second { Bound::Memory } else { Bound::Compute };
    let seconds = multiplications as f64 / attainable;
    let what = format!("cycles of {} on platform `{}`", kernel.name(), platform.name);
    require_positive(what, seconds * platform.clock_mhz * 1e6, MAX_CYCLES)?;
    Ok(RooflinePoint {
        platform: platform.name.clone(),
        kernel,
        multiplications,
        bytes,
        intensity,
        attainable,
        seconds,
        bound,
        keys_on_chip,
        clock_mhz: platform.clock_mhz,
        share: attainable / platform.multiplications_per_second,
    })
}

impl Roofline {
    /// A record for each point, `arch-roofline/<platform>/<kernel>`, with cycles at the platform's clock.
    pub fn records(&self) -> Vec<Record> {
        let record = |point: &RooflinePoint| {
            let kernel = point.kernel.name();
            let cycles = (point.seconds * point.clock_mhz * 1e6).ceil() as u64;
            let case = format!("arch-roofline/{}/{kernel}", point.platform);
            let mut record = Record::new(case, &*point.platform, Label::Analytic, cycles)
                .with("multiplications", point.multiplications)
                .with("bytes", point.bytes)
                .with("multiplications_per_byte", point.intensity)
                .with("multiplications_per_second", point.attainable);
            record.utilization = Some(point.share);
            record
        };
        self.points.iter().map(record).collect()
    }
}
