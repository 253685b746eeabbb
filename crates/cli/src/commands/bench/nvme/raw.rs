//! The figures of the machine without a device server: the floors of the served figures.

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

/// A file that is written and read without a server.
pub(super) struct RawFile(File);

impl RawFile {
    /// A new file in `directory` that has all its blocks.
    pub(super) fn create(directory: &Path) -> io::Result<Self> {
        let path = directory.join("raw");
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        let group = vec![0x5a; GROUP];
        for offset in (0..FILE).step_by(GROUP) {
            file.write_all_at(&group, offset)?;
        }
        file.sync_data()?;
        Ok(Self(file))
    }

    /// 4 KiB overwritten, then fdatasync: the time of both.
    pub(super) fn sync(&self, content: u8) -> io::Result<Duration> {
        let block = [content; 4096];
        let begun = Instant::now();
        self.0.write_all_at(&block, 0)?;
        self.0.sync_data()?;
        Ok(begun.elapsed())
    }

    pub(super) fn syncs(&self, samples: u32) -> io::Result<Vec<Duration>> {
        (0..samples).map(|sample| self.sync(sample as u8)).collect()
    }

    /// Bytes per second of groups of 4 MiB, each with an fdatasync, one per window.
    pub(super) fn writes(&self, windows: u32, window: Duration) -> io::Result<Vec<f64>> {
        let (group, mut at) = (vec![0x5a; GROUP], 0);
        rates(windows, window, || {
            for piece in group.chunks_exact(PIECE) {
                self.0.write_all_at(piece, at)?;
                at = (at + PIECE as u64) % FILE;
            }
            self.0.sync_data()?;
            Ok(GROUP as u64)
        })
    }

    /// Bytes per second of reads of 128 KiB from the written data (mostly cached), one per window.
    pub(super) fn reads(&self, windows: u32, window: Duration) -> io::Result<Vec<f64>> {
        let (mut piece, mut at) = (vec![0; PIECE], 0);
        rates(windows, window, || {
            self.0.read_exact_at(&mut piece, at)?;
            at = (at + PIECE as u64) % FILE;
            Ok(PIECE as u64)
        })
    }
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

/// A pair of connected sockets of this process.
fn pair() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let here = TcpStream::connect(listener.local_addr()?)?;
    let (there, _) = listener.accept()?;
    here.set_nodelay(true)?;
    there.set_nodelay(true)?;
    Ok((here, there))
}

/// A request of 72 bytes and an answer of 4 KiB over loopback TCP between two threads.
pub(super) fn round_trips(samples: u32) -> io::Result<Vec<Duration>> {
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

/// Bytes per second that one thread writes and another reads over loopback TCP, one per window.
pub(super) fn stream(windows: u32, window: Duration) -> io::Result<Vec<f64>> {
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
