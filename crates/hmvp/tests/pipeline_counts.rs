//! The pipeline model of `ciphermill-arch` does the products, transforms and key switches that algorithm 1 does here.

use ciphermill_arch::pipeline::{Body, CHAM_CIPHERMILL, CHAM_PAPER, Job, PipelineMachine, simulate};
use ciphermill_bfv::{ParameterSet, SecurityPolicy};
use ciphermill_hmvp::{Plan, Request, Strategy};
use ciphermill_math::Isa;

#[test]
fn the_pipeline_does_what_algorithm_1_does() {
    let name = ciphermill_bfv::parameters::CHAM_PAPER;
    let set = ParameterSet::named(name, SecurityPolicy::Require128Bits).expect("the paper's set");
    let ours = PipelineMachine::from_toml(CHAM_CIPHERMILL).expect("our machine");
    let paper = PipelineMachine::from_toml(CHAM_PAPER).expect("the paper's machine");
    for machine in [&ours, &paper] {
        let ring = machine.ring();
        assert_eq!(ring.polynomial_size, set.polynomial_size.get() as u64);
        assert_eq!(ring.limbs, set.ciphertext_moduli.len() as u64);
        assert_eq!((ring.special_limbs, ring.digits), (set.special_moduli.len() as u64, ring.limbs));
    }
    for (rows, cols) in
        [(1, 1), (2, 256), (5, 256), (64, 256), (1000, 256), (1024, 256), (2048, 256), (4101, 4097), (300, 16384)]
    {
        let request = Request {
            matrix_bits: 3,
            vector_bits: 3,
            strategy: Some(Strategy::Algorithm1),
            parameters: Some(set.clone()),
            unsplit: true,
            ..Request::new(rows, cols)
        };
        let here = Plan::new(&request, Isa::current()).expect("a plan").explain();
        assert_eq!(here.hoisted_key_switches, 0);
        let job = Job { rows: rows as u64, columns: cols as u64 };
        let run = simulate(&ours, &job, None).expect("a run");
        let counts = (run.counts.products, run.counts.ntts, run.counts.key_switches);
        assert_eq!(counts, (here.plain_products, here.ntts, here.key_switches), "{rows} × {cols}");
        assert_eq!(job.counts(&ours.ring(), Body::Sum), Ok(run.counts));
        // The paper's machine transforms both polynomials of a product: one more for each row and prime.
        let run = simulate(&paper, &job, None).expect("a run");
        let counts = (run.counts.products, run.counts.ntts, run.counts.key_switches);
        let more = 3 * rows as u64;
        assert_eq!(counts, (here.plain_products, here.ntts + more, here.key_switches), "{rows} × {cols}");
    }
}
