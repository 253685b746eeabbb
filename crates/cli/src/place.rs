//! The options that choose a device: a store of this process, or a served device.

use std::env;
use std::path::{Path, PathBuf};

use ciphermill_client::remote::{self, RemoteOptions};
use ciphermill_client::{ClientError, store};
use ciphermill_device::store::SpaceId;
use ciphermill_device::{Device, Space};
use ciphermill_middleware::{EmbeddedTransport, NvmeTransport, Transport};
use clap::Args;

use crate::device_args::{self, DEVICE_OPTIONS, DeviceArgs, Override};
use crate::error::CliError;

/// Options of commands on blobs.
#[derive(Args, Clone, Debug)]
pub(crate) struct PlaceArgs {
    #[command(flatten)]
    choice: ChoiceArgs,
    /// With --store: space of the device; namespace N of a server is space N [default: 0]
    #[arg(long, value_name = "N", requires = "store")]
    space: Option<u32>,
    #[command(flatten)]
    remote: RemoteArgs,
    #[command(flatten)]
    options: DeviceArgs,
}

#[derive(Args, Clone, Debug)]
#[group(id = "place", required = true, multiple = false)]
struct ChoiceArgs {
    /// Directory of the store; one process at a time may have it open
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Served device: HOST:PORT, or nvme-tcp://HOST:PORT/SUBSYSTEM-NQN?host-nqn=NQN&namespace=N
    #[arg(long, value_name = "TARGET")]
    connect: Option<String>,
}

/// How to reach a served device.
#[derive(Args, Clone, Debug)]
pub(crate) struct RemoteArgs {
    /// With --connect: name of the subsystem [default: the only subsystem of the target]
    #[arg(long, value_name = "NQN", requires = "connect")]
    nqn: Option<String>,
    /// With --connect: name of this host [default: $CIPHERMILL_HOST_NQN, else nqn.2026-01.io.github.ciphermill:host]
    #[arg(long, value_name = "NQN", requires = "connect")]
    host_nqn: Option<String>,
    /// With --connect: namespace [default: 1]
    #[arg(long, value_name = "N", requires = "connect")]
    namespace: Option<u32>,
}

impl PlaceArgs {
    /// The way to the blobs; with `make`, a store is made where there is none.
    pub(crate) fn transport(&self, make: bool) -> Result<Box<dyn Transport>, CliError> {
        if let Some(target) = self.remote_target()? {
            return Ok(Box::new(self.remote.connect(target)?));
        }
        Ok(Box::new(EmbeddedTransport::new(self.device_and_space(make)?.1)))
    }

    /// Where the served device is, if it is one.
    pub(crate) fn remote_target(&self) -> Result<Option<&str>, CliError> {
        if self.choice.connect.is_some() && self.space.is_some() {
            let what = "--space applies to --store only; with --connect use --namespace N (namespace N is space N)";
            return Err(CliError::Usage(what.to_owned()));
        }
        self.remote.check(self.choice.connect.is_some(), self.options.is_given())?;
        Ok(self.choice.connect.as_deref())
    }

    pub(crate) fn remote(&self) -> &RemoteArgs {
        &self.remote
    }

    /// The override of the device in this process, if one is in force.
    pub(crate) fn overridden(&self) -> Option<Override> {
        Override::of(&self.options.settings())
    }

    /// The device in this process and the space of it; with `make`, both are made where they are not.
    pub(crate) fn device_and_space(&self, make: bool) -> Result<(Device, Space), CliError> {
        let directory = self.directory()?;
        let settings = self.options.settings();
        let open = if make { device_args::open } else { device_args::open_existing };
        let device = open(directory, &settings).map_err(CliError::or_connect)?;
        let id = self.space.map_or(SpaceId::EMBEDDED, SpaceId);
        let space = store::space(&device, directory, id, make)?;
        Ok((device, space))
    }

    fn directory(&self) -> Result<&Path, CliError> {
        // The group leaves no other case.
        self.choice.store.as_deref().ok_or_else(|| CliError::Usage("give --store, or --connect".to_owned()))
    }
}

impl RemoteArgs {
    /// Refuses options that do not apply to the chosen place. Clap cannot: it does not enforce `requires` for an option whose
    /// requirement conflicts with another option that is present.
    pub(crate) fn check(&self, connects: bool, device_options: bool) -> Result<(), CliError> {
        if connects && device_options {
            return Err(CliError::Usage(format!(
                "{DEVICE_OPTIONS} are the server's options with --connect; give them to `ciphermill serve`"
            )));
        }
        if !connects && (self.nqn.is_some() || self.host_nqn.is_some() || self.namespace.is_some()) {
            let what = "--nqn, --host-nqn and --namespace are options of --connect; with --store use --space N";
            return Err(CliError::Usage(what.to_owned()));
        }
        Ok(())
    }

    /// Connects.
    pub(crate) fn connect(&self, target: &str) -> Result<NvmeTransport, CliError> {
        let options = RemoteOptions {
            subsystem: self.nqn.clone(),
            host: self.host_nqn.clone(),
            namespace: self.namespace,
            ..RemoteOptions::default()
        };
        let environment = env::var(remote::HOST_NQN_VARIABLE).ok();
        let config = remote::config(target, &options, environment).map_err(ClientError::from)?;
        let host = config.host.clone();
        remote::connect(config).map_err(|source| match &source {
            ClientError::Connect(refused) if remote::is_host_refused(refused) => CliError::HostRefused { source, host },
            ClientError::Connect(refused) if remote::nothing_listens(refused) => {
                CliError::NothingListens { source, target: target.to_owned() }
            }
            _ => source.into(),
        })
    }
}
