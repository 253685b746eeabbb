//! Times the choice of a plan: minimum and median milliseconds per request.
//!
//! `cargo run --release -p ciphermill-evidence --example planning-timing`

use std::error::Error;
use std::time::Instant;

use ciphermill_hmvp::{Plan, Request};
use ciphermill_math::Isa;

const SAMPLES: usize = 21;

fn main() -> Result<(), Box<dyn Error>> {
    for request in [
        Request::new(1024, 256),
        Request { matrix_bits: 16, vector_bits: 16, ..Request::new(1024, 256) },
        Request::new(8192, 8192),
        Request { unsplit: true, flooding_bits: 40, ..Request::new(1024, 256) },
    ] {
        // To explain a plan is to search all strategies; it makes no tables.
        let plan = Plan::new(&request, Isa::current())?;
        let mut times = [0.0; SAMPLES].map(|_: f64| {
            let begun = Instant::now();
            plan.explain();
            begun.elapsed().as_secs_f64() * 1e3
        });
        times.sort_by(f64::total_cmp);
        println!("{}x{}: {:.2} ms, median {:.2} ms", request.rows, request.cols, times[0], times[SAMPLES / 2]);
    }
    Ok(())
}
