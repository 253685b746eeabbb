//! tfhe-rs' integers: bootstraps without padding (`wopbs`), which look whole words up, and additions.

use tfhe::core_crypto::prelude::*;
use tfhe::integer::wopbs::{IntegerWopbsLUT, WopbsKey};
use tfhe::integer::{ClientKey, RadixCiphertext, ServerKey};
use tfhe::shortint::parameters::PARAM_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M128;
use tfhe::shortint::parameters::parameters_wopbs_message_carry::LEGACY_WOPBS_PARAM_MESSAGE_2_CARRY_2_KS_PBS;

use crate::{Contender, Peer, TFHE};

/// The peer of this module.
pub const PEER: Peer = TFHE;

/// Bits of a block: those of a digit of ours.
const BLOCK_BITS: u32 = 2;

/// The lowest bits.
#[must_use]
pub const fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// Keys for blocks of two bits with two carry bits, and the key of `wopbs` for the same messages.
pub struct Integers {
    client: ClientKey,
    server: ServerKey,
    wopbs: WopbsKey,
}

impl Integers {
    /// New keys, made on all threads of the current rayon pool.
    #[must_use]
    pub fn new() -> Self {
        let client = ClientKey::new(PARAM_MESSAGE_2_CARRY_2_KS_PBS_GAUSSIAN_2M128);
        let server = ServerKey::new_radix_server_key(&client);
        let wopbs = WopbsKey::new_wopbs_key(&client, &server, &LEGACY_WOPBS_PARAM_MESSAGE_2_CARRY_2_KS_PBS);
        Self { client, server, wopbs }
    }

    fn encrypt(&self, value: u64, bits: u32) -> RadixCiphertext {
        self.client.encrypt_radix(value, bits.div_ceil(BLOCK_BITS) as usize)
    }
}

impl Default for Integers {
    fn default() -> Self {
        Self::new()
    }
}

/// Look-ups of `count` words in one table, one after the other. The words are under the key of `wopbs`, and the results stay
/// there.
pub struct LookUp<'k> {
    keys: &'k Integers,
    lut: IntegerWopbsLUT,
    inputs: Vec<(u64, RadixCiphertext)>,
    f: fn(u64) -> u64,
    bits: u32,
    count: usize,
    outputs: Vec<RadixCiphertext>,
}

impl<'k> LookUp<'k> {
    /// Words with these values, which are looked up in turn in the table of `f`, from `bits` to `bits`.
    #[must_use]
    pub fn new(keys: &'k Integers, bits: u32, f: fn(u64) -> u64, values: &[u64], count: usize) -> Self {
        let inputs: Vec<_> = values
            .iter()
            .map(|&value| {
                let input = keys.encrypt(value, bits);
                (value, keys.wopbs.keyswitch_to_wopbs_params(&keys.server, &input))
            })
            .collect();
        let lut = keys.wopbs.generate_lut_radix(&inputs[0].1, f);
        Self { keys, lut, inputs, f, bits, count, outputs: Vec::new() }
    }
}

impl LookUp<'_> {
    /// The results, decrypted.
    #[must_use]
    pub fn results(&self) -> Vec<u64> {
        let decrypt = |output| self.keys.client.decrypt_radix(&self.keys.wopbs.keyswitch_to_pbs_params(output));
        self.outputs.iter().map(decrypt).collect()
    }
}

impl Contender for LookUp<'_> {
    fn prepare(&mut self, round: usize) {
        let len = self.inputs.len();
        self.inputs.rotate_left(round % len);
        self.outputs.clear();
    }

    fn run(&mut self) {
        let look_up = |(_, input): &(u64, RadixCiphertext)| self.keys.wopbs.wopbs(input, &self.lut);
        self.outputs = self.inputs.iter().cycle().take(self.count).map(look_up).collect();
    }

    fn correct(&mut self) -> bool {
        let mask = mask(self.bits);
        let expected = self.inputs.iter().cycle().take(self.count).map(|(value, _)| (self.f)(*value) & mask);
        self.results().into_iter().eq(expected)
    }
}

/// A sum of two integers with its carries.
pub struct Add<'k> {
    keys: &'k Integers,
    values: [u64; 2],
    inputs: [RadixCiphertext; 2],
    bits: u32,
    output: Option<RadixCiphertext>,
}

impl<'k> Add<'k> {
    /// The sum of these values modulo 2^`bits`.
    #[must_use]
    pub fn new(keys: &'k Integers, bits: u32, values: [u64; 2]) -> Self {
        let inputs = values.map(|value| keys.encrypt(value, bits));
        Self { keys, values, inputs, bits, output: None }
    }
}

impl Contender for Add<'_> {
    fn run(&mut self) {
        self.output = Some(self.keys.server.add_parallelized(&self.inputs[0], &self.inputs[1]));
    }

    fn correct(&mut self) -> bool {
        let sum = self.values[0].wrapping_add(self.values[1]) & (u64::MAX >> (64 - self.bits));
        self.output.as_ref().is_some_and(|output| self.keys.client.decrypt_radix::<u64>(output) == sum)
    }
}

/// Decrypts a digit of ours, of two bits at a quarter of the torus each.
#[must_use]
pub fn decrypt_digit(key: &[u8], digit: &[u32]) -> u8 {
    let ciphertext = LweCiphertext::from_container(digit.to_vec(), CiphertextModulus::new_native());
    let plaintext = decrypt_lwe_ciphertext(&secret(key), &ciphertext);
    let rounding = SignedDecomposer::new(DecompositionBaseLog(BLOCK_BITS as usize), DecompositionLevelCount(1));
    (rounding.closest_representable(plaintext.0) >> (u32::BITS - BLOCK_BITS)) as u8
}

/// Encrypts a digit as ours are: the mask, then the body.
#[must_use]
pub fn encrypt_digit(key: &[u8], digit: u8, std_dev: f64) -> Vec<u32> {
    let mut seeder = new_seeder();
    let seeder = seeder.as_mut();
    let mut random = EncryptionRandomGenerator::<DefaultRandomGenerator>::new(seeder.seed(), seeder);
    let noise = Gaussian::from_dispersion_parameter(StandardDev(std_dev), 0.0);
    let plaintext = Plaintext(u32::from(digit) << (u32::BITS - BLOCK_BITS));
    let modulus = CiphertextModulus::new_native();
    allocate_and_encrypt_new_lwe_ciphertext(&secret(key), plaintext, noise, modulus, &mut random).into_container()
}

fn secret(key: &[u8]) -> LweSecretKeyOwned<u32> {
    LweSecretKey::from_container(key.iter().map(|&bit| u32::from(bit)).collect())
}
