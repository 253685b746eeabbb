//! Measures what the cost models assume: `cargo test -p ciphermill-math --lib costs -- --ignored --nocapture`.

use std::hint::black_box;
use std::time::Instant;

use super::kernel::Kernel;
use super::work::Wiped;
use super::{IntegerBatch, OddModulus, Path, limbs};

/// The least time of many calls, in nanoseconds.
fn time(mut run: impl FnMut()) -> f64 {
    let mut least = f64::MAX;
    for _ in 0..60 {
        let start = Instant::now();
        (0..20).for_each(|_| run());
        least = least.min(start.elapsed().as_secs_f64() * 1e9 / 20.0);
    }
    least
}

#[test]
#[ignore = "a measurement, not a test"]
fn costs_in_products() {
    println!(
        "what an entry of a choice costs, in products, times the words of a residue; a squaring; a gather likewise"
    );
    for path in Path::available() {
        for (bits, square) in [(1024, false), (2048, false), (1024, true), (2048, true), (3072, true)] {
            let mut n = vec![0x1234_5678_9abc_def1; limbs::limbs_for(bits)];
            *n.last_mut().unwrap() |= 1 << 63;
            let n = limbs::to_uint(&n);
            let ring = if square { OddModulus::square_of(&n, path) } else { OddModulus::new(&n, path) };
            let Ok(ring) = ring else { continue };
            measure(&ring, path, bits, square);
        }
    }
}

fn measure(ring: &OddModulus, path: Path, bits: u32, square: bool) {
    let kernel: &dyn Kernel = ring.kernel();
    let (lanes, words) = (kernel.lanes(), kernel.group_words());
    let plain = IntegerBatch::from_words(ring.limbs(), (1..).take(ring.limbs() * lanes).collect());
    let group = ring.enter(&plain).unwrap();
    let mut scratch = Wiped::zeroed(kernel.scratch_words());
    let mut out = Wiped::zeroed(4 * words);
    let product = time(|| kernel.multiply(&mut out[..words], group.group(0), black_box(group.group(0)), &mut scratch));
    let squaring = time(|| kernel.square(&mut out[..words], black_box(group.group(0)), &mut scratch));
    let mut table = Wiped::zeroed(words * 32);
    table.fill(1);
    let index: Vec<u64> = (0..4 * lanes as u64).map(|i| i * 7 % 32).collect();
    let factor = |time: f64| time / product * kernel.single_words() as f64;
    let select = time(|| kernel.select(&mut out[..words], black_box(&table), &index[..lanes])) / 32.0;
    let comb = &table[..words * 128_usize.div_ceil(lanes).min(32)];
    let entries = (comb.len() / words * lanes) as f64;
    let lane = time(|| kernel.select_lane(&mut out, black_box(comb), &index)) / (4.0 * entries);
    let gather = time(|| kernel.select_single_public(&mut out[..words], black_box(&table), &index[..lanes]));
    let two: Vec<u64> = index[..lanes].iter().map(|i| i % 2).collect();
    let blend = time(|| kernel.select(&mut out[..words], black_box(&table[..2 * words]), &two));
    println!(
        "{path:>12} {bits} square {square}: product {product:.0} ns, squaring {:.2}, select {:.2}, select_lane {:.3}, \
         gather {:.1}, choice of two {:.1}",
        squaring / product,
        factor(select),
        factor(lane),
        factor(gather),
        factor(blend),
    );
}
