//! The FPGA resources of a design, by formulas.
//!
//! * A radix-2 transform unit with P butterflies: LUT and DSP in proportion to P. Its memory is two RAMs of 2P banks of
//!   N/2P residues, and P twiddle tables of N/P. Radix-4 units are taken as synthesised.
//! * A lane of a stage without transforms: a product and a sum for each prime. Stage 5 has no product.
//! * A buffer between stages, in block RAM: for each slot its polynomials, in as many banks as the adjacent stages have
//!   lanes. Or in UltraRAM, as wide as the adjacent units read at a time. Each buffer uses the kind that leaves more of
//!   the scarcer memory. The paper also moves block RAM to UltraRAM (section 4.1).
//! * The stores of leaves and inner nodes, the sums that stage 5 sets aside, the vector's spectra, and the keys of all
//!   levels: UltraRAM, of 4096 words of 72 bits, wide enough for the lanes of their readers.
//!
//! Control, host interfaces of the engines, and the wiring of a placed design are not included, so the result is a
//! lower estimate. FF are not counted; they use a fifth of the paper's device.

use serde::{Deserialize, Serialize};

use super::design::Design;
use super::error::{PipelineError, require_positive, require_range};
use super::job::Job;
use super::machine::PipelineMachine;
use super::parts::{FLOWS, LEAVES, NODES, PUT_BY, Stage};

/// The resources of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// LUT of the device.
    pub lut: u64,
    /// DSP blocks.
    pub dsp: u64,
    /// Block RAMs of 36 Kbit.
    pub bram: u64,
    /// UltraRAMs of 288 Kbit.
    pub uram: u64,
    /// LUT of the platform, independent of the design.
    pub platform_lut: u64,
    /// DSP blocks of the platform.
    pub platform_dsp: u64,
    /// Block RAMs of the platform.
    pub platform_bram: u64,
    /// UltraRAMs of the platform.
    pub platform_uram: u64,
    /// The maximum share of each resource, platform included; from 1e-6 to 1.
    pub max_share: f64,
}

/// The costs of parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// Bits of a ciphertext's prime.
    pub limb_bits: u64,
    /// Bits of a special prime.
    pub special_bits: u64,
    /// LUT of a transform for each butterfly, for a ciphertext's prime.
    pub limb_butterfly_lut: u64,
    /// LUT of a transform for each butterfly, for a special prime.
    pub special_butterfly_lut: u64,
    /// DSP of a product, for a ciphertext's prime.
    pub limb_product_dsp: u64,
    /// DSP of a product, for a special prime.
    pub special_product_dsp: u64,
    /// LUT of a lane.
    pub lane_lut: u64,
    /// LUT of a radix-4 transform, for a ciphertext's prime.
    pub limb_radix4_lut: u64,
    /// LUT of a radix-4 transform, for a special prime.
    pub special_radix4_lut: u64,
    /// Block RAMs of a radix-4 transform, for a ciphertext's prime.
    pub limb_radix4_bram: f64,
    /// Block RAMs of a radix-4 transform, for a special prime.
    pub special_radix4_bram: f64,
}

/// The resources of a design.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Resources {
    /// LUT.
    pub lut: u64,
    /// DSP blocks.
    pub dsp: u64,
    /// Block RAMs of 36 Kbit, in halves.
    pub bram: f64,
    /// UltraRAMs.
    pub uram: u64,
}

const MAX_RESOURCE: u64 = 1 << 32;

impl Device {
    pub(crate) fn check(&self) -> Result<(), PipelineError> {
        let pairs = [
            ("lut", self.lut, self.platform_lut),
            ("dsp", self.dsp, self.platform_dsp),
            ("bram", self.bram, self.platform_bram),
            ("uram", self.uram, self.platform_uram),
        ];
        for (name, all, platform) in pairs {
            require_range(format!("{name} of the device"), all, 1, MAX_RESOURCE)?;
            require_range(format!("platform_{name}"), platform, 0, all)?;
        }
        require_positive("max_share", self.max_share, 1.0)?;
        Ok(())
    }

    /// The resource with the largest share, and that share.
    pub(crate) fn scarcest(&self, taken: &Resources) -> (&'static str, f64) {
        let shares = [
            ("lut", taken.lut as f64 / self.lut as f64),
            ("dsp", taken.dsp as f64 / self.dsp as f64),
            ("bram", taken.bram / self.bram as f64),
            ("uram", taken.uram as f64 / self.uram as f64),
        ];
        shares.into_iter().fold(("lut", 0.0), |most, share| if share.1 > most.1 { share } else { most })
    }
}

impl Costs {
    pub(crate) fn check(&self) -> Result<(), PipelineError> {
        require_range("limb_bits", self.limb_bits, 1, 64)?;
        require_range("special_bits", self.special_bits, 1, 64)?;
        let numbers = [
            ("limb_butterfly_lut", self.limb_butterfly_lut),
            ("special_butterfly_lut", self.special_butterfly_lut),
            ("limb_product_dsp", self.limb_product_dsp),
            ("special_product_dsp", self.special_product_dsp),
            ("lane_lut", self.lane_lut),
            ("limb_radix4_lut", self.limb_radix4_lut),
            ("special_radix4_lut", self.special_radix4_lut),
        ];
        for (name, given) in numbers {
            require_range(name, given, 0, 1 << 20)?;
        }
        for (name, given) in
            [("limb_radix4_bram", self.limb_radix4_bram), ("special_radix4_bram", self.special_radix4_bram)]
        {
            require_positive(name, given, 4096.0)?;
        }
        Ok(())
    }

    /// A radix-2 transform unit for one of the two kinds of primes.
    pub fn radix2_unit(&self, n: u64, butterflies: u64, special: bool) -> Resources {
        let (bits, lut, dsp) = if special {
            (self.special_bits, self.special_butterfly_lut, self.special_product_dsp)
        } else {
            (self.limb_bits, self.limb_butterfly_lut, self.limb_product_dsp)
        };
        let data = 4 * butterflies * half_brams(n / (2 * butterflies), bits);
        let twiddles = butterflies * half_brams(n / butterflies, bits);
        let bram = (data + twiddles) as f64 / 2.0;
        Resources { lut: butterflies * lut, dsp: butterflies * dsp, bram, uram: 0 }
    }

    /// A radix-4 transform unit with this number of multipliers, N = 4096. LUT and memory are as synthesised, for any
    /// number.
    pub fn radix4_unit(&self, butterflies: u64, special: bool) -> Resources {
        if special {
            let dsp = butterflies * self.special_product_dsp;
            Resources { lut: self.special_radix4_lut, dsp, bram: self.special_radix4_bram, uram: 0 }
        } else {
            let dsp = butterflies * self.limb_product_dsp;
            Resources { lut: self.limb_radix4_lut, dsp, bram: self.limb_radix4_bram, uram: 0 }
        }
    }
}

/// Halves of a block RAM for a memory of one reader and one writer: 512 × 36 bits to 16384 × 1.
fn half_brams(depth: u64, width: u64) -> u64 {
    let shapes = [(512, 36), (1024, 18), (2048, 9), (4096, 4), (8192, 2), (16384, 1)];
    shapes.into_iter().map(|(d, w): (u64, u64)| depth.div_ceil(d) * width.div_ceil(w)).min().unwrap_or(0)
}

/// UltraRAMs for polynomials of which `lanes` coefficients of `bits` bits are read per cycle.
fn urams(polynomials: u64, n: u64, lanes: u64, bits: u64) -> u64 {
    (lanes * bits).div_ceil(72) * (polynomials * n).div_ceil(lanes * 4096)
}

impl Resources {
    fn add(&mut self, times: u64, other: Resources) {
        self.lut += times * other.lut;
        self.dsp += times * other.dsp;
        self.bram += times as f64 * other.bram;
        self.uram += times * other.uram;
    }
}

/// The resources of a design, platform included.
pub(crate) fn resources(
    costs: &Costs,
    device: &Device,
    machine: &PipelineMachine,
    design: &Design,
    job: &Job,
) -> Result<Resources, PipelineError> {
    let ring = machine.ring();
    let (n, limbs, special) = (ring.polynomial_size, ring.limbs, ring.special_limbs);
    if design.radix == 4 {
        // The unit as synthesised.
        require_range("ring.polynomial_size with radix 4", n, 4096, 4096)?;
    }
    let shape = job.shape(&ring)?;
    let lanes = |stage: Stage| n / machine.stage(stage).interval.clamp(1, n);
    let engines = machine.engines() as u64;
    let mut engine = Resources::default();
    for stage in Stage::ALL {
        let units = machine.stage(stage).units;
        if stage.is_transform() {
            let radix4 = design.radix == 4 && matches!(stage, Stage::Ntt | Stage::DigitNtt);
            for (count, special) in [(limbs, false), (special, true)] {
                let unit = if radix4 {
                    costs.radix4_unit(design.butterflies, special)
                } else {
                    costs.radix2_unit(n, design.butterflies, special)
                };
                engine.add(units * count, unit);
            }
            continue;
        }
        // After a rescale there is no special prime.
        let with_special = matches!(stage, Stage::Multiply | Stage::KeyProduct);
        let products = stage != Stage::Combine;
        for (count, dsp) in
            [(limbs, costs.limb_product_dsp), (if with_special { special } else { 0 }, costs.special_product_dsp)]
        {
            let lane = Resources { lut: costs.lane_lut, dsp: if products { dsp } else { 0 }, bram: 0.0, uram: 0 };
            engine.add(units * lanes(stage) * count, lane);
        }
    }
    let levels = (0..shape.tiles()).map(|tile| u64::from(shape.levels(tile))).max().unwrap_or(0);
    let (ciphertext, chain) = (limbs * costs.limb_bits, limbs * costs.limb_bits + special * costs.special_bits);
    let stores = [
        // An LWE ciphertext is a polynomial and a number.
        (machine.slots_of(LEAVES) as u64, Stage::Combine, ciphertext),
        (2 * machine.slots_of(NODES) as u64, Stage::Combine, ciphertext),
        (2 * machine.slots_of(PUT_BY) as u64, Stage::ModDown, ciphertext),
        (2 * shape.column_tiles, Stage::Multiply, chain),
        (2 * ring.digits * levels, Stage::KeyProduct, chain),
    ];
    for (polynomials, reader, bits) in stores {
        engine.uram += urams(polynomials, n, lanes(reader), bits);
    }
    for (flow, (from, to)) in FLOWS.into_iter().enumerate() {
        if matches!(flow, LEAVES | PUT_BY | NODES) {
            continue;
        }
        // Polynomials have the special prime before the rescale and in a key switch, but not before the digit
        // decomposition.
        let polynomials = match to {
            Stage::DigitNtt => 1,
            Stage::KeyProduct => ring.digits,
            _ => machine.items(from),
        };
        let polynomials = polynomials * machine.slots_of(flow) as u64;
        let special = if to == Stage::DigitNtt { 0 } else { special };
        let width = |stage: Stage| if stage.is_transform() { (2 * design.butterflies).min(n) } else { lanes(stage) };
        let banks = width(from).max(width(to));
        let polynomial = |bits: u64| (banks * half_brams(n.div_ceil(banks), bits)) as f64 / 2.0;
        let of_all = limbs as f64 * polynomial(costs.limb_bits) + special as f64 * polynomial(costs.special_bits);
        let in_bram = Resources { bram: polynomials as f64 * of_all, ..Resources::default() };
        let bits = limbs * costs.limb_bits + special * costs.special_bits;
        let at_a_time = [from, to].map(|stage| width(stage) * machine.stage(stage).units.min(machine.items(stage)));
        let wide = urams(polynomials, n, at_a_time[0].max(at_a_time[1]), bits);
        let in_uram = Resources { uram: wide, ..Resources::default() };
        let share = |buffer: Resources| {
            let mut all = platform(device);
            all.add(engines, engine);
            all.add(engines, buffer);
            (all.bram / device.bram as f64).max(all.uram as f64 / device.uram as f64)
        };
        engine.add(1, if share(in_uram) < share(in_bram) { in_uram } else { in_bram });
    }
    let mut all = platform(device);
    all.add(engines, engine);
    Ok(all)
}

/// The resources in use before the first engine.
fn platform(device: &Device) -> Resources {
    Resources {
        lut: device.platform_lut,
        dsp: device.platform_dsp,
        bram: device.platform_bram as f64,
        uram: device.platform_uram,
    }
}
