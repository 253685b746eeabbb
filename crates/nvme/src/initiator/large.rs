//! Reads and writes of any size, by several commands at a time.

use super::{
    call::{Call, Pending},
    error::InitiatorError,
    namespace::{RemoteNamespace, pieces, range_dwords, read_parts},
    request::Payload,
};
use crate::{BLOCK_BYTES, command::io};
use bytes::Bytes;
use std::{collections::VecDeque, time::Duration};
use tokio::time::Instant;

/// Blocks of one command, if the controller takes so many: more would only make the last piece late.
const PIECE_BLOCKS: u64 = 64;
/// Commands in progress for one call.
const WINDOW: usize = 8;

impl RemoteNamespace {
    fn piece_blocks(&self) -> u64 {
        PIECE_BLOCKS.min(self.max_transfer_blocks().into())
    }

    /// Reads `blocks` blocks from `lba`, as many as the caller has memory for. Each of its commands has the time of a
    /// command.
    ///
    /// # Errors
    /// The first error of a command; see [`InitiatorError`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = served(subsystem()?).await?;
    /// # let controller = Controller::connect(config).await?;
    /// # let disk = controller.namespace(1).await?;
    /// assert_eq!(disk.read_large(0, 64).await?, vec![0; 64 * BLOCK_BYTES]);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn read_large(&self, lba: u64, blocks: u64) -> Result<Vec<u8>, InitiatorError> {
        self.check(lba, blocks, u64::MAX)?;
        let mut out = Vec::new();
        let bytes = usize::try_from(blocks).ok().and_then(|blocks| blocks.checked_mul(BLOCK_BYTES));
        if bytes.is_none_or(|bytes| out.try_reserve_exact(bytes).is_err()) {
            return Err(InitiatorError::Argument { what: format!("there is no memory for {blocks} blocks") });
        }
        let calls = pieces(lba, blocks, self.piece_blocks()).map(|(lba, blocks)| {
            let (dwords, payload) = read_parts(lba, blocks);
            self.call(io::READ, dwords, payload)
        });
        self.pipeline(calls, |data| out.extend_from_slice(&data)).await?;
        Ok(out)
    }

    /// Writes whole blocks from `lba`. All is durable when this returns without an error, if the controller has no
    /// volatile write cache. After an error some blocks may be written and others not, but none is written any more
    /// unless the error is [`InitiatorError::TimedOut`].
    ///
    /// # Errors
    /// The first error of a command; see [`InitiatorError`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = served(subsystem()?).await?;
    /// # let controller = Controller::connect(config).await?;
    /// # let disk = controller.namespace(1).await?;
    /// disk.write_large(0, vec![7u8; 64 * BLOCK_BYTES]).await?;
    /// assert_eq!(disk.read(63, 1).await?, [7u8; BLOCK_BYTES]);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn write_large(&self, lba: u64, data: impl Into<Bytes>) -> Result<(), InitiatorError> {
        let data = data.into();
        let blocks = Self::whole_blocks(&data)?;
        self.check(lba, blocks, u64::MAX)?;
        let mut rest = data;
        let calls = pieces(lba, blocks, self.piece_blocks()).map(|(lba, blocks)| {
            let piece = rest.split_to((blocks as usize * BLOCK_BYTES).min(rest.len()));
            self.call(io::WRITE, range_dwords(lba, blocks), Payload::Out(piece))
        });
        self.pipeline(calls, drop).await
    }

    /// Keeps up to [`WINDOW`] commands in progress and takes their answers in order. After an error no more are sent, and
    /// those in progress are waited for.
    async fn pipeline(
        &self,
        mut calls: impl Iterator<Item = Call>,
        mut each: impl FnMut(Vec<u8>),
    ) -> Result<(), InitiatorError> {
        let mut window: VecDeque<(Call, (Instant, Duration), Pending)> = VecDeque::with_capacity(WINDOW);
        let mut failed = None;
        loop {
            while failed.is_none()
                && window.len() < WINDOW
                && let Some(call) = calls.next()
            {
                let time = (Instant::now() + self.time(), self.time());
                match self.controller().shared().io.submit_until(call.clone(), Some(time)).await {
                    Ok(pending) => window.push_back((call, time, pending)),
                    Err(error) => failed = Some(error),
                }
            }
            let Some((call, time, pending)) = window.pop_front() else { break };
            match pending.wait().await {
                Ok(reply) if reply.status.is_success() => each(reply.data),
                Ok(reply) if failed.is_none() => match self.controller().settle(call, reply, time).await {
                    Ok(reply) => each(reply.data),
                    Err(error) => failed = Some(error),
                },
                Ok(_) => {}
                Err(error) => {
                    failed.get_or_insert(error);
                }
            }
        }
        failed.map_or(Ok(()), Err)
    }
}
