//! The macro-pipeline: known answers, counts, bounds, buffers, and rejected inputs.

use ciphermill_arch::pipeline::{
    Body, BufferSpec, CHAM_CIPHERMILL, CHAM_PAPER, Job, PipelineError, PipelineMachine, Preemption, Stage, StageSpec,
    simulate, table3, table3_records,
};
use proptest::prelude::*;

fn paper() -> PipelineMachine {
    PipelineMachine::from_toml(CHAM_PAPER).expect("the file of the paper")
}

fn ours() -> PipelineMachine {
    PipelineMachine::from_toml(CHAM_CIPHERMILL).expect("our file")
}

fn cycles(machine: &PipelineMachine, rows: u64, columns: u64) -> u64 {
    simulate(machine, &Job { rows, columns }, None).expect("a run").cycles
}

fn leaf_slots(machine: PipelineMachine, slots: u64) -> PipelineMachine {
    machine.with_buffer(BufferSpec { from: Stage::Rescale, to: Stage::Combine, slots }).expect("admissible")
}

#[test]
fn one_row_takes_what_its_stages_take() {
    // The vector's two polynomials, then the row's, and its product through stages 2 to 4; nothing to pack.
    assert_eq!(cycles(&paper(), 1, 256), (2 + 1 + 3) * 6144);
    // Two rows in one engine: stage 4 has the second one slot later, and one merge takes five.
    let one = paper().with_engines(1).expect("a power of two");
    assert_eq!(cycles(&one, 2, 256), (2 + 1 + 3 + 1 + 5) * 6144);
    // Two engines: no row waits for the other, but the vector and the second row have to get there. The second engine has its
    // vector after the exchange, 4096 cycles into the third slot, when the spectrum of its row has long been there.
    assert_eq!(cycles(&paper(), 2, 256), 2 * 6144 + 4096 + 3 * 6144 + 4096 + 5 * 6144);
    // 5000 columns: two ciphertexts of the vector (four polynomials), two products, added up in stage 2.
    assert_eq!(cycles(&one, 1, 5000), (4 + 2 + 3) * 6144);
    // Ours, by hand: a forward unit for the vector's two polynomials and the row, two items of stages 2, one of 3 and 4.
    let one = ours().with_engines(1).expect("a power of two");
    assert_eq!(cycles(&one, 1, 256), 2 * 4608 + 4630 + (1024 + 1036) + 6154 + 1036);
}

#[test]
fn the_paper_s_table_3_comes_out() {
    let rows = table3(&paper(), &[4096]).expect("runs");
    assert_eq!(rows.len(), 7);
    for row in &rows {
        let Some(printed) = row.printed else { continue };
        // The printed times have a share that does not grow with the rows, of at most 0.4 ms, and is not of the pipeline.
        let more = printed.accelerator_ms - row.ms;
        assert!(
            (-0.1..0.4).contains(&more),
            "{} rows: {} ms, printed {}",
            printed.rows,
            row.ms,
            printed.accelerator_ms
        );
        let steady = row.run.steady_cycles_per_row.expect("enough rows");
        assert!(printed.rows < 256 || (steady / 6144.0 - 1.0).abs() < 0.01, "{} rows: {steady}", printed.rows);
    }
    let records = table3_records(&rows);
    assert_eq!(records.len(), 7);
    assert_eq!(records[5].case, "arch-hmvp/cham-paper/e2/m2048/n256");
    assert_eq!(records[5].params["paper_milliseconds"], 42.86);
    assert!(records[6].params["paper_milliseconds"].is_null());
}

#[test]
fn what_holds_the_paper_s_engines_back_are_pauses_and_ping_pong_leaves() {
    let steady = |machine: PipelineMachine| {
        let run = simulate(&machine, &Job { rows: 2048, columns: 256 }, None).expect("a run");
        run.steady_cycles_per_row.expect("enough rows")
    };
    let one = || paper().with_engines(1).expect("a power of two");
    // Four slots of 6144 cycles for two rows: two leaves, their merge, and an inner one.
    assert!((steady(one()) - 12288.0).abs() < 20.0);
    // Room for leaves and no pauses: stage 5 has one merge a row, and the engine its full rate.
    let free = |machine| leaf_slots(machine, 12).with_preemption(Preemption::Buffered);
    assert_eq!(steady(free(one())), 6144.0);
    assert_eq!(steady(free(paper())), 3072.0);
    // One of the two is not enough.
    assert!(steady(leaf_slots(one(), 8)) > 9000.0);
    assert!(steady(one().with_preemption(Preemption::Buffered)) > 10000.0);
}

#[test]
fn ours_runs_at_the_rate_of_its_slowest_stage() {
    for engines in [1, 2, 4] {
        let machine = ours().with_engines(engines).expect("a power of two");
        let run = simulate(&machine, &Job { rows: 2048, columns: 256 }, None).expect("a run");
        assert_eq!(run.steady_cycles_per_row, Some(4608.0 / engines as f64));
        // Within three thousandths of the bound of all schedules.
        assert!(run.cycles as f64 <= run.bound_cycles as f64 * 1.003, "{} of {}", run.cycles, run.bound_cycles);
        assert!(run.utilization() > 0.9 && run.utilization() <= 1.0, "{}", run.utilization());
        assert_eq!(run.exchanges, engines as u64 - 1);
        // Each engine has its share.
        for stage in run.stages.iter().filter(|stage| stage.stage == Stage::Multiply) {
            assert_eq!(stage.tokens, 2048 / engines as u64);
        }
    }
}

#[test]
fn too_few_slots_are_named() {
    // One node for each level of 4096 leaves: what the merge of two leaves gives has no place while they are all taken.
    let nodes = |slots| {
        let spec = BufferSpec { from: Stage::ModDown, to: Stage::Combine, slots };
        let one = paper().with_engines(1).expect("a power of two");
        simulate(&one.with_buffer(spec).expect("admissible"), &Job { rows: 4096, columns: 256 }, None)
    };
    assert!(nodes(12).is_ok());
    match nodes(11).expect_err("a deadlock") {
        PipelineError::Deadlock { waiting, buffer, slots, engine: 0, .. } => {
            assert_eq!((waiting, &*buffer, slots), ("mod-down", "mod-down-combine", 11));
        }
        other => panic!("{other}"),
    }
    let error = simulate(&leaf_slots(paper(), 1), &Job { rows: 4, columns: 256 }, None).expect_err("a deadlock");
    let text = error.to_string();
    assert!(text.contains("rescale") && text.contains("rescale-combine") && text.contains("1 are all taken"), "{text}");
    // An engine that has to take nodes of others, and no place for one.
    let spec = BufferSpec { from: Stage::ModDown, to: Stage::Combine, slots: 1 };
    let machine = ours().with_engines(4).expect("a power of two").with_buffer(spec).expect("admissible");
    let error = simulate(&machine, &Job { rows: 64, columns: 256 }, None).expect_err("a deadlock");
    assert!(matches!(error, PipelineError::Deadlock { .. }), "{error}");
}

#[test]
fn sizes_out_of_range_are_refused() {
    let refused = |rows, columns| {
        let error = simulate(&ours(), &Job { rows, columns }, None).expect_err("out of range");
        matches!(error, PipelineError::Range { min: 1, max: 16384, .. })
    };
    assert!(refused(0, 256) && refused(16385, 256) && refused(64, 0) && refused(64, 16385) && refused(u64::MAX, 1));
    // A small ring makes many ciphertexts of a vector.
    let text = CHAM_PAPER.replace("polynomial_size = 4096", "polynomial_size = 16");
    let small = PipelineMachine::from_toml(&text).expect("admissible");
    let error = simulate(&small, &Job { rows: 16384, columns: 16384 }, None).expect_err("too many products");
    assert!(matches!(error, PipelineError::TooLarge { given: 0x100_0000, max: 0x10_0000, .. }), "{error}");
}

#[test]
fn the_largest_job_runs() {
    let run = simulate(&ours(), &Job { rows: 16384, columns: 16384 }, None).expect("a run");
    assert_eq!((run.counts.products, run.counts.key_switches), (4 * 16384, 4 * 4095));
    // Four products a row: two slots for each engine in stage 1.
    assert!(run.cycles >= 16384 * 2 * 4608);
}

#[test]
fn machines_that_cannot_be_are_refused() {
    let refuse = |from: &str, to: &str| {
        assert!(CHAM_PAPER.contains(from), "{from}");
        PipelineMachine::from_toml(&CHAM_PAPER.replacen(from, to, 1)).expect_err(to)
    };
    let range = |from: &str, to: &str| assert!(matches!(refuse(from, to), PipelineError::Range { .. }), "{to}");
    range("units = 1", "units = 0");
    range("units = 1", "units = 1025");
    range("interval = 6144", "interval = 0");
    range("interval = 6144", "interval = 9223372036854775807");
    range("latency = 6144", "latency = 0");
    range("latency = 6144", "latency = 6144\nhold = 6145");
    range("latency = 6144", "latency = 6144\nhold = 0");
    range("slots = 2", "slots = 0");
    range("slots = 2", "slots = 65537");
    range("exchange_cycles = 4096", "exchange_cycles = 0");
    range("digits = 2", "digits = 65");
    range("special_limbs = 1", "special_limbs = 0");
    range("engines = 2", "engines = 32");
    range("engines = 2", "engines = 0");
    assert!(matches!(refuse("engines = 2", "engines = 3"), PipelineError::PowerOfTwo { given: 3, .. }));
    assert!(matches!(refuse("size = 4096", "size = 4095"), PipelineError::PowerOfTwo { given: 4095, .. }));
    for clock in ["0.0", "-1.0", "nan", "inf", "1e300"] {
        let error = refuse("clock_mhz = 300.0", &format!("clock_mhz = {clock}"));
        assert!(matches!(error, PipelineError::Positive { .. }), "{error}");
    }
    for (from, to) in [
        ("schema = \"ciphermill-pipeline/1\"", "schema = \"ciphermill-pipeline/2\""),
        ("name = \"ntt\"", "name = \"fft\""),
        ("units = 1", "units = -1"),
        ("units = 1", "units = 99999999999999999999"),
        ("units = 1", "unit = 1"),
        ("body = \"transform\"", "body = \"\""),
        ("[ring]", "[[ring]]"),
        ("clock_mhz = 300.0", ""),
        ("[[stage]]", "[[stage"),
    ] {
        assert!(matches!(refuse(from, to), PipelineError::Syntax { .. }), "{to}");
    }
    // A stage is missing where it is described as another, which is then there twice.
    let error = refuse("name = \"intt\"", "name = \"ntt\"");
    assert_eq!(error, PipelineError::RepeatedStage { stage: "ntt" });
    let begin = CHAM_PAPER.find("# Stage 3").expect("a comment");
    let end = CHAM_PAPER.find("# Stage 4").expect("a comment");
    let text = [&CHAM_PAPER[..begin], &CHAM_PAPER[end..]].concat();
    assert_eq!(PipelineMachine::from_toml(&text).expect_err("missing"), PipelineError::MissingStage { stage: "intt" });
    // Buffers: one that leads back, one where nothing flows, one twice, one missing.
    let back = "from = \"multiply\"\nto = \"intt\"";
    let error = refuse(back, "from = \"intt\"\nto = \"multiply\"");
    assert_eq!(error, PipelineError::Cyclic { from: "intt", to: "multiply" });
    let error = refuse(back, "from = \"intt\"\nto = \"intt\"");
    assert_eq!(error, PipelineError::Cyclic { from: "intt", to: "intt" });
    let error = refuse(back, "from = \"multiply\"\nto = \"rescale\"");
    assert_eq!(error, PipelineError::NoFlow { from: "multiply", to: "rescale" });
    let error = refuse(back, "from = \"ntt\"\nto = \"multiply\"");
    assert_eq!(error, PipelineError::RepeatedBuffer { from: "ntt", to: "multiply" });
    let text = CHAM_PAPER.replace(&format!("[[buffer]]\n{back}\nslots = 2\n"), "");
    let error = PipelineMachine::from_toml(&text).expect_err("missing");
    assert_eq!(error, PipelineError::MissingBuffer { from: "multiply", to: "intt" });
    // The same checks guard machines that are changed later.
    let spec = StageSpec { name: Stage::Ntt, units: 0, interval: 1, latency: 1, hold: None };
    assert!(paper().with_stage(spec).is_err() && paper().with_engines(6).is_err());
    assert!(paper().with_buffer(BufferSpec { from: Stage::Ntt, to: Stage::Ntt, slots: 1 }).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Any text gives an error or a machine, without a panic.
    #[test]
    fn no_text_is_too_much(cut in 0..CHAM_PAPER.len(), insert in "\\PC{0,8}") {
        let at = (0..=cut).rev().find(|&at| CHAM_PAPER.is_char_boundary(at)).unwrap_or(0);
        let _ = PipelineMachine::from_toml(&CHAM_PAPER[..at]);
        let _ = PipelineMachine::from_toml(&[&CHAM_PAPER[..at], &insert, &CHAM_PAPER[at..]].concat());
    }

    /// Any shape on either machine: the counts equal the formulas, and the cycles are at least the bound, for any
    /// number of engines.
    #[test]
    fn runs_do_what_is_counted(
        rows in 1u64..600, columns in 1u64..13000, engines in 0u32..5, sum: bool, pause: bool, paper_s: bool,
    ) {
        let machine = if paper_s { paper() } else { ours() };
        let body = if sum { Body::Sum } else { Body::Transform };
        let preemption = if pause { Preemption::Pause } else { Preemption::Buffered };
        let machine = machine.with_engines(1 << engines).unwrap().with_body(body).with_preemption(preemption);
        let job = Job { rows, columns };
        let run = simulate(&machine, &job, None).unwrap();
        prop_assert_eq!(run.counts, job.counts(&machine.ring(), body).unwrap());
        prop_assert!(run.cycles >= run.bound_cycles, "{} below {}", run.cycles, run.bound_cycles);
        prop_assert_eq!(&simulate(&machine, &job, None).unwrap(), &run);
        for buffer in &run.buffers {
            prop_assert!(buffer.peak <= buffer.slots);
        }
        for stage in &run.stages {
            prop_assert!((0.0..=1.0).contains(&stage.utilization));
        }
        // Of a job of one tile, every engine but the first gives its node away, unless it has none.
        let tiles = rows.div_ceil(4096);
        prop_assert_eq!(tiles, 1);
        prop_assert_eq!(run.exchanges, (1u64 << engines).min(rows) - 1);
    }
}
