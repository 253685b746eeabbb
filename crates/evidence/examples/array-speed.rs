//! How many cycles of our array are simulated in a second: `cargo run --release -p ciphermill-evidence --example array-speed`

use ciphermill_evidence::array_speed as speed;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for speed::Speed { polynomial_size, in_flight, cycles, median, best } in speed::measure()? {
        println!(
            "2^{}, {in_flight} in flight: {cycles} cycles, median {median:.2}, best {best:.2} million cycles a second",
            polynomial_size.ilog2()
        );
    }
    Ok(())
}
