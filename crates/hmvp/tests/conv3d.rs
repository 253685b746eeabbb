//! Three-dimensional convolutions of encrypted images: sums of two-dimensional ones by their definition.

use std::sync::Arc;

use ciphermill_bfv::parameters::{TEST_32, TEST_512};
use ciphermill_bfv::{BfvError, PublicKey, SecretKey, SecurityLevel};
use ciphermill_hmvp::conv2d::{Conv2dPlan, Conv2dRequest};
use ciphermill_hmvp::conv3d::{
    Conv3dKernels, Conv3dPlan, Conv3dRequest, Conv3dShape, ConvShape, EncryptedConv3d, EncryptedVolume,
};
use ciphermill_hmvp::{Encryption, HmvpError, PlanError};
use ciphermill_lattice::SecretSeed;
use ciphermill_math::Isa;
use num_traits::ToPrimitive;
use proptest::prelude::*;

use crate::conv2d::{Random, convolve, noise, shape, test_set};

/// Slice `slice` of each of the `depth` slices' groups of `len` entries.
fn slices(entries: &[i64], depth: usize, slice: usize, len: usize) -> Vec<i64> {
    entries.chunks(depth * len).flat_map(|channel| &channel[slice * len..][..len]).copied().collect()
}

/// The convolution by its definition: of each pair of slices a two-dimensional one.
fn convolve_volume(shape: &Conv3dShape, image: &[i64], kernels: &[i64]) -> Vec<i64> {
    let plane = &shape.plane;
    let (area, kernel_area) = (plane.height * plane.width, plane.kernel_height * plane.kernel_width);
    let out_area = plane.output_height() * plane.output_width();
    let mut output = vec![0; shape.output_len()];
    for z in 0..shape.output_depth() {
        for k in 0..shape.kernel_depth {
            let Some(slice) = (z * shape.depth_stride + k).checked_sub(shape.depth_padding) else { continue };
            if slice >= shape.depth {
                continue;
            }
            let image = slices(image, shape.depth, slice, area);
            let kernels = slices(kernels, shape.kernel_depth, k, kernel_area);
            let sums = convolve(plane, &image, &kernels);
            for (m, sums) in sums.chunks(out_area).enumerate() {
                let output = &mut output[(m * shape.output_depth() + z) * out_area..][..out_area];
                output.iter_mut().zip(sums).for_each(|(output, sum)| *output += sum);
            }
        }
    }
    output
}

fn plan(request: &Conv3dRequest) -> Arc<Conv3dPlan> {
    Arc::new(Conv3dPlan::new(request, Isa::best()).expect("a plan"))
}

fn secret(plan: &Conv3dPlan) -> SecretKey {
    SecretKey::generate(plan.context(), &SecretSeed::from_bytes([4; 32]))
}

fn run(plan: &Arc<Conv3dPlan>, image: &[i64], kernels: &[i64]) -> EncryptedConv3d {
    let key = secret(plan);
    let image = match plan.request().encryption {
        Encryption::Secret => EncryptedVolume::encrypt(plan, &key, image, &mut noise(1)),
        Encryption::Public => {
            EncryptedVolume::encrypt_public(plan, &PublicKey::generate(&key).expect("a key"), image, &mut noise(2))
        }
    };
    let image = image.expect("an image of the plan");
    assert_eq!(image.ciphertexts().len(), plan.image_ciphertexts());
    let product = Conv3dKernels::prepare(plan, kernels).expect("kernels").multiply(&image).expect("one plan");
    assert_eq!(product.ciphertexts().len(), plan.output_ciphertexts());
    product
}

fn check_entries(request: &Conv3dRequest, image: &[i64], kernels: &[i64]) {
    let plan = plan(request);
    let got = run(&plan, image, kernels).decrypt(&secret(&plan)).expect("of this key");
    assert!(got == convolve_volume(&request.shape, image, kernels), "{:?}", request.shape);
}

fn check(request: &Conv3dRequest) {
    let mut random = Random(request.shape.image_len() as u64);
    let image = random.entries(request.shape.image_len(), request.image_bits);
    let kernels = random.entries(request.shape.kernels_len(), request.kernel_bits);
    check_entries(request, &image, &kernels);
}

/// With the step and the padding of the plane along the depth too.
fn cube(plane: ConvShape, depth: usize, kernel_depth: usize) -> Conv3dShape {
    Conv3dShape { plane, depth, kernel_depth, depth_stride: plane.stride, depth_padding: plane.padding }
}

#[test]
fn layers_of_neural_networks_at_128_bits() {
    check(&Conv3dRequest::new(cube(shape(1, 16, 8, 3, 1, 1), 16, 3)));
    check(&Conv3dRequest::new(cube(shape(3, 28, 4, 5, 2, 2), 8, 5)));
    // More channels, and then more pixels, than a polynomial has coefficients.
    check(&Conv3dRequest::new(cube(shape(64, 14, 4, 3, 1, 1), 4, 3)));
    check(&Conv3dRequest::new(cube(shape(1, 112, 2, 3, 1, 0), 5, 2)));
    // A kernel as deep as the image, and windows that leave out slices.
    check(&Conv3dRequest::new(Conv3dShape { depth_padding: 0, ..cube(shape(2, 9, 3, 3, 1, 1), 6, 6) }));
    check(&Conv3dRequest::new(Conv3dShape { depth_stride: 5, ..cube(shape(2, 9, 3, 3, 1, 0), 12, 2) }));
}

#[test]
fn greatest_entries_of_either_sign() {
    let shape = cube(shape(3, 12, 4, 3, 1, 1), 6, 3);
    for (image, kernel) in [(-128, -128), (-128, 127), (127, -128)] {
        check_entries(&Conv3dRequest::new(shape), &vec![image; shape.image_len()], &vec![kernel; shape.kernels_len()]);
    }
}

#[test]
fn wider_entries_more_security_and_public_keys() {
    let shape = cube(shape(3, 10, 4, 3, 1, 1), 5, 3);
    check(&Conv3dRequest { kernel_bits: 16, image_bits: 16, ..Conv3dRequest::new(shape) });
    check(&Conv3dRequest { encryption: Encryption::Public, ..Conv3dRequest::new(shape) });
    let request = Conv3dRequest { security: SecurityLevel::Bits256, ..Conv3dRequest::new(shape) };
    assert!(plan(&request).context().parameters().keeps(SecurityLevel::Bits256));
    check(&request);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn every_shape_gives_the_convolution(
        channels in 1usize..4,
        sizes in (1usize..6, 1usize..9, 1usize..9),
        kernels in 1usize..4,
        kernel in (1usize..5, 1usize..4, 1usize..4),
        strides in (1usize..4, 1usize..4),
        paddings in (0usize..5, 0usize..3),
        large in any::<bool>(),
    ) {
        let plane = ConvShape {
            channels,
            height: sizes.1,
            width: sizes.2,
            kernels,
            kernel_height: kernel.1,
            kernel_width: kernel.2,
            stride: strides.1,
            padding: paddings.1,
        };
        let (depth_stride, depth_padding) = (strides.0, paddings.0);
        let shape = Conv3dShape { plane, depth: sizes.0, kernel_depth: kernel.0, depth_stride, depth_padding };
        prop_assume!(kernel.0 <= sizes.0 + 2 * paddings.0);
        prop_assume!(kernel.1 <= sizes.1 + 2 * paddings.1 && kernel.2 <= sizes.2 + 2 * paddings.1);
        let parameters = Some(test_set(if large { TEST_512 } else { TEST_32 }));
        // Sums of the 108 terms of the largest kernel fit the sets' plaintext modulus.
        check(&Conv3dRequest { kernel_bits: 3, image_bits: 4, parameters, ..Conv3dRequest::new(shape) });
    }
}

/// A volume of depth 1 has the ciphertexts of the image, and each slice of a deeper one is encrypted once.
#[test]
fn slices_are_shared_among_windows() {
    let plane = shape(3, 32, 8, 3, 1, 1);
    let flat = Conv2dPlan::new(&Conv2dRequest::new(plane), Isa::best()).expect("a plan");
    let thin = plan(&Conv3dRequest::new(plane.into()));
    assert_eq!(
        (thin.image_ciphertexts(), thin.output_ciphertexts(), thin.plain_products()),
        (flat.image_ciphertexts(), flat.output_ciphertexts(), flat.plain_products())
    );
    let parameters = Some(flat.context().parameters().clone());
    let deep = Conv3dShape { depth_padding: 0, ..cube(plane, 10, 1) };
    let one = plan(&Conv3dRequest { parameters: parameters.clone(), ..Conv3dRequest::new(deep) });
    let deep = Conv3dShape { depth_padding: 0, ..cube(plane, 10, 3) };
    let three = plan(&Conv3dRequest { kernel_bits: 6, parameters, ..Conv3dRequest::new(deep) });
    // Three times the slices of kernels: as many ciphertexts of the image, fewer of the output.
    assert_eq!(three.image_ciphertexts(), one.image_ciphertexts());
    assert_eq!(10 * three.output_ciphertexts(), 8 * one.output_ciphertexts());
    assert_eq!(10 * three.plain_products(), 8 * 3 * one.plain_products());
}

#[test]
fn places_of_outputs_are_their_own_and_complete() {
    let plan = plan(&Conv3dRequest::new(cube(shape(3, 70, 10, 3, 2, 1), 7, 3)));
    let mut outputs = Vec::new();
    for ciphertext in 0..plan.output_ciphertexts() {
        let places = plan.output_places(ciphertext);
        assert!(places.iter().all(|&(at, _)| at < plan.context().n()));
        outputs.extend(places.into_iter().map(|(_, index)| index));
    }
    outputs.sort_unstable();
    assert_eq!(outputs, (0..plan.shape().output_len()).collect::<Vec<_>>());
    assert!(plan.output_places(plan.output_ciphertexts()).is_empty());
}

/// The greatest noise of all coefficients against the model, which is for the greatest entries: kernels of those.
#[test]
fn noise_is_that_of_the_model() {
    for seed in [1, ciphermill_testing::fresh_seed("volumes")] {
        let request = Conv3dRequest::new(cube(shape(3, 16, 16, 3, 1, 1), 8, 3));
        let plan = plan(&request);
        let mut random = Random(seed);
        let image = random.entries(request.shape.image_len(), 8);
        let sign = |sign: i64| if sign < 0 { -128 } else { 127 };
        let kernels: Vec<i64> = random.entries(request.shape.kernels_len(), 1).into_iter().map(sign).collect();
        let product = run(&plan, &image, &kernels);
        let key = secret(&plan);
        let noise = product.ciphertexts().iter().map(|c| key.noise(c).expect("of this key").to_f64().expect("finite"));
        let greatest = noise.fold(0.0, f64::max) / plan.noise_std_dev();
        // Of some 2^16 Gaussian values the greatest is around 4 times as large; beyond 7 with a probability of 2^-22.
        assert!((2.5..7.0).contains(&greatest), "greatest noise is {greatest} standard deviations, seed {seed}");
    }
}

#[test]
fn threads_do_not_change_the_output() {
    let request = Conv3dRequest::new(cube(shape(24, 20, 8, 3, 1, 1), 5, 3));
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| check(&request));
    }
}

fn refused(request: &Conv3dRequest) -> HmvpError {
    Conv3dPlan::new(request, Isa::best()).expect_err("not admissible")
}

#[test]
fn hostile_shapes_are_refused() {
    let good = cube(shape(3, 8, 2, 3, 1, 1), 4, 3);
    let bad = [
        Conv3dShape { depth: 0, ..good },
        Conv3dShape { depth: usize::MAX, ..good },
        Conv3dShape { depth: 16385, ..good },
        Conv3dShape { kernel_depth: 0, ..good },
        Conv3dShape { kernel_depth: 7, ..good },
        Conv3dShape { kernel_depth: usize::MAX, ..good },
        Conv3dShape { depth_stride: 0, ..good },
        Conv3dShape { depth_stride: usize::MAX, ..good },
        Conv3dShape { depth_padding: usize::MAX, ..good },
        // Sizes that fit a slice and not the whole.
        Conv3dShape { depth: 16384, ..cube(shape(4, 32, 1, 1, 1, 0), 1, 1) },
        Conv3dShape { kernel_depth: 16384, depth_padding: 8192, ..cube(shape(64, 8, 64, 3, 1, 1), 1, 1) },
        Conv3dShape { depth_padding: 16384, ..cube(shape(1, 32, 2, 1, 1, 0), 1, 1) },
        Conv3dShape { plane: ConvShape { channels: 0, ..good.plane }, ..good },
        Conv3dShape { plane: ConvShape { stride: 0, ..good.plane }, ..good },
    ];
    for shape in bad {
        assert!(matches!(refused(&Conv3dRequest::new(shape)), HmvpError::Scheme(BfvError::Range { .. })), "{shape:?}");
    }
    let good = Conv3dRequest::new(good);
    for bits in [0, 1, 33] {
        let error = refused(&Conv3dRequest { image_bits: bits, ..good.clone() });
        assert!(matches!(error, HmvpError::Scheme(BfvError::Range { .. })));
    }
    let wide = Conv3dRequest { kernel_bits: 32, image_bits: 32, ..good.clone() };
    assert!(matches!(refused(&wide), HmvpError::Plan(PlanError::NoParameters { .. })));
    // The terms of all slices count for the plaintext modulus.
    match refused(&Conv3dRequest { kernel_bits: 8, parameters: Some(test_set(TEST_512)), ..good }) {
        HmvpError::Plan(PlanError::PlaintextModulus { needed, .. }) => assert_eq!(needed, 2 * 81 * (1 << 14) + 1),
        other => panic!("{other}"),
    }
}

#[test]
fn objects_that_do_not_belong_together_are_refused() {
    let request = Conv3dRequest::new(cube(shape(2, 6, 2, 3, 1, 0), 4, 2));
    let first = plan(&request);
    let other = plan(&Conv3dRequest { image_bits: 7, ..request.clone() });
    let (key, image) = (secret(&first), vec![1; first.shape().image_len()]);
    let kernels = Conv3dKernels::prepare(&first, &vec![1; first.shape().kernels_len()]).expect("kernels");
    let encrypt = |image: &[i64]| EncryptedVolume::encrypt(&first, &key, image, &mut noise(1));

    assert!(matches!(encrypt(&image[1..]), Err(HmvpError::Scheme(BfvError::Length { .. }))));
    for entry in [128, -129, i64::MIN, i64::MAX] {
        let mut image = image.clone();
        image[70] = entry;
        assert!(matches!(encrypt(&image), Err(HmvpError::Scheme(BfvError::Range { .. }))));
        let mut kernels = vec![0; first.shape().kernels_len()];
        kernels[71] = entry;
        assert!(matches!(Conv3dKernels::prepare(&first, &kernels), Err(HmvpError::Scheme(BfvError::Range { .. }))));
    }
    let encrypted = encrypt(&image).expect("an image");
    let others = EncryptedVolume::encrypt(&other, &secret(&other), &image, &mut noise(1)).expect("an image");
    assert!(matches!(kernels.multiply(&others), Err(HmvpError::WrongPlan { .. })));
    let product = kernels.multiply(&encrypted).expect("one plan");
    let stranger = SecretKey::generate(first.context(), &SecretSeed::from_bytes([5; 32]));
    assert!(matches!(product.decrypt(&stranger), Err(HmvpError::Scheme(BfvError::WrongKey { .. }))));

    // Plans from equal requests are the same plan, and ciphertexts may travel.
    let again = plan(&request);
    let sent = EncryptedVolume::from_ciphertexts(&again, encrypted.ciphertexts().to_vec()).expect("an image");
    let product = kernels.multiply(&sent).expect("one plan");
    let product = EncryptedConv3d::from_ciphertexts(&again, product.ciphertexts().to_vec()).expect("an output");
    assert_eq!(
        product.decrypt(&key).expect("of this key"),
        convolve_volume(&request.shape, &image, &vec![1; first.shape().kernels_len()])
    );
    let mut foreign = encrypted.ciphertexts().to_vec();
    foreign[1] =
        EncryptedVolume::encrypt(&first, &stranger, &image, &mut noise(2)).expect("an image").ciphertexts()[1].clone();
    assert!(matches!(
        EncryptedVolume::from_ciphertexts(&again, foreign),
        Err(HmvpError::Scheme(BfvError::WrongKey { .. }))
    ));
    assert!(matches!(
        EncryptedVolume::from_ciphertexts(&again, encrypted.ciphertexts()[1..].to_vec()),
        Err(HmvpError::Scheme(BfvError::Length { .. }))
    ));
}
