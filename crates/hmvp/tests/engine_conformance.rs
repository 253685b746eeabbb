//! The conformance suite of the kernel seam on the CPU engine, and engines that it must not pass.

use std::sync::Arc;

use ciphermill_bfv::{Ciphertext, GaloisKeys};
use ciphermill_hmvp::conformance::{Extent, ReferenceEngine, check, small};
use ciphermill_hmvp::{
    CpuEngine, EncryptedProduct, HmvpEngine, HmvpError, Job, MatrixHandle, MatrixSource, Output, Plan, PreparedKeys,
    Strategy,
};
use ciphermill_lattice::KeyTag;
use ciphermill_math::{EngineInfo, EngineKind, Isa};

/// Every strategy, the full sizes included, on every path of this CPU.
#[test]
fn the_cpu_engine_computes_the_definitions_on_every_path() {
    for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
        check(&CpuEngine::new(), &Extent { isa, ..Extent::default() });
    }
}

#[test]
fn the_reference_engine_keeps_its_own_contract() {
    let requests = Strategy::ALL.map(|strategy| small(strategy, 3, 5)).into();
    check(&ReferenceEngine, &Extent { requests, ..Extent::default() });
}

/// The fault of a [`Faulty`] engine.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    /// One coefficient of the last product of a batch is wrong by 1, which decryption does not show.
    OneCoefficient,
    /// The outputs of a batch are in another order.
    Order,
    /// Algorithm 1 is refused.
    Strategy,
    /// Streamed products are refused.
    Job,
    /// One output is missing.
    Output,
}

/// The CPU engine with a fault.
#[derive(Debug)]
struct Faulty(Fault);

#[derive(Debug)]
struct FaultyKeys(Fault, Arc<dyn PreparedKeys>);

impl HmvpEngine for Faulty {
    fn info(&self) -> EngineInfo {
        EngineInfo::new("faulty", EngineKind::Simulated)
    }

    fn keys_bytes(&self, plan: &Plan) -> u64 {
        CpuEngine::new().keys_bytes(plan)
    }

    fn matrix_bytes(&self, plan: &Plan) -> u64 {
        CpuEngine::new().matrix_bytes(plan)
    }

    fn prepare(&self, plan: &Arc<Plan>, keys: &GaloisKeys) -> Result<Arc<dyn PreparedKeys>, HmvpError> {
        self.require(plan)?;
        Ok(Arc::new(FaultyKeys(self.0, CpuEngine::new().prepare(plan, keys)?)))
    }

    fn prepare_matrix(&self, plan: &Arc<Plan>, matrix: &dyn MatrixSource) -> Result<MatrixHandle, HmvpError> {
        self.require(plan)?;
        CpuEngine::new().prepare_matrix(plan, matrix)
    }
}

impl Faulty {
    fn require(&self, plan: &Plan) -> Result<(), HmvpError> {
        match (self.0, plan.strategy()) {
            (Fault::Strategy, strategy @ Strategy::Algorithm1) => Err(HmvpError::UnsupportedStrategy {
                engine: "faulty".to_owned(),
                strategy,
                supported: "row-packed".to_owned(),
            }),
            _ => Ok(()),
        }
    }
}

impl PreparedKeys for FaultyKeys {
    fn plan(&self) -> &Arc<Plan> {
        self.1.plan()
    }

    fn tag(&self) -> KeyTag {
        self.1.tag()
    }

    fn memory_bytes(&self) -> u64 {
        self.1.memory_bytes()
    }

    fn run(&self, jobs: &[Job<'_>]) -> Result<Vec<Output>, HmvpError> {
        if self.0 == Fault::Job && jobs.iter().any(|job| matches!(job, Job::MultiplyStreamed { .. })) {
            return Err(HmvpError::UnsupportedJob { engine: "faulty".to_owned(), job: "multiply_streamed" });
        }
        let mut outputs = self.1.run(jobs)?;
        match self.0 {
            Fault::Order => outputs.reverse(),
            Fault::Output => drop(outputs.pop()),
            Fault::OneCoefficient => {
                if let Some(Output::Product(product)) = outputs.pop() {
                    outputs.push(Output::Product(with_wrong_coefficient(&product)));
                }
            }
            Fault::Strategy | Fault::Job => {}
        }
        Ok(outputs)
    }
}

fn with_wrong_coefficient(product: &EncryptedProduct) -> EncryptedProduct {
    let plan = product.plan();
    let tile = |i, j, tile| -> Vec<Ciphertext> { product.ciphertexts(i, j, tile).to_vec() };
    let tiles = |i, j| (0..plan.row_tiles().len()).map(|t| tile(i, j, t)).collect();
    let matrix_parts = |i| (0..plan.matrix_parts().len()).map(|j| tiles(i, j)).collect();
    let mut all: Vec<Vec<Vec<Vec<Ciphertext>>>> = (0..plan.vector_parts().len()).map(matrix_parts).collect();
    for (limb, q) in plan.context().basis(plan.product_limbs()).moduli().enumerate() {
        let residue = &mut all[0][0][0][0].parts_mut()[0].limb_mut(limb)[0];
        *residue = (*residue + 1) % q.value();
    }
    EncryptedProduct::new(plan, product.tag(), all).expect("of the plan")
}

fn check_faulty(fault: Fault, extent: Extent) {
    let requests = Strategy::ALL.map(|strategy| small(strategy, 3, 5)).into();
    check(&Faulty(fault), &Extent { requests, ..extent });
}

#[test]
#[should_panic(expected = "multiply_streamed 4: residues")]
fn one_wrong_coefficient_is_found() {
    check_faulty(Fault::OneCoefficient, Extent::default());
}

#[test]
#[should_panic(expected = "multiply 0: entries")]
fn outputs_in_another_order_are_found() {
    check_faulty(Fault::Order, Extent::default());
}

#[test]
#[should_panic(expected = ": outputs")]
fn a_missing_output_is_found() {
    check_faulty(Fault::Output, Extent::default());
}

#[test]
#[should_panic(expected = "does not implement the strategy algorithm1")]
fn an_undeclared_refusal_of_a_strategy_is_found() {
    check_faulty(Fault::Strategy, Extent::default());
}

#[test]
#[should_panic(expected = "does not implement multiply_streamed")]
fn an_undeclared_refusal_of_a_job_is_found() {
    check_faulty(Fault::Job, Extent::default());
}

#[test]
fn declared_refusals_are_accepted() {
    let extent = Extent { unsupported_strategies: &[Strategy::Algorithm1], ..Extent::default() };
    check_faulty(Fault::Strategy, extent);
    check_faulty(Fault::Job, Extent { unsupported_jobs: &["multiply_streamed"], ..Extent::default() });
}
