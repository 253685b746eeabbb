//! Get Features and Set Features.

use super::{Admin, Reply, refuse};
use crate::{
    CommandError, Status,
    command::Command,
    features::{QueueCount, event_bits, id},
    identify::ControllerKind,
};
use std::time::Duration;
use tokio::time::Instant;

/// Values that are kept and change nothing.
#[derive(Debug)]
pub(crate) struct Values {
    arbitration: u32,
    /// Thresholds of the composite temperature in kelvins: over, under.
    temperature: [u32; 2],
    error_recovery: u32,
    write_atomicity: u32,
}

impl Default for Values {
    fn default() -> Self {
        // The over-temperature threshold begins at WCTEMP.
        Self { arbitration: 7, temperature: [343, 0], error_recovery: 0, write_atomicity: 0 }
    }
}

/// SMART warnings that can be enabled; there never is one.
const SMART_BITS: u32 = 0xff;

fn unknown<T>(feature: u8) -> Result<T, CommandError> {
    refuse(Status::INVALID_FIELD, format!("there is no feature {feature:02x}h"))
}

impl Admin {
    fn has_feature(&self, feature: u8) -> bool {
        let common = [id::ASYNC_EVENTS, id::KEEP_ALIVE, id::HOST_IDENTIFIER];
        let io = [
            id::ARBITRATION,
            id::POWER_MANAGEMENT,
            id::TEMPERATURE_THRESHOLD,
            id::ERROR_RECOVERY,
            id::VOLATILE_WRITE_CACHE,
            id::NUMBER_OF_QUEUES,
            id::WRITE_ATOMICITY,
        ];
        common.contains(&feature) || self.controller().kind == ControllerKind::Io && io.contains(&feature)
    }

    /// Which threshold: of the composite temperature, over or under; sensors there are none.
    fn threshold(value: u32) -> Option<usize> {
        let (sensor, under) = (value >> 16 & 15, (value >> 20 & 3) as usize);
        (sensor == 0 && under < 2).then_some(under)
    }

    pub(super) fn get_feature(&self, command: &Command) -> Result<Reply, CommandError> {
        let (feature, select) = (command.dwords[0] as u8, command.dwords[0] >> 8 & 7);
        if !self.has_feature(feature) {
            return unknown(feature);
        }
        if select != 0 {
            return refuse(Status::INVALID_FIELD, "only the current value can be read; use select 0");
        }
        let value = match feature {
            id::ARBITRATION => self.values.arbitration,
            id::TEMPERATURE_THRESHOLD => match Self::threshold(command.dwords[1]) {
                Some(which) => self.values.temperature[which],
                None => return refuse(Status::INVALID_FIELD, "there is the composite temperature only"),
            },
            id::ERROR_RECOVERY => self.values.error_recovery,
            id::NUMBER_OF_QUEUES => QueueCount::both(self.controller().granted().into()).bits(),
            id::WRITE_ATOMICITY => self.values.write_atomicity,
            id::ASYNC_EVENTS => self.events.enabled,
            id::KEEP_ALIVE => self.keep_alive,
            id::HOST_IDENTIFIER => {
                if command.dwords[1] & 1 == 0 {
                    return refuse(Status::HOST_ID_INCONSISTENT, "host identifiers have 128 bits over fabrics");
                }
                return Ok(Reply::data(self.controller().host().id.to_vec()));
            }
            // Power state 0, and a write cache that is not there.
            _ => 0,
        };
        Ok(Reply::of(value.into()))
    }

    pub(super) fn set_feature(&mut self, command: &Command) -> Result<u64, CommandError> {
        let (feature, value) = (command.dwords[0] as u8, command.dwords[1]);
        if !self.has_feature(feature) {
            return unknown(feature);
        }
        if command.dwords[0] >> 31 != 0 {
            return refuse(Status::FEATURE_NOT_SAVEABLE, "no feature is kept beyond the controller");
        }
        match feature {
            id::ARBITRATION => self.values.arbitration = value,
            id::POWER_MANAGEMENT if value & 31 != 0 => {
                return refuse(Status::INVALID_FIELD, "there is power state 0 only");
            }
            id::TEMPERATURE_THRESHOLD => match Self::threshold(value) {
                Some(which) => self.values.temperature[which] = value & 0xffff,
                None => return refuse(Status::INVALID_FIELD, "there is the composite temperature only"),
            },
            id::ERROR_RECOVERY if value >> 16 != 0 => {
                return refuse(Status::INVALID_FIELD, "errors of deallocated blocks cannot be enabled");
            }
            id::ERROR_RECOVERY => self.values.error_recovery = value,
            id::VOLATILE_WRITE_CACHE if value & 1 != 0 => {
                return refuse(Status::INVALID_FIELD, "there is no volatile write cache");
            }
            id::NUMBER_OF_QUEUES => return self.set_queues(value),
            id::WRITE_ATOMICITY => self.values.write_atomicity = value & 1,
            id::ASYNC_EVENTS => {
                let offered = match self.controller().kind {
                    ControllerKind::Io => SMART_BITS | event_bits::NAMESPACES,
                    ControllerKind::Discovery => event_bits::DISCOVERY,
                };
                self.events.enabled = value & offered;
            }
            id::KEEP_ALIVE => {
                let most = self.subsystem.limits().max_keep_alive;
                if Duration::from_millis(value.into()) > most {
                    let detail = format!("the keep-alive timeout is at most {} s", most.as_secs());
                    return refuse(Status::KEEP_ALIVE_INVALID, detail);
                }
                self.keep_alive = value;
                self.alive = Instant::now();
            }
            id::HOST_IDENTIFIER => return refuse(Status::FEATURE_NOT_CHANGEABLE, "Connect sets the host identifier"),
            // Power state 0, and a write cache that stays off.
            _ => {}
        }
        Ok(0)
    }

    fn set_queues(&mut self, value: u32) -> Result<u64, CommandError> {
        let Some(asked) = QueueCount::of(value) else {
            return refuse(Status::INVALID_FIELD, "65,536 queues cannot be asked for");
        };
        let most = u32::from(self.subsystem.limits().max_queues);
        // A submission queue has a completion queue of its own over fabrics, so as many of both.
        let granted = asked.submission.min(asked.completion).min(most);
        if !self.controller().grant(granted as u16) {
            return refuse(Status::COMMAND_SEQUENCE_ERROR, "there are I/O queues already");
        }
        Ok(QueueCount::both(granted).bits().into())
    }
}
