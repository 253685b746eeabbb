//! The HTTP end point: `/metrics` and `/healthz`, read-only, for few readers.
//!
//! Idle sockets do not deny service: when all places are taken, a newcomer takes the place of the oldest connection, once
//! that connection had time enough to send its request.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HOST, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use crate::error::CliError;

/// Connections at one time; one more takes the place of the oldest.
const MAX_CONNECTIONS: usize = 16;
/// The time that each has for its request before a newcomer may take its place.
const LEAST_TIME: Duration = Duration::from_millis(100);
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
        let mut open: VecDeque<(Instant, JoinHandle<()>)> = VecDeque::new();
        loop {
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "accepting a reader of metrics failed");
                    sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            open.retain(|(_, connection)| !connection.is_finished());
            if open.len() >= MAX_CONNECTIONS
                && let Some((begun, mut oldest)) = open.pop_front()
                && timeout(LEAST_TIME.saturating_sub(begun.elapsed()), &mut oldest).await.is_err()
            {
                oldest.abort();
                tracing::debug!("a reader of metrics gave its place to another");
            }
            let page = Arc::clone(&page);
            let connection = tokio::spawn(async move {
                let answer = service_fn(move |request| {
                    let response = respond(&*page, &request);
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
            open.push_back((Instant::now(), connection));
        }
    }
}

fn respond(page: &dyn Page, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    if !names_this_machine(request) {
        let what = "the Host header names another machine; use 127.0.0.1, [::1] or localhost\n";
        return text(StatusCode::MISDIRECTED_REQUEST, what.to_owned());
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n".to_owned());
    }
    match request.uri().path() {
        "/metrics" => text(StatusCode::OK, page.metrics()),
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
