//! What hosts may take too long with.

use super::{end::End, state::Connection};
use std::time::Duration;
use tokio::time::Instant;

impl<S> Connection<S> {
    /// Whether the host may be too slow with something.
    pub(super) fn has_deadlines(&self) -> bool {
        self.queue.is_none() || self.receiver.mid_unit() || !self.out.is_empty() || !self.transfers.is_empty()
    }

    pub(super) fn on_tick(&mut self) -> Result<(), End> {
        let limits = self.subsystem.limits();
        let late = |age: u32, most: Duration| limits.tick() * age >= most;
        let takes = self.may_start() && !self.starved;
        let stops = !self.takes_commands();
        let ages = &mut self.ages;
        // A Connect that waits for this side is not late.
        if self.queue.is_none() && self.held == 0 {
            ages.handshake += 1;
            if late(ages.handshake, limits.handshake_timeout) {
                return Err(End::Timeout("Connect"));
            }
        }
        // A PDU that waits for this side is not late.
        let waits = self.receiver.mid_unit() && !self.starved && !stops && self.out.is_empty();
        ages.unit = if waits && ages.units == self.receiver.units { ages.unit + 1 } else { 0 };
        ages.units = self.receiver.units;
        if late(ages.unit, limits.pdu_timeout) {
            return Err(End::Timeout("a unit"));
        }
        ages.response = if !self.out.is_empty() && ages.written == self.out.written { ages.response + 1 } else { 0 };
        ages.written = self.out.written;
        if late(ages.response, limits.response_timeout) {
            return Err(End::Timeout("taking responses"));
        }
        // Nor are data that this side does not take.
        if self.transfers.is_empty() || ages.transferred != self.transfers.units {
            ages.transfer = 0;
        } else if takes {
            ages.transfer += 1;
        }
        ages.transferred = self.transfers.units;
        if late(ages.transfer, limits.transfer_timeout) {
            return Err(End::Timeout("the data of a command"));
        }
        Ok(())
    }

    pub(super) fn on_keep_alive(&mut self) -> Result<(), End> {
        let Some(admin) = &mut self.admin else { return Ok(()) };
        if admin.keep_alive_expired(Instant::now()) {
            return Err(End::KeepAlive);
        }
        let deadline = admin.keep_alive_deadline();
        self.keep_alive.as_mut().reset(deadline);
        Ok(())
    }
}
