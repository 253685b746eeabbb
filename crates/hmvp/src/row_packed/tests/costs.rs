//! The counts of the model, by hand.

use ciphermill_lattice::DecompositionBaseLog;

use super::super::{RowPacked, RowPackedOptions};
use super::support::parameters;
use crate::{Algorithm, Costs};
use ciphermill_bfv::keyswitch::Gadget;
use ciphermill_bfv::parameters::SecurityPolicy;

#[test]
fn costs_of_one_tile() {
    let parameters = parameters(4096, &[50], &[46], 1 << 24, SecurityPolicy::Require128Bits);
    let options = RowPackedOptions {
        baby_steps: 16,
        baby_gadget: Gadget::Bits { base_log: DecompositionBaseLog(25) },
        giant_gadget: Gadget::Limbs { limbs_per_digit: 1 },
    };
    let algorithm = RowPacked::new(1024, 256, &parameters, options).expect("admissible");
    // 16 rows per plaintext, 64 plaintexts; two primes, whose words take 7 and 6 bytes.
    let spectrum = 4096 * 13;
    let expected = Costs {
        plain_products: 64,
        hoisted_key_switches: 15,
        key_switches: 3,
        ntts: (1 + 2 * 2) + 3 * (2 + 2) + 2 * 2,
        prepare_ntts: 64 * 2,
        words: (64 + 15 * 2 * 2 + 3 * 2) * spectrum / 8,
        matrix_bytes: 64 * spectrum,
        key_bytes: (15 * 2 * 2 + 3 * 2) * spectrum + 3 * 2 * 4096 * 4,
    };
    assert_eq!(algorithm.costs(), expected);
    assert_eq!(algorithm.galois_requests().len(), 15 + 3);
}

#[test]
fn costs_of_several_tiles() {
    let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
    let parameters = parameters(32, &[30, 31], &[32, 33], 257, policy);
    let options = RowPackedOptions {
        baby_steps: 4,
        baby_gadget: Gadget::Limbs { limbs_per_digit: 2 },
        giant_gadget: Gadget::Bits { base_log: DecompositionBaseLog(16) },
    };
    // Row tiles of 32, 32 and 1 rows, the last one padded to one plaintext per baby step; three column tiles.
    let algorithm = RowPacked::new(65, 70, &parameters, options).expect("admissible");
    let spectrum = 32 * (4 + 4 + 4 + 5);
    let products = 3 * (32 + 32 + 4);
    let expected = Costs {
        plain_products: products,
        hoisted_key_switches: 3 * 3 * 3,
        key_switches: 7 + 7,
        ntts: 3 * (2 + 4) + 2 * 7 * (4 + 4 * 4) + 3 * 8,
        prepare_ntts: products * 4,
        words: (products + 3 * 3 * 3 * 2 + 2 * 7 * 8) * spectrum / 8,
        matrix_bytes: products * spectrum,
        key_bytes: (3 * 2 + 7 * 8) * spectrum + 7 * 4 * 32 * 4,
    };
    assert_eq!(algorithm.costs(), expected);
}

#[test]
fn what_a_set_has_no_room_for_is_refused() {
    let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
    let limbs = |limbs_per_digit| Gadget::Limbs { limbs_per_digit };
    let bits = |base_log| Gadget::Bits { base_log: DecompositionBaseLog(base_log) };
    let set = parameters(32, &[30, 31], &[29], 257, policy);
    for gadget in [limbs(0), limbs(3), bits(0), bits(30), bits(usize::MAX)] {
        for (baby_gadget, giant_gadget) in [(gadget, limbs(1)), (limbs(1), gadget)] {
            let options = RowPackedOptions { baby_steps: 1, baby_gadget, giant_gadget };
            RowPacked::new(3, 3, &set, options).expect_err("no such gadget");
        }
    }
    let options = RowPackedOptions { baby_steps: 1, baby_gadget: bits(29), giant_gadget: limbs(2) };
    RowPacked::new(3, 3, &set, options).expect("fits");
    let error =
        RowPacked::new(3, 3, &parameters(32, &[30], &[], 257, policy), options).expect_err("no special modulus");
    assert!(error.to_string().contains("special modulus"), "{error}");
}
