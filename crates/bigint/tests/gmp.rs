//! Both rings on every path against GMP: a share of the runs of `make evidence AREA=paillier`.

use ciphermill_testing::{available, fresh_seed};

use crate::support::{Gmp, Numbers, Sample, compare};
use ciphermill_bigint::Path;

/// Products and exponentiations at every size, with a fixed seed and with a fresh one.
#[test]
fn products_and_powers_equal_those_of_gmp() {
    let Some(mut gmp) = Gmp::start() else { return };
    let fresh = fresh_seed("operands");
    for path in available(Path::ALL, |path| path.is_available()) {
        for seed in [5, fresh] {
            let mut numbers = Numbers(seed);
            for bits in [512, 1024, 1536, 2048, 3072, 4096, 6144, 8192] {
                for square in [false, true] {
                    let powers = if bits <= 2048 { 9 } else { 2 };
                    compare(&mut gmp, &mut numbers, path, Sample { bits, square, products: 500, powers });
                }
            }
        }
    }
}
