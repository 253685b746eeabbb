//! What the machine gives without a device server: the floors that the served figures stand beside.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// Bytes of a group of writes: 32 commands of 128 KiB.
const GROUP: usize = 32 * PIECE;
/// Bytes of a sequential command.
pub(super) const PIECE: usize = 128 << 10;
/// The file is written round and round, so that it never takes more of the disk than this.
const FILE: u64 = 512 << 20;

/// Floors of one machine and one disk.
pub(super) struct Raw {
    /// 4 KiB overwritten in a file, then fdatasync.
    pub(super) fdatasync: Vec<Duration>,
    /// Bytes per second of groups of 4 MiB, each with an fdatasync, one per window.
    pub(super) writes: Vec<f64>,
    /// Bytes per second of reads of 128 KiB from the file just written (mostly from memory), one per window.
    pub(super) reads: Vec<f64>,
    /// A request of 72 bytes and an answer of 4 KiB over loopback TCP between two threads.
    pub(super) round_trips: Vec<Duration>,
    /// Bytes per second that one thread writes and another reads over loopback TCP, one per window.
    pub(super) stream: Vec<f64>,
}

impl Raw {
    /// Measures in `directory`; `windows` windows of `window` for each rate.
    pub(super) fn measure(directory: &Path, windows: u32, window: Duration) -> io::Result<Self> {
        let path = directory.join("raw");
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path)?;
        let raw = Self {
            writes: writes(&file, windows, window)?,
            reads: reads(&file, windows, window)?,
            fdatasync: syncs(&file, 200)?,
            round_trips: round_trips(2_000)?,
            stream: stream(windows, window)?,
        };
        drop(file);
        std::fs::remove_file(&path)?;
        Ok(raw)
    }
}

fn syncs(file: &File, samples: u32) -> io::Result<Vec<Duration>> {
    (0..samples)
        .map(|sample| {
            let block = [sample as u8; 4096];
            let begun = Instant::now();
            file.write_all_at(&block, 0)?;
            file.sync_data()?;
            Ok(begun.elapsed())
        })
        .collect()
}

/// Calls `step`, which says how many bytes it moved, over and over; bytes per second of each window.
fn rates(windows: u32, window: Duration, mut step: impl FnMut() -> io::Result<u64>) -> io::Result<Vec<f64>> {
    (0..windows)
        .map(|_| {
            let (begun, mut bytes) = (Instant::now(), 0);
            while begun.elapsed() < window {
                bytes += step()?;
            }
            Ok(bytes as f64 / begun.elapsed().as_secs_f64())
        })
        .collect()
}

fn writes(file: &File, windows: u32, window: Duration) -> io::Result<Vec<f64>> {
    let (group, mut at) = (vec![0x5a; GROUP], 0);
    // Once round, so that the windows see a file that has its blocks.
    for offset in (0..FILE).step_by(GROUP) {
        file.write_all_at(&group, offset)?;
    }
    file.sync_data()?;
    rates(windows, window, || {
        for piece in group.chunks_exact(PIECE) {
            file.write_all_at(piece, at)?;
            at = (at + PIECE as u64) % FILE;
        }
        file.sync_data()?;
        Ok(GROUP as u64)
    })
}

fn reads(file: &File, windows: u32, window: Duration) -> io::Result<Vec<f64>> {
    let (mut piece, mut at) = (vec![0; PIECE], 0);
    rates(windows, window, || {
        file.read_exact_at(&mut piece, at)?;
        at = (at + PIECE as u64) % FILE;
        Ok(PIECE as u64)
    })
}

/// A pair of connected sockets of this process.
fn pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let here = TcpStream::connect(listener.local_addr()?)?;
    let (there, _) = listener.accept()?;
    here.set_nodelay(true)?;
    there.set_nodelay(true)?;
    Ok((here, there))
}

fn round_trips(samples: u32) -> io::Result<Vec<Duration>> {
    let (mut here, mut there) = pair()?;
    std::thread::scope(|scope| {
        let server = scope.spawn(move || -> io::Result<()> {
            let (mut request, answer) = ([0; 72], [0x33; 4096 + 24]);
            for _ in 0..samples {
                there.read_exact(&mut request)?;
                there.write_all(&answer)?;
            }
            Ok(())
        });
        let (request, mut answer) = ([0; 72], [0; 4096 + 24]);
        let times = (0..samples)
            .map(|_| {
                let begun = Instant::now();
                here.write_all(&request)?;
                here.read_exact(&mut answer)?;
                Ok(begun.elapsed())
            })
            .collect();
        server.join().map_err(|_| io::Error::other("a thread panicked"))??;
        times
    })
}

fn stream(windows: u32, window: Duration) -> io::Result<Vec<f64>> {
    let (mut here, mut there) = pair()?;
    std::thread::scope(|scope| {
        // It ends when the other side is gone.
        let server = scope.spawn(move || {
            let piece = vec![0x77; PIECE];
            while there.write_all(&piece).is_ok() {}
        });
        let mut piece = vec![0; PIECE];
        let rates = rates(windows, window, || here.read_exact(&mut piece).map(|()| PIECE as u64));
        drop(here);
        server.join().map_err(|_| io::Error::other("a thread panicked"))?;
        rates
    })
}
