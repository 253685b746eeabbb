//! Convolutions of encrypted images against the definition.

use std::sync::Arc;

use ciphermill_bfv::parameters::{CHAM_PAPER, ParameterSet, SecurityPolicy, TEST_32, TEST_512};
use ciphermill_bfv::{BfvError, Ciphertext, PublicKey, SecretKey, SecurityLevel};
use ciphermill_hmvp::conv2d::{
    Conv2dPlan, Conv2dRequest, ConvKernels, ConvShape, EncryptedConvolution, EncryptedImage,
};
use ciphermill_hmvp::{Encryption, HmvpError, PlanError};
use ciphermill_lattice::{Csprng, SecretSeed};
use ciphermill_math::Isa;
use num_traits::ToPrimitive;
use proptest::prelude::*;

/// The convolution by its definition.
pub(crate) fn convolve(shape: &ConvShape, image: &[i64], kernels: &[i64]) -> Vec<i64> {
    let ConvShape { channels, height, width, kernel_height, kernel_width, stride, padding, .. } = *shape;
    let pixel = |c: usize, y: usize, x: usize| -> i64 {
        let inside = (padding..padding + height).contains(&y) && (padding..padding + width).contains(&x);
        if inside { image[(c * height + y - padding) * width + x - padding] } else { 0 }
    };
    let mut output = Vec::with_capacity(shape.output_len());
    for m in 0..shape.kernels {
        for y in 0..shape.output_height() {
            for x in 0..shape.output_width() {
                let mut sum = 0;
                for c in 0..channels {
                    for i in 0..kernel_height {
                        for j in 0..kernel_width {
                            let kernel = kernels[((m * channels + c) * kernel_height + i) * kernel_width + j];
                            sum += kernel * pixel(c, y * stride + i, x * stride + j);
                        }
                    }
                }
                output.push(sum);
            }
        }
    }
    output
}

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn entries(&mut self, count: usize, bits: u32) -> Vec<i64> {
        let mut next = || {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            x ^ (x >> 31)
        };
        (0..count).map(|_| (next() >> (64 - bits)) as i64 - (1 << (bits - 1))).collect()
    }
}

pub(crate) fn noise(seed: u8) -> Csprng {
    Csprng::from_secret(&SecretSeed::from_bytes([seed; 32]), 1)
}

fn plan(request: &Conv2dRequest) -> Arc<Conv2dPlan> {
    Arc::new(Conv2dPlan::new(request, Isa::best()).expect("a plan"))
}

fn secret(plan: &Conv2dPlan) -> SecretKey {
    SecretKey::generate(plan.context(), &SecretSeed::from_bytes([4; 32]))
}

/// Runs the convolution.
fn run(plan: &Arc<Conv2dPlan>, image: &[i64], kernels: &[i64]) -> EncryptedConvolution {
    let key = secret(plan);
    let image = match plan.request().encryption {
        Encryption::Secret => EncryptedImage::encrypt(plan, &key, image, &mut noise(1)),
        Encryption::Public => {
            EncryptedImage::encrypt_public(plan, &PublicKey::generate(&key).expect("a key"), image, &mut noise(2))
        }
    };
    let image = image.expect("an image of the plan");
    assert_eq!(image.ciphertexts().len(), plan.image_ciphertexts());
    let product = ConvKernels::prepare(plan, kernels).expect("kernels of the plan").multiply(&image).expect("one plan");
    assert_eq!(product.ciphertexts().len(), plan.output_ciphertexts());
    product
}

fn check_entries(request: &Conv2dRequest, image: &[i64], kernels: &[i64]) {
    let plan = plan(request);
    let got = run(&plan, image, kernels).decrypt(&secret(&plan)).expect("of this key");
    assert!(got == convolve(&request.shape, image, kernels), "{:?}", request.shape);
}

fn check(request: &Conv2dRequest) {
    let mut random = Random(request.shape.image_len() as u64);
    let image = random.entries(request.shape.image_len(), request.image_bits);
    let kernels = random.entries(request.shape.kernels_len(), request.kernel_bits);
    check_entries(request, &image, &kernels);
}

pub(crate) fn shape(
    channels: usize,
    size: usize,
    kernels: usize,
    kernel: usize,
    stride: usize,
    padding: usize,
) -> ConvShape {
    let (height, width, kernel_height, kernel_width) = (size, size, kernel, kernel);
    ConvShape { channels, height, width, kernels, kernel_height, kernel_width, stride, padding }
}

#[test]
fn layers_of_neural_networks_at_128_bits() {
    for stride in [1, 2] {
        check(&Conv2dRequest::new(shape(3, 32, 16, 3, stride, 1)));
        check(&Conv2dRequest::new(shape(8, 28, 4, 5, stride, 0)));
    }
    // More channels, and then more pixels, than a polynomial has coefficients.
    check(&Conv2dRequest::new(shape(64, 14, 8, 3, 1, 1)));
    check(&Conv2dRequest::new(shape(3, 112, 4, 7, 2, 3)));
    check(&Conv2dRequest::new(shape(32, 8, 32, 1, 1, 0)));
}

#[test]
fn greatest_entries_of_either_sign() {
    let shape = shape(3, 32, 16, 3, 1, 1);
    let request = Conv2dRequest::new(shape);
    for (image, kernel) in [(-128, -128), (-128, 127), (127, 127), (127, -128)] {
        check_entries(&request, &vec![image; shape.image_len()], &vec![kernel; shape.kernels_len()]);
    }
}

#[test]
fn wider_entries_more_security_and_public_keys() {
    let shape = shape(3, 16, 4, 3, 1, 1);
    check(&Conv2dRequest { kernel_bits: 16, image_bits: 16, ..Conv2dRequest::new(shape) });
    check(&Conv2dRequest { kernel_bits: 2, image_bits: 24, ..Conv2dRequest::new(shape) });
    check(&Conv2dRequest { encryption: Encryption::Public, ..Conv2dRequest::new(shape) });
    let request = Conv2dRequest { security: SecurityLevel::Bits256, ..Conv2dRequest::new(shape) };
    assert!(plan(&request).context().parameters().keeps(SecurityLevel::Bits256));
    check(&request);
}

#[test]
fn eight_bits_need_one_limb_and_no_special_modulus() {
    let plan = plan(&Conv2dRequest::new(shape(3, 32, 16, 3, 1, 1)));
    let parameters = plan.context().parameters();
    assert_eq!((parameters.ciphertext_moduli.len(), parameters.special_moduli.len()), (1, 0));
    assert!(parameters.ciphertext_moduli[0] < 1 << 50);
    assert!(parameters.keeps(SecurityLevel::Bits128));
    assert!(plan.log2_failure() <= -64.0);
}

pub(crate) fn test_set(name: &str) -> ParameterSet {
    ParameterSet::named(name, SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly).expect("a set")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn every_shape_gives_the_convolution(
        channels in 1usize..5,
        sizes in (1usize..12, 1usize..12),
        kernels in 1usize..5,
        kernel in (1usize..5, 1usize..5),
        stride in 1usize..4,
        padding in 0usize..3,
        large in any::<bool>(),
    ) {
        let shape = ConvShape {
            channels,
            height: sizes.0,
            width: sizes.1,
            kernels,
            kernel_height: kernel.0,
            kernel_width: kernel.1,
            stride,
            padding,
        };
        prop_assume!(kernel.0 <= sizes.0 + 2 * padding && kernel.1 <= sizes.1 + 2 * padding);
        let parameters = Some(test_set(if large { TEST_512 } else { TEST_32 }));
        check(&Conv2dRequest { kernel_bits: 4, image_bits: 4, parameters, ..Conv2dRequest::new(shape) });
    }
}

#[test]
fn places_of_outputs_are_their_own_and_complete() {
    let plan = plan(&Conv2dRequest::new(shape(3, 112, 10, 3, 2, 1)));
    let mut outputs = Vec::new();
    for ciphertext in 0..plan.output_ciphertexts() {
        let places = plan.output_places(ciphertext);
        let mut coefficients: Vec<usize> = places.iter().map(|&(at, _)| at).collect();
        coefficients.sort_unstable();
        coefficients.dedup();
        assert_eq!(coefficients.len(), places.len());
        assert!(coefficients.iter().all(|&at| at < plan.context().n()));
        outputs.extend(places.into_iter().map(|(_, index)| index));
    }
    outputs.sort_unstable();
    assert_eq!(outputs, (0..plan.shape().output_len()).collect::<Vec<_>>());
    assert!(plan.output_places(plan.output_ciphertexts()).is_empty());
    assert!(plan.output_places(usize::MAX).is_empty());
}

/// The greatest noise of all coefficients against the model, which is for the greatest entries: kernels of those.
#[test]
fn noise_is_that_of_the_model() {
    for seed in [1, ciphermill_testing::fresh_seed("kernels")] {
        let request = Conv2dRequest::new(shape(3, 32, 16, 3, 1, 1));
        let plan = plan(&request);
        let mut random = Random(seed);
        let image = random.entries(request.shape.image_len(), 8);
        let kernels: Vec<i64> = random
            .entries(request.shape.kernels_len(), 1)
            .into_iter()
            .map(|sign| if sign < 0 { -128 } else { 127 })
            .collect();
        let product = run(&plan, &image, &kernels);
        let key = secret(&plan);
        let greatest =
            product.ciphertexts().iter().map(|c| key.noise(c).expect("of this key").to_f64().expect("finite"));
        let greatest = greatest.fold(0.0, f64::max) / plan.noise_std_dev();
        // Of some 2^15 Gaussian values of about this deviation the greatest is around 4 times as large; beyond 7 with a
        // probability of 2^-23.
        assert!((2.5..7.0).contains(&greatest), "greatest noise is {greatest} standard deviations, seed {seed}");
    }
}

#[test]
fn threads_do_not_change_the_output() {
    let request = Conv2dRequest::new(shape(64, 14, 8, 3, 1, 1));
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| check(&request));
    }
}

fn refused(request: &Conv2dRequest) -> HmvpError {
    Conv2dPlan::new(request, Isa::best()).expect_err("not admissible")
}

#[test]
fn hostile_shapes_are_refused() {
    let good = shape(3, 8, 2, 3, 1, 1);
    let bad = [
        ConvShape { channels: 0, ..good },
        ConvShape { height: 0, ..good },
        ConvShape { width: usize::MAX, ..good },
        ConvShape { kernels: 16385, ..good },
        ConvShape { kernel_height: 0, ..good },
        ConvShape { kernel_height: 11, ..good },
        ConvShape { kernel_width: usize::MAX / 2, ..good },
        ConvShape { stride: 0, ..good },
        ConvShape { stride: usize::MAX, ..good },
        ConvShape { padding: usize::MAX, ..good },
        ConvShape { padding: 16384, ..good },
        ConvShape { channels: 16384, height: 16384, width: 16384, ..good },
        ConvShape { kernels: 16384, channels: 16384, ..good },
    ];
    for shape in bad {
        assert!(matches!(refused(&Conv2dRequest::new(shape)), HmvpError::Scheme(BfvError::Range { .. })), "{shape:?}");
    }
    let good = Conv2dRequest::new(good);
    for bits in [0, 1, 33, u32::MAX] {
        assert!(matches!(
            refused(&Conv2dRequest { kernel_bits: bits, ..good.clone() }),
            HmvpError::Scheme(BfvError::Range { .. })
        ));
        assert!(matches!(
            refused(&Conv2dRequest { image_bits: bits, ..good.clone() }),
            HmvpError::Scheme(BfvError::Range { .. })
        ));
    }
    for log2_failure in [0.0, 1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -5000.0] {
        assert!(matches!(
            refused(&Conv2dRequest { log2_failure, ..good.clone() }),
            HmvpError::Scheme(BfvError::Unsupported { .. })
        ));
    }
    let wide = Conv2dRequest { kernel_bits: 32, image_bits: 32, ..good.clone() };
    assert!(matches!(refused(&wide), HmvpError::Plan(PlanError::NoParameters { .. })));
    // 2^24 windows, each of a separate ciphertext.
    let windows = ConvShape {
        channels: 1,
        height: 4096,
        width: 4096,
        kernels: 1,
        kernel_height: 5,
        kernel_width: 6,
        stride: 1,
        padding: 0,
    };
    let parameters = Some(test_set(TEST_32));
    let windows = Conv2dRequest { kernel_bits: 2, image_bits: 2, parameters, ..Conv2dRequest::new(windows) };
    assert!(matches!(refused(&windows), HmvpError::Scheme(BfvError::Memory { .. })));
    // 2^24 kernel entries, each of which would fill a plaintext if the image were not cut up.
    let large = ConvShape { channels: 4096, height: 64, width: 64, kernels: 4096, ..shape(1, 1, 1, 1, 1, 0) };
    let large = Conv2dPlan::new(&Conv2dRequest::new(large), Isa::best()).expect("a plan");
    assert!(large.output_ciphertexts() > 1 << 13);
    // The paper's set has 2^24: enough for 27 terms of 8 by 8 bits, not for as many of 16 by 8.
    let parameters = ParameterSet::named(CHAM_PAPER, SecurityPolicy::Require128Bits).expect("secure");
    let paper = Conv2dRequest { parameters: Some(parameters), ..good };
    check(&paper);
    match refused(&Conv2dRequest { kernel_bits: 16, ..paper }) {
        HmvpError::Plan(PlanError::PlaintextModulus { given, needed, .. }) => {
            assert_eq!((given, needed), (1 << 24, 2 * 27 * (1 << 22) + 1));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn objects_that_do_not_belong_together_are_refused() {
    let request = Conv2dRequest::new(shape(2, 8, 2, 3, 1, 0));
    let first = plan(&request);
    let other = plan(&Conv2dRequest { image_bits: 7, ..request.clone() });
    let public = plan(&Conv2dRequest { encryption: Encryption::Public, ..request.clone() });
    let (key, image) = (secret(&first), vec![1; first.shape().image_len()]);
    let kernels = ConvKernels::prepare(&first, &vec![1; first.shape().kernels_len()]).expect("kernels");

    assert!(matches!(
        EncryptedImage::encrypt(&first, &key, &image[1..], &mut noise(1)),
        Err(HmvpError::Scheme(BfvError::Length { .. }))
    ));
    for entry in [128, -129, i64::MIN, i64::MAX] {
        let mut image = image.clone();
        image[5] = entry;
        assert!(matches!(
            EncryptedImage::encrypt(&first, &key, &image, &mut noise(1)),
            Err(HmvpError::Scheme(BfvError::Range { .. }))
        ));
        let mut kernels = vec![0; first.shape().kernels_len()];
        kernels[35] = entry;
        assert!(matches!(ConvKernels::prepare(&first, &kernels), Err(HmvpError::Scheme(BfvError::Range { .. }))));
        assert!(matches!(ConvKernels::prepare(&first, &kernels[1..]), Err(HmvpError::Scheme(BfvError::Length { .. }))));
    }
    let public_key = PublicKey::generate(&key).expect("a key");
    assert!(matches!(
        EncryptedImage::encrypt_public(&first, &public_key, &image, &mut noise(1)),
        Err(HmvpError::Scheme(BfvError::Unsupported { .. }))
    ));
    if public.context().parameters() != first.context().parameters() {
        let foreign = EncryptedImage::encrypt(&public, &key, &image, &mut noise(1));
        assert!(matches!(foreign, Err(HmvpError::Scheme(BfvError::WrongParameters { .. }))));
    }

    let encrypted = EncryptedImage::encrypt(&first, &key, &image, &mut noise(1)).expect("an image");
    let others = EncryptedImage::encrypt(&other, &secret(&other), &image, &mut noise(1)).expect("an image");
    assert!(matches!(kernels.multiply(&others), Err(HmvpError::WrongPlan { .. })));
    let product = kernels.multiply(&encrypted).expect("one plan");
    let stranger = SecretKey::generate(first.context(), &SecretSeed::from_bytes([5; 32]));
    assert!(matches!(product.decrypt(&stranger), Err(HmvpError::Scheme(BfvError::WrongKey { .. }))));

    // Kernels for one key set refuse the images of every other.
    let theirs = EncryptedImage::encrypt(&first, &stranger, &image, &mut noise(2)).expect("an image");
    let bound = kernels.for_key_set(key.tag());
    assert_eq!((kernels.tag(), bound.tag(), theirs.tag()), (None, Some(key.tag()), stranger.tag()));
    assert!(kernels.multiply(&theirs).is_ok(), "kernels serve every key set by default");
    assert!(matches!(bound.multiply(&theirs), Err(HmvpError::Scheme(BfvError::WrongKey { .. }))));
    let output = bound.multiply(&encrypted).expect("of the key set");
    assert_eq!((output.tag(), output.plan()), (key.tag(), &first));
    assert_eq!(output.decrypt(&key).expect("of this key"), product.decrypt(&key).expect("of this key"));

    // Plans from equal requests are the same plan, and ciphertexts may travel.
    let again = plan(&request);
    let sent = EncryptedImage::from_ciphertexts(&again, encrypted.ciphertexts().to_vec()).expect("an image");
    let product = kernels.multiply(&sent).expect("one plan");
    let product = EncryptedConvolution::from_ciphertexts(&again, product.ciphertexts().to_vec()).expect("an output");
    assert_eq!(product.decrypt(&key).expect("of this key"), convolve(&request.shape, &image, &vec![1; 36]));
    assert!(matches!(
        EncryptedImage::from_ciphertexts(&again, Vec::new()),
        Err(HmvpError::Scheme(BfvError::Length { .. }))
    ));
    let wrong = vec![encrypted.ciphertexts()[0].clone(); 9];
    assert!(matches!(
        EncryptedConvolution::from_ciphertexts(&again, wrong),
        Err(HmvpError::Scheme(BfvError::Length { .. }))
    ));
}

#[test]
fn the_explanation_has_the_facts() {
    let request = Conv2dRequest::new(shape(3, 32, 8, 3, 1, 1));
    let plan = plan(&request);
    let explanation = plan.explain();
    let key = secret(&plan);
    let image =
        EncryptedImage::encrypt(&plan, &key, &vec![1; plan.shape().image_len()], &mut noise(1)).expect("an image");
    let kernels = ConvKernels::prepare(&plan, &vec![1; plan.shape().kernels_len()]).expect("kernels");
    let output = kernels.multiply(&image).expect("one plan");
    let sent = |ciphertexts: &[Ciphertext]| -> u64 {
        ciphertexts.iter().map(|c| c.to_bytes(plan.context()).expect("of the set").len() as u64).sum()
    };
    let memory = |ciphertexts: &[Ciphertext]| -> u64 {
        ciphertexts.iter().flat_map(Ciphertext::parts).map(|part| 8 * part.words().len() as u64).sum()
    };
    let (image, output) = (image.ciphertexts(), output.ciphertexts());
    assert_eq!((explanation.image_bytes, explanation.output_bytes), (sent(image), sent(output)));
    assert_eq!((explanation.image_memory, explanation.output_memory), (memory(image), memory(output)));
    assert_eq!((explanation.image_ciphertexts, explanation.output_ciphertexts), (image.len(), output.len()));
    assert_eq!(explanation.kernels_bytes, kernels.memory_bytes());
    assert_eq!(explanation.log2_failure, plan.log2_failure());
    assert!(explanation.security_bits >= 128.0 && explanation.noise_bits < explanation.noise_limit_bits);
    let text = explanation.to_string();
    for words in ["failure probability", "memory", "sent", &explanation.parameters] {
        assert!(text.contains(words), "{text}");
    }
}
