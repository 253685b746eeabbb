//! Transforms, products and key switches on the simulated array: bit for bit equal to the golden models, within the
//! target cycles.

use std::sync::Arc;
use std::time::Instant;

use ciphermill_arch::array::{
    CIPHERMILL, Experiment, Firing, Issue, LANE, Lane, Machine, Measurement, PAPER, Port, Transposition,
};
use ciphermill_math::Modulus;
use ciphermill_rvfhe::compiler::{CompileError, Compiled, Direction, Ring, Task, Transform, compile};

/// 2^31 − 2^27 + 1 has roots of unity of order 2^27.
const MODULUS: u64 = 2_013_265_921;

fn modulus() -> Modulus {
    Modulus::new(MODULUS).unwrap()
}

fn transform(log_size: u32, ring: Ring, direction: Direction) -> Task {
    Task::Transform(Transform { polynomial_size: 1 << log_size, modulus: modulus(), ring, direction })
}

fn polynomial(log_size: u32, seed: u64) -> Arc<[u32]> {
    let value = |i: u64| ((i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % MODULUS;
    (0..1 << log_size).map(|i| value(i) as u32).collect()
}

fn measure(machine: &Machine, task: Task, in_flight: usize, runs: usize) -> Measurement {
    let experiment = Experiment { task, in_flight, runs, seed: 8 };
    let started = Instant::now();
    let measured = experiment.measure(machine).unwrap_or_else(|error| panic!("{error}"));
    let record = measured.record(&experiment, machine);
    println!(
        "{} {}: {in_flight} in flight, {runs} runs: first {} (expected {}), steady {:.1?}, adders {:.1?}, {} words, {:.2} s",
        machine.name,
        record.case,
        measured.first,
        measured.expected,
        measured.steady,
        measured.adders_at_work(),
        measured.instructions,
        started.elapsed().as_secs_f64(),
    );
    assert!(measured.correct, "{}", record.case);
    measured
}

fn ours() -> Machine {
    Machine::from_toml(CIPHERMILL).unwrap()
}

fn paper() -> Machine {
    Machine::from_toml(PAPER).unwrap()
}

#[test]
fn cycles_that_are_asked_of_our_array() {
    let forward = |log_size| transform(log_size, Ring::Negacyclic, Direction::Forward);
    for (log_size, in_flight, single, steady) in [(13, 4, 200, 135.0), (14, 2, 400, 275.0), (16, 1, u64::MAX, 1250.0)] {
        assert!(measure(&ours(), forward(log_size), 1, 1).first <= single, "2^{log_size}");
        let runs = if log_size == 16 { 4 } else { 8 };
        let measured = measure(&ours(), forward(log_size), in_flight, runs.min(48 >> (log_size - 12)));
        assert!(measured.steady.unwrap() <= steady, "2^{log_size}");
    }
}

#[test]
fn the_paper_s_array_takes_what_it_says() {
    // About 237 cycles at 2^13, and 85 to 90 % of the adders at work: with two transforms in flight.
    let forward = transform(13, Ring::Negacyclic, Direction::Forward);
    let measured = measure(&paper(), forward.clone(), 2, 8);
    let (steady, adders) = (measured.steady.unwrap(), measured.adders_steady.unwrap());
    assert!((steady / 237.0 - 1.0).abs() < 0.05 && (0.85..0.90).contains(&adders), "{steady} {adders}");
    // One by itself cannot hide its exchanges; four hide more than the paper's two.
    let single = measure(&paper(), forward.clone(), 1, 1).first;
    assert!(single > 250, "{single}");
    assert!(measure(&paper(), forward, 4, 4).steady.unwrap() < steady);
}

#[test]
fn every_ring_and_way() {
    for ring in [Ring::Cyclic, Ring::Negacyclic, Ring::Complex] {
        for direction in [Direction::Forward, Direction::Inverse] {
            for log_size in 12..=16 {
                // Complex numbers take two rows: those of 2^15 do not fit.
                if ring == Ring::Complex && log_size > 14 {
                    continue;
                }
                measure(&ours(), transform(log_size, ring, direction), 1, 2);
            }
        }
    }
}

#[test]
fn products() {
    for ring in [Ring::Cyclic, Ring::Negacyclic] {
        for log_size in 12..=14 {
            let task = Task::Product {
                polynomial_size: 1 << log_size,
                modulus: modulus(),
                ring,
                operand: polynomial(log_size, 1),
            };
            measure(&ours(), task.clone(), 1, 2);
            if log_size <= 13 {
                measure(&ours(), task, 2, 3);
            }
        }
    }
}

#[test]
fn key_switches() {
    for (log_size, digits) in [(12, 1_u64), (12, 3), (13, 2), (13, 3)] {
        let pair = |digit| [polynomial(log_size, 2 * digit), polynomial(log_size, 2 * digit + 1)];
        let key = (0..digits).map(pair).collect();
        let task = Task::KeySwitch { polynomial_size: 1 << log_size, modulus: modulus(), key };
        measure(&ours(), task, 1, 2);
    }
}

/// The stages of the paper's Fig. 9 on its array at 2^13, in cycles per butterfly and lane: instructions on unpipelined
/// lanes, transpositions in the addresses of loads, and dataflow.
#[test]
fn the_stages_of_the_ablation_are_within_ten_percent() {
    for (issue, transposition, published) in [
        (Issue::Unpipelined, Transposition::Serial, 9.85),
        (Issue::Unpipelined, Transposition::Banked, 7.58),
        (Issue::Dataflow, Transposition::Banked, 2.25),
    ] {
        let mut machine = paper();
        (machine.core.issue, machine.memory.transposition) = (issue, transposition);
        let measured = measure(&machine, transform(13, Ring::Negacyclic, Direction::Forward), 2, 4);
        let each = measured.steady.unwrap() * 512.0 / measured.butterflies as f64;
        println!("{issue:?}, {transposition:?}: {each:.2} cycles for a butterfly and lane, published {published}");
        assert!((each / published - 1.0).abs() < 0.1);
    }
}

#[test]
fn firing_by_phase_or_without_queues_is_slower_and_as_right() {
    let task = transform(13, Ring::Negacyclic, Direction::Forward);
    let by_operand = measure(&ours(), task.clone(), 2, 4).steady.unwrap();
    let mut machine = ours();
    machine.core.firing = Firing::Phase;
    let by_phase = measure(&machine, task.clone(), 2, 4).steady.unwrap();
    machine.core.firing = Firing::Operand;
    machine.core.issue = Issue::Blocking;
    let blocking = measure(&machine, task, 2, 4).steady.unwrap();
    assert!(by_operand < by_phase && by_phase < blocking, "{by_operand} {by_phase} {blocking}");
}

#[test]
fn slices_of_the_scratchpad_at_one_edge_only() {
    let task = transform(13, Ring::Negacyclic, Direction::Forward);
    let everywhere = measure(&ours(), task.clone(), 1, 2);
    let mut machine = ours();
    machine.scratchpad.slices = vec![0, 4, 8, 12];
    let edge = measure(&machine, task.clone(), 1, 2);
    // 256 vectors come over the four links from the first column, and go back: 128 cycles of each at least.
    assert!(edge.first >= everywhere.first + 64, "{} {}", edge.first, everywhere.first);
    // By hand: 16 vectors for core c, which had them in its own slice. Now they are in the first column, in row c mod 4: that many links
    // from there, for a request, an answer and a store, in two runs.
    let links: u64 = (0..16_u64).map(|core| (core / 4).abs_diff(core % 4) + core % 4).sum();
    assert_eq!(edge.run.link_cycles - everywhere.run.link_cycles, 2 * 3 * 16 * links);
    // Narrow links carry a vector in eight cycles.
    machine.network.link_bytes = 16;
    let narrow = measure(&machine, task, 1, 2);
    assert!(narrow.first > 2 * edge.first, "{} {}", narrow.first, edge.first);
    println!("launch {}, completed {} of {}", everywhere.run.launch, everywhere.run.completed, everywhere.run.cycles);
    assert!(everywhere.run.launch > 6 * 2 && everywhere.run.completed > everywhere.run.cycles);
}

/// All of 32 cores request from the last one, over buffers of one message.
#[test]
fn one_slice_at_the_last_of_the_most_cores() {
    let mut machine = ours();
    (machine.grid.rows, machine.grid.columns, machine.network.buffer) = (4, 8, 1);
    machine.scratchpad.slices = vec![31];
    let measured = measure(&machine, transform(14, Ring::Cyclic, Direction::Inverse), 1, 2);
    // Each of its 512 vectors is read and written over the one slice, one in a cycle.
    assert!(measured.run.cycles > 2 * 512, "{}", measured.run.cycles);
}

/// A vector of 128 bytes occupies a link of one byte for 128 cycles, without any other event.
#[test]
fn links_of_a_byte_are_slow_and_no_deadlock() {
    let mut machine = ours();
    (machine.network.link_bytes, machine.network.hop_latency) = (1, 16);
    for (rows, columns) in [(1, 2), (4, 4), (32, 1)] {
        (machine.grid.rows, machine.grid.columns) = (rows, columns);
        machine.check().unwrap();
        let log_size = machine.cores().ilog2() + 7;
        measure(&machine, transform(log_size, Ring::Negacyclic, Direction::Forward), 1, 2);
    }
}

#[test]
fn other_arrays() {
    for (rows, columns, lanes, log_size) in
        [(1, 1, 32, 9), (1, 2, 32, 10), (2, 2, 32, 11), (2, 2, 16, 10), (2, 4, 8, 9), (4, 4, 8, 11), (4, 8, 32, 14)]
    {
        let mut machine = ours();
        (machine.grid.rows, machine.grid.columns, machine.core.lanes) = (rows, columns, lanes);
        for ring in [Ring::Cyclic, Ring::Negacyclic] {
            for direction in [Direction::Forward, Direction::Inverse] {
                measure(&machine, transform(log_size, ring, direction), 2, 3);
            }
        }
    }
}

/// For each grid, number of lanes and direction, the smallest size equals the statement of the error for smaller sizes.
/// Coefficients are in natural order, so that one program can continue with the results of another, and all spectra are
/// in the same order.
#[test]
fn smallest_sizes_and_orders() {
    for (rows, columns, lanes) in
        [(1, 1, 2), (1, 1, 32), (1, 2, 16), (2, 4, 8), (4, 4, 4), (4, 4, 32), (4, 8, 32), (4, 8, 16)]
    {
        let mut machine = ours();
        (machine.grid.rows, machine.grid.columns, machine.core.lanes) = (rows, columns, lanes);
        machine.scratchpad.vectors = 4096;
        let what = format!("{rows} x {columns}, {lanes} lanes");
        let compiled = |task: Task| compile(&machine.target(), &task, 1);
        let product = |log_size, ring| {
            let (polynomial_size, operand) = (1_usize << log_size, polynomial(log_size, 1));
            compiled(Task::Product { polynomial_size, modulus: modulus(), ring, operand })
        };
        let ring = Ring::Negacyclic;
        let [forward, inverse] = [Direction::Forward, Direction::Inverse]
            .map(|direction| smallest(&what, |log_size| compiled(transform(log_size, ring, direction))));
        assert!(forward <= inverse);
        assert_eq!(smallest(&what, |log_size| product(log_size, ring)), inverse, "{what}");
        for log_size in inverse..=inverse + 1 {
            let natural: Vec<u32> = (0..1 << log_size).collect();
            let [forward, inverse] = [Direction::Forward, Direction::Inverse]
                .map(|direction| compiled(transform(log_size, ring, direction)).expect("a size that fits"));
            assert_eq!(&forward.inputs[0].order[..], natural, "2^{log_size}, {what}");
            assert_eq!(&inverse.outputs[0].order[..], natural, "2^{log_size}, {what}");
            assert_eq!(forward.outputs[0].order, inverse.inputs[0].order, "2^{log_size}, {what}");
            let product = product(log_size, ring).expect("a size that fits");
            assert_eq!((&product.inputs[0].order[..], &product.outputs[0].order[..]), (&natural[..], &natural[..]));
        }
    }
}

/// The logarithm of the smallest size that compiles.
fn smallest(what: &str, compiled: impl Fn(u32) -> Result<Compiled, CompileError>) -> u32 {
    let refused = |log_size| match compiled(log_size) {
        Err(CompileError::PolynomialSize { given, fitting }) => {
            assert_eq!(given, 1 << log_size);
            Some(fitting.sizes()[0])
        }
        other => other.map(|_| None).unwrap_or_else(|error| panic!("2^{log_size}, {what}: {error}")),
    };
    let least = (1..18).find(|log_size| refused(*log_size).is_none()).expect("a size that fits");
    assert!((1..least).all(|log_size| refused(log_size) == Some(1 << least)), "2^{least}, {what}");
    println!("{what}: from 2^{least}");
    least
}

/// The smallest sizes, every task, two in flight: on the fewest cores and lanes, on the most cores, and with copies
/// that compete with computations.
#[test]
fn every_task_on_the_smallest_and_the_largest_arrays() {
    for (text, rows, columns, lanes, firing) in [
        (CIPHERMILL, 1, 1, 2, Firing::Operand),
        (LANE, 1, 2, 4, Firing::Phase),
        (PAPER, 2, 4, 2, Firing::Phase),
        (LANE, 32, 1, 8, Firing::Operand),
    ] {
        let mut machine = Machine::from_toml(text).unwrap();
        (machine.grid.rows, machine.grid.columns, machine.core.lanes) = (rows, columns, lanes);
        machine.core.firing = firing;
        machine.check().unwrap();
        let (mut made, least) = (0, (machine.cores() * lanes).ilog2() + 1);
        for log_size in least..least + 4 {
            let (polynomial_size, key) = (1 << log_size, vec![[polynomial(log_size, 5), polynomial(log_size, 6)]; 2]);
            let mut tasks = vec![Task::KeySwitch { polynomial_size, modulus: modulus(), key }];
            for ring in [Ring::Cyclic, Ring::Negacyclic, Ring::Complex] {
                tasks.push(transform(log_size, ring, Direction::Forward));
                tasks.push(transform(log_size, ring, Direction::Inverse));
                let operand = polynomial(log_size, 7);
                tasks.push(Task::Product { polynomial_size, modulus: modulus(), ring, operand });
            }
            for task in tasks {
                match compile(&machine.target(), &task, 2) {
                    Ok(_) => {
                        measure(&machine, task, 2, 3);
                        made += 1;
                    }
                    // An inverse needs more rows than a forward transform.
                    Err(CompileError::PolynomialSize { given, fitting }) => {
                        assert!(given < fitting.sizes()[0] && given < 8 << least);
                    }
                    Err(CompileError::ComplexProduct) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        }
        assert!(made >= 20, "{made}");
    }
}

/// Primes from the smallest with roots of unity to one just below 2^31, where the sum of two values uses all 32 bits.
#[test]
fn small_and_large_moduli() {
    let mut machine = ours();
    (machine.grid.rows, machine.grid.columns, machine.core.lanes) = (2, 2, 8);
    for (modulus, log_size) in [(257, 7), (12289, 10), (65537, 10), (2_147_352_577, 10)] {
        let (polynomial_size, modulus) = (1 << log_size, Modulus::new(modulus).unwrap());
        for direction in [Direction::Forward, Direction::Inverse] {
            let ring = Ring::Negacyclic;
            measure(&machine, Task::Transform(Transform { polynomial_size, modulus, ring, direction }), 2, 2);
        }
        // The greatest values there are.
        let operand = vec![(modulus.value() - 1) as u32; polynomial_size].into();
        measure(&machine, Task::Product { polynomial_size, modulus, ring: Ring::Cyclic, operand }, 1, 2);
    }
}

/// Two phases of many groups: twiddle registers fill with factors for rows that do not have registers yet.
#[test]
fn the_longest_columns_of_small_arrays() {
    for (rows, columns, lanes, log_size) in [(1, 1, 4, 9), (1, 2, 32, 13), (4, 4, 4, 13)] {
        let mut machine = ours();
        (machine.grid.rows, machine.grid.columns, machine.core.lanes) = (rows, columns, lanes);
        for direction in [Direction::Forward, Direction::Inverse] {
            measure(&machine, transform(log_size, Ring::Negacyclic, direction), 1, 2);
        }
    }
}

/// The missing features of the RTL lanes and their cost: the table of docs/hw/rvfhe_lane.md, row for row.
#[test]
fn the_page_of_the_lanes_says_what_they_lack() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/hw/rvfhe_lane.md")).unwrap();
    let lanes = || Machine::from_toml(LANE).unwrap();
    let with = |mut machine: Machine, change: fn(&mut Lane)| {
        change(&mut machine.lane);
        machine
    };
    let machines = [
        ours(),
        with(ours(), |lane| (lane.copies, lane.copy_ports) = (Port::Shared, 1)),
        with(ours(), |lane| lane.arrival_ports = 1),
        with(ours(), |lane| lane.twiddle_port = Port::Shared),
        with(ours(), |lane| (lane.arrival_ports, lane.twiddle_port) = (1, Port::Shared)),
        lanes(),
        with(lanes(), |lane| lane.copies = Port::Own),
        with(lanes(), |lane| (lane.copies, lane.twiddle_port) = (Port::Own, Port::Own)),
        with(lanes(), |lane| (lane.copies, lane.arrival_ports) = (Port::Own, 2)),
        with(lanes(), |lane| lane.adders = 1),
    ];
    let rows = page.lines().skip_while(|line| !line.starts_with("| machine | one alone")).skip(2);
    let rows: Vec<_> = rows.take_while(|line| line.starts_with('|')).collect();
    assert_eq!(rows.len(), machines.len());
    for (row, machine) in rows.iter().zip(&machines) {
        let task = transform(13, Ring::Negacyclic, Direction::Forward);
        let alone = measure(machine, task.clone(), 1, 1).first;
        let steady = measure(machine, task, 4, 6).steady.unwrap();
        assert!(row.ends_with(&format!(" | {alone} | {steady:.1} |")), "{row}: {alone}, {steady:.1}");
    }
}

#[test]
fn a_trace_has_what_was_done() {
    use ciphermill_arch::trace::Trace;
    let task = transform(13, Ring::Negacyclic, Direction::Forward);
    let experiment = Experiment { task, in_flight: 1, runs: 1, seed: 3 };
    let mut trace = Trace::new();
    let measured = experiment.measure_with(&ours(), Some(&mut trace)).unwrap();
    assert!(measured.correct);
    assert_eq!(measured.first, experiment.measure(&ours()).unwrap().first, "looking changes nothing");
    let mut json = Vec::new();
    trace.write(&mut json).unwrap();
    let value: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let events = value["traceEvents"].as_array().unwrap();
    let named = |name: &str| events.iter().filter(|event| event["name"].as_str().unwrap().starts_with(name)).count();
    assert_eq!(named("mbfly "), 16 * 104);
    assert_eq!((named("copy "), named("sts ")), (16 * 48, 16 * 16));
    let slices = |process: &str| -> Vec<&serde_json::Value> {
        let is_named = |event: &&serde_json::Value| event["name"] == "process_name" && event["args"]["name"] == process;
        let pid = events.iter().find(is_named).unwrap_or_else(|| panic!("{process} has tracks"))["pid"].clone();
        events.iter().filter(|event| event["ph"] == "X" && event["pid"] == pid).collect()
    };
    // An exchange of all with all on a mesh of 4 x 4, where the mean way is 2.5 hops: 16 · 16 vectors.
    assert_eq!(slices("data network: copies").len(), 640);
    // Three reshuffles through the data memories; the scratchpad at both ends.
    assert_eq!((slices("data memory").len(), slices("scratchpad").len()), (2 * 16 * 48, 2 * 256));
    // The control core is at core 0: a message to each of the others and one back, 3 hops at the mean.
    assert_eq!(slices("control network: launch, ends at cycle 0 of the other processes").len(), 48);
    assert_eq!(slices("control network: end messages").len(), 48);
    assert_eq!(trace.left_out(), 0);
}

/// Word l of row a is in bank l + rev(a): no two words of a row, or of a column of a tile, share a bank.
#[test]
fn rows_and_columns_of_tiles_are_in_all_banks() {
    for log_lanes in 1..=5_u32 {
        let lanes = 1_u32 << log_lanes;
        let bank = |row: u32, lane: u32| (lane + ((row % lanes).reverse_bits() >> (32 - log_lanes))) % lanes;
        for tile in 0..=log_lanes {
            let (side, wide) = (1 << tile, lanes >> tile);
            for first in (0..4 * lanes).step_by(side as usize) {
                for column in 0..side {
                    let words =
                        (first..first + side).flat_map(|row| (0..wide).map(move |at| (row, column * wide + at)));
                    let banks = words.fold(0_u64, |banks, (row, lane)| banks | 1 << bank(row, lane));
                    assert_eq!(banks, (1 << lanes) - 1, "{lanes} lanes, tiles of {side} from {first}, column {column}");
                }
            }
        }
    }
}
