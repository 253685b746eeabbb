//! Connections that are lost in the middle of a blob: no command takes effect twice, and a read returns one
//! version or an error.

use crate::support::{
    MAX_OBJECT_BYTES, SPACE, blob, metadata,
    nvme::Served,
    pattern, program,
    proxy::{Proxy, Verdict, Way, answered, write_command},
    put,
    toy::Toy,
};
use ciphermill_device::{Device, DeviceConfig, SpaceLimits};
use ciphermill_middleware::{
    NvmeConfig, NvmeTransport, ReadMode, Transferred, Transport, TransportError, WriteMode, Written,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// The most bytes that one command moves.
const PIECE: usize = 1 << 20;

/// A served device with the toy scheme, and a connection to it that can be cut.
struct Bench {
    // Dropped in this order.
    transport: NvmeTransport,
    proxy: Proxy,
    served: Option<Served>,
    toy: Arc<Toy>,
    directory: TempDir,
}

impl Bench {
    fn new() -> Self {
        let (directory, toy) = (TempDir::new().unwrap(), Arc::<Toy>::default());
        let served = Self::serve(&directory, &toy);
        let proxy = Proxy::start(served.address);
        let transport = NvmeTransport::connect(NvmeConfig::new(proxy.address.to_string())).unwrap();
        Self { transport, proxy, served: Some(served), toy, directory }
    }

    fn serve(directory: &TempDir, toy: &Arc<Toy>) -> Served {
        let mut config = DeviceConfig::in_directory(directory.path());
        config.max_object_bytes = MAX_OBJECT_BYTES;
        let device = Device::open(config, vec![Arc::clone(toy) as _]).unwrap();
        device.create_space(SPACE, SpaceLimits::UNLIMITED).unwrap();
        Served::start(device, SPACE, directory.path(), 24)
    }

    /// Programs that compute, at the keys 0 (on writes: the operand minus itself and plus 3:0:9) and 1 (on reads: 16
    /// copies), and neighbours on both sides of the blocks that are reserved next.
    fn stock(&self) {
        put(&self.transport, metadata("1:0:1"), &pattern(3 * PIECE + 5, 1));
        put(&self.transport, metadata("0:0:0"), &program("homsub 4:0:3, 4:0:3\nhomadd 4:0:3, 3:0:9\nreturn 4:0:3"));
        put(&self.transport, metadata("0:1:0"), &program("homintmult 3:1:2, -16\nreturn 3:1:2"));
        put(&self.transport, metadata("3:1:2"), &pattern(PIECE, 4));
        put(&self.transport, metadata("3:0:9"), &addend());
    }

    fn check_neighbours(&self) {
        for (id, bytes) in [("1:0:1", pattern(3 * PIECE + 5, 1)), ("3:1:2", pattern(PIECE, 4)), ("3:0:9", addend())] {
            assert!(self.read(id, ReadMode::Stored).unwrap().1 == bytes, "{id} is not what it was");
        }
    }

    fn read(&self, id: &str, mode: ReadMode) -> Result<(Transferred, Vec<u8>), TransportError> {
        let mut bytes = Vec::new();
        let transferred = self.transport.read(blob(id), mode, &mut bytes)?;
        assert_eq!(transferred.size, bytes.len() as u64);
        Ok((transferred, bytes))
    }

    fn write(&self, id: &str, bytes: &[u8]) -> Result<Written, TransportError> {
        self.transport.write(&metadata(id), bytes.len() as u64, &mut &*bytes, WriteMode::Compute)
    }

    /// Cuts once: the command of a write of that number of pieces that completes it, or the answer to that.
    fn cut_last(&self, pieces: usize, way: Way) -> Arc<AtomicBool> {
        let (mut seen, mut last) = (0, None);
        let was_cut = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&was_cut);
        self.proxy.judge(move |connection, to, pdu| {
            let mut hit = false;
            if told.load(Ordering::SeqCst) {
                return Verdict::Pass;
            }
            if let Some(id) = write_command(pdu).filter(|_| to == Way::ToTarget) {
                seen += 1;
                if seen == pieces {
                    last = Some((connection, id));
                    hit = way == Way::ToTarget;
                }
            }
            let answer = answered(pdu).filter(|_| to == Way::ToHost).map(|id| (connection, id));
            hit |= way == Way::ToHost && answer.is_some() && answer == last;
            told.store(hit, Ordering::SeqCst);
            if hit { Verdict::Cut } else { Verdict::Pass }
        });
        was_cut
    }
}

/// As long as the operands.
fn addend() -> Vec<u8> {
    pattern(OPERAND, 9)
}

/// Bytes of the operands: three pieces, whole words.
const OPERAND: usize = 2 * PIECE + 8 * 1000;

/// Operations of the program of key 0.
const RUN: u64 = 2;

#[test]
fn a_write_whose_last_answer_is_lost_was_done_once() {
    lost_last_piece(Way::ToHost);
}

#[test]
fn a_write_whose_last_piece_is_lost_is_done_once() {
    lost_last_piece(Way::ToTarget);
}

fn lost_last_piece(way: Way) {
    let bench = Bench::new();
    bench.stock();
    for (round, (id, size)) in [("1:0:7", OPERAND), ("4:0:3", OPERAND), ("1:0:8", 100)].into_iter().enumerate() {
        let runs = bench.toy.runs.load(Ordering::SeqCst);
        let bytes = pattern(size, 20 + round as u8);
        let cut = bench.cut_last(size.div_ceil(PIECE), way);
        let written = bench.write(id, &bytes).unwrap();
        assert!(cut.load(Ordering::SeqCst), "nothing was cut");
        let computed = id.starts_with('4');
        assert_eq!((written.stat.size, written.computed), (size as u64, computed), "{id}");
        let stored = if computed { addend() } else { bytes };
        assert!(bench.read(id, ReadMode::Stored).unwrap().1 == stored, "{id}");
        assert_eq!(bench.toy.runs.load(Ordering::SeqCst) - runs, if computed { RUN } else { 0 }, "{id}");
        bench.check_neighbours();
    }
    let listed = bench.transport.list().unwrap();
    assert_eq!(listed.len(), 8, "{listed:?}");
}

/// The target is still at it when the host comes back.
#[test]
fn a_write_that_is_cut_off_while_its_program_runs_is_done_once() {
    let bench = Bench::new();
    bench.stock();
    bench.toy.held.store(true, Ordering::SeqCst);
    let written = thread::scope(|scope| {
        let writing = scope.spawn(|| bench.write("4:0:3", &pattern(OPERAND, 3)));
        let begun = Instant::now();
        while bench.toy.runs.load(Ordering::SeqCst) == 0 {
            assert!(begun.elapsed() < Duration::from_secs(20), "the program never ran");
            thread::yield_now();
        }
        bench.proxy.cut();
        thread::sleep(Duration::from_millis(300));
        assert!(!writing.is_finished());
        bench.toy.held.store(false, Ordering::SeqCst);
        writing.join().unwrap()
    });
    assert_eq!((written.unwrap().computed, bench.toy.runs.load(Ordering::SeqCst)), (true, RUN));
    assert!(bench.read("4:0:3", ReadMode::Stored).unwrap().1 == addend());
    bench.check_neighbours();
}

/// Cuts whenever that number of bytes came from the target, `times` times.
fn cut_every(bench: &Bench, bytes: u64, times: u64) -> Arc<AtomicU64> {
    let cuts = Arc::new(AtomicU64::new(0));
    let (counted, mut seen) = (Arc::clone(&cuts), 0);
    bench.proxy.judge(move |_, way, pdu| {
        if way == Way::ToTarget || counted.load(Ordering::SeqCst) == times {
            return Verdict::Pass;
        }
        seen += pdu.len() as u64;
        if seen < bytes {
            return Verdict::Pass;
        }
        seen = 0;
        counted.fetch_add(1, Ordering::SeqCst);
        Verdict::Cut
    });
    cuts
}

#[test]
fn a_read_goes_on_where_its_connection_was_lost() {
    let bench = Bench::new();
    bench.stock();
    let bytes = pattern(20 * PIECE + 77, 8);
    put(&bench.transport, metadata("1:0:5"), &bytes);
    let cuts = cut_every(&bench, 5 << 20, 3);
    let (transferred, read) = bench.read("1:0:5", ReadMode::Stored).unwrap();
    assert!(!transferred.computed && read == bytes);
    assert_eq!(cuts.load(Ordering::SeqCst), 3);
    // One result, of one run.
    let cuts = cut_every(&bench, 5 << 20, 2);
    let (transferred, read) = bench.read("3:1:2", ReadMode::Compute).unwrap();
    assert!(transferred.computed && read == pattern(PIECE, 4).repeat(16));
    assert_eq!((cuts.load(Ordering::SeqCst), bench.toy.runs.load(Ordering::SeqCst)), (2, 1));
}

#[test]
fn a_read_whose_server_is_started_anew_is_an_error_and_no_mixture() {
    let mut bench = Bench::new();
    bench.stock();
    let bytes = pattern(20 * PIECE, 8);
    put(&bench.transport, metadata("1:0:5"), &bytes);
    let cuts = cut_every(&bench, 5 << 20, 1);
    let mut served = bench.served.take();
    let (read, outcome) = thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let mut read = Vec::new();
            let outcome = bench.transport.read(blob("1:0:5"), ReadMode::Stored, &mut read);
            (read, outcome)
        });
        let begun = Instant::now();
        while cuts.load(Ordering::SeqCst) == 0 {
            assert!(begun.elapsed() < Duration::from_secs(20), "nothing was cut");
            thread::yield_now();
        }
        // Nothing passes until the new one exists.
        bench.proxy.judge(|_, _, _| Verdict::Cut);
        drop(served.take());
        served = Some(Bench::serve(&bench.directory, &bench.toy));
        bench.proxy.lead_to(served.as_ref().unwrap().address);
        bench.proxy.judge(|_, _, _| Verdict::Pass);
        reading.join().unwrap()
    });
    bench.served = served;
    let error = outcome.unwrap_err();
    assert!(matches!(error, TransportError::Failed(_)) && read.len() < bytes.len(), "{error}");
    assert!(bytes.starts_with(&read), "what was put out is of that version");
    assert!(bench.read("1:0:5", ReadMode::Stored).unwrap().1 == bytes);
    bench.check_neighbours();
}
