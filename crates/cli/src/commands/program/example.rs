//! `program example`: programs that the command carries, with the commands around them.

use ciphermill_client::security::Security;
use ciphermill_tfhe::parameters::MESSAGE_4_2M64;
use ciphermill_tfhe::quarter_square::{DEFAULT_LOG2_P_FAIL, QuarterSquare};
use ciphermill_tfhe::{KeyOrder, ParameterSet};
use clap::ValueEnum;
use serde::Serialize;

use crate::error::CliError;
use crate::{inputs, output};

const XY: &str = include_str!("../../../../../examples/programs/xy.cms");

/// Print an example program, or the commands around it
///
/// The commands are a script for sh. They make keys and operands, store them with the program, compute, and decrypt.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  $ ciphermill program example xy > xy.cms
  $ ciphermill program example xy --commands | sh -eu")]
pub(super) struct Args {
    /// Name of the example
    #[arg(value_enum, value_name = "NAME")]
    name: Example,
    /// Print a script that writes the program, makes its operands, and runs it in the store `s`
    #[arg(long)]
    commands: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Example {
    /// Product of two encrypted numbers, Table 5 of the NVMe paper
    Xy,
}

#[derive(Serialize)]
struct Report {
    name: &'static str,
    program: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    commands: Option<String>,
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let Example::Xy = args.name;
    let commands = args.commands.then(commands).transpose()?;
    let report = Report { name: "xy", program: XY, commands };
    let text = report.commands.as_deref().unwrap_or(XY);
    output::result(args.json, &report, text.trim_end())
}

/// The script. The encodings are those that the noise of the parameter set allows.
fn commands() -> Result<String, CliError> {
    let params = MESSAGE_4_2M64;
    let parameters = ParameterSet::named(params, Security::Require128Bits.tfhe())?;
    let square = QuarterSquare::new(&parameters, KeyOrder::Big, DEFAULT_LOG2_P_FAIL)?;
    let max = square.max();
    let (x, y) = (max.min(2), max.min(3));
    let (input, output) = (inputs::describe(square.input()), inputs::describe(square.output()));
    let program = XY.trim_end();
    Ok(format!(
        "\
# The client: keys, the table of z^2/4, and the operands x = {x} and y = {y}. Operands may be 0 to {max}.
ciphermill tfhe keygen --params {params} --secret-key me.key --server-key server.key
ciphermill tfhe test-vector --params {params} --function square-quarter --key big --out sq.tv
ciphermill tfhe encrypt --secret-key me.key --message {x} {input} --range 0:{max} --out x.ct
ciphermill tfhe encrypt --secret-key me.key --message {y} {input} --range 0:{max} --out y.ct

# The program, with x in register 3:0:2 and y in 4:0:3.
cat > xy.cms <<'END'
{program}
END
ciphermill program asm xy.cms --bind r2=3:0:2 --bind r3=4:0:3 --out xy.prg

# The device: the write of y runs the program. For a served device, replace `--store s` by `--connect HOST:PORT`.
ciphermill blob put --store s --id 2:0:1 server.key
ciphermill blob put --store s --id 2:0:2 server.key.ksk
ciphermill blob put --store s --id 1:0:0 sq.tv
ciphermill blob put --store s --id 0:0:0 xy.prg
ciphermill blob put --store s --id 3:0:2 x.ct
ciphermill blob put --store s --id 4:0:3 y.ct

# The client again: the product stands in the place of y.
ciphermill blob get --store s --id 4:0:3 --out xy.ct
ciphermill tfhe decrypt --secret-key me.key {output} xy.ct
"
    ))
}
