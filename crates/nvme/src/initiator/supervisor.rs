//! Keeps a controller served: runs sessions, one after the other, until it is stopped or no attempt can succeed any more.

use super::{
    attend::attend,
    connection::Connection,
    error::InitiatorError,
    request::Request,
    session::{ADMIN_SLOTS, Session, check_identity, drive, establish, shut_down},
    shared::Shared,
};
use std::{
    io,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tokio::{
    net::TcpStream,
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep},
};

/// How long commands in progress may take when the controller is disconnected.
const LAST_COMMANDS: Duration = Duration::from_secs(5);

/// Runs until the end of the controller.
pub(super) async fn supervise(shared: Arc<Shared>, first: Session) {
    let guard = EndGuard(shared);
    let shared = &guard.0;
    let mut stop = shared.stop.subscribe();
    let mut session = first;
    let mut backoff = Backoff::new(shared);
    loop {
        let begun = Instant::now();
        let cause = serve(shared, session, &mut stop).await;
        shared.set_connected(false);
        let Some(cause) = cause else { break };
        tracing::warn!(address = %shared.config.address, %cause, "the connection is lost");
        if begun.elapsed() >= shared.config.reconnect.most {
            backoff = Backoff::new(shared);
        }
        match reconnect(shared, cause, &mut backoff, &mut stop).await {
            Ok(Some(new)) => session = new,
            Ok(None) => break,
            Err(error) => {
                tracing::error!(address = %shared.config.address, %error, "the controller stays down");
                shared.close(&error);
                break;
            }
        }
        shared.reconnects.fetch_add(1, Ordering::Relaxed);
        shared.set_connected(true);
        tracing::info!(address = %shared.config.address, "connected again");
    }
}

/// Reports the end of the controller, also when the runtime drops the task.
struct EndGuard(Arc<Shared>);

impl Drop for EndGuard {
    fn drop(&mut self) {
        self.0.set_connected(false);
        self.0.close(&InitiatorError::Closed);
        self.0.ended.send_replace(true);
    }
}

/// The result of a connection's task.
struct Ended {
    connection: Connection<TcpStream>,
    is_admin: bool,
    cause: Option<InitiatorError>,
}

/// Serves one session; gives why it ended, or nothing if that was asked for.
async fn serve(shared: &Arc<Shared>, session: Session, stop: &mut watch::Receiver<bool>) -> Option<InitiatorError> {
    let Session { admin, io, private, facts } = session;
    let (cancel, cancelled) = watch::channel(false);
    let mut tasks = JoinSet::new();
    shared.admin.queue.attach(&[ADMIN_SLOTS]);
    let slots: Vec<_> = io.iter().map(|(_, slots)| *slots).collect();
    shared.io.queue.attach(&slots);
    {
        let (shared, private, mut cancelled) = (Arc::clone(shared), Arc::clone(&private), cancelled.clone());
        let mut connection = admin;
        tasks.spawn(async move {
            let sources = [(&private.queue, 0), (&shared.admin.queue, 0)];
            let cause = tokio::select! {
                cause = connection.run(&sources) => Some(cause),
                _ = cancelled.changed() => None,
            };
            Ended { connection, is_admin: true, cause }
        });
    }
    for (lane, (mut connection, _)) in io.into_iter().enumerate() {
        let (shared, mut cancelled) = (Arc::clone(shared), cancelled.clone());
        tasks.spawn(async move {
            let sources = [(&shared.io.queue, lane)];
            let cause = tokio::select! {
                cause = connection.run(&sources) => Some(cause),
                _ = cancelled.changed() => None,
            };
            Ended { connection, is_admin: false, cause }
        });
    }
    let mut ended = Vec::new();
    let mut joined = |joined: Option<Result<Ended, _>>| match joined {
        Some(Ok(task)) => {
            let cause = task.cause.clone();
            ended.push(task);
            cause
        }
        // A task that panicked: its commands run into their deadlines.
        Some(Err(_)) | None => Some(InitiatorError::io("connection", io::ErrorKind::Other.into())),
    };
    let mut cause = tokio::select! {
        end = tasks.join_next() => joined(end),
        error = attend(shared, &private, &facts) => Some(error),
        _ = stop.wait_for(|stop| *stop) => None,
    };
    if cause.is_none() {
        // Asked to stop: what is in progress may end, then the controller is told.
        shared.close(&InitiatorError::Closed);
        let time = shared.config.command_timeout.min(LAST_COMMANDS);
        let farewell = async {
            shared.io.wait_idle(time).await;
            let _ = shut_down(&private, shared.config.connect_timeout).await;
        };
        tokio::select! {
            () = farewell => {}
            end = tasks.join_next() => cause = joined(end),
        }
    }
    cancel.send_replace(true);
    while let Some(end) = tasks.join_next().await {
        joined(Some(end));
    }
    let known = cause.clone().unwrap_or(InitiatorError::Closed);
    let (mut io, mut admin) = (Vec::<Request>::new(), Vec::<Request>::new());
    for task in ended {
        for (source, request) in task.connection.into_requests(task.cause.as_ref().unwrap_or(&known)) {
            match (task.is_admin, source) {
                (false, _) => io.push(request),
                (true, 1) => admin.push(request),
                // Our own commands end with their session.
                (true, _) => {}
            }
        }
    }
    shared.io.queue.detach(io);
    shared.admin.queue.detach(admin);
    if *stop.borrow() { None } else { cause }
}

/// The waits between attempts, and when to give up.
struct Backoff {
    next: Duration,
    since: Instant,
    attempts: u32,
}

impl Backoff {
    fn new(shared: &Shared) -> Self {
        Self { next: shared.config.reconnect.first, since: Instant::now(), attempts: 0 }
    }

    /// The next wait: between a half and the whole of it.
    fn wait(&mut self, most: Duration) -> Duration {
        let whole = self.next.min(most);
        self.next = (self.next * 2).min(most).max(Duration::from_millis(1));
        let mut random = [0; 2];
        // Without randomness, hosts may come all at once: that is all.
        let _ = getrandom::fill(&mut random);
        whole / 2 + (whole / 2).mul_f64(f64::from(u16::from_le_bytes(random)) / 65536.0)
    }
}

/// Connects again to the same controller; nothing when asked to stop.
async fn reconnect(
    shared: &Shared,
    cause: InitiatorError,
    backoff: &mut Backoff,
    stop: &mut watch::Receiver<bool>,
) -> Result<Option<Session>, InitiatorError> {
    let reconnect = shared.config.reconnect;
    let mut last = cause;
    if backoff.attempts == 0 {
        // Otherwise the session before broke at once, and counts as none.
        backoff.since = Instant::now();
    }
    loop {
        if !last.may_pass() {
            return Err(last);
        }
        let wait = backoff.wait(reconnect.most);
        let after = backoff.since.elapsed();
        if after + wait > reconnect.give_up_after {
            return Err(InitiatorError::GaveUp { after, attempts: backoff.attempts, last: Box::new(last) });
        }
        backoff.attempts += 1;
        tokio::select! {
            biased;
            _ = stop.wait_for(|stop| *stop) => return Ok(None),
            outcome = async { sleep(wait).await; connect_again(shared).await } => match outcome {
                Ok(session) => return Ok(Some(session)),
                Err(error) => {
                    tracing::info!(address = %shared.config.address, %error, attempt = backoff.attempts, "not connected");
                    last = error;
                }
            }
        }
    }
}

async fn connect_again(shared: &Shared) -> Result<Session, InitiatorError> {
    let mut session = establish(&shared.config).await?;
    let before = shared.facts();
    let check = check_identity(&shared.config, &session.private, &before, &session.facts, shared.known());
    drive(&mut session.admin, &session.private, check).await?;
    shared.set_facts(session.facts.clone());
    Ok(session)
}
