//! Samples of bootstraps: errors of outputs, and of the phase indices of the next bootstraps.

use ciphermill_lattice::Csprng;
use ciphermill_tfhe::ciphertext::LweElements;
use ciphermill_tfhe::lwe::LweCiphertext;
use ciphermill_tfhe::{
    Backend, BootstrapJob, Ciphertext, Encoding, KeyForm, KeyOrder, ModulusSwitch, ParameterSet, ServerKey,
};

use super::judge::Samples;
use crate::support::{Keys, Seed};

pub(super) const SWITCHES: [ModulusSwitch; 2] = [ModulusSwitch::Plain, ModulusSwitch::Centred];

/// Keys, and bootstraps of each key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counts {
    pub(super) keys: usize,
    pub(super) per_key: usize,
}

/// Errors of one order and back end.
#[derive(Default)]
pub(super) struct Errors {
    /// Of the outputs.
    pub(super) outputs: Samples,
    /// Of the phase indices of the doubled outputs (2-norm 2), for each of [`SWITCHES`].
    pub(super) indices: [Samples; 2],
}

/// Bootstraps of fresh ciphertexts under fresh keys, in each of the orders.
pub(super) fn bootstraps(
    set: &ParameterSet,
    backend: Backend,
    orders: &[KeyOrder],
    counts: Counts,
    seed: Seed,
) -> Vec<Errors> {
    let mut errors: Vec<Errors> = orders.iter().map(|_| Errors::default()).collect();
    for index in 0..counts.keys as u64 {
        let keys = Keys::generate(set, KeyForm::Seeded, seed, 4 * index);
        let encoding = Encoding::unsigned(set.message_bits, true).expect("few bits");
        let lab = Lab { server: keys.load(backend), keys, encoding };
        let mut rng = Csprng::from_secret(&seed.secret(4 * index + 3), 0);
        for (order, errors) in orders.iter().zip(&mut errors) {
            lab.sample(*order, counts.per_key, &mut rng, errors);
        }
    }
    errors
}

/// One key.
struct Lab {
    keys: Keys,
    server: ServerKey,
    encoding: Encoding,
}

impl Lab {
    fn sample(&self, order: KeyOrder, count: usize, rng: &mut Csprng, errors: &mut Errors) {
        let parameters = self.keys.client.parameters();
        let table = parameters.test_vector(&self.encoding, &self.encoding, |m| m).expect("the identity");
        let messages: Vec<i64> = (0..count as i64).map(|i| i % (self.encoding.max() + 1)).collect();
        let encrypt = |&m: &i64| self.keys.client.encrypt(&self.encoding, m, order, rng).expect("in range");
        let inputs: Vec<Ciphertext> = messages.iter().map(encrypt).collect();
        let jobs: Vec<_> = inputs.iter().map(|input| BootstrapJob { input, test_vector: &table }).collect();
        let outputs = self.server.bootstrap_batch(&jobs).expect("its key");
        let pairs = || messages.iter().zip(&outputs);
        errors.outputs.0.push(pairs().map(|(&m, output)| self.output_error(m, output)).collect());
        for (switch, samples) in SWITCHES.into_iter().zip(&mut errors.indices) {
            samples.0.push(pairs().map(|(&m, output)| self.index_error(switch, m, output)).collect());
        }
    }

    fn output_error(&self, message: i64, output: &Ciphertext) -> f64 {
        let place: u64 = self.encoding.encode(message).expect("in range");
        let phase = self.keys.client.decrypt_phase(output).expect("its key");
        phase.wrapping_sub(place) as i64 as f64 * (-64f64).exp2()
    }

    /// Twice a bootstrapped ciphertext, as the next blind rotation would see it. The centred switch takes the floor, so its
    /// index stands for a phase half an index above.
    fn index_error(&self, switch: ModulusSwitch, message: i64, output: &Ciphertext) -> f64 {
        let mut double = output.clone();
        double.scalar_mul_assign(2);
        let small = match double.choice() {
            KeyOrder::Big => self.server.keyswitch(&double).expect("its key"),
            KeyOrder::Small => double,
        };
        let LweElements::U32(small) = small.elements() else { panic!("the small key is 32 bits wide") };
        let size = self.keys.client.parameters().polynomial_size;
        let log_step = 31 - size.get().trailing_zeros();
        let half = match switch {
            ModulusSwitch::Plain => 0,
            ModulusSwitch::Centred => 1 << (log_step - 1),
        };
        let exponents = switch.exponents(small.elements(), size);
        let switched = exponents.iter().map(|&e| (e as u32) << log_step).collect();
        let phase = self.keys.client.lwe_secret_key().decrypt_phase(&LweCiphertext::from_elements(switched));
        let place = 2 * self.encoding.encode::<u32>(message).expect("in range");
        phase.expect("its key").wrapping_add(half).wrapping_sub(place) as i32 as f64 * (-32f64).exp2()
    }
}
