//! Frames, read and written within a time.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The first byte of a response.
pub(super) const DONE: u8 = 0;
pub(super) const REFUSED: u8 = 1;

/// The moment until which a transfer may go on that begins now; a year for longer times, which the clock might not have.
pub(super) fn end_of(time: Duration) -> Instant {
    Instant::now() + time.min(Duration::from_secs(365 * 24 * 3600))
}

/// The time that is left; at least a millisecond, because a socket takes 0 for no limit.
fn left(end: Instant) -> Result<Duration, io::Error> {
    let left = end.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left.max(Duration::from_millis(1))) }
}

/// Fills the buffer until `end`. False if the peer has closed the connection before the first byte.
pub(super) fn read(stream: &mut TcpStream, buffer: &mut [u8], end: Instant) -> io::Result<bool> {
    let mut done = 0;
    while done < buffer.len() {
        stream.set_read_timeout(Some(left(end)?))?;
        match stream.read(&mut buffer[done..]) {
            Ok(0) if done == 0 => return Ok(false),
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => done += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            // The socket reports its time as one or the other.
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(ErrorKind::TimedOut.into()),
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Writes all bytes until `end`.
pub(super) fn write(stream: &mut TcpStream, mut bytes: &[u8], end: Instant) -> io::Result<()> {
    while !bytes.is_empty() {
        stream.set_write_timeout(Some(left(end)?))?;
        match stream.write(bytes) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(ErrorKind::TimedOut.into()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// A frame of a response.
pub(super) fn response(kind: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    // Contents are below 4 GiB: a response is bounded by its limits, a reason by the text of an error.
    bytes.extend((content.len() as u32).to_le_bytes());
    bytes.extend(content);
    bytes
}
