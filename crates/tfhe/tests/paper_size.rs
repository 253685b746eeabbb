//! The paper's dimensions in full, on every path of this CPU and both back ends: Table 5's product, and the conformance
//! suite's case of full n against the exact NTT.

use ciphermill_testing::available;
use std::time::Instant;

use ciphermill_lattice::{Csprng, SecretSeed};
use ciphermill_math::Isa;
use ciphermill_tfhe::conformance::{Agreement, Case};
use ciphermill_tfhe::quarter_square::{DEFAULT_LOG2_P_FAIL, QuarterSquare};
use ciphermill_tfhe::{Backend, Ciphertext, CpuEngine, KeyOrder, PreparedKey};

/// One product x·y by Table 5's formula, and the outputs of the case, on every combination of instruction set and back end;
/// the orders of the product alternate. The NTT's bits are the same on every path, and the FFT's phases are near them.
#[test]
fn products_and_conformance_at_the_papers_dimensions() {
    let start = Instant::now();
    let case = Case::full().expect("a named set");
    println!("keys: {:.1} s", start.elapsed().as_secs_f64());
    let mut rng = Csprng::from_secret(&SecretSeed::from_bytes([81; 32]), 0);
    let mut outputs: Vec<(CpuEngine, Backend, Vec<Ciphertext>)> = Vec::new();
    for isa in available(Isa::ALL, |isa| isa.is_available()) {
        for backend in [Backend::Fft, Backend::Ntt] {
            let engine = CpuEngine::on(isa, backend);
            let start = Instant::now();
            let key = case.prepare(&engine).expect("well-formed keys");
            println!("{isa} {backend}: load {:.1} s", start.elapsed().as_secs_f64());
            let order = match backend {
                Backend::Fft => KeyOrder::Small,
                Backend::Ntt => KeyOrder::Big,
            };
            let start = Instant::now();
            check_product(&case, &*key, order, &mut rng);
            println!("{isa} {backend} {order}: product {:.2} s", start.elapsed().as_secs_f64());
            let results = case.outputs(&*key).unwrap_or_else(|error| panic!("{isa} {backend}: {error}"));
            outputs.push((engine, backend, results));
        }
    }
    let exact = outputs.iter().find(|(_, backend, _)| *backend == Backend::Ntt);
    let (_, _, reference) = exact.expect("every CPU has the portable path");
    for (engine, backend, results) in &outputs {
        let agreement = match backend {
            Backend::Ntt => Agreement::Bits,
            Backend::Fft => Agreement::Phase,
        };
        case.compare(results, reference, agreement).unwrap_or_else(|error| panic!("{engine:?}: {error}"));
    }
}

/// Table 5: x·y as the difference of two table lookups.
fn check_product(case: &Case, key: &dyn PreparedKey, order: KeyOrder, rng: &mut Csprng) {
    let (client, parameters) = (case.client(), case.client().parameters());
    let product = QuarterSquare::new(parameters.spec(), order, DEFAULT_LOG2_P_FAIL).expect("a range");
    let table = product.test_vector(parameters).expect("a table");
    let operands = (rng.next_u64() % 3, rng.next_u64() % 3);
    let (x, y) = (product.max() - operands.0 as i64, product.max() - operands.1 as i64);
    let mut sum = client.encrypt_in(&product.operands(), x, order, rng).expect("in range");
    let mut difference = sum.clone();
    let rhs = client.encrypt_in(&product.operands(), y, order, rng).expect("in range");
    sum.add_assign(&rhs).expect("one key");
    difference.sub_assign(&rhs).expect("one key");
    let mut result = key.bootstrap(&sum, &table).expect("one key");
    result.sub_assign(&key.bootstrap(&difference, &table).expect("one key")).expect("one key");
    assert_eq!(client.decrypt(product.output(), &result).expect("a message"), x * y, "{order}");
}
