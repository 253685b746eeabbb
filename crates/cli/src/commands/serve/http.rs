//! The HTTP end point: `/metrics` and `/healthz`, read-only, for few and patient readers.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::error::CliError;

/// Readers at one time; one more waits in the listen queue.
const MAX_CONNECTIONS: usize = 16;
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
        let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        loop {
            let Ok(permit) = Arc::clone(&room).acquire_owned().await else { std::future::pending().await };
            let stream = match self.listener.accept().await {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "accepting a reader of metrics failed");
                    sleep(Duration::from_millis(100)).await;
                    continue;
                }
            };
            let page = Arc::clone(&page);
            tokio::spawn(async move {
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
                drop(permit);
            });
        }
    }
}

fn respond(page: &dyn Page, request: &Request<Incoming>) -> Response<Full<Bytes>> {
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

fn text(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
