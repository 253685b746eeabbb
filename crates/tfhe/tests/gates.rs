//! Boolean gates: truth tables, a circuit, and their failure probabilities.

use crate::support::{keys, seed};
use ciphermill_lattice::Csprng;
use ciphermill_tfhe::gates::{Gate, evaluate, not};
use ciphermill_tfhe::parameters::{DEFAULT_SET_NAMES, TEST_SMALL_U32, TEST_SMALL_U64};
use ciphermill_tfhe::{Backend, Ciphertext, KeyForm, KeyOrder, ParameterSet, SecurityPolicy};

#[test]
fn truth_tables() {
    for (name, backend) in [(TEST_SMALL_U64, Backend::Fft), (TEST_SMALL_U32, Backend::Ntt)] {
        let keys = keys(name, KeyForm::Seeded, 30);
        let server = keys.load(backend);
        let mut rng = Csprng::from_secret(&seed(33), 0);
        for choice in [KeyOrder::Small, KeyOrder::Big] {
            for gate in Gate::ALL {
                for (lhs, rhs) in [(false, false), (false, true), (true, false), (true, true)] {
                    let [l, r] =
                        [lhs, rhs].map(|bit| keys.client.encrypt_bit(bit, choice, &mut rng).expect("a valid set"));
                    let out = evaluate(&server, gate, &l, &r).expect("one key set");
                    let bit = keys.client.decrypt_bit(&out).expect("ours");
                    assert_eq!(bit, gate.evaluate(lhs, rhs), "{name} {choice} {gate:?} {lhs} {rhs}");
                    let inverted = keys.client.decrypt_bit(&not(&out)).expect("ours");
                    assert_eq!(inverted, !bit);
                }
            }
        }
    }
}

/// A ripple-carry adder: every output of a gate is the input of others.
#[test]
fn an_adder_of_four_bits() {
    let keys = keys(TEST_SMALL_U64, KeyForm::Seeded, 34);
    let server = keys.load(Backend::Fft);
    let mut rng = Csprng::from_secret(&seed(35), 0);
    let gate = |gate, l: &Ciphertext, r: &Ciphertext| evaluate(&server, gate, l, r).expect("one key set");
    for (a, b) in [(0u8, 0u8), (5, 11), (15, 15), (9, 6)] {
        let mut encrypt = |value: u8, bit: u8| {
            keys.client.encrypt_bit(value >> bit & 1 == 1, KeyOrder::Small, &mut rng).expect("a valid set")
        };
        let mut carry = encrypt(0, 0);
        let mut sum = 0u8;
        for bit in 0..4 {
            let (x, y) = (encrypt(a, bit), encrypt(b, bit));
            let half = gate(Gate::Xor, &x, &y);
            sum |= u8::from(keys.client.decrypt_bit(&gate(Gate::Xor, &half, &carry)).expect("ours")) << bit;
            carry = gate(Gate::Or, &gate(Gate::And, &x, &y), &gate(Gate::And, &half, &carry));
        }
        sum |= u8::from(keys.client.decrypt_bit(&carry).expect("ours")) << 4;
        assert_eq!(sum, a + b);
    }
}

/// Every recommended set evaluates gates at its own goal or better, in the order it is made for.
#[test]
fn recommended_sets_fail_rarely() {
    for name in DEFAULT_SET_NAMES {
        let parameters = ParameterSet::named(name, SecurityPolicy::Require128Bits).expect("a secure set");
        for gate in Gate::ALL {
            let log2_p_fail = parameters.gate_log2_p_fail(gate, KeyOrder::Big);
            assert!(log2_p_fail <= -64.0, "{name} {gate:?}: 2^{log2_p_fail:.1}");
        }
    }
}
