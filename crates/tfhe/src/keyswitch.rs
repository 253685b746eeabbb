//! LWE key switching to the small key.
//!
//! The key-switching key holds, for each bit S_i of the source key and each level j, a 32-bit LWE encryption of
//! S_i·2^32/B^j under the target key. A digit multiplies the row, and so its noise; that keeps the key at
//! (kN)·t·(n+1)·4 bytes.

use std::ops::Range;

use ciphermill_lattice::rng::Csprng;
use ciphermill_lattice::{MaskStream, NoiseDistribution, PublicSeed, Torus};
use ciphermill_math::{Isa, subtract_combinations};
use rayon::prelude::*;

use crate::dimension::{Decomposition, LweDimension};
use crate::error::{TfheError, require_equal};
use crate::ggsw::gadget_element;
use crate::lwe::{LweCiphertext, LweSecretKey};
use crate::memory::AlignedBuffer;
use crate::noise_check::check_noise;

/// The sizes of a key-switching key.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let shape = client.generate_keyswitch_key(KeySeeds::from_os()?)?.shape();
/// assert_eq!((shape.input_dimension, shape.output_dimension), (LweDimension(1024), LweDimension(96)));
/// // k·N·t rows of n + 1 elements, with t = 7 levels.
/// assert_eq!((shape.row_count(), shape.len()), (1024 * 7, 1024 * 7 * 97));
/// assert!(!shape.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyswitchShape {
    /// kN, the dimension of the input.
    pub input_dimension: LweDimension,
    /// n, the dimension of the output.
    pub output_dimension: LweDimension,
    /// B and t.
    pub decomposition: Decomposition,
}

impl KeyswitchShape {
    /// kN·t, the number of rows.
    pub fn row_count(&self) -> usize {
        self.input_dimension.0 * self.decomposition.level_count.0
    }

    /// kN·t·(n+1), all elements.
    pub fn len(&self) -> usize {
        self.row_count() * self.output_dimension.lwe_size()
    }

    /// Whether it holds no element; it never is for a valid parameter set.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// t·(n+1), the elements of one source-key bit.
    pub(crate) fn block_len(&self) -> usize {
        self.decomposition.level_count.0 * self.output_dimension.lwe_size()
    }
}

/// A key-switching key compressed by a seed: the bodies, t per source-key bit; masks come from stream i for bit i.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let [from, to] = [128, 96].map(|n| LweSecretKey::generate(LweDimension(n), &mut rng));
/// let (gadget, noise, secret) = (parameters.ks, parameters.lwe_noise, SecretSeed::from_os()?);
/// let key = SeededLweKeyswitchKey::generate(&from, &to, gadget, noise, PublicSeed::from_os()?, |i| {
///     Csprng::from_secret(&secret, i)
/// })?;
/// let key = key.expand();
/// let ciphertext = from.encrypt::<u32>(3 << 28, parameters.lwe_noise, &mut rng)?;
/// assert_eq!(to.decrypt_phase(&key.switch(&ciphertext)?)?.wrapping_add(1 << 27) >> 28, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct SeededLweKeyswitchKey {
    pub(crate) shape: KeyswitchShape,
    pub(crate) seed: PublicSeed,
    pub(crate) bodies: Vec<u32>,
}

impl SeededLweKeyswitchKey {
    /// Encrypts the bits of `input_key` under `output_key`; `noise_rng(i)` gives the noise of source-key bit i.
    ///
    /// # Errors
    /// If the gadget or the noise does not fit 32 bits.
    pub fn generate(
        input_key: &LweSecretKey,
        output_key: &LweSecretKey,
        decomposition: Decomposition,
        noise: NoiseDistribution,
        seed: PublicSeed,
        noise_rng: impl Fn(u64) -> Csprng + Sync,
    ) -> Result<Self, TfheError> {
        decomposition.decomposer::<u32>()?;
        check_noise::<u32>(noise, "small")?;
        let shape = KeyswitchShape {
            input_dimension: input_key.dimension(),
            output_dimension: output_key.dimension(),
            decomposition,
        };
        let levels = decomposition.level_count.0;
        let mut bodies = vec![0u32; shape.row_count()];
        bodies.par_chunks_exact_mut(levels).enumerate().for_each_init(
            || vec![0u32; shape.output_dimension.0],
            |mask, (i, bodies)| {
                let mut masks = MaskStream::new(&seed, i as u64);
                noise.add_to(&mut noise_rng(i as u64), bodies);
                for (j, body) in bodies.iter_mut().enumerate() {
                    u32::fill_random(&mut masks, mask);
                    let gadget = gadget_element::<u32>(decomposition, j + 1);
                    let message = gadget.wrapping_mul(u32::from(input_key.bits()[i]));
                    let product = mask
                        .iter()
                        .zip(output_key.bits())
                        .fold(0u32, |sum, (&a, &s)| sum.wrapping_add(a.wrapping_mul(u32::from(s))));
                    *body = body.wrapping_add(message).wrapping_add(product);
                }
            },
        );
        Ok(Self { shape, seed, bodies })
    }

    /// Sizes.
    pub fn shape(&self) -> KeyswitchShape {
        self.shape
    }

    /// Rebuilds the masks.
    pub fn expand(&self) -> LweKeyswitchKey {
        let mut data = AlignedBuffer::zeroed(self.shape.len());
        data.par_chunks_exact_mut(self.shape.block_len()).enumerate().for_each(|(i, rows)| self.expand_block(i, rows));
        LweKeyswitchKey { shape: self.shape, data }
    }

    /// The t rows of source-key bit `index`, t·(n+1) elements: one block of the expanded key.
    pub(crate) fn expand_block(&self, index: usize, rows: &mut [u32]) {
        let size = self.shape.output_dimension.lwe_size();
        let levels = self.shape.decomposition.level_count.0;
        let mut masks = MaskStream::new(&self.seed, index as u64);
        for (row, &body) in rows.chunks_exact_mut(size).zip(&self.bodies[index * levels..][..levels]) {
            u32::fill_random(&mut masks, &mut row[..size - 1]);
            row[size - 1] = body;
        }
    }
}

/// A key-switching key: kN blocks of t rows of n + 1 elements.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let key = client.generate_keyswitch_key(KeySeeds::from_os()?)?.expand();
/// let big = client.glwe_secret_key().to_lwe_secret_key();
/// let input = big.encrypt::<u64>(3 << 60, parameters.glwe_noise, &mut rng)?;
/// let output = key.switch(&input)?;
/// assert_eq!(client.lwe_secret_key().decrypt_phase(&output)?.wrapping_add(1 << 27) >> 28, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct LweKeyswitchKey {
    shape: KeyswitchShape,
    data: AlignedBuffer<u32>,
}

impl PartialEq for LweKeyswitchKey {
    fn eq(&self, other: &Self) -> bool {
        self.shape == other.shape && *self.data == *other.data
    }
}

impl Eq for LweKeyswitchKey {}

impl std::fmt::Debug for SeededLweKeyswitchKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SeededLweKeyswitchKey({:?})", self.shape)
    }
}

/// The sizes alone: the elements are hundreds of megabytes.
impl std::fmt::Debug for LweKeyswitchKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LweKeyswitchKey({:?})", self.shape)
    }
}

impl LweKeyswitchKey {
    /// From all elements, in row order.
    ///
    /// # Errors
    /// If their number is not that of the shape.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// use ciphermill_tfhe::keyswitch::LweKeyswitchKey;
    /// let key = client.generate_keyswitch_key(KeySeeds::from_os()?)?.expand();
    /// assert_eq!(LweKeyswitchKey::from_elements(key.elements(), key.shape())?, key);
    /// assert!(LweKeyswitchKey::from_elements(&key.elements()[1..], key.shape()).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_elements(elements: &[u32], shape: KeyswitchShape) -> Result<Self, TfheError> {
        let mut data = AlignedBuffer::zeroed(elements.len());
        data.copy_from_slice(elements);
        Self::from_buffer(data, shape)
    }

    /// [`from_elements`](Self::from_elements) without a copy.
    pub(crate) fn from_buffer(data: AlignedBuffer<u32>, shape: KeyswitchShape) -> Result<Self, TfheError> {
        require_equal("elements of the key-switching key", data.len(), shape.len())?;
        Ok(Self { shape, data })
    }

    /// Sizes.
    pub fn shape(&self) -> KeyswitchShape {
        self.shape
    }

    /// All elements, in row order.
    pub fn elements(&self) -> &[u32] {
        &self.data
    }

    /// Switches a ciphertext to the output key: (0, …, 0, b) − Σ_i Σ_j digit_j(a_i)·row_(i,j), modulo 2^32.
    ///
    /// # Errors
    /// If the ciphertext's dimension is not the key's input dimension, or the decomposition does not fit the torus.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let key = client.generate_keyswitch_key(KeySeeds::from_os()?)?.expand();
    /// // A trivial ciphertext has no mask, so only its width changes.
    /// let input = LweCiphertext::trivial(3u64 << 60, LweDimension(1024));
    /// assert_eq!(key.switch(&input)?, LweCiphertext::trivial(3u32 << 28, LweDimension(96)));
    /// assert!(key.switch(&LweCiphertext::trivial(0u64, LweDimension(96))).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn switch<T: Torus>(&self, input: &LweCiphertext<T>) -> Result<LweCiphertext<u32>, TfheError> {
        self.switch_on(Isa::current(), input)
    }

    /// [`switch`](Self::switch) on a given path, on this thread.
    ///
    /// # Errors
    /// As [`switch`](Self::switch).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let key = client.generate_keyswitch_key(KeySeeds::from_os()?)?.expand();
    /// let big = client.glwe_secret_key().to_lwe_secret_key();
    /// let input = big.encrypt::<u64>(3 << 60, parameters.glwe_noise, &mut rng)?;
    /// assert_eq!(key.switch_on(Isa::Portable, &input)?, key.switch(&input)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn switch_on<T: Torus>(&self, isa: Isa, input: &LweCiphertext<T>) -> Result<LweCiphertext<u32>, TfheError> {
        let mut outputs = self.trivial_outputs(&[input])?;
        self.subtract_blocks(isa, &[input], 0..self.shape.input_dimension.0, &mut outputs)?;
        Ok(LweCiphertext::from_elements(outputs))
    }

    /// Switches several ciphertexts in one pass over the key, on this thread. Each result is that of
    /// [`switch`](Self::switch), bit for bit.
    ///
    /// # Errors
    /// As [`switch`](Self::switch), for any of them.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let key = client.generate_keyswitch_key(KeySeeds::from_os()?)?.expand();
    /// let big = client.glwe_secret_key().to_lwe_secret_key();
    /// let input = big.encrypt::<u64>(3 << 60, parameters.glwe_noise, &mut rng)?;
    /// let outputs = key.switch_batch_on(Isa::current(), &[&input, &input])?;
    /// assert_eq!(outputs, [key.switch(&input)?, key.switch(&input)?]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn switch_batch_on<T: Torus>(
        &self,
        isa: Isa,
        inputs: &[&LweCiphertext<T>],
    ) -> Result<Vec<LweCiphertext<u32>>, TfheError> {
        let mut outputs = self.trivial_outputs(inputs)?;
        self.subtract_blocks(isa, inputs, 0..self.shape.input_dimension.0, &mut outputs)?;
        Ok(self.split_outputs(&outputs))
    }

    /// [`switch_batch_on`](Self::switch_batch_on) on those threads of the current Rayon pool that have nothing else to do:
    /// each sums the rows of a part of the mask. Sums modulo 2^32 have no order, so the results are the same.
    ///
    /// # Errors
    /// As [`switch`](Self::switch), for any of the ciphertexts.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let key = client.generate_keyswitch_key(KeySeeds::from_os()?)?.expand();
    /// let big = client.glwe_secret_key().to_lwe_secret_key();
    /// let input = big.encrypt::<u64>(3 << 60, parameters.glwe_noise, &mut rng)?;
    /// let outputs = key.switch_batch_parallel_on(Isa::current(), &[&input, &input])?;
    /// assert_eq!(outputs, key.switch_batch_on(Isa::current(), &[&input, &input])?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn switch_batch_parallel_on<T: Torus>(
        &self,
        isa: Isa,
        inputs: &[&LweCiphertext<T>],
    ) -> Result<Vec<LweCiphertext<u32>>, TfheError> {
        let mut outputs = self.trivial_outputs(inputs)?;
        let dimension = self.shape.input_dimension.0;
        // More parts than threads: a thread that comes late takes fewer.
        let part = dimension.div_ceil(PARTS_PER_THREAD * rayon::current_num_threads()).next_multiple_of(ELEMENTS);
        let zeros = || vec![0u32; outputs.len()];
        let sum = (0..dimension.div_ceil(part))
            .into_par_iter()
            .try_fold(zeros, |mut sum, i| {
                let range = i * part..dimension.min((i + 1) * part);
                self.subtract_blocks(isa, inputs, range, &mut sum).map(|()| sum)
            })
            .try_reduce(zeros, |mut a, b| {
                add_assign(&mut a, &b);
                Ok(a)
            })?;
        add_assign(&mut outputs, &sum);
        Ok(self.split_outputs(&outputs))
    }

    /// (0, …, 0, b) for each input, one after another.
    fn trivial_outputs<T: Torus>(&self, inputs: &[&LweCiphertext<T>]) -> Result<Vec<u32>, TfheError> {
        let size = self.shape.output_dimension.lwe_size();
        let mut outputs = vec![0u32; inputs.len() * size];
        for (input, output) in inputs.iter().zip(outputs.chunks_exact_mut(size)) {
            require_equal("LWE dimension of the ciphertext", input.dimension().0, self.shape.input_dimension.0)?;
            output[size - 1] = u32::from_u64_msb(input.body().to_u64_msb());
        }
        Ok(outputs)
    }

    fn split_outputs(&self, outputs: &[u32]) -> Vec<LweCiphertext<u32>> {
        let size = self.shape.output_dimension.lwe_size();
        outputs.chunks_exact(size).map(|output| LweCiphertext::from_elements(output.to_vec())).collect()
    }

    /// outputs −= Σ_i Σ_j digit_j(a_i)·row_(i,j) over the mask elements i in `range`, for each input.
    fn subtract_blocks<T: Torus>(
        &self,
        isa: Isa,
        inputs: &[&LweCiphertext<T>],
        range: Range<usize>,
        outputs: &mut [u32],
    ) -> Result<(), TfheError> {
        let decomposer = self.shape.decomposition.decomposer::<T>()?;
        if inputs.is_empty() {
            return Ok(());
        }
        let (levels, block) = (self.shape.decomposition.level_count.0, self.shape.block_len());
        let size = self.shape.output_dimension.lwe_size();
        let mut digits = Vec::with_capacity(ELEMENTS * inputs.len() * levels);
        for first in range.clone().step_by(ELEMENTS) {
            let elements = first..range.end.min(first + ELEMENTS);
            digits.clear();
            for i in elements.clone() {
                for input in inputs {
                    let a = input.mask()[i];
                    digits.extend((1..=levels).map(|j| decomposer.digit(a, j) as u32));
                }
            }
            let rows = self.data[elements.start * block..elements.end * block].chunks_exact(block);
            for (rows, digits) in rows.zip(digits.chunks_exact(inputs.len() * levels)) {
                subtract_combinations(isa, size, outputs, digits, rows);
            }
        }
        Ok(())
    }
}

/// Mask elements whose digits are computed at a time.
const ELEMENTS: usize = 64;

/// Parts of a parallel switch.
const PARTS_PER_THREAD: usize = 4;

fn add_assign(lhs: &mut [u32], rhs: &[u32]) {
    for (l, &r) in lhs.iter_mut().zip(rhs) {
        *l = l.wrapping_add(r);
    }
}

#[cfg(test)]
mod tests {
    use ciphermill_lattice::rng::SecretSeed;
    use ciphermill_lattice::{DecompositionBaseLog, DecompositionLevelCount};

    use super::*;

    /// One switch, a batch and a parallel batch are the definition on every path, whatever the number of levels.
    #[test]
    fn switches_are_the_definition() {
        let mut rng = Csprng::from_secret(&SecretSeed::from_bytes([3; 32]), 0);
        for (levels, input_dimension, output_dimension) in [(1, 64, 31), (7, 130, 80), (9, 65, 33)] {
            let decomposition =
                Decomposition { base_log: DecompositionBaseLog(3), level_count: DecompositionLevelCount(levels) };
            let shape = KeyswitchShape {
                input_dimension: LweDimension(input_dimension),
                output_dimension: LweDimension(output_dimension),
                decomposition,
            };
            let mut elements = vec![0; shape.len()];
            rng.fill_u32(&mut elements);
            let key = LweKeyswitchKey::from_elements(&elements, shape).expect("its size");
            let inputs: Vec<LweCiphertext<u64>> = (0..5)
                .map(|_| {
                    let mut elements = vec![0; input_dimension + 1];
                    rng.fill_u64(&mut elements);
                    LweCiphertext::from_elements(elements)
                })
                .collect();
            let decomposer = decomposition.decomposer::<u64>().expect("a gadget that fits");
            let size = output_dimension + 1;
            let expected: Vec<LweCiphertext<u32>> = inputs
                .iter()
                .map(|input| {
                    let mut out = vec![0u32; size];
                    out[size - 1] = u32::from_u64_msb(input.body());
                    for (r, row) in elements.chunks_exact(size).enumerate() {
                        let digit = decomposer.digit(input.mask()[r / levels], r % levels + 1) as u32;
                        for (o, &x) in out.iter_mut().zip(row) {
                            *o = o.wrapping_sub(digit.wrapping_mul(x));
                        }
                    }
                    LweCiphertext::from_elements(out)
                })
                .collect();
            for isa in Isa::available() {
                for batch in [0, 1, 2, 5] {
                    let inputs: Vec<_> = inputs[..batch].iter().collect();
                    assert!(key.switch_batch_on(isa, &inputs).expect("its dimension") == expected[..batch], "{isa}");
                    let parallel = key.switch_batch_parallel_on(isa, &inputs).expect("its dimension");
                    assert!(parallel == expected[..batch], "{isa}, {batch} in parallel");
                }
                assert!(key.switch_on(isa, &inputs[0]).expect("its dimension") == expected[0], "{isa}");
            }
        }
    }
}
