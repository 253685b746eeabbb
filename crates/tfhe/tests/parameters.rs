//! The named sets against their goals, their stated security, and the sets that TFHE-rs publishes.

use ciphermill_lattice::NoiseDistribution;
use ciphermill_tfhe::dimension::{Decomposition, GlweDimension, LweDimension, PolynomialSize};
use ciphermill_tfhe::parameters::{
    DEFAULT_SET_NAMES, MESSAGE_4_2M128, NVME_TFHE_128, NVME_TFHE_PAPER, NVME_TFHE_PAPER_U32, SET_NAMES, TEST_SMALL_U32,
    TEST_SMALL_U64, cost, recommended, recommended_goals, search,
};
use ciphermill_tfhe::{
    Encoding, KeyOrder, ModulusSwitch, ParameterError, ParameterSet, ParameterSpec, SecurityPolicy, TorusWidth, noise,
};

const INSECURE: SecurityPolicy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;

#[test]
fn recommended_sets_are_the_cheapest() {
    let mut count = 0;
    for (name, goal) in recommended_goals() {
        let set = ParameterSet::named(name, SecurityPolicy::Require128Bits).expect("at least 128 bits, no opt-in");
        assert_eq!(
            Some(set.spec()),
            search::cheapest(name, goal).as_ref(),
            "the search finds another set for {goal:?}"
        );
        assert!(set.log2_p_fail() <= goal.log2_p_fail, "{name}: {} for {goal:?}", set.log2_p_fail());
        assert!((131.4..133.0).contains(&set.security().bits), "{name}: {:?}", set.security());
        assert!(set.security().source.contains("MATZOV"), "{name}: {:?}", set.security());
        assert_eq!((set.message_bits, set.max_norm2), (goal.message_bits, goal.max_norm2));
        count += 1;
    }
    assert_eq!(count, DEFAULT_SET_NAMES.len());
    for bits in 1..=6 {
        let name = recommended(bits).expect("a set for up to six bits");
        assert!(name.starts_with(&format!("MESSAGE_{bits}_")), "{name}");
        assert!(name.ends_with("2M128"), "{name}");
    }
    assert_eq!((recommended(0), recommended(7)), (None, None));
}

/// The paper's set is 122 bits to the nearest whole one and must not pass unasked; n = 860 repairs it.
#[test]
fn security_of_the_papers_shapes() {
    for name in [NVME_TFHE_PAPER, NVME_TFHE_PAPER_U32] {
        let refused = ParameterSet::named(name, SecurityPolicy::Require128Bits);
        assert!(matches!(refused, Err(ParameterError::Insecure { bits, .. }) if bits.round() == 122.0), "{refused:?}");
        let set = ParameterSet::named(name, INSECURE).expect("with the opt-in");
        assert!((set.security().bits - 121.7).abs() < 1e-9, "{:?}", set.security());
    }
    let set = ParameterSet::named(NVME_TFHE_128, SecurityPolicy::Require128Bits).expect("at least 128 bits");
    assert!((set.security().bits - 130.5).abs() < 1e-9, "{:?}", set.security());
    for name in [TEST_SMALL_U32, TEST_SMALL_U64] {
        assert!(matches!(
            ParameterSet::named(name, SecurityPolicy::Require128Bits),
            Err(ParameterError::Insecure { bits, .. }) if bits < 10.0
        ));
    }
    for name in SET_NAMES {
        let set = ParameterSet::named(name, INSECURE).expect("admissible");
        assert!(set.log2_p_fail() < -60.0, "{name} fails with 2^{}", set.log2_p_fail());
    }
}

/// The effect of a change of a named set's noise or dimension: the estimator's figure no longer applies.
#[test]
fn estimates_apply_to_their_own_problem_only() {
    let mut spec = ParameterSet::named(NVME_TFHE_128, INSECURE).expect("a named set").spec().clone();
    spec.lwe_noise = NoiseDistribution::Gaussian { std_dev: (-19.01f64).exp2() };
    let set = ParameterSet::new(spec.clone(), INSECURE).expect("admissible");
    assert!(set.security().source.contains("curves"), "{:?}", set.security());
    spec.glwe_noise = NoiseDistribution::Gaussian { std_dev: (-63f64).exp2() };
    spec.glwe_dimension = GlweDimension(1);
    spec.polynomial_size = PolynomialSize::new(1024).expect("a power of two");
    let weak = ParameterSet::new(spec, SecurityPolicy::Require128Bits);
    assert!(matches!(weak, Err(ParameterError::Insecure { .. })), "GLWE of dimension 1024 without noise: {weak:?}");
}

/// At the paper's dimensions: at most sd 2^−21.1 out of a bootstrap in the `Big` order, which is that of a key kept in 48-bit
/// words. (The f64 transform itself leaves 2^−25.0, the exact transform 2^−29.3.) In the `Small` order it is 2^−9.4, with
/// a modulus switch of 5.78 steps of 1/32768.
#[test]
fn noise_at_the_papers_dimensions() {
    let spec = ParameterSet::named(NVME_TFHE_PAPER, INSECURE).expect("a named set").spec().clone();
    let sd = |choice| 0.5 * noise::bootstrap_variance(&spec, choice, noise::Backend::Fft).log2();
    let (big, small) = (sd(KeyOrder::Big), sd(KeyOrder::Small));
    let switch = noise::modulus_switch_variance(&spec).sqrt() * 32768.0;
    println!("big 2^{big:.2}, small 2^{small:.2}, modulus switch {switch:.3}");
    let exact = 0.5 * noise::blind_rotation_variance(&spec, noise::Backend::Ntt).log2();
    assert!((exact + 29.3).abs() < 0.1, "{exact}");
    assert!((big + 21.1).abs() < 0.1, "{big}");
    assert!((small + 9.4).abs() < 0.1, "{small}");
    assert!((switch - 5.78).abs() < 0.01, "{switch}");
}

/// A set of TFHE-rs, in our terms.
struct Published {
    name: String,
    spec: ParameterSpec,
    choice: KeyOrder,
    target: f64,
    log2_p_fail: f64,
}

fn published() -> Vec<Published> {
    let file = include_str!("../data/tfhe_rs_sets.csv");
    let mut lines = file.lines().filter(|line| !line.starts_with('#'));
    let columns: Vec<&str> = lines.next().expect("a header").split(',').collect();
    lines
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            let text = |column: &str| fields[columns.iter().position(|&c| c == column).expect("a column")];
            let number =
                |column: &str| text(column).parse::<f64>().unwrap_or_else(|e| panic!("{column} of {line}: {e}"));
            let whole = |column: &str| number(column) as usize;
            let message_bits = (number("message_bits") + number("carry_bits")) as u32;
            // TUniform bounds are in steps of the ciphertext's modulus; our small key has 32 bits.
            let noise = |column: &str, shift: u32| match text(column).split_once(':') {
                Some(("gaussian", std)) => NoiseDistribution::Gaussian { std_dev: std.parse().expect("a number") },
                Some(("tuniform", bound)) => {
                    NoiseDistribution::TUniform { bound_log2: bound.parse::<u32>().expect("a number") - shift }
                }
                _ => panic!("{column} of {line}"),
            };
            Published {
                name: text("set").to_owned(),
                spec: ParameterSpec {
                    name: "published".to_owned(),
                    torus: TorusWidth::U64,
                    lwe_dimension: LweDimension(whole("lwe_dimension")),
                    glwe_dimension: GlweDimension(whole("glwe_dimension")),
                    polynomial_size: PolynomialSize::new(whole("polynomial_size")).expect("a power of two"),
                    lwe_noise: noise("lwe_noise", number("lwe_modulus_bits") as u32 - 32),
                    glwe_noise: noise("glwe_noise", 0),
                    pbs: Decomposition::new(whole("pbs_base_log"), whole("pbs_level")),
                    ks: Decomposition::new(whole("ks_base_log"), whole("ks_level")),
                    message_bits,
                    max_norm2: number("max_noise_level"),
                    modulus_switch: match text("modulus_switch") {
                        "Standard" => ModulusSwitch::Plain,
                        "CenteredMeanNoiseReduction" => ModulusSwitch::Centred,
                        other => panic!("modulus switch {other} of {line}"),
                    },
                    word: None,
                },
                choice: if text("encryption_key") == "Big" { KeyOrder::Big } else { KeyOrder::Small },
                target: -number("target_log2_pfail"),
                log2_p_fail: number("log2_p_fail"),
            }
        })
        .collect()
}

impl Published {
    /// Our model of their set with their tail, for one back end.
    fn predicted(&self, backend: noise::Backend) -> f64 {
        let spec = &self.spec;
        let input = spec.max_norm2 * spec.max_norm2 * noise::bootstrap_variance(spec, self.choice, backend);
        let variance = noise::phase_index_variance(spec, self.choice, input);
        noise::log2_p_wrong(&Encoding::unsigned(spec.message_bits, true).expect("few bits"), variance)
    }
}

/// The published probability lies between ours without any error of the transform and ours with the bound on the f64
/// transform's error: TFHE-rs has another FFT, with its own noise formula. Where the FFT matters little, in 21 sets or
/// more, we reproduce the figure to 0.03 bits with either modulus switch. The body's rounding is noise with their plain
/// switch, and moves the table's edges into the middle with the centred one. Their key-switching keys have 64 bits and ours 32,
/// which shows nowhere.
#[test]
fn the_noise_model_reproduces_published_failure_probabilities() {
    const TOLERANCE: f64 = 0.01;
    let (mut sets, mut close) = (0, [0, 0]);
    for set in published() {
        let (with, without) = (set.predicted(noise::Backend::Fft), set.predicted(noise::Backend::Ntt));
        let published = set.log2_p_fail;
        println!("{}: published {published}, ours {without:.3} to {with:.3}", set.name);
        assert!(
            without - TOLERANCE < published && published < with + TOLERANCE,
            "{}: published 2^{published}, ours 2^{without:.2} to 2^{with:.2}",
            set.name
        );
        sets += 1;
        if with - without < 0.02 {
            close[usize::from(set.spec.modulus_switch == ModulusSwitch::Centred)] += 1;
        }
    }
    assert_eq!(sets, 61, "sets in the file");
    assert!(close[0] >= 5 && close[1] >= 10, "only {close:?} sets test the model without the FFT");
}

/// Same message bits, norm, order and failure probability, and our cost figure for both. Ours cost the same or less with
/// the same modulus switch. With the plain switch at 2^−128, four bits need N = 4096, where TFHE-rs' centred switch keeps
/// N = 2048.
#[test]
fn costs_compare_with_published_sets() {
    let mut compared = 0;
    for set in published() {
        for (name, goal) in recommended_goals() {
            let same = goal.message_bits == set.spec.message_bits && goal.max_norm2 == set.spec.max_norm2;
            if !same || goal.log2_p_fail != set.target || set.choice != KeyOrder::Big {
                continue;
            }
            let ours = ParameterSet::named(name, SecurityPolicy::Require128Bits).expect("a recommended set");
            let ratio = cost::bootstrap_cost(&ours) / cost::bootstrap_cost(&set.spec);
            println!("{name} against {}: {ratio:.3}", set.name);
            let limit = if name == MESSAGE_4_2M128 { 2.15 } else { 1.01 };
            assert!(ratio > 0.5 && ratio < limit, "{name} against {}: {ratio}", set.name);
            compared += 1;
        }
    }
    assert_eq!(compared, 18);
}

/// A centred set exists where it costs at most nine tenths of the plain set of its goal, or where no plain set has its
/// goal.
#[test]
fn centred_sets_are_worth_their_names() {
    let goals: Vec<_> = recommended_goals().collect();
    for (name, goal) in goals.iter().filter(|(_, goal)| goal.modulus_switch == ModulusSwitch::Centred) {
        let plain = search::Goal { modulus_switch: ModulusSwitch::Plain, ..*goal };
        let cost = |name| cost::bootstrap_cost(&ParameterSet::named(name, INSECURE).expect("a named set"));
        match goals.iter().find(|(_, other)| *other == plain) {
            Some((other, _)) => {
                let ratio = cost(name) / cost(other);
                println!("{name} against {other}: {ratio:.3}");
                assert!(ratio < 0.9, "{name} against {other}: {ratio}");
            }
            None => assert!(goal.message_bits > 4 && goal.log2_p_fail == -128.0, "{name}"),
        }
    }
}
