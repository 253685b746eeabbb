//! Whole bootstraps against the model.

use ciphermill_lattice::NoiseDistribution;
use ciphermill_tfhe::parameters::{
    MESSAGE_2_2M64, MESSAGE_4_2M64, MESSAGE_4_CENTRED_2M128, NVME_TFHE_PAPER, TEST_SMALL_U32, TEST_SMALL_U64,
};
use ciphermill_tfhe::{Backend, KeyOrder, ModulusSwitch, ParameterSet, ParameterSpec};

use super::Extent;
use super::judge::{Bounds, check};
use super::model::Model;
use super::samples::{Counts, Errors, SWITCHES, bootstraps};
use crate::support::{INSECURE, Seed};

const ORDERS: [KeyOrder; 2] = [KeyOrder::Big, KeyOrder::Small];

fn named(name: &str) -> ParameterSet {
    ParameterSet::named(name, INSECURE).expect("a named set")
}

/// The set with the centred modulus switch.
fn centred(set: &ParameterSet) -> ParameterSet {
    let name = format!("{}_CENTRED", set.name);
    let spec = ParameterSpec { name, modulus_switch: ModulusSwitch::Centred, ..set.spec().clone() };
    ParameterSet::new(spec, INSECURE).expect("admissible")
}

/// 30 keys × 100 samples. The weight of a short key varies by more than the bound leaves room for, so it takes 60 keys.
fn full(set: &ParameterSet) -> Counts {
    Counts { keys: if set.lwe_dimension.0 < 100 { 60 } else { 30 }, per_key: 100 }
}

/// `quick` counts in `make test`, and those of [`full`] with the stated bounds of the evidence.
fn compare(set: &ParameterSet, backend: Backend, quick: Counts, seed: Seed) {
    let extent = Extent::of_this_run();
    let counts = if extent == Extent::Full { full(set) } else { quick };
    let model = Model::new(set.spec(), backend);
    for (order, errors) in ORDERS.into_iter().zip(bootstraps(set, backend, &ORDERS, counts, seed)) {
        let check = |what: String, samples, prediction| {
            let bounds = match extent {
                Extent::Full => Bounds { variance: 0.1, errors: 4.0 },
                Extent::Quick => errors.outputs.bounds(&prediction),
            };
            check(&what, samples, &prediction, bounds);
        };
        let case = format!("{}, {order}, {backend}", set.name);
        check(format!("{case}, output"), &errors.outputs, model.output(order));
        for (switch, samples) in SWITCHES.into_iter().zip(&errors.indices) {
            let prediction = model.doubled_index(order, switch);
            check(format!("{case}, {switch} index of the double"), samples, prediction);
        }
    }
}

/// Enough to tell a half and twice of the variance ([`check`]).
const SMALL: Counts = Counts { keys: 36, per_key: 20 };

#[test]
fn whole_bootstraps_by_fft() {
    compare(&named(TEST_SMALL_U64), Backend::Fft, SMALL, Seed::fresh());
}

#[test]
fn whole_bootstraps_by_ntt() {
    compare(&centred(&named(TEST_SMALL_U32)), Backend::Ntt, SMALL, Seed::fresh());
}

/// The other pairs of set and back end, which would take minutes in `make test`. That has one bootstrap of the paper's set
/// on each path (`paper_size.rs`).
#[test]
fn whole_bootstraps_of_other_sets() {
    if Extent::of_this_run() == Extent::Full {
        compare(&centred(&named(TEST_SMALL_U64)), Backend::Fft, SMALL, Seed::fresh());
        compare(&named(TEST_SMALL_U64), Backend::Ntt, SMALL, Seed::fresh());
        for name in [TEST_SMALL_U32, MESSAGE_2_2M64, MESSAGE_4_2M64, MESSAGE_4_CENTRED_2M128, NVME_TFHE_PAPER] {
            compare(&named(name), Backend::Fft, SMALL, Seed::fresh());
        }
    }
}

/// Bootstraps with keys of a tenth or twice the noise, judged by the model of the set: each must be refused, as
/// the tests above accept those of the set. The key switch dominates the output of the small order, the rows
/// of the bootstrapping key that of the big order by the exact NTT.
#[test]
fn bootstraps_with_other_noise_are_refused() {
    let seed = Seed::fresh();
    let set = named(TEST_SMALL_U64);
    let model = Model::new(set.spec(), Backend::Ntt);
    let scaled = |noise: NoiseDistribution, factor: f64| match noise {
        NoiseDistribution::Gaussian { std_dev } => NoiseDistribution::Gaussian { std_dev: std_dev * factor.sqrt() },
        other => other,
    };
    for order in ORDERS {
        for (factor, counts) in [(0.1, Counts { keys: 12, per_key: 10 }), (2.0, SMALL)] {
            let mut spec = ParameterSpec { name: format!("NOISE_{factor}"), ..set.spec().clone() };
            match order {
                KeyOrder::Big => spec.glwe_noise = scaled(spec.glwe_noise, factor),
                KeyOrder::Small => spec.lwe_noise = scaled(spec.lwe_noise, factor),
            }
            let set = ParameterSet::new(spec, INSECURE).expect("admissible");
            let prediction = model.output(order);
            for Errors { outputs, .. } in bootstraps(&set, Backend::Ntt, &[order], counts, seed) {
                let verdict = outputs.judge(&prediction, outputs.bounds(&prediction)).accept();
                println!("{order}, {factor} of the noise: {verdict:?}");
                assert!(verdict.is_err(), "{order}: {factor} of the noise passes");
            }
        }
    }
}
