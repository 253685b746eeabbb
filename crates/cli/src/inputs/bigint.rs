//! Arguments about big integers.

use ciphermill_bigint::Path;
use clap::Args;

/// Which kernels of big integers run.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct PathArg {
    /// Kernels for big integers: portable, adx, ifma-single or ifma [default: the best of this CPU within CIPHERMILL_ISA]
    #[arg(long, value_name = "PATH", value_parser = path)]
    path: Option<Path>,
}

impl PathArg {
    /// The path asked for, or that of this process. Whether this CPU can run it is found out when it is used.
    pub(crate) fn path(self) -> Path {
        self.path.unwrap_or_else(Path::current)
    }
}

fn path(name: &str) -> Result<Path, String> {
    Path::ALL.into_iter().find(|path| path.name() == name).ok_or_else(|| {
        let names: Vec<_> = Path::ALL.iter().map(|path| path.name()).collect();
        format!("no such path; there are {}", names.join(", "))
    })
}
