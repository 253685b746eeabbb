//! The state that the handles of a controller share with its tasks.

use super::{admin::NamespaceRecord, call::Port, config::InitiatorConfig, error::InitiatorError, session::Facts};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{Semaphore, watch},
    time::Instant,
};

/// The least time between two looks into the log for the cause of an error, in the long run.
const CAUSE_INTERVAL: Duration = Duration::from_millis(20);
/// Looks in quick succession that are allowed all the same.
const CAUSE_BURST: u32 = 64;

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) config: InitiatorConfig,
    pub(super) io: Port,
    pub(super) admin: Port,
    pub(super) stop: watch::Sender<bool>,
    pub(super) ended: watch::Sender<bool>,
    /// Held while the causes of errors are fetched, by one task at a time.
    pub(super) causes: Semaphore,
    pub(super) reconnects: AtomicU64,
    connected: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    facts: Arc<Facts>,
    /// Namespaces that a caller has a handle of.
    known: BTreeMap<u32, NamespaceRecord>,
    /// Up to when the looks so far have used up what [`CAUSE_INTERVAL`] allows.
    causes_until: Option<Instant>,
    /// Whether this controller has the log page with the causes.
    has_causes: bool,
}

impl Shared {
    pub(super) fn new(config: InitiatorConfig, facts: Facts, io_slots: usize, admin_slots: usize) -> Self {
        Self {
            config,
            io: Port::new(io_slots),
            admin: Port::new(admin_slots),
            stop: watch::Sender::new(false),
            ended: watch::Sender::new(false),
            causes: Semaphore::new(1),
            reconnects: AtomicU64::new(0),
            connected: AtomicBool::new(true),
            state: Mutex::new(State {
                facts: Arc::new(facts),
                known: BTreeMap::new(),
                causes_until: None,
                has_causes: true,
            }),
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn facts(&self) -> Arc<Facts> {
        Arc::clone(&self.state().facts)
    }

    pub(super) fn set_facts(&self, facts: Facts) {
        let mut state = self.state();
        state.facts = Arc::new(facts);
        state.has_causes = true;
    }

    pub(super) fn known(&self) -> Vec<NamespaceRecord> {
        self.state().known.values().copied().collect()
    }

    /// Notes a namespace, so that it is looked at after a reconnect. One that was known must be the same.
    ///
    /// # Errors
    /// The record as it was, if it is another.
    pub(super) fn learn(&self, record: NamespaceRecord) -> Result<(), NamespaceRecord> {
        let mut state = self.state();
        match state.known.get(&record.nsid) {
            Some(before) if !record.same_as(before) => Err(*before),
            _ => {
                state.known.insert(record.nsid, record);
                Ok(())
            }
        }
    }

    /// Whether it is time to ask for the cause of an error.
    pub(super) fn may_ask_cause(&self) -> bool {
        let mut state = self.state();
        let now = Instant::now();
        let used = state.causes_until.map_or(now, |until| until.max(now));
        let allowed = state.has_causes && used.duration_since(now) <= CAUSE_INTERVAL * CAUSE_BURST;
        if allowed {
            state.causes_until = Some(used + CAUSE_INTERVAL);
        }
        allowed
    }

    pub(super) fn has_no_causes(&self) {
        self.state().has_causes = false;
    }

    pub(super) fn is_connected(&self) -> bool {
        self.connected.load(Ordering::Relaxed)
    }

    pub(super) fn set_connected(&self, connected: bool) {
        self.connected.store(connected, Ordering::Relaxed);
    }

    /// Refuses all commands from now on.
    pub(super) fn close(&self, error: &InitiatorError) {
        self.io.close(error);
        self.admin.close(error);
    }
}
