//! The initiator's own commands on the admin queue: keep-alive, and requests for the target's events.

use super::{
    admin,
    call::{Call, Port},
    error::InitiatorError,
    request::Payload,
    session::{Facts, check_identity, malformed},
    shared::Shared,
};
use crate::{
    command::{Command, admin::ASYNC_EVENT_REQUEST, admin::KEEP_ALIVE},
    features::Event,
    identify::{ALL_NAMESPACES, ControllerKind},
    log::{ErrorEntry, Smart, id},
};
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval, sleep};

/// The least time from one event to the next: a target that invents events cannot keep the initiator busy.
const EVENT_PAUSE: Duration = Duration::from_millis(50);
/// Entries of the error log that are read when an event reports errors.
const ERROR_ENTRIES: usize = 16;

/// Attends to a session until something is wrong with it; gives what.
pub(super) async fn attend(shared: &Shared, private: &Port, facts: &Facts) -> InitiatorError {
    let outcome = tokio::select! {
        outcome = signs_of_life(private, shared.config.keep_alive) => outcome,
        outcome = events(shared, private, facts) => outcome,
    };
    match outcome {
        Ok(never) => match never {},
        Err(error) => error,
    }
}

async fn signs_of_life(private: &Port, timeout: Duration) -> Result<std::convert::Infallible, InitiatorError> {
    if timeout.is_zero() {
        std::future::pending::<()>().await;
    }
    let mut ticks = interval((timeout / 2).max(Duration::from_millis(1)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.tick().await;
    loop {
        ticks.tick().await;
        let command = Command { opcode: KEEP_ALIVE, ..Command::default() };
        let reply =
            private.call(Call { command, payload: Payload::None, time: Some(timeout), repeatable: false }).await?;
        if !reply.status.is_success() {
            return Err(reply.status.into());
        }
    }
}

async fn events(shared: &Shared, private: &Port, facts: &Facts) -> Result<std::convert::Infallible, InitiatorError> {
    let address = &shared.config.address;
    loop {
        let command = Command { opcode: ASYNC_EVENT_REQUEST, ..Command::default() };
        let call = Call { command, payload: Payload::None, time: None, repeatable: false };
        let reply = private.call(call).await?;
        if !reply.status.is_success() {
            // A controller without events, as some discovery controllers; it is of use all the same.
            tracing::debug!(%address, status = %reply.status, "no asynchronous events");
            std::future::pending::<()>().await;
        }
        let event = Event::of(reply.result);
        if let Err(error) = heed(shared, private, facts, event).await {
            // What the target answers about its event is logged; only a lost connection or another device ends the session.
            if error.status().is_none() && !matches!(error, InitiatorError::Malformed { .. }) {
                return Err(error);
            }
            tracing::warn!(%address, ?event, %error, "an event that could not be looked into");
        }
        sleep(EVENT_PAUSE).await;
    }
}

/// Reads the log page of an event, without which the next one of its kind does not come.
async fn heed(shared: &Shared, private: &Port, facts: &Facts, event: Event) -> Result<(), InitiatorError> {
    let (address, time) = (&shared.config.address, shared.config.connect_timeout);
    let read = async |page, length| admin::log_page(private, time, ALL_NAMESPACES, page, 0, length).await;
    match event {
        Event { log_page: id::CHANGED_NAMESPACES, .. } => {
            read(id::CHANGED_NAMESPACES, 4096).await?;
            tracing::info!(%address, "namespaces have changed");
            check_identity(&shared.config, private, facts, facts, shared.known()).await?;
        }
        Event { log_page: id::ERROR, .. } => {
            let page = read(id::ERROR, ERROR_ENTRIES * ErrorEntry::BYTES).await?;
            for entry in page.chunks_exact(ErrorEntry::BYTES) {
                let entry = ErrorEntry::decode(entry).map_err(|error| malformed("error log", &error))?;
                if entry.count > 0 {
                    tracing::warn!(%address, ?entry, "the target reports an error");
                }
            }
        }
        Event { log_page: id::SMART, .. } => {
            let page = read(id::SMART, Smart::BYTES).await?;
            let smart = Smart::decode(&page).map_err(|error| malformed("SMART log", &error))?;
            tracing::warn!(%address, warnings = smart.warnings, spare = smart.spare, "the target reports a health warning");
        }
        Event { log_page: id::DISCOVERY, .. } if facts.identity.kind == Some(ControllerKind::Discovery) => {
            tracing::info!(%address, "the discovery log has changed");
        }
        Event { log_page, .. } => {
            tracing::info!(%address, ?event, "an event of a kind that is not known here");
            if log_page != 0 {
                read(log_page, 512).await?;
            }
        }
    }
    Ok(())
}
