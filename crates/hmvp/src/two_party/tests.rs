//! Statistics of the view of A.

use std::sync::Arc;

use ciphermill_lattice::{Csprng, SecretSeed};
use ciphermill_math::Isa;
use num_bigint::BigInt;
use num_traits::ToPrimitive;

use super::*;
use crate::{CpuEngine, DenseMatrix, EncryptedProduct, HmvpEngine, Request, Strategy};
use ciphermill_bfv::keys::{GaloisKeys, PublicKey, SecretKey};

/// Streams of a fixed seed and of a fresh one.
fn rngs() -> [Csprng; 2] {
    [[31; 32], ciphermill_testing::fresh_seed_bytes("two-party")]
        .map(|seed| Csprng::from_secret(&SecretSeed::from_bytes(seed), 3))
}

struct Scene {
    plan: Arc<Plan>,
    key: SecretKey,
    public: PublicKey,
    product: EncryptedProduct,
    expected: Vec<i64>,
}

/// A product of a matrix with few different entries, so that its unmasked values are far from uniform.
fn scene(request: &Request, rng: &mut Csprng) -> Scene {
    let plan = Arc::new(Plan::new(request, Isa::current()).expect("a plan"));
    let key = SecretKey::generate(plan.context(), &SecretSeed::from_os().expect("randomness"));
    let public = PublicKey::generate(&key).expect("a public key");
    let galois = GaloisKeys::generate(&key, &plan.galois_requests()).expect("keys");
    let engine = CpuEngine::new();
    let keys = engine.prepare(&plan, &galois).expect("keys");
    let (rows, cols, t) = (request.rows, request.cols, plan.context().t());
    let entries: Vec<i64> = (0..rows * cols).map(|i| if i % 3 == 0 { 5 } else { -128 }).collect();
    let vector: Vec<i64> = (0..cols).map(|j| j as i64 % 7 - 3).collect();
    let expected = entries.chunks(cols).map(|row| row.iter().zip(&vector).map(|(a, v)| a * v).sum()).collect();
    let [a, b] = share(&vector, t, rng).expect("shares");
    let encrypted = encrypt_share(&plan, &key, &a, rng).expect("a vector");
    let encrypted = add_share(&encrypted, &b).expect("a vector");
    let matrix = DenseMatrix::new(rows, cols, entries).expect("a matrix");
    let matrix = engine.prepare_matrix(&plan, &matrix).expect("a matrix");
    let product = keys.multiply(&matrix, &encrypted).expect("a product");
    Scene { plan, key, public, product, expected }
}

/// Refuses counts that uniform values show in fewer than one of 2^35 cases: χ² with 63 degrees of freedom.
fn require_uniform(what: &str, values: impl Iterator<Item = f64>) {
    let mut counts = [0u32; 64];
    values.for_each(|x| counts[((x * 64.0) as usize).min(63)] += 1);
    let expected = f64::from(counts.iter().sum::<u32>()) / 64.0;
    let chi2: f64 = counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
    println!("{what}: chi-square {chi2:.1} of {} values", expected * 64.0);
    assert!(expected >= 8.0 && chi2 < 170.0, "{what} is not uniform: {counts:?}");
}

/// Where in its half-open interval around a multiple of Q/t each coefficient of a phase lies, in [0, 1).
fn fractions(scene: &Scene, ciphertext: &ciphermill_bfv::Ciphertext) -> Vec<f64> {
    let basis = scene.plan.context().basis(ciphertext.limb_count());
    let noise = scene.key.noise_polynomial(ciphertext).expect("a ciphertext of this key");
    let step = BigInt::from(basis.product()) / scene.plan.context().t();
    let fraction = |x: BigInt| ((x + &step / 2u32) << 40u32) / &step;
    let fraction = |i| fraction(basis.compose(&noise, i)).to_f64().expect("41 bits") / 40f64.exp2();
    (0..scene.plan.context().n()).map(fraction).collect()
}

#[test]
fn what_a_sees_besides_the_noise_of_entries_is_uniform() {
    for mut rng in rngs() {
        for (strategy, rows, cols) in [
            (Strategy::RowPacked, 512, 256),
            (Strategy::RowPacked, 600, 5000),
            (Strategy::Algorithm1, 40, 64),
            (Strategy::Diagonal, 512, 64),
            (Strategy::RotateAndSum, 40, 64),
        ] {
            let request = Request { strategy: Some(strategy), unsplit: true, ..Request::new(rows, cols) };
            let scene = scene(&request, &mut rng);
            let (response, share_b) =
                mask(&scene.product, &MaskOptions::plaintexts_only(), None, &mut rng).expect("an answer");
            let share_a = response.decrypt(&scene.key).expect("a share");
            let t = scene.plan.context().t();
            assert_eq!(reconstruct([&share_a, &share_b], t).expect("shares"), scene.expected, "{request:?}");
            if rows >= 512 {
                for (whose, share) in [("A's share", &share_a), ("B's share", &share_b)] {
                    require_uniform(whose, share.iter().map(|&x| x as f64 / t as f64));
                }
            }
            let masked = response.to_product();
            let algorithm = scene.plan.algorithm();
            for (tile, ciphertexts) in masked.parts[0][0].iter().enumerate() {
                for (index, ciphertext) in ciphertexts.iter().enumerate() {
                    let plaintext = scene.key.decrypt(ciphertext).expect("a plaintext");
                    let all = plaintext.coefficients().iter().map(|&x| x as f64 / t as f64);
                    require_uniform("plaintext", all);
                    if algorithm.batched() {
                        continue;
                    }
                    let places = algorithm.product_places(tile, index);
                    let mut fractions: Vec<Option<f64>> = fractions(&scene, ciphertext).into_iter().map(Some).collect();
                    for (place, _) in places {
                        let fraction = fractions[place].take().expect("a place of one entry");
                        assert!((fraction - 0.5).abs() < 0.4, "the noise of an entry is {fraction}");
                    }
                    require_uniform("what is at other places", fractions.into_iter().flatten());
                }
            }
        }
    }
}

/// Why other places are not masked modulo t: the fractions there are multiples of a power of two, uniform mask or not.
#[test]
fn other_places_are_not_uniform_before() {
    let [mut rng, _] = rngs();
    let request = Request { strategy: Some(Strategy::RowPacked), unsplit: true, ..Request::new(512, 256) };
    let scene = scene(&request, &mut rng);
    let ciphertext = &scene.product.parts[0][0][0][0];
    let places: Vec<usize> = scene.plan.algorithm().product_places(0, 0).into_iter().map(|(place, _)| place).collect();
    let plaintexts = 512 * 256 / 4096;
    let near = |fraction: f64| {
        let steps = fraction * f64::from(plaintexts);
        (steps - steps.round()).abs() < 0.25
    };
    let others: Vec<f64> = fractions(&scene, ciphertext)
        .into_iter()
        .enumerate()
        .filter(|(place, _)| !places.contains(place))
        .map(|(_, fraction)| fraction)
        .collect();
    let count = others.iter().filter(|&&fraction| near(fraction)).count();
    println!("{count} of {} are near multiples of 1/{plaintexts}", others.len());
    assert!(count * 10 > others.len() * 9, "half of them would be near by chance");
}

#[test]
fn flooding_hides_the_noise_of_entries() {
    let mut rng = rngs().into_iter().nth(1).expect("two");
    let request =
        Request { unsplit: true, flooding_bits: 24, strategy: Some(Strategy::RowPacked), ..Request::new(2048, 64) };
    let scene = scene(&request, &mut rng);
    let options = MaskOptions { rerandomise: true, flooding_bits: 24, response_bits: None };
    let flooding = assess(&scene.plan, &options).expect("room").flooding.expect("flooding");
    let (response, _) = mask(&scene.product, &options, Some(&scene.public), &mut rng).expect("an answer");
    let masked = &response.to_product().parts[0][0][0][0];
    let basis = scene.plan.context().basis(masked.limb_count());
    let noise = scene.key.noise_polynomial(masked).expect("noise");
    let bound = f64::from(flooding).exp2();
    let places = scene.plan.algorithm().product_places(0, 0);
    let relative = |(place, _)| basis.compose(&noise, place).to_f64().expect("finite") / bound;
    let values: Vec<f64> = places.into_iter().map(relative).collect();
    assert!(values.iter().all(|x| x.abs() < 1.0 + 1e-6));
    require_uniform("flooded noise", values.iter().map(|x| ((x + 1.0) / 2.0).clamp(0.0, 1.0)));
}

#[test]
fn an_echo_of_the_vector_is_recognised() {
    let mut rng = Csprng::from_os().expect("randomness");
    let request = Request { unsplit: true, ..Request::new(16, 64) };
    let plan = Arc::new(Plan::new(&request, Isa::current()).expect("a plan"));
    let key = SecretKey::generate(plan.context(), &SecretSeed::from_os().expect("randomness"));
    let encrypt = |rng: &mut Csprng| crate::EncryptedVector::encrypt(&plan, &key, &[1; 64], rng).expect("a vector");
    let (sent, other) = (encrypt(&mut rng), encrypt(&mut rng));
    let tiles = vec![sent.ciphertexts(0).cloned().collect()];
    let echo = Response::new(&plan, key.tag(), tiles, None);
    assert!(echo.echoes(&sent));
    assert!(!echo.echoes(&other));
    // Read from bytes.
    assert!(Response::from_bytes(&plan, &echo.to_bytes()).expect("a response").echoes(&sent));
}
