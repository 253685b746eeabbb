//! The opening of a connection: TCP, then the PDUs that agree on digests, alignment and sizes.

use super::{
    config::InitiatorConfig,
    connection::{Connection, Parts},
    error::{InitiatorError, ProtocolError},
    outbound::Sending,
};
use crate::{
    fabrics::CONNECT_DATA_BYTES,
    pdu::{COMMON_BYTES, Frame, Header, Layout, MAX_HEADER_BYTES},
};
use std::{io, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

/// Data that fit into the capsule of every admin command and every Connect, before the controller has reported anything
/// (NVMe/TCP Transport Specification 1.0, section 3.3.2: 8,192 bytes on the admin queue).
pub(super) const ADMIN_IN_CAPSULE: usize = 8192;

/// A connection for the queue `queue_id` with this number of slots, opened as far as the PDUs go.
pub(super) async fn open(
    config: &InitiatorConfig,
    address: &Arc<str>,
    queue_id: u16,
    slots: usize,
) -> Result<Connection<TcpStream>, InitiatorError> {
    let step =
        |step| InitiatorError::SetupTimeout { address: config.address.clone(), after: config.connect_timeout, step };
    let stream = timeout(config.connect_timeout, TcpStream::connect(&config.address))
        .await
        .map_err(|_| step("TCP"))?
        .and_then(|stream| stream.set_nodelay(true).map(|()| stream))
        .map_err(|error| InitiatorError::io(address, error))?;
    timeout(config.connect_timeout, agree(config, address, queue_id, slots, stream))
        .await
        .map_err(|_| step("the opening units"))?
}

/// Sends ICReq, judges ICResp.
async fn agree<S: AsyncRead + AsyncWrite + Unpin>(
    config: &InitiatorConfig,
    address: &Arc<str>,
    queue_id: u16,
    slots: usize,
    mut stream: S,
) -> Result<Connection<S>, InitiatorError> {
    let io = |error: io::Error| InitiatorError::io(address, error);
    // Alignment 4: data to us may begin right after their header.
    let request = Header::InitializeRequest { alignment: 4, digests: config.digests, max_r2t: config.max_r2t };
    let mut bytes = Vec::with_capacity(MAX_HEADER_BYTES);
    request.encode(&Layout::default(), 0, false, false, &mut bytes);
    stream.write_all(&bytes).await.map_err(io)?;

    let mut bytes = [0; MAX_HEADER_BYTES];
    let (common, rest) = bytes.split_at_mut(COMMON_BYTES);
    stream.read_exact(common).await.map_err(io)?;
    let protocol = |error| InitiatorError::protocol(address, ProtocolError::Unit(error));
    let common = common.first_chunk::<COMMON_BYTES>().copied().unwrap_or_default();
    let frame = Frame::parse(&common, &Layout::default(), 0).map_err(protocol)?;
    if let Some(rest) = rest.get_mut(..frame.header - COMMON_BYTES) {
        stream.read_exact(rest).await.map_err(io)?;
    }
    let (digests, alignment, max_data) = match frame.header(&bytes).map_err(protocol)? {
        Header::InitializeResponse { digests, alignment, max_data } => (digests, alignment, max_data),
        Header::Termination { from_host: false, error, information } => {
            return Err(InitiatorError::protocol(address, ProtocolError::Terminated { error, information }));
        }
        _ => return Err(InitiatorError::protocol(address, ProtocolError::Unexpected { kind: frame.kind })),
    };
    if digests != config.digests {
        let words = super::outbound::digest_words;
        let what = format!("asked for digests of {}, it agrees to {}", words(config.digests), words(digests));
        return Err(InitiatorError::Unsupported { address: config.address.clone(), what });
    }
    Ok(Connection::new(Parts {
        stream,
        address: Arc::clone(address),
        queue_id,
        slots,
        max_r2t: config.max_r2t,
        grace: config.command_timeout.max(Duration::from_millis(1)),
        sending: Sending {
            layout: Layout { digests, alignment },
            max_data: max_data as usize,
            in_capsule: if queue_id == 0 { ADMIN_IN_CAPSULE } else { CONNECT_DATA_BYTES },
        },
        receiving: Layout { digests, alignment: 4 },
    }))
}
