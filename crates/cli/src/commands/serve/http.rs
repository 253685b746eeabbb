//! The HTTP end point: `/metrics` and `/healthz`, read-only, for few readers.
//!
//! Idle sockets exclude no reader. Connections have places until they have asked, and a newcomer takes that of the oldest.
//! Connections on which the end of a header has arrived when they are accepted have separate places. The number of answers
//! of `/metrics`, which may be read slowly, is bounded separately; `/healthz` does not depend on that bound.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;
use tokio::time::{sleep, timeout};

use crate::error::CliError;

/// Connections of one kind at one time that have yet to ask; one more takes the place of the oldest.
const MAX_SILENT: usize = 64;
/// Answers of `/metrics` at one time that are not read to their end.
const MAX_ANSWERS: usize = 16;
/// From the first byte to the end of the header.
const HEADER_TIME: Duration = Duration::from_secs(5);
/// From the connection to its end. One request is answered on each.
const CONNECTION_TIME: Duration = Duration::from_secs(15);
/// Bytes of a request's header, the least that the library allows.
const MAX_HEADER_BYTES: usize = 8192;

/// The content of the endpoint.
pub(super) trait Page: Send + Sync + 'static {
    /// The metrics.
    fn metrics(&self) -> String;
    /// Why the server is of no use, if it is not.
    fn trouble(&self) -> Option<String>;
}

/// A listening end point.
pub(super) struct Endpoint {
    listener: TcpListener,
    pub(super) address: SocketAddr,
}

impl Endpoint {
    pub(super) async fn bind(address: SocketAddr) -> Result<Self, CliError> {
        let failed = |error| CliError::Server(format!("cannot listen on {address} for metrics: {error}"));
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address })
    }

    /// Answers until it is dropped.
    pub(super) async fn serve(self, page: Arc<dyn Page>) -> Infallible {
        let answers = Arc::new(Semaphore::new(MAX_ANSWERS));
        // Those whose first bytes look like a request are apart: sockets without one cannot push them out. What only looks like
        // a request becomes the oldest of its kind.
        let [mut silent, mut asking] = [Unserved::default(), Unserved::default()];
        loop {
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "accepting a reader of metrics failed");
                    sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let Ok((stream, has_asked)) = look(stream) else { continue };
            let reader = Reader::start(stream, Arc::clone(&page), Arc::clone(&answers));
            if has_asked { asking.add(reader) } else { silent.add(reader) }
        }
    }
}

/// Connections that have yet to ask, oldest first.
#[derive(Default)]
struct Unserved(VecDeque<Reader>);

impl Unserved {
    fn add(&mut self, reader: Reader) {
        self.0.retain(Reader::is_silent);
        if self.0.len() >= MAX_SILENT
            && let Some(oldest) = self.0.pop_front()
        {
            oldest.connection.abort();
            tracing::debug!("a reader of metrics that asked nothing gave its place to another");
        }
        self.0.push_back(reader);
    }
}

/// Whether a whole request has arrived on a new connection.
fn look(stream: TcpStream) -> io::Result<(TcpStream, bool)> {
    let stream = stream.into_std()?;
    let mut head = [0; MAX_HEADER_BYTES];
    let has_asked = match stream.peek(&mut head) {
        Ok(bytes) => head[..bytes].windows(4).any(|end| end == b"\r\n\r\n"),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
        Err(error) => return Err(error),
    };
    Ok((TcpStream::from_std(stream)?, has_asked))
}

/// A connection.
struct Reader {
    asked: Arc<AtomicBool>,
    connection: AbortHandle,
}

impl Reader {
    fn start(stream: TcpStream, page: Arc<dyn Page>, answers: Arc<Semaphore>) -> Self {
        let asked = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&asked);
        let connection = tokio::spawn(async move {
            // Held to the end of the connection.
            let reading = OnceLock::new();
            let answer = service_fn(|request| {
                told.store(true, Ordering::Relaxed);
                let may_answer = || match Arc::clone(&answers).try_acquire_owned() {
                    Ok(permit) => reading.set(permit).is_ok(),
                    Err(_) => false,
                };
                let response = respond(&*page, &request, may_answer);
                async move { Ok::<_, Infallible>(response) }
            });
            let mut http = hyper::server::conn::http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(HEADER_TIME);
            http.keep_alive(false).max_buf_size(MAX_HEADER_BYTES);
            let connection = http.serve_connection(TokioIo::new(stream), answer);
            match timeout(CONNECTION_TIME, connection).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::debug!(%error, "a reader of metrics went away"),
                Err(_) => tracing::debug!("a reader of metrics was too slow"),
            }
        });
        Self { asked, connection: connection.abort_handle() }
    }

    fn is_silent(&self) -> bool {
        !self.asked.load(Ordering::Relaxed) && !self.connection.is_finished()
    }
}

/// `may_answer` says whether one more answer of `/metrics` may be on its way.
fn respond(page: &dyn Page, request: &Request<Incoming>, may_answer: impl FnOnce() -> bool) -> Response<Full<Bytes>> {
    if !names_this_machine(request) {
        let what = "the Host header names another machine; use 127.0.0.1, [::1] or localhost\n";
        return text(StatusCode::MISDIRECTED_REQUEST, what.to_owned());
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n".to_owned());
    }
    match request.uri().path() {
        "/metrics" if may_answer() => text(StatusCode::OK, page.metrics()),
        "/metrics" => {
            let what = format!("{MAX_ANSWERS} readers of /metrics are answered already; try again later\n");
            text(StatusCode::SERVICE_UNAVAILABLE, what)
        }
        "/healthz" => match page.trouble() {
            None => text(StatusCode::OK, "ok\n".to_owned()),
            Some(what) => text(StatusCode::SERVICE_UNAVAILABLE, format!("{what}\n")),
        },
        _ => text(StatusCode::NOT_FOUND, "there are /metrics and /healthz\n".to_owned()),
    }
}

/// Whether the request was meant for this machine. A web page can have its name resolve to a loopback address, to read what
/// only this machine may read; its requests then carry that name. A request without a header (HTTP/1.0) comes from no
/// browser.
fn names_this_machine(request: &Request<Incoming>) -> bool {
    let Some(host) = request.headers().get(HOST) else { return true };
    let Ok(authority) = host.to_str().unwrap_or("").parse::<hyper::http::uri::Authority>() else { return false };
    let name = authority.host();
    let address: Result<IpAddr, _> = name.trim_start_matches('[').trim_end_matches(']').parse();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

fn text(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
