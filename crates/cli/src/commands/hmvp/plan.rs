//! `hmvp plan`: how a product would be computed.

use std::path::PathBuf;

use ciphermill_hmvp::Plan;
use ciphermill_math::Isa;

use crate::error::CliError;
use crate::inputs::SecurityArgs;
use crate::inputs::hmvp::RequestArgs;
use crate::output;
use ciphermill_client::files;

/// Choose the strategy and the parameters of a product, and print its cost
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill hmvp plan --rows 1024 --cols 256 --out p.plan

Client and server use the same plan file.")]
pub(crate) struct Args {
    #[command(flatten)]
    request: RequestArgs,
    /// Where to write the plan
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Overwrite a file that exists
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    security: SecurityArgs,
    /// Print the explanation as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let plan = Plan::new(&args.request.request(args.security.security())?, Isa::current())?;
    if let Some(path) = &args.out {
        files::write(path, &plan.to_bytes(), files::PUBLIC, args.force)?;
    }
    let explanation = plan.explain();
    output::result(args.json, &explanation, explanation.to_string().trim_end())
}
