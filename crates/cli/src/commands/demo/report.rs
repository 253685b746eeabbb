//! The report of the demo.

use std::collections::BTreeMap;

use ciphermill_device::InstructionMetrics;
use ciphermill_lattice::ModelProbability;
use ciphermill_math::{EngineCost, EngineInfo, Isa};
use ciphermill_tfhe::parameters::REQUIRED_SECURITY_BITS;
use ciphermill_tfhe::quarter_square::QuarterSquare;
use ciphermill_tfhe::{Backend, KeyOrder, ParameterSet, ParameterSpec};
use serde::Serialize;

use super::timed::Costs;
use crate::error::CliError;
use crate::fault::judged;
use crate::machine;
use crate::output::{human_bytes, line, table};

/// Seconds by phase. They add up to `total`, except for the time between phases; `bootstrap` is part of `compute`.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Seconds {
    pub(super) keygen: f64,
    pub(super) store: f64,
    pub(super) encrypt: f64,
    /// The key is brought into the form for computing, once.
    pub(super) load: f64,
    /// Both operands written, the program run and its result stored.
    pub(super) compute: f64,
    pub(super) read: f64,
    pub(super) decrypt: f64,
    pub(super) total: f64,
    /// Median of one bootstrap.
    pub(super) bootstrap: f64,
}

/// Bytes of the objects.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Sizes {
    pub(super) bootstrapping_key: u64,
    pub(super) keyswitching_key: u64,
    pub(super) test_vector: u64,
    pub(super) program: u64,
    pub(super) ciphertext: u64,
    /// Both keys in the form for computing.
    pub(super) loaded_key: u64,
}

/// One product.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Pair {
    pub(super) x: i64,
    pub(super) y: i64,
    pub(super) decrypted: i64,
}

impl Pair {
    fn correct(&self) -> bool {
        judged(self.decrypted == self.x * self.y)
    }
}

/// The inputs of a report.
pub(super) struct Facts<'a> {
    pub(super) parameters: &'a ParameterSet,
    pub(super) product: &'a QuarterSquare,
    pub(super) choice: KeyOrder,
    pub(super) backend: Backend,
    pub(super) pairs: Vec<Pair>,
    pub(super) seconds: Seconds,
    pub(super) sizes: Sizes,
    pub(super) bootstraps: usize,
    pub(super) programs: u64,
    pub(super) instructions: &'a BTreeMap<&'static str, InstructionMetrics>,
    pub(super) peak_rss_bytes: u64,
    /// Where all randomness came from, if it was `--seed`.
    pub(super) test_seed: Option<u64>,
    /// None if the engine does not compute with words.
    pub(super) words: Option<super::words::Report>,
    /// None if the engine lacks matrix-vector products.
    pub(super) hmvp: Option<super::hmvp::Report>,
    pub(super) engine: EngineInfo,
    /// None if the engine counts no cycles.
    pub(super) costs: Option<Costs>,
}

/// The JSON object.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    schema: &'static str,
    correct: bool,
    x: i64,
    y: i64,
    decrypted: i64,
    x_range: [i64; 2],
    y_range: [i64; 2],
    params: String,
    choice: String,
    backend: String,
    security_bits: f64,
    security_source: &'static str,
    log2_p_fail: f64,
    seconds: Seconds,
    peak_rss_bytes: u64,
    sizes: Sizes,
    pairs: Vec<Pair>,
    wrong_pairs: usize,
    bootstraps: usize,
    programs: u64,
    /// By mnemonic, over all programs.
    instructions: BTreeMap<&'static str, Instruction>,
    /// Given for runs that anybody can decrypt.
    test_seed: Option<u64>,
    isa: &'static str,
    threads: usize,
    kind: &'static str,
    machine: machine::Machine,
    /// The set is below 128 bits, and the demo opted in to it.
    insecure_opt_in: bool,
    /// The paper's figures at these dimensions; none at other dimensions.
    paper: Option<Paper>,
    /// The second part: a function of words; none if the engine does not compute with words.
    words: Option<super::words::Report>,
    /// The third part: an encrypted matrix-vector product; none if the engine lacks them.
    hmvp: Option<super::hmvp::Report>,
    /// None if the engine counts no cycles.
    engine_cost: Option<EngineReport>,
}

/// The clock of the paper's accelerator, in hertz.
const CLOCK: f64 = 200e6;

/// The costs on an engine that counts cycles.
#[derive(Debug, Serialize)]
struct EngineReport {
    engine: String,
    /// x*y; none if the engine runs no programs.
    program: Option<Cost>,
    bootstrap_cycles: u64,
    addition_cycles: Option<u64>,
    integer_product_cycles: Option<u64>,
}

impl EngineReport {
    fn new(engine: &EngineInfo, costs: Costs) -> Self {
        Self {
            engine: engine.to_string(),
            program: costs.program.map(Cost::from),
            bootstrap_cycles: costs.bootstrap,
            addition_cycles: costs.addition,
            integer_product_cycles: costs.integer_product,
        }
    }

    /// The cycles, compared with the paper's times, which hold at its dimensions only.
    fn to_text(&self, paper: Option<&Paper>) -> String {
        let mut rows = table(["on the engine", "cycles", "at 200 MHz", "paper"]);
        let time = |seconds: f64| {
            if seconds < 1e-3 { format!("{:.2} µs", seconds * 1e6) } else { format!("{:.2} ms", seconds * 1e3) }
        };
        let program = self.program.as_ref().map(|program| program.cycles);
        for (what, cycles, of_paper) in [
            ("program x*y", program, paper.map(|p| p.program_fpga_s)),
            ("one bootstrap", Some(self.bootstrap_cycles), paper.map(|p| p.bootstrap_fpga_s)),
            ("one addition", self.addition_cycles, paper.map(|p| p.homadd_fpga_s)),
            ("one product with an integer", self.integer_product_cycles, paper.map(|p| p.homintmult_fpga_s)),
        ] {
            let Some(cycles) = cycles else { continue };
            let of_paper = of_paper.map_or_else(String::new, time);
            rows.add_row([what.to_owned(), cycles.to_string(), time(cycles as f64 / CLOCK), of_paper]);
        }
        let waits = self.program.as_ref().map_or_else(String::new, |program| {
            let bytes = program.ports.iter().map(|port| port.read + port.written).sum();
            format!(
                " In the program the engine waits for memory in {} cycles and moves {}.",
                program.stalls,
                human_bytes(bytes)
            )
        });
        format!("{rows}\nEngine: {}.{waits}\n", self.engine)
    }
}

#[derive(Debug, Serialize)]
struct Cost {
    cycles: u64,
    stalls: u64,
    /// At 200 MHz.
    seconds: f64,
    ports: Vec<PortBytes>,
}

#[derive(Debug, Serialize)]
struct PortBytes {
    name: String,
    read: u64,
    written: u64,
}

impl From<EngineCost> for Cost {
    fn from(cost: EngineCost) -> Self {
        let seconds = cost.seconds(CLOCK);
        let port = |(name, read, written)| PortBytes { name, read, written };
        Self { cycles: cost.cycles, stalls: cost.stalls, seconds, ports: cost.ports.into_iter().map(port).collect() }
    }
}

/// How often an instruction was done, and how long one took.
#[derive(Debug, Serialize)]
struct Instruction {
    count: u64,
    mean_seconds: f64,
}

impl From<&InstructionMetrics> for Instruction {
    fn from(done: &InstructionMetrics) -> Self {
        Self { count: done.count, mean_seconds: done.time.as_secs_f64() / done.count.max(1) as f64 }
    }
}

/// The paper's figures: Tables 8, 11, 12 and 13.
#[derive(Debug, Serialize)]
pub(super) struct Paper {
    pub(super) bootstrap_fpga_s: f64,
    bootstrap_tesla_t4_s: f64,
    bootstrap_ryzen_5950x_s: f64,
    homadd_fpga_s: f64,
    homintmult_fpga_s: f64,
    program_fpga_s: f64,
    bootstrapping_key_bytes: u64,
    keyswitching_key_bytes: u64,
    ciphertext_bytes: u64,
}

pub(super) const PAPER: Paper = Paper {
    bootstrap_fpga_s: 0.24996,
    bootstrap_tesla_t4_s: 0.617,
    bootstrap_ryzen_5950x_s: 3.97,
    homadd_fpga_s: 124e-6,
    homintmult_fpga_s: 90e-6,
    program_fpga_s: 0.50039,
    bootstrapping_key_bytes: 2_100_000_000,
    keyswitching_key_bytes: 367_000_000,
    ciphertext_bytes: 3_200,
};

/// The paper's dimensions, whatever the torus and the noise.
fn has_paper_dimensions(spec: &ParameterSpec) -> bool {
    spec.lwe_dimension.0 == 800
        && spec.glwe_dimension.0 == 1
        && spec.polynomial_size.get() == 16384
        && (spec.pbs.base_log.0, spec.pbs.level_count.0) == (9, 5)
}

/// Announces the run before its long part.
pub(super) fn announce(parameters: &ParameterSet, seed: Option<u64>) -> Result<(), CliError> {
    let bits = parameters.security().bits;
    line(&format!(
        "Table 5 of the NVMe TFHE platform, x*y on encrypted numbers, with parameter set {}.",
        parameters.name
    ))?;
    if bits < REQUIRED_SECURITY_BITS {
        line(&format!("This set has {bits:.1} bits of security, below 128; the demo opts in to it by itself."))?;
    }
    if seed.is_some() {
        line("TEST USE ONLY: keys and noise come from --seed, so that anybody can decrypt.")?;
    }
    Ok(())
}

impl Report {
    pub(super) fn new(facts: Facts<'_>) -> Self {
        let first = facts.pairs.first().cloned().unwrap_or(Pair { x: 0, y: 0, decrypted: 0 });
        let wrong_pairs = facts.pairs.iter().filter(|pair| !pair.correct()).count();
        let range = [0, facts.product.max()];
        Self {
            schema: "ciphermill-demo-1",
            correct: wrong_pairs
                + facts.hmvp.as_ref().map_or(0, super::hmvp::Report::wrong)
                + facts.words.as_ref().map_or(0, super::words::Report::wrong)
                == 0,
            x: first.x,
            y: first.y,
            decrypted: first.decrypted,
            x_range: range,
            y_range: range,
            params: facts.parameters.name.clone(),
            choice: facts.choice.to_string(),
            backend: facts.backend.to_string(),
            security_bits: facts.parameters.security().bits,
            security_source: facts.parameters.security().source,
            log2_p_fail: facts.product.log2_p_fail(),
            seconds: facts.seconds,
            peak_rss_bytes: facts.peak_rss_bytes,
            sizes: facts.sizes,
            pairs: facts.pairs,
            wrong_pairs,
            bootstraps: facts.bootstraps,
            programs: facts.programs,
            instructions: facts.instructions.iter().map(|(&name, done)| (name, Instruction::from(done))).collect(),
            test_seed: facts.test_seed,
            isa: Isa::current().name(),
            threads: rayon::current_num_threads(),
            kind: "measured",
            machine: machine::Machine::this(),
            insecure_opt_in: facts.parameters.security().bits < REQUIRED_SECURITY_BITS,
            paper: has_paper_dimensions(facts.parameters.spec()).then_some(PAPER),
            words: facts.words,
            hmvp: facts.hmvp,
            engine_cost: facts.costs.map(|costs| EngineReport::new(&facts.engine, costs)),
        }
    }

    /// Products that were wrong.
    pub(super) fn wrong(&self) -> usize {
        self.wrong_pairs
            + self.hmvp.as_ref().map_or(0, super::hmvp::Report::wrong)
            + self.words.as_ref().map_or(0, super::words::Report::wrong)
    }

    pub(super) fn to_text(&self) -> String {
        let seconds = |s: f64| format!("{s:.3} s");
        let s = &self.seconds;
        let mut phases = table(["phase", "here", "paper: FPGA", "Tesla T4", "Ryzen 9"]);
        // The paper's Tables 8, 12 and 13 hold for its dimensions only.
        let mut row = |what: &str, here: String, cells: [String; 3]| {
            let [fpga, gpu, cpu] = cells;
            phases.add_row([what.to_owned(), here, fpga, gpu, cpu]);
        };
        let none = || [const { String::new() }; 3];
        let fpga = |text: fn(&Paper) -> String| {
            [self.paper.as_ref().map_or_else(String::new, text), String::new(), String::new()]
        };
        let bootstraps = self.paper.as_ref().map_or_else(none, |p| {
            [p.bootstrap_fpga_s, p.bootstrap_tesla_t4_s, p.bootstrap_ryzen_5950x_s].map(seconds)
        });
        row("key generation", seconds(s.keygen), none());
        row("keys, table and program stored", seconds(s.store), none());
        row("operands encrypted", seconds(s.encrypt), none());
        row("key brought into computing form", seconds(s.load), none());
        row("program x*y", seconds(s.compute), fpga(|p| format!("{:.3} s", p.program_fpga_s)));
        row("  one bootstrap of it (median)", seconds(s.bootstrap), bootstraps);
        if let Some(homadd) = self.instructions.get("homadd") {
            let here = format!("{:.1} µs", homadd.mean_seconds * 1e6);
            row("  one homomorphic addition", here, fpga(|p| format!("{:.0} µs", p.homadd_fpga_s * 1e6)));
        }
        row("result read", seconds(s.read), none());
        row("result decrypted", seconds(s.decrypt), none());
        row("total", seconds(s.total), none());
        let z = &self.sizes;
        row(
            "bootstrapping key, stored",
            human_bytes(z.bootstrapping_key),
            fpga(|p| human_bytes(p.bootstrapping_key_bytes)),
        );
        row(
            "key-switching key, stored",
            human_bytes(z.keyswitching_key),
            fpga(|p| human_bytes(p.keyswitching_key_bytes)),
        );
        row("both keys, loaded", human_bytes(z.loaded_key), none());
        row("ciphertext", human_bytes(z.ciphertext), fpga(|p| human_bytes(p.ciphertext_bytes)));
        row("peak memory", human_bytes(self.peak_rss_bytes), none());
        let verdict = if self.wrong_pairs == 0 { "correct" } else { "WRONG" };
        let more = match self.pairs.len() {
            1 => String::new(),
            n => format!("\n{n} products in all, {} wrong.", self.wrong_pairs),
        };
        let engine = self.engine_cost.as_ref().map_or_else(String::new, |cost| cost.to_text(self.paper.as_ref()));
        let seeded = match self.test_seed {
            Some(_) => "\nTEST USE ONLY: keys and noise came from --seed, so that anybody can decrypt.",
            None => "",
        };
        format!(
            "{phases}\n{engine}\
             The paper's figures hold at its dimensions only. Ryzen 9: the library TFHEpp; `make bench CASES=pbs` \
             measures tfhe-rs and this engine in one run (docs/papers.md).\n\
             {} * {} = {} decrypted from the device: {verdict}.{more}\n\
             Operands may be {} to {}: a product is wrong with probability {}.\n\
             Security {:.1} bits ({}).\n\
             {} ciphertexts, {} back end, {} path, {} threads, {}.{seeded}\n\n{}\n\n{}",
            self.x,
            self.y,
            self.decrypted,
            self.x_range[0],
            self.x_range[1],
            ModelProbability { log2: self.log2_p_fail },
            self.security_bits,
            self.security_source,
            self.choice,
            self.backend,
            self.isa,
            self.threads,
            self.machine.cpu,
            self.words.as_ref().map_or_else(|| super::words::NO_WORDS.to_owned(), super::words::Report::to_text),
            self.hmvp.as_ref().map_or_else(|| super::hmvp::NO_PRODUCTS.to_owned(), super::hmvp::Report::to_text)
        )
    }
}
