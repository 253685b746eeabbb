//! The integration tests of transforms and modular arithmetic, in one program.

mod fft_packed;
mod fft_paths;
mod fft_products;
mod fft_reference32;
mod fft_support;
mod flint;
#[cfg(target_os = "linux")]
mod fork;
mod low_weight;
mod modulus;
mod ntt_field;
mod ntt_four_step;
mod ntt_goldilocks;
mod ntt_paper;
mod products;
mod products_orbit;
