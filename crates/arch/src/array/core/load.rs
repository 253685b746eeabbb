//! Loads of rows from the data memory, vectors from the scratchpad, and twiddles.

use super::queues::Entry;
use super::{CoreState, RING, Shared, Stepped, twiddle, vector};
use crate::array::error::SimulationError;
use crate::array::lanes::{MAX_LANES, copy};
use crate::array::machine::{Machine, Port, Transposition};
use crate::array::queued::{Operation, Queue, Queued};
use crate::array::scratchpad::note;

impl CoreState {
    #[inline(always)]
    pub(super) fn load(&mut self, now: u64, shared: &mut Shared<'_>) -> Stepped {
        let ports = shared.machine.lane.arrival_ports;
        let mut moved = false;
        for _ in 0..ports {
            if now < self.tile_until {
                break;
            }
            let Some(head @ Entry { queued, .. }) = self.next_load(Queue::Load) else { break };
            let register = queued.rd();
            let latency = match queued.operation() {
                Operation::LoadScratchpad => {
                    let vectors = shared.machine.scratchpad.vectors;
                    if head.address >= vectors {
                        return Err(self.out_of_range(&head, "scratchpad", vectors));
                    }
                    if shared.scratchpad.node(head.address) != self.number {
                        if !shared.scratchpad.ask(now, self.number, register, head.address) {
                            break;
                        }
                        self.pending |= 1 << register;
                        self.counts.scratchpad_loads += 1;
                        self.load_leaves(Queue::Load, queued);
                        moved = true;
                        continue;
                    }
                    copy(
                        &mut self.vectors[vector(register)].0[..self.lanes],
                        shared.scratchpad.read(now, head.address),
                    );
                    self.counts.scratchpad_loads += 1;
                    shared.machine.scratchpad.latency
                }
                _ => {
                    if !self.read_row(&head, queued)? {
                        break;
                    }
                    note(&mut self.accesses, now, self.number, head.address, false);
                    let rows = match shared.machine.memory.transposition {
                        Transposition::Banked => 1,
                        Transposition::Serial => 1 << queued.tile(),
                    };
                    self.counts.rows_read += u64::from(rows);
                    if rows > 1 {
                        self.tile_until = now + u64::from(rows);
                    }
                    shared.machine.memory.read_latency + rows - 1
                }
            };
            // The register file accepts one vector per port and cycle.
            let mut latency = latency;
            while u32::from(self.upcoming[(now as usize + latency as usize) % RING].arrivals) >= ports {
                latency += 1;
            }
            self.upcoming[(now as usize + latency as usize) % RING].arrivals += 1;
            self.fill_later(register, now, latency + 1);
            let cycle = now + u64::from(latency);
            self.log_arrival(cycle, cycle, register);
            self.upcoming[(now as usize + latency as usize + 1) % RING].loads += 1;
            self.load_leaves(Queue::Load, queued);
            moved = true;
        }
        Ok(moved)
    }

    /// Takes a vector that has arrived from a remote slice. Returns false if the register file has no free port.
    #[inline(always)]
    pub(in crate::array) fn take(&mut self, now: u64, register: u8, words: &[u32], machine: &Machine) -> bool {
        let next = (now as usize + 1) % RING;
        if u32::from(self.upcoming[next].arrivals) >= machine.lane.arrival_ports {
            return false;
        }
        self.upcoming[next].arrivals += 1;
        copy(&mut self.vectors[vector(register)].0[..self.lanes], words);
        self.upcoming[(next + 1) % RING].becomes_full |= 1 << register;
        self.upcoming[(next + 1) % RING].loads += 1;
        self.log_arrival(now + 1, now + 1, register);
        true
    }

    /// Reads a row, or a column of a tile. Returns false if a word is empty.
    #[inline(always)]
    fn read_row(&mut self, head: &Entry, queued: Queued) -> Stepped {
        let (lanes, tile) = (self.lanes, queued.tile());
        let side = 1_usize << tile;
        let row = head.address as usize;
        let first = row & !(side - 1);
        if side > lanes {
            return Err(SimulationError::Tile { core: self.number, pc: head.pc, side, lanes }.into());
        }
        if first + side > self.row_full.len() {
            return Err(self.out_of_range(head, "data memory", self.row_full.len() as u32));
        }
        let column = Column { number: row - first, rotates: queued.variant(), frees: queued.frees_row() };
        let full = &mut self.row_full[first..first + side];
        let rows = &self.rows[first * lanes..][..side * lanes];
        let to = &mut self.vectors[vector(queued.rd())].0[..lanes];
        // Loops of constant length for most machines.
        let taken = match (lanes, side) {
            (MAX_LANES, 1) => column.take(to, rows, full, MAX_LANES, 1),
            (MAX_LANES, 2) => column.take(to, rows, full, MAX_LANES, 2),
            (MAX_LANES, 4) => column.take(to, rows, full, MAX_LANES, 4),
            (MAX_LANES, 8) => column.take(to, rows, full, MAX_LANES, 8),
            (MAX_LANES, 16) => column.take(to, rows, full, MAX_LANES, 16),
            (MAX_LANES, 32) => column.take(to, rows, full, MAX_LANES, 32),
            _ => column.take(to, rows, full, lanes, side),
        };
        if !taken {
            return Ok(false);
        }
        self.counts.row_loads += 1;
        Ok(true)
    }

    #[inline(always)]
    pub(super) fn load_twiddles(&mut self, now: u64, shared: &mut Shared<'_>) -> Stepped {
        let Some(head @ Entry { queued, .. }) = self.next_load(Queue::Twiddle) else { return Ok(false) };
        let register = queued.rd();
        let lanes = self.lanes;
        let rows = self.twiddle_memory.len() / (2 * lanes);
        let mut latency = shared.machine.memory.read_latency;
        let mut first = latency;
        if shared.machine.lane.twiddle_port == Port::Shared {
            // Two arrivals, each in the first cycle with a free port.
            let ports = shared.machine.lane.arrival_ports;
            for half in 0..2 {
                while u32::from(self.upcoming[(now as usize + latency as usize) % RING].arrivals) >= ports {
                    latency += 1;
                }
                self.upcoming[(now as usize + latency as usize) % RING].arrivals += 1;
                if half == 0 {
                    first = latency;
                }
            }
        }
        let to = &mut self.twiddles[twiddle(register)];
        let address = head.address as usize;
        if queued.variant() {
            if address >= rows * lanes {
                return Err(self.out_of_range(&head, "twiddle memory's pairs", (rows * lanes) as u32));
            }
            let (row, lane) = (address / lanes, address % lanes);
            to.factors[..lanes].fill(self.twiddle_memory[row * 2 * lanes + lane]);
            to.companions[..lanes].fill(self.twiddle_memory[row * 2 * lanes + lanes + lane]);
            self.counts.twiddle_broadcasts += 1;
        } else {
            if address >= rows {
                return Err(self.out_of_range(&head, "twiddle memory", rows as u32));
            }
            let (factors, companions) = self.twiddle_memory[address * 2 * lanes..][..2 * lanes].split_at(lanes);
            copy(&mut to.factors[..lanes], factors);
            copy(&mut to.companions[..lanes], companions);
        }
        self.fill_later(register, now, latency + 1);
        self.log_arrival(now + u64::from(first), now + u64::from(latency), register);
        self.counts.twiddle_loads += 1;
        self.load_leaves(Queue::Twiddle, queued);
        Ok(true)
    }
}

/// A column of a tile, or a whole row: part `number` of each of `side` rows, each with `side` parts.
struct Column {
    number: usize,
    /// Whether the parts are interleaved word by word; otherwise they are concatenated.
    rotates: bool,
    /// Whether its words become empty.
    frees: bool,
}

impl Column {
    /// Reads the column if all its words are full.
    #[inline(always)]
    fn take(&self, to: &mut [u32], rows: &[u32], full: &mut [u32], lanes: usize, side: usize) -> bool {
        // All sizes are powers of two, so that no part is cut.
        let wide = lanes / side;
        let at = self.number % side * wide;
        let (to, rows, full) = (&mut to[..lanes], &rows[..side * lanes], &mut full[..side]);
        let words = (u32::MAX >> (32 - wide as u32)) << at;
        if full.iter().fold(words, |all, full| all & full) != words {
            return false;
        }
        if self.frees {
            for full in full {
                *full &= !words;
            }
        }
        for place in 0..side {
            let part = &rows[place * lanes + at..][..wide];
            if self.rotates {
                for (low, word) in part.iter().enumerate() {
                    to[low * side + place] = *word;
                }
            } else {
                to[place * wide..][..wide].copy_from_slice(part);
            }
        }
        true
    }
}
