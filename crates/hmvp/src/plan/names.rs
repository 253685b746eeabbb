//! Names of the planner's parameter sets. A name states all numbers of its set.
//!
//! ```text
//! hmvp-n4096-1x46+46-t2^24         N | the largest primes of one length: ciphertext moduli and a special one | t
//! hmvp-n4096-2x35+35-t33562625-w18   a prime t; digits of 18 bits, of limbs unless stated
//! CHAM_PAPER-t2^24                 the primes reconstructed from the paper
//! ```
//!
//! Names without `^` or `-w` are of earlier versions, which wrote the length of t only.

use super::candidates::{Chain, paper_chain};
use super::request::PlanError;
use ciphermill_bfv::keyswitch::Gadget;
use ciphermill_bfv::parameters::ParameterSpec;

/// The start of the name of a chain of primes of one length.
const UNIFORM: &str = "hmvp-n";

/// The name of `limbs` ciphertext moduli and a special one, the largest primes of `bits` bits.
pub(super) fn uniform(polynomial_size: usize, limbs: usize, bits: u32) -> String {
    format!("{UNIFORM}{polynomial_size}-{limbs}x{bits}+{bits}")
}

/// The name of a set of `chain`.
pub(super) fn set(chain: &str, plaintext_modulus: u64, gadget: Gadget) -> String {
    let t = match plaintext_modulus {
        t if t.is_power_of_two() => format!("2^{}", t.trailing_zeros()),
        t => t.to_string(),
    };
    let digits = match gadget {
        Gadget::Limbs { limbs_per_digit: 1 } => String::new(),
        Gadget::Limbs { limbs_per_digit } => format!("-l{limbs_per_digit}"),
        Gadget::Bits { base_log } => format!("-w{}", base_log.0),
    };
    format!("{chain}-t{t}{digits}")
}

/// The name in earlier versions.
fn earlier(chain: &str, plaintext_modulus: u64) -> String {
    format!("{chain}-t{}", u64::BITS - (plaintext_modulus - 1).leading_zeros())
}

/// The planner's name for a chain of these primes, if it makes one.
fn chain(spec: &ParameterSpec) -> Option<String> {
    let given = Chain::of(spec);
    let same = |other: &Chain| {
        (other.polynomial_size, &other.ciphertext_moduli, &other.special_moduli)
            == (given.polynomial_size, &given.ciphertext_moduli, &given.special_moduli)
    };
    let uniform = Chain::uniform(given.polynomial_size, given.ciphertext_moduli.len(), given.prime_bits());
    [uniform, paper_chain()].into_iter().flatten().find(same).map(|chain| chain.name)
}

/// An error if `spec` has a name of the planner's and other numbers. A caller's own names are free.
pub(super) fn require_own(spec: &ParameterSpec) -> Result<(), PlanError> {
    let name = &spec.name;
    let claimed =
        name.starts_with(UNIFORM) || paper_chain().is_some_and(|paper| name.starts_with(&format!("{}-", paper.name)));
    let (t, gadget) = (spec.plaintext_modulus, spec.gadget);
    let own = |chain: String| *name == set(&chain, t, gadget) || *name == earlier(&chain, t);
    if !claimed || chain(spec).is_some_and(own) {
        return Ok(());
    }
    Err(PlanError::Name { name: name.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ciphermill_bfv::SecurityPolicy;
    use ciphermill_bfv::parameters::ParameterSet;
    use ciphermill_lattice::DecompositionBaseLog;

    fn spec() -> ParameterSpec {
        let chain = Chain::uniform(4096, 1, 46).expect("primes");
        chain.set(1 << 24, Gadget::Limbs { limbs_per_digit: 1 }).expect("a set").spec().clone()
    }

    #[test]
    fn a_name_states_all_numbers() {
        let limbs = Gadget::Limbs { limbs_per_digit: 1 };
        let bits = Gadget::Bits { base_log: DecompositionBaseLog(18) };
        assert_eq!(spec().name, "hmvp-n4096-1x46+46-t2^24");
        assert_eq!(set("c", 16_801_793, limbs), "c-t16801793");
        assert_eq!(set("c", 1 << 24, bits), "c-t2^24-w18");
        assert_eq!(set("c", 1 << 24, Gadget::Limbs { limbs_per_digit: 2 }), "c-t2^24-l2");
        let paper = paper_chain().expect("the paper's set");
        assert_eq!(paper.set(1 << 24, limbs).expect("a set").name, "CHAM_PAPER-t2^24");
    }

    #[test]
    fn names_are_bound_to_their_numbers() {
        let good = spec();
        require_own(&good).expect("its own name");
        // Of an earlier version.
        require_own(&ParameterSpec { name: "hmvp-n4096-1x46+46-t24".to_owned(), ..good.clone() }).expect("as it was");
        // A caller's own name.
        require_own(&ParameterSpec { name: "MINE".to_owned(), ..good.clone() }).expect("free");
        let other = Chain::uniform(4096, 1, 45).expect("primes");
        let changes = [
            ParameterSpec { plaintext_modulus: (1 << 24) - 3, ..good.clone() },
            ParameterSpec { plaintext_modulus: 1 << 25, ..good.clone() },
            ParameterSpec { gadget: Gadget::Bits { base_log: DecompositionBaseLog(23) }, ..good.clone() },
            ParameterSpec { ciphertext_moduli: other.ciphertext_moduli.clone(), ..good.clone() },
            ParameterSpec { special_moduli: other.special_moduli.clone(), ..good.clone() },
            ParameterSpec { name: "hmvp-n8192-1x46+46-t2^24".to_owned(), ..good.clone() },
            ParameterSpec { name: "hmvp-n4096-1x46+46-t25".to_owned(), ..good.clone() },
            ParameterSpec { name: "CHAM_PAPER-t2^24".to_owned(), ..good.clone() },
        ];
        for changed in changes {
            let error = require_own(&changed).expect_err("other numbers");
            assert_eq!(error, PlanError::Name { name: changed.name.clone() });
            // The scheme does not know the planner's names.
            ParameterSet::new(changed, SecurityPolicy::Require128Bits).expect("sound numbers");
        }
    }
}
