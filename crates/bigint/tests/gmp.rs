//! Both rings on every path against GMP: a share of the runs of `make evidence AREA=paillier`.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::support::{Gmp, Numbers, Sample, compare};
use ciphermill_bigint::Path;

/// Products and exponentiations at every size, with a fixed seed and with a fresh one.
#[test]
fn products_and_powers_equal_those_of_gmp() {
    let Some(mut gmp) = Gmp::start() else { return };
    let fresh = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_nanos() as u64);
    println!("seeds: 5 and {fresh:#x}");
    for path in Path::ALL {
        if !path.is_available() {
            println!("not run: the path {path}, which this CPU does not offer");
            continue;
        }
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
