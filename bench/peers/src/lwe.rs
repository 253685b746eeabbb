//! tfhe-rs' core_crypto: bootstrapping, key switching and key generation.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tfhe::core_crypto::commons::math::ntt::ntt64::Ntt64;
use tfhe::core_crypto::prelude::*;

use crate::fft::give_tfhe_rs_a_plan;
use crate::{Contender, Peer, TFHE};

/// The peer of this module.
pub const PEER: Peer = TFHE;

/// Parameters, as tfhe-rs wants them. All logarithms are binary.
#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    /// n.
    pub lwe_dimension: usize,
    /// k.
    pub glwe_dimension: usize,
    /// N.
    pub polynomial_size: usize,
    /// B of the bootstrap.
    pub pbs_base_log: usize,
    /// l.
    pub pbs_level_count: usize,
    /// B of the key switch.
    pub ks_base_log: usize,
    /// t.
    pub ks_level_count: usize,
    /// Standard deviation of small ciphertexts and of the key-switching key, torus = 1.
    pub lwe_std_dev: f64,
    /// Standard deviation of big ciphertexts and of the bootstrapping key, torus = 1.
    pub glwe_std_dev: f64,
    /// Bits of a message, without the padding bit above them.
    pub message_bits: u32,
}

/// Secret keys, and the means to encrypt.
pub struct Client {
    parameters: Parameters,
    small: LweSecretKeyOwned<u64>,
    small32: LweSecretKeyOwned<u32>,
    glwe: GlweSecretKeyOwned<u64>,
    big: LweSecretKeyOwned<u64>,
    big32: LweSecretKeyOwned<u32>,
    random: Mutex<EncryptionRandomGenerator<DefaultRandomGenerator>>,
}

/// A bootstrapping key in coefficient form.
pub struct StandardKey(LweBootstrapKeyOwned<u64>);

/// The keys with which tfhe-rs bootstraps and switches by the f64 FFT.
#[derive(Clone)]
pub struct FourierKey(Arc<FourierLweBootstrapKeyOwned>);

/// The key with which it bootstraps by the NTT.
#[derive(Clone)]
pub struct NttKey(Arc<NttLweBootstrapKeyOwned<u64>>, NttVariant);

/// tfhe-rs' two bootstraps by the NTT over p = 2^64 − 2^32 + 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NttVariant {
    /// `…_ntt64_…`: ciphertexts modulo p from end to end.
    Modular,
    /// `…_ntt64_bnf_…`: ciphertexts modulo 2^64, switched to p before and after each transform.
    Native,
}

/// A key-switching key with elements of 32 or 64 bits.
#[derive(Clone)]
pub enum KeyswitchKey {
    /// `keyswitch_lwe_ciphertext_with_scalar_change`.
    Bits32(Arc<LweKeyswitchKeyOwned<u32>>),
    /// `keyswitch_lwe_ciphertext`.
    Bits64(Arc<LweKeyswitchKeyOwned<u64>>),
}

fn goldilocks() -> CiphertextModulus<u64> {
    CiphertextModulus::new((1 << 64) - (1 << 32) + 1)
}

fn native<T: UnsignedInteger>() -> CiphertextModulus<T> {
    CiphertextModulus::new_native()
}

fn gaussian(std_dev: f64) -> Gaussian<f64> {
    Gaussian::from_dispersion_parameter(StandardDev(std_dev), 0.0)
}

fn narrow(key: &LweSecretKeyOwned<u64>) -> LweSecretKeyOwned<u32> {
    LweSecretKey::from_container(key.as_ref().iter().map(|&bit| bit as u32).collect())
}

impl Client {
    /// Fresh secret keys.
    pub fn new(parameters: Parameters) -> Self {
        give_tfhe_rs_a_plan(parameters.polynomial_size);
        let mut seeder = new_seeder();
        let seeder = seeder.as_mut();
        let mut secrets = SecretRandomGenerator::<DefaultRandomGenerator>::new(seeder.seed());
        let p = parameters;
        let small = LweSecretKey::generate_new_binary(LweDimension(p.lwe_dimension), &mut secrets);
        let (k, n) = (GlweDimension(p.glwe_dimension), PolynomialSize(p.polynomial_size));
        let glwe = GlweSecretKey::generate_new_binary(k, n, &mut secrets);
        let big = glwe.clone().into_lwe_secret_key();
        let random = Mutex::new(EncryptionRandomGenerator::new(seeder.seed(), seeder));
        Self { parameters, small32: narrow(&small), big32: narrow(&big), small, glwe, big, random }
    }

    /// Generates the bootstrapping key, on all threads of the current rayon pool.
    pub fn standard_key(&self) -> StandardKey {
        let p = self.parameters;
        StandardKey(par_allocate_and_generate_new_lwe_bootstrap_key(
            &self.small,
            &self.glwe,
            DecompositionBaseLog(p.pbs_base_log),
            DecompositionLevelCount(p.pbs_level_count),
            gaussian(p.glwe_std_dev),
            native(),
            &mut self.random(),
        ))
    }

    /// Generates a key-switching key with elements of 32 bits, as ours has.
    pub fn keyswitch_key_32(&self) -> KeyswitchKey {
        let p = self.parameters;
        KeyswitchKey::Bits32(Arc::new(allocate_and_generate_new_lwe_keyswitch_key(
            &self.big32,
            &self.small32,
            DecompositionBaseLog(p.ks_base_log),
            DecompositionLevelCount(p.ks_level_count),
            gaussian(p.lwe_std_dev),
            native::<u32>(),
            &mut self.random(),
        )))
    }

    /// Generates a key-switching key with elements of 64 bits.
    pub fn keyswitch_key_64(&self) -> KeyswitchKey {
        let p = self.parameters;
        KeyswitchKey::Bits64(Arc::new(allocate_and_generate_new_lwe_keyswitch_key(
            &self.big,
            &self.small,
            DecompositionBaseLog(p.ks_base_log),
            DecompositionLevelCount(p.ks_level_count),
            gaussian(p.lwe_std_dev),
            native::<u64>(),
            &mut self.random(),
        )))
    }

    fn random(&self) -> MutexGuard<'_, EncryptionRandomGenerator<DefaultRandomGenerator>> {
        self.random.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// 1 in units of the torus of 64 bits.
    fn delta(&self) -> u64 {
        1 << (63 - self.parameters.message_bits)
    }

    fn encrypt_small_32(&self, message: u64) -> LweCiphertextOwned<u32> {
        let plaintext = Plaintext(((message * self.delta()) >> 32) as u32);
        let noise = gaussian(self.parameters.lwe_std_dev);
        allocate_and_encrypt_new_lwe_ciphertext(&self.small32, plaintext, noise, native(), &mut self.random())
    }

    fn encrypt_small(&self, message: u64, modulus: CiphertextModulus<u64>) -> LweCiphertextOwned<u64> {
        // Its encryption modulo p takes the message there too; one half of a unit of 2^64 does not matter.
        let noise = gaussian(self.parameters.lwe_std_dev);
        let plaintext = Plaintext(message * self.delta());
        allocate_and_encrypt_new_lwe_ciphertext(&self.small, plaintext, noise, modulus, &mut self.random())
    }

    fn encrypt_big(&self, message: u64) -> LweCiphertextOwned<u64> {
        let (plaintext, noise) = (Plaintext(message * self.delta()), gaussian(self.parameters.glwe_std_dev));
        allocate_and_encrypt_new_lwe_ciphertext(&self.big, plaintext, noise, native(), &mut self.random())
    }

    fn decode(&self, phase: u64) -> u64 {
        let rounded = phase.wrapping_add(self.delta() / 2) / self.delta();
        rounded % (2 << self.parameters.message_bits)
    }

    fn decrypt_big(&self, ciphertext: &LweCiphertextOwned<u64>) -> u64 {
        self.decode(decrypt_lwe_ciphertext(&self.big, ciphertext).0)
    }

    fn accumulator(&self, modulus: CiphertextModulus<u64>, f: fn(u64) -> u64) -> GlweCiphertextOwned<u64> {
        generate_programmable_bootstrap_glwe_lut(
            PolynomialSize(self.parameters.polynomial_size),
            GlweDimension(self.parameters.glwe_dimension).to_glwe_size(),
            1 << self.parameters.message_bits,
            modulus,
            self.delta(),
            f,
        )
    }

    fn messages(&self) -> std::ops::Range<u64> {
        0..1 << self.parameters.message_bits
    }

    fn empty_big(&self, modulus: CiphertextModulus<u64>) -> LweCiphertextOwned<u64> {
        LweCiphertext::new(0, self.big.lwe_dimension().to_lwe_size(), modulus)
    }
}

impl StandardKey {
    /// The Fourier form, on all threads of the current rayon pool.
    pub fn to_fourier(&self) -> FourierKey {
        let mut key = FourierLweBootstrapKeyOwned::new(
            self.0.input_lwe_dimension(),
            self.0.glwe_size(),
            self.0.polynomial_size(),
            self.0.decomposition_base_log(),
            self.0.decomposition_level_count(),
        );
        par_convert_standard_lwe_bootstrap_key_to_fourier(&self.0, &mut key);
        FourierKey(Arc::new(key))
    }

    /// The NTT form, on all threads of the current rayon pool.
    pub fn to_ntt(&self, variant: NttVariant) -> NttKey {
        let mut key = NttLweBootstrapKeyOwned::new(
            0,
            self.0.input_lwe_dimension(),
            self.0.glwe_size(),
            self.0.polynomial_size(),
            self.0.decomposition_base_log(),
            self.0.decomposition_level_count(),
            goldilocks(),
        );
        let option = match variant {
            NttVariant::Modular => NttLweBootstrapKeyOption::Normalize,
            NttVariant::Native => NttLweBootstrapKeyOption::Raw,
        };
        par_convert_standard_lwe_bootstrap_key_to_ntt64(&self.0, &mut key, option);
        NttKey(Arc::new(key), variant)
    }
}

/// Bootstraps by the FFT, one or several at a time, from the small to the big key or, with a key switch before, from the big
/// key to itself.
pub struct FftBootstrap<'a> {
    client: &'a Client,
    key: FourierKey,
    keyswitch: Option<KeyswitchKey>,
    f: fn(u64) -> u64,
    fft: Fft,
    stack: ComputationBuffers,
    small: Vec<LweCiphertextOwned<u32>>,
    big: Vec<LweCiphertextOwned<u64>>,
    round: usize,
    input: LweCiphertextListOwned<u32>,
    accumulators: GlweCiphertextListOwned<u64>,
    output: LweCiphertextListOwned<u64>,
}

impl<'a> FftBootstrap<'a> {
    /// `batch` bootstraps per run; `f` is the function that they evaluate. The key switch, if any, needs a key of 32 bits.
    pub fn new(
        client: &'a Client,
        key: &FourierKey,
        keyswitch: Option<&KeyswitchKey>,
        batch: usize,
        f: fn(u64) -> u64,
    ) -> Self {
        let small = client.messages().map(|m| client.encrypt_small_32(m)).collect();
        let big = client.messages().map(|m| client.encrypt_big(m)).collect();
        let accumulator = client.accumulator(native(), f);
        let size = accumulator.glwe_size();
        let polynomial_size = accumulator.polynomial_size();
        let accumulators =
            GlweCiphertextList::from_container(accumulator.as_ref().repeat(batch), size, polynomial_size, native());
        let count = LweCiphertextCount(batch);
        let input = LweCiphertextList::new(0, client.small.lwe_dimension().to_lwe_size(), count, native());
        let output = LweCiphertextList::new(0, client.big.lwe_dimension().to_lwe_size(), count, native());
        let fft = Fft::new(polynomial_size);
        let mut stack = ComputationBuffers::new();
        let single = programmable_bootstrap_lwe_ciphertext_mem_optimized_requirement::<u64>(
            size,
            polynomial_size,
            fft.as_view(),
        );
        let several = batch_programmable_bootstrap_lwe_ciphertext_mem_optimized_requirement::<u64>(
            size,
            polynomial_size,
            CiphertextCount(batch),
            fft.as_view(),
        );
        stack.resize(single.or(several).unaligned_bytes_required());
        Self {
            client,
            key: key.clone(),
            keyswitch: keyswitch.cloned(),
            f,
            fft,
            stack,
            small,
            big,
            round: 0,
            input,
            accumulators,
            output,
        }
    }

    /// The message that stands at place `i` of the batch.
    fn message(&self, i: usize) -> usize {
        (self.round + i) % self.small.len()
    }
}

impl Contender for FftBootstrap<'_> {
    fn prepare(&mut self, round: usize) {
        self.round = round;
        for i in 0..self.input.lwe_ciphertext_count().0 {
            let message = self.message(i);
            self.input.get_mut(i).as_mut().copy_from_slice(self.small[message].as_ref());
        }
    }

    fn run(&mut self) {
        let batch = self.input.lwe_ciphertext_count().0;
        if let Some(KeyswitchKey::Bits32(key)) = &self.keyswitch {
            for i in 0..batch {
                let message = (self.round + i) % self.big.len();
                keyswitch_lwe_ciphertext_with_scalar_change(key, &self.big[message], &mut self.input.get_mut(i));
            }
        }
        let (fft, stack) = (self.fft.as_view(), self.stack.stack());
        if batch == 1 {
            programmable_bootstrap_lwe_ciphertext_mem_optimized(
                &self.input.get(0),
                &mut self.output.get_mut(0),
                &self.accumulators.get(0),
                &self.key.0,
                fft,
                stack,
            );
        } else {
            batch_programmable_bootstrap_lwe_ciphertext_mem_optimized(
                &self.input,
                &mut self.output,
                &self.accumulators,
                &self.key.0,
                fft,
                stack,
            );
        }
    }

    fn correct(&mut self) -> bool {
        let decrypted = |i: usize| self.client.decode(decrypt_lwe_ciphertext(&self.client.big, &self.output.get(i)).0);
        (0..self.output.lwe_ciphertext_count().0).all(|i| decrypted(i) == (self.f)(self.message(i) as u64))
    }
}

/// Bootstraps by the NTT, from the small to the big key.
pub struct NttBootstrap<'a> {
    client: &'a Client,
    key: NttKey,
    f: fn(u64) -> u64,
    ntt: Ntt64,
    stack: ComputationBuffers,
    inputs: Vec<LweCiphertextOwned<u64>>,
    round: usize,
    accumulator: GlweCiphertextOwned<u64>,
    output: LweCiphertextOwned<u64>,
}

impl<'a> NttBootstrap<'a> {
    /// Evaluates `f`.
    pub fn new(client: &'a Client, key: &NttKey, f: fn(u64) -> u64) -> Self {
        let modulus = match key.1 {
            NttVariant::Modular => goldilocks(),
            NttVariant::Native => native(),
        };
        let inputs = client.messages().map(|m| client.encrypt_small(m, modulus)).collect();
        let accumulator = client.accumulator(modulus, f);
        let (size, polynomial_size) = (accumulator.glwe_size(), accumulator.polynomial_size());
        let ntt = Ntt64::new(goldilocks(), polynomial_size);
        let required = match key.1 {
            NttVariant::Modular => programmable_bootstrap_ntt64_lwe_ciphertext_mem_optimized_requirement,
            NttVariant::Native => programmable_bootstrap_ntt64_bnf_lwe_ciphertext_mem_optimized_requirement,
        };
        let mut stack = ComputationBuffers::new();
        stack.resize(required(size, polynomial_size, ntt.as_view()).unaligned_bytes_required());
        let output = client.empty_big(modulus);
        Self { client, key: key.clone(), f, ntt, stack, inputs, round: 0, accumulator, output }
    }
}

impl Contender for NttBootstrap<'_> {
    fn prepare(&mut self, round: usize) {
        self.round = round % self.inputs.len();
    }

    fn run(&mut self) {
        let bootstrap = match self.key.1 {
            NttVariant::Modular => programmable_bootstrap_ntt64_lwe_ciphertext_mem_optimized,
            NttVariant::Native => programmable_bootstrap_ntt64_bnf_lwe_ciphertext_mem_optimized,
        };
        let (ntt, stack) = (self.ntt.as_view(), self.stack.stack());
        bootstrap(&self.inputs[self.round], &mut self.output, &self.accumulator, &self.key.0, ntt, stack);
    }

    fn correct(&mut self) -> bool {
        self.client.decrypt_big(&self.output) == (self.f)(self.round as u64)
    }
}

/// Switches ciphertexts from the big to the small key.
pub struct Keyswitch<'a> {
    client: &'a Client,
    key: KeyswitchKey,
    inputs: Vec<LweCiphertextOwned<u64>>,
    round: usize,
    output32: LweCiphertextOwned<u32>,
    output64: LweCiphertextOwned<u64>,
}

impl<'a> Keyswitch<'a> {
    /// With a key of either width.
    pub fn new(client: &'a Client, key: &KeyswitchKey) -> Self {
        let inputs = client.messages().map(|m| client.encrypt_big(m)).collect();
        let size = client.small.lwe_dimension().to_lwe_size();
        let (output32, output64) = (LweCiphertext::new(0, size, native()), LweCiphertext::new(0, size, native()));
        Self { client, key: key.clone(), inputs, round: 0, output32, output64 }
    }
}

impl Contender for Keyswitch<'_> {
    fn prepare(&mut self, round: usize) {
        self.round = round % self.inputs.len();
    }

    fn run(&mut self) {
        let input = &self.inputs[self.round];
        match &self.key {
            KeyswitchKey::Bits32(key) => keyswitch_lwe_ciphertext_with_scalar_change(key, input, &mut self.output32),
            KeyswitchKey::Bits64(key) => keyswitch_lwe_ciphertext(key, input, &mut self.output64),
        }
    }

    fn correct(&mut self) -> bool {
        let phase = match self.key {
            KeyswitchKey::Bits32(_) => u64::from(decrypt_lwe_ciphertext(&self.client.small32, &self.output32).0) << 32,
            KeyswitchKey::Bits64(_) => decrypt_lwe_ciphertext(&self.client.small, &self.output64).0,
        };
        self.client.decode(phase) == self.round as u64
    }
}
