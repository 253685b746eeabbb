//! The memory of a program: its segments.

use super::program::Program;

/// A rejected access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Misaligned,
    NotAllowed,
}

struct Region {
    start: u64,
    end: u64,
    readable: bool,
    writable: bool,
}

/// One array from the lowest segment to the end of the highest, and the permissions of each segment.
pub(super) struct Memory {
    origin: u64,
    bytes: Vec<u8>,
    regions: Vec<Region>,
}

impl Memory {
    pub(super) fn new(program: &Program) -> Self {
        let origin = program.segments.iter().map(|s| s.start).min().unwrap_or(0);
        let end = program.segments.iter().map(|s| s.start + s.length).max().unwrap_or(0);
        let mut bytes = vec![0; (end - origin) as usize];
        for segment in &program.segments {
            let start = (segment.start - origin) as usize;
            bytes[start..start + segment.bytes.len()].copy_from_slice(&segment.bytes);
        }
        let mut regions: Vec<Region> = program
            .segments
            .iter()
            .map(|s| Region { start: s.start, end: s.start + s.length, readable: s.readable, writable: s.writable })
            .collect();
        // Data is accessed far more often than code is read.
        regions.sort_by_key(|region| !region.writable);
        Memory { origin, bytes, regions }
    }

    #[inline]
    fn range(&self, address: u64, length: u64, write: bool) -> Result<std::ops::Range<usize>, Fault> {
        let end = address.checked_add(length).ok_or(Fault::NotAllowed)?;
        for region in &self.regions {
            if region.start <= address && end <= region.end {
                let allowed = if write { region.writable } else { region.readable };
                if !allowed {
                    return Err(Fault::NotAllowed);
                }
                let start = (address - self.origin) as usize;
                return Ok(start..start + length as usize);
            }
        }
        Err(Fault::NotAllowed)
    }

    /// The `N` bytes at `address`.
    #[inline]
    pub(super) fn load<const N: usize>(&self, address: u64) -> Result<[u8; N], Fault> {
        if !address.is_multiple_of(N as u64) {
            return Err(Fault::Misaligned);
        }
        let range = self.range(address, N as u64, false)?;
        let mut value = [0; N];
        value.copy_from_slice(&self.bytes[range]);
        Ok(value)
    }

    /// Writes `N` bytes at `address`.
    #[inline]
    pub(super) fn store<const N: usize>(&mut self, address: u64, value: [u8; N]) -> Result<(), Fault> {
        if !address.is_multiple_of(N as u64) {
            return Err(Fault::Misaligned);
        }
        let range = self.range(address, N as u64, true)?;
        self.bytes[range].copy_from_slice(&value);
        Ok(())
    }

    /// Reads any part of one segment, for a system call.
    pub(super) fn read(&self, address: u64, length: u64) -> Option<&[u8]> {
        let range = self.range(address, length, false).ok()?;
        Some(&self.bytes[range])
    }

    /// Returns any part of one segment for writing.
    pub(super) fn write(&mut self, address: u64, length: u64) -> Option<&mut [u8]> {
        let range = self.range(address, length, true).ok()?;
        Some(&mut self.bytes[range])
    }
}
