//! Arguments about big integers.

use std::sync::Arc;

use ciphermill_bigint::{CpuEngine, ModExpEngine, Path};
use ciphermill_client::engines::EngineName;
use clap::Args;

use super::EngineArgs;
use crate::error::CliError;

/// The engine of big integers and, on the CPU, its kernels.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ModExpArgs {
    #[command(flatten)]
    engine: EngineArgs,
    /// Kernels of the engine cpu: portable, adx, ifma-single or ifma [default: the best of this CPU within CIPHERMILL_ISA]
    #[arg(long, value_name = "PATH", value_parser = path)]
    path: Option<Path>,
}

impl ModExpArgs {
    /// The engine; that of the CPU on the requested path.
    pub(crate) fn engine(self) -> Result<Arc<dyn ModExpEngine>, CliError> {
        match (self.engine.engine, self.path) {
            (EngineName::Cpu, path) => Ok(Arc::new(CpuEngine::new(path.unwrap_or_else(Path::current))?)),
            (_, None) => self.engine.mod_exp(),
            (engine, Some(_)) => {
                Err(CliError::Usage(format!("--path selects kernels of the engine cpu; leave it out for {engine}")))
            }
        }
    }
}

/// The name of the engine's path on the CPU, or else its own name, for reports.
pub(crate) fn path_name(engine: &dyn ModExpEngine) -> String {
    match engine.native_path() {
        Some(path) => path.name().to_owned(),
        None => engine.info().name.into_owned(),
    }
}

fn path(name: &str) -> Result<Path, String> {
    Path::ALL.into_iter().find(|path| path.name() == name).ok_or_else(|| {
        let names: Vec<_> = Path::ALL.iter().map(|path| path.name()).collect();
        format!("no such path; there are {}", names.join(", "))
    })
}
