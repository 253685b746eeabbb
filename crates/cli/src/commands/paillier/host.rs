//! `paillier host`: the paper's host part as a server.

use std::time::Duration;

use ciphermill_client::paillier;
use ciphermill_client::paillier_host::{HostLimits, HostServer};

use crate::error::CliError;
use crate::inputs::{EngineArgs, SecurityArgs, within};
use crate::output;
use crate::signals::Signals;

/// Execute streams of instructions from a TCP port of this machine
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill paillier host --listen 127.0.0.1:7700 &
  $ ciphermill paillier encrypt --public-key p.pub --value 20,-22 --host 127.0.0.1:7700 --out x.ct

Connections are not encrypted, and the host sees plaintexts. So it listens on loopback addresses only; between \
machines, use a TLS or SSH tunnel. It ends with SIGINT or SIGTERM.")]
pub(crate) struct Args {
    /// Loopback address; port 0 chooses a free port
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: String,
    /// Most connections at a time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = within::<usize>(1..=256))]
    connections: usize,
    /// Most bytes of a request, and of its results
    #[arg(long, value_name = "BYTES", default_value_t = 4 << 20, value_parser = within::<u32>(1 << 20..=1 << 26))]
    request_bytes: u32,
    /// Most seconds to wait for a request, to transfer it, and to compute it
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = within::<u64>(1..=3600))]
    seconds: u64,
    #[command(flatten)]
    engine: EngineArgs,
    #[command(flatten)]
    security: SecurityArgs,
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let policy = args.security.security().paillier();
    let engine = paillier::trusted(args.engine.mod_exp()?, policy)?;
    let time = Duration::from_secs(args.seconds);
    let limits = HostLimits {
        connections: args.connections,
        bytes: args.request_bytes,
        idle: time,
        transfer: time,
        compute: time,
    };
    let server = HostServer::bind(&args.listen, limits)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::Server(format!("cannot start: {error}")))?;
    let mut signals = runtime.block_on(async { Signals::new() })?;
    output::line(&format!("Listening on {} with the engine {}.", server.address(), engine.info().name))?;
    let stop = server.stop();
    let serving = std::thread::spawn(move || server.run(&engine, policy));
    let ending = runtime.block_on(signals.next());
    stop.now();
    match serving.join() {
        Ok(served) => served?,
        Err(_) => return Err(CliError::Server("the thread that accepts connections has failed".to_owned())),
    }
    output::line(&format!("Ended by {}.", ending.name()))
}
