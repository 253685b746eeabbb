//! Copies and stores, and the writes into the rows of the data memory.

use super::queues::Entry;
use super::{CoreEvent, CoreState, Destination, Outgoing, Shared, Stepped, vector};
use crate::array::error::SimulationError;
use crate::array::lanes::copy;
use crate::array::queued::{Operation, Queue};
use crate::array::scratchpad::note;

impl CoreState {
    #[inline(always)]
    pub(super) fn send(&mut self, now: u64, queue: Queue, ports: usize, shared: &mut Shared<'_>) -> Stepped {
        let mut moved = false;
        for _ in 0..ports {
            // A store uses the port on which an earlier copy may still wait.
            if self.outbox.len() >= ports {
                break;
            }
            let Some(head @ Entry { queued, .. }) = self.next_sent(queue) else { break };
            let register = queued.rs1();
            let words = &self.vectors[vector(register)];
            if queued.operation() == Operation::StoreScratchpad {
                let vectors = shared.machine.scratchpad.vectors;
                if head.address >= vectors {
                    return Err(self.out_of_range(&head, "scratchpad", vectors));
                }
                let message = shared.messages.put(0, words);
                self.outbox.push_back(Outgoing { to: Destination::Scratchpad(head.address), message });
                self.counts.scratchpad_stores += 1;
            } else {
                if head.address as usize >= self.row_full.len() {
                    return Err(self.out_of_range(&head, "data memory", self.row_full.len() as u32));
                }
                if u32::from(queued.core()) >= shared.machine.cores() {
                    let (core, named, cores) = (self.number, queued.core(), shared.machine.cores());
                    return Err(SimulationError::NoSuchCore { core, pc: head.pc, named, cores }.into());
                }
                let message = shared.messages.put(head.address, words);
                self.outbox.push_back(Outgoing { to: Destination::Core(queued.core()), message });
                if usize::from(queued.core()) == self.number {
                    self.counts.own_copies += 1;
                } else {
                    self.counts.remote_copies += 1;
                }
            }
            self.full &= !queued.frees();
            if self.events.is_some() {
                let words = self.vectors[vector(register)].0[..self.lanes].to_vec();
                self.log(|| CoreEvent::Issue { cycle: now, pc: head.pc, words });
            }
            self.queues.pop_front(queue);
            self.scoreboard.send_leaves(queued);
            moved = true;
        }
        Ok(moved)
    }

    /// Writes arrived vectors and the core's own copies into rows, and passes all other vectors to the scratchpad and
    /// the network.
    #[inline(always)]
    pub(super) fn write_rows(&mut self, now: u64, shared: &mut Shared<'_>) -> bool {
        let mut writes = shared.machine.memory.write_ports;
        let mut moved = false;
        while writes > 0
            && let Some(message) = self.inbox.front()
            && self.write_row(now, message, shared)
        {
            self.inbox.pop_front();
            writes -= 1;
            moved = true;
        }
        while let Some(outgoing) = self.outbox.front() {
            let taken = match outgoing.to {
                Destination::Core(core) if usize::from(core) == self.number => {
                    let written = writes > 0 && self.write_row(now, outgoing.message, shared);
                    writes -= u32::from(written);
                    written
                }
                Destination::Core(core) => {
                    let accepts = shared.mesh.accepts(self.number);
                    if accepts {
                        shared.mesh.send(now, self.number, core, outgoing.message, shared.machine.flits() as u8);
                    }
                    accepts
                }
                Destination::Scratchpad(vector) => self.store(now, vector, outgoing.message, shared),
            };
            if !taken {
                break;
            }
            self.outbox.pop_front();
            self.log(|| CoreEvent::Taken { cycle: now });
            moved = true;
        }
        moved
    }

    #[inline(always)]
    fn store(&self, now: u64, vector: u32, message: u16, shared: &mut Shared<'_>) -> bool {
        let words = &shared.messages.vectors[usize::from(message)].0[..self.lanes];
        if shared.scratchpad.node(vector) == self.number {
            shared.scratchpad.store(now, vector, words);
        } else if !shared.scratchpad.send(now, self.number, vector, words) {
            return false;
        }
        shared.messages.unused.push(message);
        true
    }

    #[inline(always)]
    fn write_row(&mut self, now: u64, message: u16, shared: &mut Shared<'_>) -> bool {
        let at = usize::from(message);
        let row = shared.messages.rows[at] as usize;
        if self.row_full[row] != 0 {
            return false;
        }
        note(&mut self.accesses, now, self.number, row as u32, true);
        self.row_full[row] = u32::MAX >> (32 - self.lanes as u32);
        let words = &shared.messages.vectors[at].0[..self.lanes];
        copy(&mut self.rows[row * self.lanes..][..self.lanes], words);
        shared.messages.unused.push(message);
        true
    }
}
