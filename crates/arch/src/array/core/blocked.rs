//! The reasons why a core cannot proceed.

use super::queues::Entry;
use super::{CoreState, Destination, Messages};
use crate::array::error::{Blocked, SimulationError, Waits};
use crate::array::queued::{ALL_QUEUES, Operation, Queue};

impl CoreState {
    pub(super) fn out_of_range(&self, head: &Entry, memory: &'static str, size: u32) -> Box<SimulationError> {
        SimulationError::Address { core: self.number, pc: head.pc, memory, address: head.address, size }.into()
    }

    /// The reason for each queue head and each waiting vector.
    pub(in crate::array) fn blocked(&self, messages: &Messages) -> Vec<Blocked> {
        let mut blocked = Vec::new();
        for queue in ALL_QUEUES {
            if let Some(entry) = self.queues.front(queue) {
                let waits = self.waits(entry);
                blocked.push(Blocked { core: self.number, pc: Some(entry.pc), waits });
            }
        }
        let next = self.inbox.front().into_iter();
        let own = self.outbox.front().filter(|outgoing| outgoing.to == Destination::Core(self.number as u8));
        for message in next.chain(own.map(|outgoing| outgoing.message)) {
            let row = messages.rows[usize::from(message)];
            blocked.push(Blocked { core: self.number, pc: None, waits: Waits::RowFull { row } });
        }
        blocked
    }

    fn waits(&self, entry: &Entry) -> Waits {
        let queued = entry.queued;
        if queued.operation() == Operation::Phase {
            return Waits::Loads;
        }
        let missing = queued.needs() & !self.full;
        if missing != 0 {
            return Waits::Operand { register: missing.trailing_zeros() as u8 };
        }
        if !self.is_admitted(entry) {
            return Waits::EarlierInstruction;
        }
        match queued.queue() {
            Queue::Compute | Queue::Send => Waits::Network,
            Queue::Load | Queue::Twiddle if (self.full | self.pending) & queued.writes() != 0 => {
                Waits::DestinationFull { register: queued.rd() }
            }
            Queue::Load | Queue::Twiddle => Waits::RowEmpty { row: entry.address },
        }
    }
}
