//! What both sides of a convolution agree on.

use std::fmt;

use ciphermill_lattice::PolynomialSize;
use ciphermill_math::Isa;
use ciphermill_math::modulus::ntt_primes;

use super::layout::ConvLayout;
use super::shape::{Conv3dShape, Shape};
use crate::error::HmvpError;
use crate::{Encryption, PlanError};
use ciphermill_bfv::context::Context;
use ciphermill_bfv::error::{BfvError, require_range};
use ciphermill_bfv::keyswitch::Gadget;
use ciphermill_bfv::noise;
use ciphermill_bfv::parameters::{
    MAX_PLAINTEXT_BITS, MAX_POLYNOMIAL_SIZE, ParameterSet, ParameterSpec, SecurityLevel, SecurityPolicy,
    largest_modulus_bits,
};

/// The length in bits up to which primes are the fastest.
const LIMB_BITS: u32 = 50;

/// Shorter primes may be too few.
const MIN_LIMB_BITS: u32 = 24;

/// The least N that is tried.
const MIN_POLYNOMIAL_SIZE: usize = 2048;

/// The smallest failure probability, as a log2, that the planner distinguishes from 0.
const MIN_LOG2_FAILURE: f64 = -4096.0;

/// The most bytes of the prepared kernels, and of the ciphertexts of an image or an output.
const MAX_BYTES: u64 = 1 << 32;

/// A request for a convolution.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let shape = ConvShape {
///     channels: 1, height: 3, width: 3, kernels: 1, kernel_height: 2, kernel_width: 2, stride: 1, padding: 0,
/// };
/// let request = Conv2dRequest { image_bits: 4, ..Conv2dRequest::new(shape) };
/// assert!(Conv2dPlan::new(&request, Isa::current())?.log2_failure() <= -64.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ConvRequest<S> {
    /// Sizes.
    pub shape: S,
    /// Kernel entries are in [−2^(b−1), 2^(b−1)), 2 to 32.
    pub kernel_bits: u32,
    /// So are entries of the image, 2 to 32.
    pub image_bits: u32,
    /// Against classical attacks, by the [lattice-estimator's figures](ciphermill_bfv::parameters::estimate).
    pub security: SecurityLevel,
    /// Who encrypts.
    pub encryption: Encryption,
    /// log2 of the greatest acceptable probability that any entry of an output is wrong, from −4096 to below 0.
    pub log2_failure: f64,
    /// The caller's parameter set (which may be of less security), or the plan's choice.
    pub parameters: Option<ParameterSet>,
}

impl<S: Shape> ConvRequest<S> {
    /// Entries of 8 bits, 128 bits of security, encryption under the secret key, failing with a probability of at most 2^-64.
    pub fn new(shape: S) -> Self {
        Self {
            shape,
            kernel_bits: 8,
            image_bits: 8,
            security: SecurityLevel::Bits128,
            encryption: Encryption::Secret,
            log2_failure: -64.0,
            parameters: None,
        }
    }

    /// The shape as one of three dimensions.
    pub(super) fn volume(&self) -> Conv3dShape {
        self.shape.into()
    }
}

/// A convolution with everything fixed. A pure function of the request.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let shape = ConvShape {
///     channels: 1, height: 3, width: 3, kernels: 1, kernel_height: 2, kernel_width: 2, stride: 1, padding: 0,
/// };
/// let plan = Conv2dPlan::new(&Conv2dRequest::new(shape), Isa::current())?;
/// assert_eq!((plan.image_ciphertexts(), plan.output_ciphertexts()), (1, 1));
/// assert_eq!(plan.plain_products(), 1);
/// assert!(Conv2dPlan::new(&Conv2dRequest::new(ConvShape { stride: 0, ..shape }), Isa::current()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ConvPlan<S> {
    request: ConvRequest<S>,
    context: Context,
    pub(super) layout: ConvLayout,
}

impl<S> fmt::Debug for ConvPlan<S> {
    /// Without the tables.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parameters = self.context.parameters().spec();
        f.debug_struct("ConvPlan").field("parameters", parameters).field("layout", &self.layout).finish_non_exhaustive()
    }
}

impl<S: PartialEq> PartialEq for ConvPlan<S> {
    fn eq(&self, other: &Self) -> bool {
        self.request == other.request && self.context.parameters() == other.context.parameters()
    }
}

impl<S: Shape> ConvPlan<S> {
    /// Picks layout and parameters.
    ///
    /// # Errors
    /// If a size is out of range, no admissible parameters do it, those given have too small a t (says the t that is needed)
    /// or too little room for noise, or kernels or ciphertexts would take more than 4 GiB.
    pub fn new(request: &ConvRequest<S>, isa: Isa) -> Result<Self, HmvpError> {
        request.volume().validate()?;
        require_range("bits of kernel entries", request.kernel_bits, 2, 32)?;
        require_range("bits of image entries", request.image_bits, 2, 32)?;
        if !(MIN_LOG2_FAILURE..0.0).contains(&request.log2_failure) {
            let given = request.log2_failure;
            let what =
                format!("a failure probability of 2^{given}; use an exponent from {MIN_LOG2_FAILURE} to below 0");
            return Err(BfvError::Unsupported { what }.into());
        }
        let (parameters, layout) = match &request.parameters {
            Some(parameters) => (parameters.clone(), given(request, parameters)?),
            None => chosen(request)?,
        };
        let plan = Self { request: request.clone(), context: Context::new(&parameters, isa)?, layout };
        plan.check_memory()?;
        Ok(plan)
    }

    fn check_memory(&self) -> Result<(), HmvpError> {
        let bytes = self.polynomial_bytes();
        let needs = [
            ("the prepared kernels", self.layout.plaintexts() as u64),
            ("the encrypted image", 2 * self.layout.inputs() as u64),
            ("the encrypted output", 2 * self.layout.outputs() as u64),
        ];
        for (what, polynomials) in needs {
            let needed = polynomials.saturating_mul(bytes);
            if needed > MAX_BYTES {
                return Err(BfvError::Memory { what, needed, limit: MAX_BYTES }.into());
            }
        }
        Ok(())
    }

    /// Bytes of a polynomial of a ciphertext or a plaintext in memory.
    pub(super) fn polynomial_bytes(&self) -> u64 {
        (8 * self.context.n() * self.context.top()) as u64
    }

    /// The request.
    pub fn request(&self) -> &ConvRequest<S> {
        &self.request
    }

    /// Sizes.
    pub fn shape(&self) -> &S {
        &self.request.shape
    }

    /// The parameter set with its tables.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Ciphertexts of an image.
    pub fn image_ciphertexts(&self) -> usize {
        self.layout.inputs()
    }

    /// Ciphertexts of an output.
    pub fn output_ciphertexts(&self) -> usize {
        self.layout.outputs()
    }

    /// Products of a plaintext and a ciphertext.
    pub fn plain_products(&self) -> usize {
        self.layout.products()
    }

    /// Where ciphertext `ciphertext` of an output holds entries, as (coefficient, index in the output); all other coefficients
    /// hold partial sums. Empty if there is no such ciphertext.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let shape = ConvShape {
    ///     channels: 1, height: 3, width: 3, kernels: 1, kernel_height: 2, kernel_width: 2, stride: 1, padding: 0,
    /// };
    /// let plan = Conv2dPlan::new(&Conv2dRequest::new(shape), Isa::current())?;
    /// assert_eq!(plan.output_places(0), [(4, 0), (5, 1), (7, 2), (8, 3)]);
    /// assert!(plan.output_places(1).is_empty(), "the output has one ciphertext");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn output_places(&self, ciphertext: usize) -> Vec<(usize, usize)> {
        if ciphertext < self.layout.outputs() { self.layout.places(ciphertext) } else { Vec::new() }
    }

    /// The standard deviation of the noise of an output, over the randomness of key and encryption, for the worst
    /// kernels. With M′ kernels to a plaintext, a coefficient has M′ times as many terms as a kernel has entries, each with a
    /// fresh error times 2^(kernel_bits − 1).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let shape = ConvShape {
    ///     channels: 1, height: 3, width: 3, kernels: 1, kernel_height: 2, kernel_width: 2, stride: 1, padding: 0,
    /// };
    /// let wide = Conv2dRequest::new(shape);
    /// let narrow = Conv2dRequest { kernel_bits: 4, ..wide.clone() };
    /// let [wide, narrow] = [wide, narrow].map(|request| Conv2dPlan::new(&request, Isa::current()));
    /// assert!(wide?.noise_std_dev() > narrow?.noise_std_dev(), "kernels of 8 bits and of 4");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn noise_std_dev(&self) -> f64 {
        noise_std_dev(&self.request, self.context.parameters(), &self.layout)
    }

    /// log2 of the estimated probability that any entry of an output is wrong, by the union bound over its entries. The
    /// estimate is for independent Gaussian noise of [`noise_std_dev`](Self::noise_std_dev); far tails of the true noise may
    /// differ.
    pub fn log2_failure(&self) -> f64 {
        log2_failure(&self.request, self.context.parameters(), &self.layout)
    }
}

/// The least t that represents all outputs: sums of as many terms as a kernel has entries, of either sign.
fn least_modulus<S: Shape>(request: &ConvRequest<S>) -> u128 {
    let greatest = (request.volume().kernel_len() as u128) << (request.kernel_bits + request.image_bits - 2);
    2 * greatest + 1
}

fn noise_std_dev<S: Shape>(request: &ConvRequest<S>, parameters: &ParameterSet, layout: &ConvLayout) -> f64 {
    let terms = (layout.kernels() * request.volume().kernel_len()) as f64;
    let entry = f64::from(request.kernel_bits - 1).exp2();
    entry * (terms * noise::fresh_variance(parameters.spec(), request.encryption)).sqrt()
}

/// log2 of the noise at which an entry decrypts wrongly, Q/(2t).
pub(super) fn noise_limit_bits(parameters: &ParameterSet) -> f64 {
    let q: f64 = parameters.ciphertext_moduli.iter().map(|&q| (q as f64).log2()).sum();
    q - 1.0 - (parameters.plaintext_modulus as f64).log2()
}

fn log2_failure<S: Shape>(request: &ConvRequest<S>, parameters: &ParameterSet, layout: &ConvLayout) -> f64 {
    let limit = noise_limit_bits(parameters);
    noise::log2_failure(limit, noise_std_dev(request, parameters, layout), request.volume().output_len() as f64)
}

/// The layout for the caller's parameters.
fn given<S: Shape>(request: &ConvRequest<S>, parameters: &ParameterSet) -> Result<ConvLayout, HmvpError> {
    let layout = ConvLayout::new(&request.volume(), parameters.polynomial_size.get())?;
    let (t, needed) = (parameters.plaintext_modulus, least_modulus(request));
    if u128::from(t) < needed {
        let (cols, matrix_bits, vector_bits) = (request.volume().kernel_len(), request.kernel_bits, request.image_bits);
        return Err(PlanError::PlaintextModulus { given: t, cols, matrix_bits, vector_bits, needed }.into());
    }
    let log2_failure = log2_failure(request, parameters, &layout);
    if log2_failure > request.log2_failure {
        let what = format!(
            "{} fails with a probability of 2^{log2_failure:.1}, asked for was at most 2^{}; use a larger ciphertext modulus",
            parameters.name, request.log2_failure
        );
        return Err(PlanError::NoParameters { what }.into());
    }
    Ok(layout)
}

/// Of all N the set that costs least.
fn chosen<S: Shape>(request: &ConvRequest<S>) -> Result<(ParameterSet, ConvLayout), HmvpError> {
    let t_bits = 128 - (least_modulus(request) - 1).leading_zeros();
    if t_bits > MAX_PLAINTEXT_BITS {
        let what = format!("outputs of {t_bits} bits, at most {MAX_PLAINTEXT_BITS} are possible; use smaller entries");
        return Err(PlanError::NoParameters { what }.into());
    }
    let mut best: Option<(f64, ParameterSet, ConvLayout)> = None;
    let sizes = (MIN_POLYNOMIAL_SIZE.ilog2()..=MAX_POLYNOMIAL_SIZE.ilog2()).map(|log| 1 << log);
    for n in sizes {
        let Ok(layout) = ConvLayout::new(&request.volume(), n) else { continue };
        let Some(parameters) = smallest(request, &layout, n, t_bits) else { continue };
        let transform = (n * n.ilog2() as usize * parameters.ciphertext_moduli.len()) as f64;
        let cost = layout.cost() * transform;
        if best.as_ref().is_none_or(|(least, ..)| cost < *least) {
            best = Some((cost, parameters, layout));
        }
    }
    let Some((_, parameters, layout)) = best else {
        let what = format!(
            "{} bits of security up to N = {MAX_POLYNOMIAL_SIZE} leave too little room for outputs of {t_bits} bits; use \
             smaller entries or less security",
            request.security.bits()
        );
        return Err(PlanError::NoParameters { what }.into());
    };
    Ok((parameters, layout))
}

/// The set with the smallest modulus that leaves the noise its room; `None` if N is too small for it.
fn smallest<S: Shape>(request: &ConvRequest<S>, layout: &ConvLayout, n: usize, t_bits: u32) -> Option<ParameterSet> {
    let most = largest_modulus_bits(n, request.security)? as u32;
    let polynomial_size = PolynomialSize::new(n).ok()?;
    // The noise depends on the modulus in no way, so one bit after the other ends at the smallest.
    (t_bits + 1..=most).find_map(|bits| {
        let limbs = bits.div_ceil(LIMB_BITS);
        let (short, longer) = (bits / limbs, bits % limbs);
        if short < MIN_LIMB_BITS {
            return None;
        }
        let primes = |bits, count| ntt_primes(bits, n).take(count as usize).map(|p| p.value());
        let spec = ParameterSpec {
            name: format!("{}_{n}_{bits}_t2^{t_bits}", S::NAME),
            polynomial_size,
            ciphertext_moduli: primes(short, limbs - longer).chain(primes(short + 1, longer)).collect(),
            special_moduli: Vec::new(),
            plaintext_modulus: 1 << t_bits,
            gadget: Gadget::Limbs { limbs_per_digit: 1 },
        };
        let set = ParameterSet::new(spec, SecurityPolicy::Require128Bits).ok()?;
        let keeps = set.keeps(request.security) && set.ciphertext_moduli.len() == limbs as usize;
        (keeps && log2_failure(request, &set, layout) <= request.log2_failure).then_some(set)
    })
}
