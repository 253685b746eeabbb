//! A device that is served over NVMe/TCP by this process.

use super::{Host, SPACE, open};
use ciphermill_blockspace::{
    adapter::{BlockSpace, BlockSpaceConfig},
    volume::{Volume, VolumeConfig},
};
use ciphermill_device::{Device, SpaceId, SpaceLimits};
use ciphermill_middleware::{NvmeConfig, NvmeTransport, Transport};
use ciphermill_nvme::server::{HostAccess, NamespaceConfig, Subsystem, SubsystemConfig, Target};
use std::{
    net::SocketAddr,
    path::Path,
    sync::{Arc, mpsc},
    thread::{self, JoinHandle},
};
use tempfile::TempDir;
use tokio::{runtime::Builder, sync::oneshot};

/// A target on loopback over a device; it ends when this is dropped, with all data outside the disk.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    /// Serves a space of 2^`blocks_log2` blocks as namespace 1 to all hosts; the volume is in `directory`.
    pub(crate) fn start(device: Device, space: SpaceId, directory: &Path, blocks_log2: u32) -> Self {
        let directory = directory.to_owned();
        let (sender, address) = mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let thread = thread::spawn(move || {
            let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            let volume = Volume::open_directory(&directory, VolumeConfig::default()).unwrap();
            let config = BlockSpaceConfig::new(blocks_log2);
            let namespace = BlockSpace::open(&device, space, volume, config, runtime.handle().clone()).unwrap();
            let namespace = NamespaceConfig { nsid: 1, uuid: [7; 16], hosts: HostAccess::Any, namespace };
            let subsystem = Subsystem::new(SubsystemConfig::default(), HostAccess::Any, vec![namespace]).unwrap();
            runtime.block_on(async {
                let target = Target::bind(([127, 0, 0, 1], 0).into(), subsystem).await.unwrap();
                sender.send(target.local_addr()).unwrap();
                let stopped = async {
                    let _ = stopped.await;
                };
                target.serve(stopped).await.unwrap();
            });
        });
        Self { address: address.recv().unwrap(), stop: Some(stop), thread: Some(thread) }
    }

    pub(crate) fn connect(&self) -> NvmeTransport {
        NvmeTransport::connect(NvmeConfig::new(self.address.to_string())).unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.stop.take().map(|stop| stop.send(()));
        let ended = self.thread.take().map(JoinHandle::join);
        if !thread::panicking() {
            ended.unwrap().unwrap();
        }
    }
}

/// The toy device behind a target.
pub(crate) struct NvmeHost {
    served: Served,
    directory: TempDir,
}

impl NvmeHost {
    fn over(directory: TempDir, device: Device) -> Self {
        let served = Served::start(device, SPACE, directory.path(), 24);
        Self { served, directory }
    }
}

impl Host for NvmeHost {
    fn start(limits: SpaceLimits) -> Self {
        let directory = TempDir::new().unwrap();
        let device = open(&directory);
        device.create_space(SPACE, limits).unwrap();
        Self::over(directory, device)
    }

    fn transport(&self) -> Arc<dyn Transport> {
        Arc::new(self.served.connect())
    }

    fn restart(self) -> Self {
        let Self { served, directory } = self;
        drop(served);
        let device = open(&directory);
        Self::over(directory, device)
    }
}
