//! The countermeasures that B may add to its answer, and their value.

use crate::Plan;
use crate::error::HmvpError;
use ciphermill_bfv::error::BfvError;
use ciphermill_bfv::noise;

/// What B adds to its answer besides the mask. There is no default: [`strongest`](Self::strongest) takes all that a plan has
/// room for, and weaker options are asked for by name.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let plan = Plan::new(&Request { unsplit: true, ..Request::new(2, 3) }, Isa::current())?;
/// let options = MaskOptions::strongest(&plan);
/// assert!(matches!(assess(&plan, &options)?.guarantee, Guarantee::Rerandomised { .. }));
/// // The plan has no room for flooding.
/// assert!(assess(&plan, &MaskOptions { flooding_bits: 40, ..options }).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaskOptions {
    /// Adds a fresh encryption of 0 under A's public key, so that c_1 does not depend on the matrix.
    pub rerandomise: bool,
    /// Adds to each coefficient at a place of entries a uniform integer of ± 2^`flooding_bits` times the bound of the
    /// noise (rounded down to a power of two); 0 for none. The plan's room
    /// ([`flooding_bits`](crate::Request::flooding_bits)) is the limit. It requires `rerandomise`: otherwise c_1 would
    /// reveal the matrix.
    pub flooding_bits: u32,
    /// Switches the answer to the modulus 2^`response_bits`, at most 59 and below Q; `None` leaves it modulo Q. It makes the
    /// answer smaller; it hides nothing, whatever of the noise is rounded away.
    pub response_bits: Option<u32>,
}

impl MaskOptions {
    /// All that `plan` has room for: re-randomising, and the [flooding](crate::Request::flooding_bits) that it was asked to
    /// leave room for. The response keeps its modulus.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let request = Request { unsplit: true, flooding_bits: 40, ..Request::new(2, 3) };
    /// let plan = Plan::new(&request, Isa::current())?;
    /// let guarantee = assess(&plan, &MaskOptions::strongest(&plan))?.guarantee;
    /// assert!(matches!(guarantee, Guarantee::Hidden { .. }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn strongest(plan: &Plan) -> Self {
        Self { rerandomise: true, flooding_bits: plan.request().flooding_bits, response_bits: None }
    }

    /// Nothing but the mask of plaintexts: A learns about the matrix from noise and c_1
    /// ([`PlaintextsOnly`](Guarantee::PlaintextsOnly)).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let plan = Plan::new(&Request { unsplit: true, ..Request::new(2, 3) }, Isa::current())?;
    /// assert_eq!(assess(&plan, &MaskOptions::plaintexts_only())?.guarantee, Guarantee::PlaintextsOnly);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn plaintexts_only() -> Self {
        Self { rerandomise: false, flooding_bits: 0, response_bits: None }
    }
}

/// The information about the matrix that A can learn from an answer, in addition to its share of the product, if both
/// parties follow the protocol.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Guarantee {
    /// Nothing from the decrypted plaintexts: they are uniform. But c_1 is a function of the matrix and of ciphertexts that
    /// A made, and the noise at the place of entry i is about Σ_j M_ij·e_j with errors e_j that A knows. An A that looks at
    /// them learns as much about the matrix as it has equations; a small matrix it can solve for.
    PlaintextsOnly,
    /// c_1 is a fresh sample of ring learning with errors, of the parameter set's security, except for a hint in the
    /// noise. The noise is still a linear function of row i of the matrix plus the noise of the encryption of 0, which
    /// is smaller by `hint_bits` bits (0 if it is not smaller). Each answer reveals to A about `hint_bits` bits of one
    /// linear function of each row.
    Rerandomised {
        /// log2 of the ratio of the product's noise to that of the encryption of 0, at least 0.
        hint_bits: f64,
    },
    /// Nothing: the answer is within a statistical distance of 2^−`statistical_bits` of one made from A's share alone, but
    /// for c_1, which is indistinguishable from uniform under ring learning with errors at the parameter set's security.
    Hidden {
        /// −log2 of the distance.
        statistical_bits: f64,
    },
}

impl std::fmt::Display for Guarantee {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Guarantee::PlaintextsOnly => f.write_str(
                "plaintexts are masked; the ciphertext's noise and c_1 depend on the matrix and do not hide it",
            ),
            Guarantee::Rerandomised { hint_bits } => write!(
                f,
                "plaintexts are masked and c_1 is re-randomised; the noise reveals about {hint_bits:.1} bits of a \
                 linear function of each row of the matrix"
            ),
            Guarantee::Hidden { statistical_bits } => write!(
                f,
                "the matrix is hidden within a statistical distance of 2^-{statistical_bits:.1}, and the security of the \
                 parameter set for c_1"
            ),
        }
    }
}

/// What options mean at a plan's parameters.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let plan = Plan::new(&Request { unsplit: true, ..Request::new(2, 3) }, Isa::current())?;
/// let options = MaskOptions::strongest(&plan);
/// let Assessment { log2_failure, guarantee, .. } = assess(&plan, &options)?;
/// assert!(log2_failure <= plan.request().log2_failure);
/// assert!(matches!(guarantee, Guarantee::Rerandomised { hint_bits } if hint_bits >= 0.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Assessment {
    /// log2 of the probability that any value of A's share is wrong.
    pub log2_failure: f64,
    /// The guarantee.
    pub guarantee: Guarantee,
    /// log2 of the bound of the uniform noise, if there is any.
    pub(super) flooding: Option<u32>,
}

/// log2 of the greatest modulus of a response for a Q of this length: below Q, and within the range of the rounding.
pub(super) fn max_response_bits(modulus_bits: f64) -> u32 {
    59.min(modulus_bits as u32)
}

fn unsupported<T>(what: String) -> Result<T, HmvpError> {
    Err(BfvError::Unsupported { what }.into())
}

/// States the guarantee of an answer with `options` and its failure probability.
///
/// # Errors
/// If the plan may split entries, has no room for the options or was not asked to have it, or if the options contradict each
/// other; too few response bits are refused with the least number that would do.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let request = Request { unsplit: true, ..Request::new(2, 3) };
/// let plan = Plan::new(&request, Isa::current())?;
/// // Without re-randomisation only the plaintexts are masked.
/// let assessment = assess(&plan, &MaskOptions::plaintexts_only())?;
/// assert_eq!(assessment.guarantee, Guarantee::PlaintextsOnly);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn assess(plan: &Plan, options: &MaskOptions) -> Result<Assessment, HmvpError> {
    super::require_unsplit(plan)?;
    let room = plan.request().flooding_bits;
    if options.flooding_bits > room {
        return unsupported(format!(
            "flooding of {} bits by a plan with room for {room}; ask for a plan with these flooding bits",
            options.flooding_bits
        ));
    }
    if options.flooding_bits > 0 && !options.rerandomise {
        return unsupported(
            "flooding without re-randomising hides nothing, because c_1 still reveals the inputs; re-randomise as well"
                .to_owned(),
        );
    }
    let model = Model::new(plan, options);
    let asked = plan.request().log2_failure;
    if let Some(bits) = options.response_bits {
        let max = max_response_bits(model.modulus_bits);
        let least = (1..=max).find(|&bits| model.log2_failure(Some(bits)) <= asked);
        if !least.is_some_and(|least| (least..=max).contains(&bits)) {
            return unsupported(match least {
                Some(least) => format!(
                    "a response modulo 2^{bits}; at this plan's failure probability of 2^{asked:.1} use {least} to {max} bits"
                ),
                None => {
                    format!("a response modulo a power of two by a plan of {max} bits, which leaves no room for it")
                }
            });
        }
    }
    let log2_failure = model.log2_failure(options.response_bits);
    // No option that is left exceeds the plan's bound. The plan keeps Q/(2t) ≥ (1 + 2^f)·B for the bound B of its noise, which
    // counts the encryption of 0 in, and flooding takes at most 2^f·B of it. Response bits were judged above, and more of
    // them round less. The slack is that of B, which is found by halving an interval.
    assert!(
        log2_failure <= asked + asked.abs() * 1e-9,
        "2^{log2_failure} of an answer with {options:?} by a plan of 2^{asked}"
    );
    Ok(Assessment { log2_failure, guarantee: model.guarantee(options), flooding: model.flooding })
}

/// The noise of an answer.
struct Model {
    polynomial_size: f64,
    /// log2 of the product's Q.
    modulus_bits: f64,
    /// log2 of Q/(2t).
    limit_bits: f64,
    /// Standard deviation of the product's noise, the encryption of 0 included.
    std_dev: f64,
    /// Entries of the product.
    entries: f64,
    /// Coefficients whose noise A sees: those of entries, or all for entries in slots.
    noisy: f64,
    /// log2 of the bound of the uniform noise.
    flooding: Option<u32>,
}

impl Model {
    fn new(plan: &Plan, options: &MaskOptions) -> Self {
        let (context, algorithm) = (plan.context(), plan.algorithm());
        let polynomial_size = context.n() as f64;
        let entries = plan.request().rows as f64;
        let ciphertexts: usize = (0..algorithm.tiles().len()).map(|tile| algorithm.product_len(tile)).sum();
        let noisy = if algorithm.batched() { polynomial_size * ciphertexts as f64 } else { entries };
        // An unsplit plan counts the encryption of 0 in.
        let std_dev = plan.noise_bits().exp2();
        let flooding = (options.flooding_bits > 0).then(|| {
            let bound = noise::log2_bound(std_dev, plan.request().log2_failure, entries);
            (bound + f64::from(options.flooding_bits)).floor() as u32
        });
        let modulus_bits = context.basis(algorithm.product_limbs()).log2();
        Self { polynomial_size, modulus_bits, limit_bits: plan.noise_limit_bits(), std_dev, entries, noisy, flooding }
    }

    /// Also of an answer modulo 2^`response_bits`: rounding to it adds errors of Q/2^w each, and taking it back modulo Q adds
    /// further ones of 1.
    fn log2_failure(&self, response_bits: Option<u32>) -> f64 {
        let rounding = noise::rounding_variance(self.polynomial_size);
        let switched = response_bits.map_or(0.0, |bits| {
            let step = (self.modulus_bits - f64::from(bits)).exp2();
            rounding * (1.0 + step * step)
        });
        // Q/(2t) less what is flooded.
        let flooded = self.flooding.map_or(0.0, |bits| (f64::from(bits) - self.limit_bits).exp2());
        if flooded >= 1.0 {
            return 0.0;
        }
        noise::log2_failure(self.limit_bits + (1.0 - flooded).log2(), self.std_dev.hypot(switched.sqrt()), self.entries)
    }

    fn guarantee(&self, options: &MaskOptions) -> Guarantee {
        if !options.rerandomise {
            return Guarantee::PlaintextsOnly;
        }
        match self.flooding {
            None => {
                let zero = noise::zero_variance(self.polynomial_size);
                let product = (self.std_dev * self.std_dev - zero).max(zero);
                Guarantee::Rerandomised { hint_bits: (product / zero).log2() / 2.0 }
            }
            // A uniform integer of [−F, F) and the same plus e are |e|/(2F) apart. Noise beyond the bound adds its probability.
            Some(flooding) => {
                let tails = -f64::from(options.flooding_bits.max(64));
                let bound = noise::log2_bound(self.std_dev, tails, self.noisy);
                let apart = bound + self.noisy.log2() - 1.0 - f64::from(flooding);
                Guarantee::Hidden { statistical_bits: (-(apart.exp2() + tails.exp2()).log2()).max(0.0) }
            }
        }
    }
}
