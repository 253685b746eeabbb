//! The subsystem: namespaces, and the state that all connections share.

use super::{
    config::{HostAccess, NamespaceConfig, Offered, SubsystemConfig},
    controller::Controller,
    error::TargetError,
    hosts::Hosts,
    limits::Limits,
    memory::Pool,
    metrics::{Counters, TargetMetrics},
    notice::Notice,
    registry::Registry,
    throttle::Throttle,
};
use crate::{
    fabrics::{DISCOVERY_NQN, is_nqn},
    identify::ALL_NAMESPACES,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::Ordering::Relaxed},
    time::Duration,
};
use tokio::{
    sync::{Notify, mpsc},
    time::Instant,
};

/// Namespaces, the hosts that may have them, and the state of all connections.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let subsystem = Subsystem::new(SubsystemConfig::default(), HostAccess::Any, vec![ram()])?;
/// assert_eq!(subsystem.nqn(), SubsystemConfig::default().nqn);
/// assert_eq!(subsystem.metrics().connections_open, 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Subsystem {
    pub(crate) config: SubsystemConfig,
    pub(crate) hosts: HostAccess,
    namespaces: BTreeMap<u32, Arc<Offered>>,
    pub(crate) places: Arc<Hosts>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) counters: Counters,
    pub(crate) begun: Instant,
    registry: Mutex<Registry>,
    idle: Notify,
    /// Lines about hosts that may not connect.
    pub(crate) refusals: Throttle,
    /// A lost queue has ended for good.
    pub(crate) settled: Notify,
}

impl Subsystem {
    /// A subsystem for these hosts with these namespaces.
    ///
    /// # Errors
    /// [`TargetError`]: a limit, the name or a namespace cannot be.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let config = SubsystemConfig { nqn: "disk".into(), ..SubsystemConfig::default() };
    /// let refused = Subsystem::new(config, HostAccess::Any, vec![ram()]);
    /// assert!(matches!(refused, Err(TargetError::Name { .. })), "a name begins with `nqn.`");
    /// ```
    pub fn new(
        config: SubsystemConfig,
        hosts: HostAccess,
        namespaces: Vec<NamespaceConfig>,
    ) -> Result<Arc<Self>, TargetError> {
        config.limits.check()?;
        if !is_nqn(&config.nqn) || config.nqn == DISCOVERY_NQN {
            return Err(TargetError::Name { nqn: config.nqn });
        }
        let mut by_id = BTreeMap::new();
        let mut uuids = BTreeSet::new();
        for namespace in namespaces {
            let nsid = namespace.nsid;
            let wrong = |what| Err(TargetError::Namespace { nsid, what });
            let geometry = namespace.namespace.geometry();
            if nsid == 0 || nsid == ALL_NAMESPACES {
                return wrong("the identifier is 1 to 0xfffffffe");
            }
            if namespace.uuid == [0; 16] || !uuids.insert(namespace.uuid) {
                return wrong("the UUID must be its own, and not zero");
            }
            if geometry.size == 0 || geometry.size > 1 << 51 {
                return wrong("the size is 1 to 2^51 blocks");
            }
            if by_id.insert(nsid, Arc::new(Offered::new(namespace))).is_some() {
                return wrong("another namespace has the same identifier");
            }
        }
        Ok(Arc::new(Self {
            pool: Arc::new(Pool::new(&config.limits)),
            places: Arc::new(Hosts::new(&config.limits, &hosts)),
            config,
            hosts,
            namespaces: by_id,
            counters: Counters::new(),
            begun: Instant::now(),
            registry: Mutex::new(Registry::default()),
            idle: Notify::new(),
            settled: Notify::new(),
            refusals: Throttle::new(1, Duration::from_secs(1)),
        }))
    }

    /// Its name.
    #[must_use]
    pub fn nqn(&self) -> &str {
        &self.config.nqn
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.config.limits
    }

    /// The tables of connections and controllers. They are consistent after every statement, so a panic elsewhere while
    /// they were locked does no harm.
    pub(crate) fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The namespaces that the host may see.
    pub(crate) fn visible(&self, host: &str) -> BTreeMap<u32, Arc<Offered>> {
        let visible = self.namespaces.iter().filter(|(_, offered)| offered.config.hosts.allows(host));
        visible.map(|(nsid, offered)| (*nsid, offered.clone())).collect()
    }

    /// Reports to the hosts of a namespace that it changed: an asynchronous event, if they enabled it.
    pub fn namespaces_changed(&self, nsid: u32) {
        self.tell_hosts_of(nsid, || Notice::NamespaceChanged(nsid));
    }

    fn tell_hosts_of(&self, nsid: u32, notice: impl Fn() -> Notice) {
        let controllers: Vec<Arc<Controller>> = self.registry().controllers.values().cloned().collect();
        controllers.iter().filter(|to| to.namespaces.contains_key(&nsid)).for_each(|to| to.tell_admin(notice()));
    }

    /// Reports namespaces whose capacity is nearly used up since the last look, and the number of log lines left out.
    /// [`Target::serve`](super::Target::serve) calls it every few seconds.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// // Every block of this namespace is in use: its hosts get an event, if they enabled it.
    /// subsystem()?.look_around();
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn look_around(&self) {
        for (nsid, offered) in &self.namespaces {
            if offered.has_filled_up() {
                tracing::warn!(namespace = nsid, percent = offered.used_percent(), "the capacity is nearly used up");
                self.tell_hosts_of(*nsid, || Notice::SpareLow);
            }
        }
        self.places.report_left_out();
    }

    /// The counts, and the present use.
    #[must_use]
    pub fn metrics(&self) -> TargetMetrics {
        let (connections_open, controllers) = {
            let registry = self.registry();
            (registry.connections.len() as u64, registry.controllers.len() as u64)
        };
        TargetMetrics {
            connections_open,
            hosts: self.places.count() as u64,
            controllers,
            buffer_bytes: self.pool.used() as u64,
            buffer_bytes_peak: self.pool.peak() as u64,
            ..self.counters.read()
        }
    }

    /// The target stops: no connection takes I/O commands any more. The returned channel closes when every accepted command
    /// has its response or lost its connection.
    pub(crate) fn drain(&self) -> mpsc::Receiver<()> {
        let (unanswered, answered) = mpsc::channel(1);
        let mut registry = self.registry();
        registry.draining = true;
        for notices in registry.connections.values() {
            // A connection that does not receive any more has ended.
            let _ = notices.send(Notice::Drain(unanswered.clone()));
        }
        answered
    }

    /// All connections end when they have sent their remaining PDUs.
    pub(crate) fn finish(&self) {
        for notices in self.registry().connections.values() {
            let _ = notices.send(Notice::Finish);
        }
    }

    /// Connections may come again.
    pub(crate) fn drained(&self) {
        self.registry().draining = false;
    }

    /// A command was handed to a namespace that answers later.
    pub(crate) fn command_begun(&self) {
        self.counters.under_way.fetch_add(1, Relaxed);
    }

    pub(crate) fn command_ended(&self) {
        if self.counters.under_way.fetch_sub(1, Relaxed) == 1 {
            self.idle.notify_waiters();
        }
    }

    /// Returns when no namespace works on a command.
    pub(crate) async fn idle(&self) {
        loop {
            let notified = self.idle.notified();
            let mut notified = std::pin::pin!(notified);
            notified.as_mut().enable();
            if self.counters.under_way.load(Relaxed) == 0 {
                return;
            }
            notified.await;
        }
    }
}
