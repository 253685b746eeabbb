//! Encrypted sums against the plain definition, their privacy and noise, and inputs that do not belong together.

use std::sync::Arc;

use crate::support::{INSECURE, noise, rng, seed};
use ciphermill_bfv::noise::zero_variance;
use ciphermill_bfv::parameters::{ParameterError, TEST_32, TEST_512};
use ciphermill_bfv::sums::{
    EncryptedSums, MAX_PARTIES, MAX_SEGMENTS, MAX_TOTAL, MAX_VALUES, Segment, SumPlan, SumPublicKey, SumRequest,
    Values, reference,
};
use ciphermill_bfv::{BfvError, Ciphertext, ParameterSet, PublicKey, SecretKey, SecurityLevel, SecurityPolicy, serial};
use ciphermill_lattice::{Csprng, SecretSeed};
use ciphermill_math::Isa;
use ciphermill_wire::{Header, WireError, seal};
use num_bigint::BigInt;
use num_traits::ToPrimitive;
use proptest::prelude::*;

fn segments(sizes: &[(usize, u128)]) -> Vec<Segment> {
    sizes.iter().map(|&(len, bound)| Segment { len, bound }).collect()
}

fn plan(request: &SumRequest) -> Arc<SumPlan> {
    Arc::new(SumPlan::new(request, Isa::current()).expect("a plan"))
}

/// A plan by a small set that protects nothing.
fn small(sizes: &[(usize, u128)], parties: u32, set: &str) -> Arc<SumPlan> {
    let parameters = Some(ParameterSet::named(set, INSECURE).expect("a set"));
    plan(&SumRequest { parameters, ..SumRequest::new(segments(sizes), parties) })
}

fn keys(plan: &SumPlan) -> (SecretKey, PublicKey) {
    let secret = SecretKey::generate(plan.context(), &seed(1));
    let public = PublicKey::generate(&secret).expect("randomness");
    (secret, public)
}

/// Uniform values of each segment.
fn random(plan: &SumPlan, rng: &mut Csprng) -> Vec<Vec<i128>> {
    let one = |bound: u128, rng: &mut Csprng| {
        let word = u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
        (word % (2 * bound + 1)) as i128 - bound as i128
    };
    let segment = |segment: &Segment, rng: &mut Csprng| (0..segment.len).map(|_| one(segment.bound, rng)).collect();
    plan.request().segments.iter().map(|s| segment(s, rng)).collect()
}

fn encrypt(plan: &Arc<SumPlan>, key: &PublicKey, values: &[Vec<i128>], rng: &mut Csprng) -> EncryptedSums {
    let values: Vec<Values<'_>> = values.iter().map(|values| Values::Wide(values)).collect();
    EncryptedSums::encrypt(plan, key, &values, rng).expect("values of the plan")
}

fn add(lhs: &[Vec<i128>], rhs: &[Vec<i128>]) -> Vec<Vec<i128>> {
    lhs.iter().zip(rhs).map(|(lhs, rhs)| lhs.iter().zip(rhs).map(|(x, y)| x + y).collect()).collect()
}

/// Every coefficient of c_0 and c_1 less the encryption of 0 by the same generator.
fn message(plan: &SumPlan, key: &PublicKey, sums: &EncryptedSums, rng: &mut Csprng) -> Vec<BigInt> {
    let (context, n) = (plan.context(), plan.context().n());
    let basis = context.basis(context.top());
    let seeds: Vec<[u8; 32]> = sums
        .ciphertexts()
        .iter()
        .map(|_| {
            let mut bytes = [0; 32];
            rng.fill_bytes(&mut bytes);
            bytes
        })
        .collect();
    let mut message = Vec::new();
    for (ciphertext, seed) in sums.ciphertexts().iter().zip(seeds) {
        let mut stream = Csprng::from_secret(&SecretSeed::from_bytes(seed), 0);
        let zero = key.encrypt_zero(context.top(), &mut stream).expect("a level");
        assert_eq!(ciphertext.parts()[1], zero.parts()[1]);
        let mut difference = ciphertext.parts()[0].clone();
        basis.sub_assign(&mut difference, &zero.parts()[0]);
        message.extend((0..n).map(|i| basis.compose(&difference, i)));
    }
    message
}

/// A contribution is bit for bit 2^d times the plain definition's coefficients plus an encryption of 0.
fn check_definition(plan: &Arc<SumPlan>, parties: u32, stream: &mut Csprng) {
    let (secret, public) = keys(plan);
    let mut expected: Option<Vec<Vec<i128>>> = None;
    let mut total: Option<EncryptedSums> = None;
    for party in 0..parties {
        let values = random(plan, stream);
        let sums = encrypt(plan, &public, &values, &mut rng(party as u8));
        let packed = reference::pack(plan, &values);
        let scaled: Vec<BigInt> = packed.iter().map(|x| x << plan.shift()).collect();
        assert_eq!(message(plan, &public, &sums, &mut rng(party as u8)), scaled, "{plan:?}");
        assert_eq!(reference::unpack(plan, &packed), values);
        expected = Some(expected.map_or_else(|| values.clone(), |sum| add(&sum, &values)));
        match &mut total {
            Some(total) => total.add_assign(&sums).expect("of one plan"),
            None => total = Some(sums),
        }
    }
    let (total, expected) = (total.expect("a party"), expected.expect("a party"));
    assert_eq!(total.contributions(), parties);
    assert_eq!(total.decrypt(&secret).expect("of this key"), expected, "{plan:?}");
    let sent = EncryptedSums::from_bytes(plan, &total.to_bytes()).expect("own bytes");
    assert_eq!(sent, total);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn sums_are_those_of_the_definition(
        sizes in prop::collection::vec((1usize..200, 0u32..60), 1..5),
        parties in 1u32..5,
        large in any::<bool>(),
        byte: u8,
    ) {
        let sizes: Vec<(usize, u128)> = sizes.into_iter().map(|(len, bits)| (len, (1 << bits) + bits as u128)).collect();
        let plan = small(&sizes, parties, if large { TEST_512 } else { TEST_32 });
        check_definition(&plan, parties, &mut Csprng::from_secret(&seed(byte), 5));
    }
}

/// Every shift of a field against the digits of a coefficient, narrow and wide.
#[test]
fn every_width_of_a_field() {
    let mut stream = Csprng::from_secret(&seed(2), 6);
    for bits in 0..=122 {
        let request = SumRequest::new(segments(&[(3000, 1 << bits)]), 3);
        let plan = plan(&request);
        assert!(plan.context().parameters().keeps(SecurityLevel::Bits128) && plan.log2_failure() <= -64.0);
        check_definition(&plan, 1, &mut stream);
    }
}

#[test]
fn many_fields_in_one_coefficient() {
    // 17 limbs of 50 bits: more than 400 fields of two bits, and fields that end anywhere.
    let mut stream = Csprng::from_secret(&seed(3), 7);
    let wide = plan(&SumRequest::new(segments(&[(1_500_000, 1 << 30)]), 2)).context().parameters().clone();
    for bits in [0, 1, 2, 5, 6, 7, 8, 13, 30, 61, 62, 63] {
        let request =
            SumRequest { parameters: Some(wide.clone()), ..SumRequest::new(segments(&[(60_000, 1 << bits)]), 1) };
        check_definition(&plan(&request), 1, &mut stream);
    }
}

/// All values at one end of their range, so that every field is as full as it may be.
#[test]
fn greatest_values_of_either_sign() {
    for (bits, parties) in [(0, 1), (0, 2), (3, 7), (20, 16), (55, 4), (62, 2), (100, 3), (125, 2)] {
        let plan = plan(&SumRequest::new(segments(&[(5000, 1 << bits), (3, 1)]), parties));
        let (secret, public) = keys(&plan);
        for sign in [-1, 1] {
            let values = vec![vec![sign << bits; 5000], vec![sign, -sign, 0]];
            // Each party draws its own randomness. The noise of one ciphertext added to itself would exceed the plan's bound.
            let mut stream = rng(8);
            let mut total = encrypt(&plan, &public, &values, &mut stream);
            for _ in 1..parties {
                total.add_assign(&encrypt(&plan, &public, &values, &mut stream)).expect("of one plan");
            }
            let expected: Vec<Vec<i128>> =
                values.iter().map(|v| v.iter().map(|x| x * i128::from(parties)).collect()).collect();
            assert_eq!(total.decrypt(&secret).expect("of this key"), expected, "{bits} bits, {parties} parties");
        }
    }
}

#[test]
fn narrow_values_are_the_same_as_wide_ones() {
    let plan = small(&[(70, 1 << 40), (5, 1 << 70)], 2, TEST_32);
    let (_, public) = keys(&plan);
    let narrow: Vec<Vec<i64>> = vec![(0..70).map(|i| (i - 35) << 34).collect(), vec![i64::MIN, -1, 0, 1, i64::MAX]];
    let wide: Vec<Vec<i128>> = narrow.iter().map(|v| v.iter().map(|&x| i128::from(x)).collect()).collect();
    let [first, second] = [0, 1].map(|i| Values::Narrow(&narrow[i]));
    let narrow = EncryptedSums::encrypt(&plan, &public, &[first, second], &mut rng(1)).expect("in range");
    assert_eq!(narrow, encrypt(&plan, &public, &wide, &mut rng(1)));
}

/// The sum is a function of the totals and of randomness: other contributions with equal totals give equal bytes.
#[test]
fn a_sum_depends_on_the_totals_alone() {
    for request in [
        SumRequest::new(segments(&[(500, 1000), (20, 1 << 60)]), 3),
        SumRequest::new(segments(&[(9000, 1)]), 3),
        SumRequest::new(segments(&[(5, 1 << 100)]), 3),
    ] {
        let plan = plan(&request);
        let (secret, public) = keys(&plan);
        let mut stream = Csprng::from_secret(&seed(4), 8);
        // The same totals: x and 0 and −x, or 0 and x and −x; and the ends of the range.
        let x = random(&plan, &mut stream);
        let minus: Vec<Vec<i128>> = x.iter().map(|v| v.iter().map(|x| -x).collect()).collect();
        let zero: Vec<Vec<i128>> = x.iter().map(|v| vec![0; v.len()]).collect();
        let ends = |sign: i128| -> Vec<Vec<i128>> {
            request.segments.iter().map(|s| vec![sign * s.bound as i128; s.len]).collect()
        };
        let sum = |contributions: [&[Vec<i128>]; 3]| {
            let mut total: Option<EncryptedSums> = None;
            for (party, values) in contributions.into_iter().enumerate() {
                let sums = encrypt(&plan, &public, values, &mut rng(party as u8));
                match &mut total {
                    Some(total) => total.add_assign(&sums).expect("of one plan"),
                    None => total = Some(sums),
                }
            }
            total.expect("three")
        };
        let sums = [sum([&x, &zero, &minus]), sum([&zero, &x, &minus]), sum([&ends(1), &zero, &ends(-1)])];
        assert_eq!(sums[0].to_bytes(), sums[1].to_bytes());
        assert_eq!(sums[0].to_bytes(), sums[2].to_bytes());
        assert_eq!(sums[0].decrypt(&secret).expect("of this key"), zero);
        // Other totals do change it.
        assert_ne!(sums[0].to_bytes(), sum([&x, &zero, &zero]).to_bytes());
    }
}

/// The noise of a sum is that of as many encryptions of 0.
#[test]
fn noise_is_that_of_the_model() {
    let plan = plan(&SumRequest::new(segments(&[(20_000, 1 << 20)]), 9));
    let (secret, public) = keys(&plan);
    let mut stream = Csprng::from_secret(&SecretSeed::from_bytes(ciphermill_testing::fresh_seed_bytes("sums")), 0);
    let values = random(&plan, &mut stream);
    let mut total = encrypt(&plan, &public, &values, &mut stream);
    for _ in 1..9 {
        total.add_assign(&encrypt(&plan, &public, &values, &mut stream)).expect("of one plan");
    }
    let packed = reference::pack(&plan, &total.decrypt(&secret).expect("of this key"));
    let (context, n) = (plan.context(), plan.context().n());
    let zero = context.plaintext(vec![0; n]).expect("N zeros");
    let mut squares = Vec::new();
    for (ciphertext, packed) in total.ciphertexts().iter().zip(packed.chunks(n)) {
        let phase = noise(&secret, ciphertext, &zero);
        squares.extend(phase.iter().zip(packed).map(|(phase, packed)| {
            let noise = (phase - (packed << plan.shift())).to_f64().expect("small");
            noise * noise
        }));
    }
    let (count, model) = (squares.len() as f64, 9.0 * zero_variance(n as f64));
    let ratio = squares.iter().sum::<f64>() / count / model;
    let deviations = squares.iter().copied().fold(0.0, f64::max).sqrt() / model.sqrt();
    // Coefficients of one ciphertext share u and s, so the estimate is wider than of independent values.
    assert!((ratio - 1.0).abs() < 0.15, "{ratio} times the model's variance");
    assert!((2.5..7.5).contains(&deviations), "the greatest noise is {deviations} standard deviations");
    // The plan leaves room for more than nine standard deviations.
    assert!((f64::from(plan.shift()) - 1.0).exp2() > 9.0 * model.sqrt());
}

#[test]
fn threads_do_not_change_a_contribution() {
    let plan = plan(&SumRequest::new(segments(&[(60_000, 1 << 40)]), 2));
    let (secret, public) = keys(&plan);
    let values = random(&plan, &mut rng(9));
    let results = [1, 3].map(|threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| {
            let sums = encrypt(&plan, &public, &values, &mut rng(1));
            assert_eq!(sums.decrypt(&secret).expect("of this key"), values);
            sums
        })
    });
    assert_eq!(results[0], results[1]);
}

#[test]
fn plans_pack_several_totals_and_keep_their_promises() {
    // A million counts: several in a coefficient.
    let counts = plan(&SumRequest::new(segments(&[(1_000_000, 1 << 20)]), 16));
    assert!(counts.ciphertexts() * counts.context().n() <= 1_000_000 / 4, "{counts:?}");
    // A few values: one ciphertext of the smallest N with room.
    let few = plan(&SumRequest::new(segments(&[(20, 1000)]), 3));
    assert_eq!(few.ciphertexts(), 1);
    assert!(few.context().n() <= 2048 && few.context().top() == 1, "{few:?}");
    for (level, failure) in [(SecurityLevel::Bits192, -40.0), (SecurityLevel::Bits256, -200.0)] {
        let request = SumRequest { security: level, log2_failure: failure, ..few.request().clone() };
        let plan = plan(&request);
        assert!(plan.context().parameters().keeps(level) && plan.log2_failure() <= failure);
        check_definition(&plan, 2, &mut rng(10));
    }
    // Equal requests, equal plans.
    assert_eq!(*few, *plan(few.request()));
    assert_ne!(*few, *plan(&SumRequest { label: [1; 32], ..few.request().clone() }));
}

fn refused(request: &SumRequest) -> BfvError {
    SumPlan::new(request, Isa::current()).expect_err("not admissible")
}

#[test]
fn hostile_requests_are_refused() {
    let good = SumRequest::new(segments(&[(10, 100)]), 3);
    let bad = [
        vec![],
        segments(&[(0, 1)]),
        segments(&[(1, 0)]),
        segments(&[(1, u128::MAX)]),
        segments(&[(1, MAX_TOTAL / 3 + 1)]),
        segments(&[(MAX_VALUES + 1, 1)]),
        segments(&[(usize::MAX, 1)]),
        segments(&[(MAX_VALUES, 1), (1, 1)]),
        segments(&[(1, 1); MAX_SEGMENTS + 1]),
    ];
    for segments in bad {
        let error = refused(&SumRequest { segments: segments.clone(), ..good.clone() });
        assert!(matches!(error, BfvError::Range { .. }), "{segments:?}: {error}");
    }
    for parties in [0, MAX_PARTIES + 1, u32::MAX] {
        assert!(matches!(refused(&SumRequest { parties, ..good.clone() }), BfvError::Range { .. }));
    }
    for log2_failure in [0.0, 1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -5000.0] {
        assert!(matches!(refused(&SumRequest { log2_failure, ..good.clone() }), BfvError::Unsupported { .. }));
    }
    // Totals that no set has room for, those of the caller included.
    let parameters = Some(ParameterSet::named(TEST_32, INSECURE).expect("a set"));
    let wide = SumRequest { parameters, ..SumRequest::new(segments(&[(1, 1 << 80)]), 3) };
    let text = refused(&wide).to_string();
    assert!(text.contains("totals of 83 bits by TEST_32"), "{text}");
    let failing = SumRequest { log2_failure: -4000.0, ..SumRequest::new(segments(&[(1, 1)]), 3) };
    assert!(SumPlan::new(&failing, Isa::current()).is_ok());
    // The most of everything is a plan, or more memory than is allowed.
    let most = SumRequest::new(segments(&[(MAX_VALUES / 64, MAX_TOTAL >> 16); MAX_SEGMENTS]), MAX_PARTIES);
    assert!(SumPlan::new(&most, Isa::current()).is_ok());
    let parameters = ParameterSet::named(TEST_32, INSECURE).expect("a set");
    let tiny = SumRequest { parameters: Some(parameters), ..SumRequest::new(segments(&[(MAX_VALUES, 1 << 60)]), 2) };
    assert!(SumPlan::new(&tiny, Isa::current()).is_ok());
}

#[test]
fn objects_that_do_not_belong_together_are_refused() {
    let ours = small(&[(10, 100), (2, 5)], 2, TEST_32);
    let (secret, public) = keys(&ours);
    let good: [Vec<i64>; 2] = [vec![1; 10], vec![5, -5]];
    let encrypt = |first: &[i64], second: &[i64]| {
        EncryptedSums::encrypt(&ours, &public, &[Values::Narrow(first), Values::Narrow(second)], &mut rng(1))
    };
    let sums = encrypt(&good[0], &good[1]).expect("of the plan");
    assert!(matches!(encrypt(&good[0][1..], &good[1]), Err(BfvError::Length { .. })));
    assert!(matches!(encrypt(&good[1], &good[0]), Err(BfvError::Length { .. })));
    for value in [6, -6, i64::MIN, i64::MAX] {
        match encrypt(&good[0], &[0, value]) {
            Err(BfvError::Range { given, min, max, .. }) => assert_eq!((given, min, max), (value.into(), -5, 5)),
            other => panic!("{other:?}"),
        }
    }
    let wide = [Values::Narrow(&good[0]), Values::Wide(&[i128::MIN, 0])];
    assert!(matches!(EncryptedSums::encrypt(&ours, &public, &wide, &mut rng(1)), Err(BfvError::Range { .. })));
    let one = [Values::Narrow(&good[0])];
    assert!(matches!(EncryptedSums::encrypt(&ours, &public, &one, &mut rng(1)), Err(BfvError::Length { .. })));

    // Keys, plans and parameters of others.
    let stranger = SecretKey::generate(ours.context(), &seed(2));
    assert!(matches!(sums.decrypt(&stranger), Err(BfvError::WrongKey { .. })));
    let foreign = PublicKey::generate(&stranger).expect("randomness");
    let values = [Values::Narrow(&good[0]), Values::Narrow(&good[1])];
    let theirs = EncryptedSums::encrypt(&ours, &foreign, &values, &mut rng(1)).expect("of the plan");
    assert!(matches!(sums.clone().add_assign(&theirs), Err(BfvError::WrongKey { .. })));
    let other = small(&[(10, 100), (2, 6)], 2, TEST_32);
    let others = EncryptedSums::encrypt(&other, &public, &values, &mut rng(1)).expect("of the other plan");
    assert!(matches!(sums.clone().add_assign(&others), Err(BfvError::WrongPlan { .. })));
    assert!(matches!(EncryptedSums::from_bytes(&ours, &others.to_bytes()), Err(BfvError::WrongPlan { .. })));
    let larger = small(&[(10, 100), (2, 5)], 2, TEST_512);
    assert!(matches!(
        EncryptedSums::encrypt(&larger, &public, &values, &mut rng(1)),
        Err(BfvError::WrongParameters { .. })
    ));
    assert!(matches!(sums.decrypt(&keys(&larger).0), Err(BfvError::WrongParameters { .. })));

    // Keys carry their plan: `other` has the same parameters.
    assert_eq!(ours.context().parameters().id(), other.context().parameters().id());
    let key = SumPublicKey::generate(&ours, &secret).expect("randomness");
    let bytes = key.to_bytes();
    let read = SumPublicKey::from_bytes(&ours, &bytes).expect("own bytes");
    assert_eq!((read.to_bytes(), read.tag(), read.plan()), (bytes.clone(), secret.tag(), &ours));
    assert_eq!(
        read.encrypt(&values, &mut rng(1)).expect("of the plan"),
        key.encrypt(&values, &mut rng(1)).expect("too")
    );
    assert!(matches!(SumPublicKey::from_bytes(&other, &bytes), Err(BfvError::WrongPlan { .. })));
    assert!(matches!(SumPublicKey::from_bytes(&larger, &bytes), Err(BfvError::WrongPlan { .. })));
    assert!(matches!(
        SumPublicKey::from_bytes(&ours, &public.to_bytes()),
        Err(BfvError::Wire(WireError::WrongKind { .. }))
    ));
    assert!(matches!(SumPublicKey::generate(&larger, &secret), Err(BfvError::WrongParameters { .. })));

    // Equal plans of different processes are the same plan.
    let again = Arc::new(SumPlan::from_bytes(&ours.to_bytes(), INSECURE, Isa::current()).expect("own bytes"));
    let mut sent = EncryptedSums::from_bytes(&again, &sums.to_bytes()).expect("own bytes");
    sent.add_assign(&sums).expect("an equal plan");
    assert_eq!(sent.decrypt(&secret).expect("of this key"), [vec![2; 10], vec![10, -10]]);
    let before = sent.clone();
    assert!(matches!(sent.add_assign(&sums), Err(BfvError::Range { given: 3, max: 2, .. })));
    assert_eq!(sent, before, "a refused sum changes nothing");
}

#[test]
fn the_explanation_has_the_facts() {
    let plan = plan(&SumRequest::new(segments(&[(10_000, 100), (2, 1 << 80)]), 7));
    let (_, public) = keys(&plan);
    let sums = encrypt(&plan, &public, &[vec![1; 10_000], vec![-1; 2]], &mut rng(1));
    let explanation = plan.explain();
    let words: usize = sums.ciphertexts().iter().flat_map(Ciphertext::parts).map(|part| part.words().len()).sum();
    assert_eq!(explanation.sums_memory, 8 * words as u64);
    assert_eq!(explanation.sums_bytes, sums.to_bytes().len() as u64);
    assert_eq!((explanation.ciphertexts, explanation.log2_failure), (plan.ciphertexts(), plan.log2_failure()));
    let noise = (7.0 * zero_variance(plan.context().n() as f64)).sqrt().log2();
    assert!((explanation.noise_bits - noise).abs() < 1e-9 && explanation.noise_limit_bits > noise + 2.0);
    assert!(explanation.security_bits >= 128.0);
    // An estimate far below 2^-128 is not shown as a figure.
    let certain =
        self::plan(&SumRequest { log2_failure: -4000.0, ..SumRequest::new(segments(&[(1, 1)]), 3) }).explain();
    assert!(certain.log2_failure < -4000.0);
    let text = certain.to_string();
    assert!(text.contains("failure probability     < 2^-128 (model: independent Gaussian noise)"), "{text}");
}

/// A sum that declares fewer contributions than it has, or that encrypts something else, is an error and not a wrong total.
#[test]
fn totals_beyond_their_bounds_are_refused() {
    let plan = small(&[(10, 100)], 3, TEST_32);
    let (secret, public) = keys(&plan);
    let one = encrypt(&plan, &public, &[vec![100; 10]], &mut rng(1));
    let mut two = one.clone();
    two.add_assign(&one).expect("of one plan");
    let understated = resealed(&two.to_bytes(), |body| {
        let at = 2 + usize::from(u16::from_le_bytes([body[0], body[1]])) + 8;
        assert_eq!(body[at..at + 4], 2u32.to_le_bytes());
        body[at] = 1;
    });
    let understated = EncryptedSums::from_bytes(&plan, &understated).expect("one form");
    match understated.decrypt(&secret) {
        Err(BfvError::Range { given: 200, min: -100, max: 100, .. }) => {}
        other => panic!("{other:?}"),
    }
    // Random residues decrypt to bits above all fields, or to totals beyond the bound.
    let context = plan.context();
    let mut stream = rng(2);
    let parts = |stream: &mut Csprng| {
        let mut part = context.basis(context.top()).zero();
        for (q, limb) in context.basis(context.top()).moduli().zip(part.limbs_mut()) {
            limb.iter_mut().for_each(|x| *x = stream.next_u64() % q.value());
        }
        part
    };
    for _ in 0..20 {
        let ciphertext =
            Ciphertext::new(context.parameters().id(), secret.tag(), vec![parts(&mut stream), parts(&mut stream)]);
        let basis = context.basis(context.top());
        let residues: Vec<u8> = ciphertext.parts().iter().flat_map(|part| basis.pack(part)).collect();
        let noise = resealed(&one.to_bytes(), |body| {
            let at = body.len() - residues.len();
            body[at..].copy_from_slice(&residues);
        });
        let noise = EncryptedSums::from_bytes(&plan, &noise).expect("residues below their primes");
        assert!(matches!(noise.decrypt(&secret), Err(BfvError::Range { .. } | BfvError::Unsupported { .. })));
    }
}

/// Sealed again around a changed body.
fn resealed(bytes: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let header = Header::decode(bytes).expect("an envelope");
    let mut body = crate::support::body(bytes).to_vec();
    change(&mut body);
    seal(header.kind, header.version, &body)
}

type Reader<'a> = dyn Fn(&[u8]) -> Result<(), BfvError> + 'a;

#[test]
fn hostile_bytes_are_refused() {
    let plan = small(&[(10, 100), (2, 1 << 40)], 2, TEST_32);
    let (secret, public) = keys(&plan);
    let sums = encrypt(&plan, &public, &[vec![1; 10], vec![-1; 2]], &mut rng(1)).to_bytes();
    let read_plan = |bytes: &[u8]| SumPlan::from_bytes(bytes, INSECURE, Isa::current()).map(drop);
    let read_sums = |bytes: &[u8]| EncryptedSums::from_bytes(&plan, bytes).map(drop);
    let key = SumPublicKey::generate(&plan, &secret).expect("randomness").to_bytes();
    let read_key = |bytes: &[u8]| SumPublicKey::from_bytes(&plan, bytes).map(drop);
    let objects: [(&str, Vec<u8>, &Reader<'_>); 3] =
        [("plan", plan.to_bytes(), &read_plan), ("sums", sums, &read_sums), ("key", key, &read_key)];
    for (what, bytes, read) in objects {
        read(&bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
        for len in 0..bytes.len() {
            let error = read(&bytes[..len]).expect_err("cut off");
            assert!(matches!(error, BfvError::Wire(WireError::Truncated { .. })), "{what} {len}: {error}");
        }
        assert!(read(&[&bytes[..], &[0]].concat()).is_err(), "{what} and a byte");
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            assert!(matches!(read(&damaged), Err(BfvError::Wire(_))), "{what} byte {at}");
        }
        // Behind a good checksum: an error, or another object.
        for at in 0..crate::support::body(&bytes).len() {
            for flip in [1, 0x80, 0xff] {
                let _ = read(&resealed(&bytes, |body| body[at] ^= flip));
            }
        }
        for len in 0..crate::support::body(&bytes).len() {
            assert!(read(&resealed(&bytes, |body| body.truncate(len))).is_err(), "{what}, body cut to {len}");
        }
        assert!(read(&resealed(&bytes, |body| body.push(0))).is_err(), "{what}, body and a byte");
        let other = if what == "plan" { serial::SUMS } else { serial::SUM_PLAN };
        let foreign = seal(other, serial::BODY_VERSION, crate::support::body(&bytes));
        assert!(matches!(read(&foreign), Err(BfvError::Wire(WireError::WrongKind { .. }))), "{what}");
    }
}

#[test]
fn fields_of_plans_are_judged() {
    let plan = small(&[(10, 100), (2, 1 << 40)], 2, TEST_32);
    let says = |at: usize, patch: &[u8], expected: &str| {
        let bytes = resealed(&plan.to_bytes(), |body| body[at..at + patch.len()].copy_from_slice(patch));
        let text = SumPlan::from_bytes(&bytes, INSECURE, Isa::current()).expect_err("a bad field").to_string();
        assert!(text.contains(expected), "{text:?} does not say {expected:?}");
    };
    says(32, &[0; 4], "number of parties is 0; use 1 to 65536");
    says(36, &f64::NAN.to_le_bytes(), "a failure probability of 2^NaN");
    says(44, &[3], "code of a security level is 3; use 0 to 2");
    // The set has no security, which a plan that chose it would need.
    says(45, &[0], "sums by TEST_32 at a security of 128 bits");
    says(45, &[2], "whether parameters were asked for is 2");
    says(46, &[0], "bits below the message is 0");
    says(46, &[65], "bits below the message is 65");
    says(46, &[plan.shift() as u8 - 1], "a total is wrong with a probability of");
    says(46, &[60], "totals of 43 bits by TEST_32, which has room for 29");
    says(47, &[0], "");
    says(48, &[0; 4], "number of values of a segment is 0");
    says(52, &[0; 16], "bound of a value is 0");
    says(52, &[0xff; 16], "bound of a value is 170141183460469231731687303715884105727");
    let strict = SumPlan::from_bytes(&plan.to_bytes(), SecurityPolicy::Require128Bits, Isa::current());
    assert!(matches!(strict, Err(BfvError::Parameters(ParameterError::Insecure { .. }))));
    // A larger d than the planner's is admissible if the totals fit.
    let bytes = resealed(&plan.to_bytes(), |body| body[46] += 1);
    let other = SumPlan::from_bytes(&bytes, INSECURE, Isa::current()).expect("admissible");
    assert_eq!(other.shift(), plan.shift() + 1);
    check_definition(&Arc::new(other), 2, &mut rng(3));
}
