//! Choosing parameters: the cheapest set that meets a goal, by exhaustive search.
//!
//! The noise of both keys is the smallest that the 132-bit line allows, so every candidate has the security; the failure
//! probability is that of [`noise::log2_p_fail`]; the cost that of [`cost::bootstrap_cost`]. The recommended sets
//! are results of this search, which the example `choose_parameters` prints and a test repeats.

use ciphermill_lattice::NoiseDistribution;

use crate::dimension::{Decomposition, GlweDimension, LweDimension, PolynomialSize};
use crate::modulus_switch::ModulusSwitch;
use crate::noise;
use crate::parameters::{KeyOrder, ParameterSpec, TorusWidth, cost, security};

/// The requirements of a parameter set.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let modulus_switch = ModulusSwitch::Plain;
/// let goal = search::Goal { message_bits: 1, max_norm2: 3.0, log2_p_fail: -64.0, modulus_switch };
/// let set = ParameterSet::named("MESSAGE_1_2M64", SecurityPolicy::Require128Bits)?;
/// let p_fail = noise::log2_p_fail(&set, KeyOrder::Big, goal.message_bits, goal.max_norm2);
/// assert!(p_fail <= goal.log2_p_fail);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Goal {
    /// Bits of a message; a padding bit comes on top.
    pub message_bits: u32,
    /// Greatest 2-norm of a linear combination of bootstrapped ciphertexts before the next bootstrap.
    pub max_norm2: f64,
    /// log2 of the greatest failure probability of one bootstrap of such a combination, in the `Big` order.
    pub log2_p_fail: f64,
    /// The modulus switch of the set.
    pub modulus_switch: ModulusSwitch,
}

/// k·N searched: below, 64-bit GLWE noise is too wide for any goal; above, keys exceed the memory of a workstation.
const BIG_DIMENSIONS: std::ops::RangeInclusive<usize> = 1024..=32768;

/// n searched, in steps of 2.
const SMALL_DIMENSIONS: std::ops::RangeInclusive<usize> = 450..=1400;

const MAX_GLWE_DIMENSION: usize = 8;
const MAX_PBS_LEVELS: usize = 6;
const MAX_KS_LEVELS: usize = 12;

/// The cheapest admissible set for a goal on a 64-bit torus, in the `Big` order; `None` if none meets it.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let modulus_switch = ModulusSwitch::Plain;
/// let goal = search::Goal { message_bits: 1, max_norm2: 3.0, log2_p_fail: -64.0, modulus_switch };
/// let found = search::cheapest("MESSAGE_1_2M64", goal).ok_or("no set meets the goal")?;
/// let named = ParameterSet::named("MESSAGE_1_2M64", SecurityPolicy::Require128Bits)?;
/// assert_eq!(&found, named.spec());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn cheapest(name: &str, goal: Goal) -> Option<ParameterSpec> {
    let mut best: Option<(f64, ParameterSpec)> = None;
    for log_size in 8..=15 {
        let polynomial_size = PolynomialSize::new(1 << log_size).ok()?;
        for k in 1..=MAX_GLWE_DIMENSION {
            let big = k << log_size;
            if !BIG_DIMENSIONS.contains(&big) {
                continue;
            }
            let base = ParameterSpec {
                name: name.to_owned(),
                torus: TorusWidth::U64,
                lwe_dimension: LweDimension(1),
                glwe_dimension: GlweDimension(k),
                polynomial_size,
                lwe_noise: security::smallest_noise(1, TorusWidth::U32),
                glwe_noise: security::smallest_noise(big, TorusWidth::U64),
                pbs: Decomposition::new(1, 1),
                ks: Decomposition::new(1, 1),
                message_bits: goal.message_bits,
                max_norm2: goal.max_norm2,
                modulus_switch: goal.modulus_switch,
                word: None,
            };
            search_gadgets(base, goal, &mut best);
        }
    }
    best.map(|(_, spec)| spec)
}

/// Searches n and both gadgets for one k and N.
fn search_gadgets(mut spec: ParameterSpec, goal: Goal, best: &mut Option<(f64, ParameterSpec)>) {
    let allowed =
        noise::largest_lookup_variance(goal.modulus_switch, spec.polynomial_size, goal.message_bits, goal.log2_p_fail);
    let keyswitches = keyswitch_table(&mut spec);
    let fresh = noise::fresh_variance(&spec, KeyOrder::Big);
    for level in 1..=MAX_PBS_LEVELS {
        for base_log in 1..=(63 / level).min(32) {
            spec.pbs = Decomposition::new(base_log, level);
            spec.lwe_dimension = LweDimension(1);
            let (step_variance, step_cost) =
                (noise::blind_rotation_variance(&spec, noise::Backend::Fft), cost::cmux_cost(&spec));
            for SmallKey { n, noise: lwe_noise, gadgets } in &keyswitches {
                spec.lwe_dimension = LweDimension(*n);
                let cost = step_cost * *n as f64;
                let input = goal.max_norm2 * goal.max_norm2 * (step_variance * *n as f64).max(fresh);
                let left = allowed - input - noise::modulus_switch_variance(&spec);
                // Cost and both variances grow with n.
                if left <= 0.0 || best.as_ref().is_some_and(|(c, _)| *c <= cost) {
                    break;
                }
                if let Some((ks, _)) = gadgets.iter().find(|(_, variance)| *variance <= left) {
                    spec.ks = *ks;
                    spec.lwe_noise = *lwe_noise;
                    let cost = cost::bootstrap_cost(&spec);
                    if best.as_ref().is_none_or(|(c, _)| cost < *c) {
                        *best = Some((cost, spec.clone()));
                    }
                }
            }
        }
    }
}

/// One n: its noise and, for each level count, the key-switching gadget of least variance with that variance.
struct SmallKey {
    n: usize,
    noise: NoiseDistribution,
    gadgets: Vec<(Decomposition, f64)>,
}

/// For each n, its noise and, for each level count, the key-switching gadget of least variance, fewest levels first.
fn keyswitch_table(spec: &mut ParameterSpec) -> Vec<SmallKey> {
    SMALL_DIMENSIONS
        .step_by(2)
        .map(|n| {
            spec.lwe_dimension = LweDimension(n);
            spec.lwe_noise = security::smallest_noise(n, TorusWidth::U32);
            let gadgets = (1..=MAX_KS_LEVELS)
                .map(|level| {
                    (1..=(32 / level).min(16))
                        .map(|base_log| {
                            spec.ks = Decomposition::new(base_log, level);
                            (spec.ks, noise::keyswitch_variance(spec))
                        })
                        .fold((Decomposition::new(1, level), f64::INFINITY), |least, next| {
                            if next.1 < least.1 { next } else { least }
                        })
                })
                .collect();
            SmallKey { n, noise: spec.lwe_noise, gadgets }
        })
        .collect()
}
