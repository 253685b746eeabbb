//! `test-vector`: the tables that programmable bootstrapping looks up.

use std::path::PathBuf;

use ciphermill_client::{files, tfhe};
use ciphermill_lattice::ModelProbability;
use ciphermill_tfhe::quarter_square::{DEFAULT_LOG2_P_FAIL, QuarterSquare};
use ciphermill_tfhe::{Encoding, ParameterSet};
use clap::ValueEnum;
use serde::Serialize;

use crate::device_args::log2_probability;
use crate::error::CliError;
use crate::inputs::{self, EncodingArgs, KeyOrderArg, ParametersArgs, SecurityArgs};
use crate::output::{self, human_bytes};

/// Make the test vector of a function
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  $ ciphermill tfhe test-vector --params MESSAGE_4_2M64 --function square-quarter --out sq.tv
  $ ciphermill tfhe test-vector --secret-key me.key --function table --table f.txt --bits 3 -o f.tv

identity and table use one encoding (--bits, or --min and --max) for input and output. square-quarter computes and \
prints the widest encodings that the noise allows for exact products x*y = floor((x+y)^2/4) - floor((x-y)^2/4).

An encoding with too many messages for the parameter set is refused: a bootstrap of a fresh ciphertext \
would fail with a probability above the limit.

A table is a text file with the values f(min) to f(max), separated by white space; # starts a comment.")]
pub(crate) struct Args {
    #[command(flatten)]
    parameters: ParametersArgs,
    /// Function to tabulate
    #[arg(long, value_enum, value_name = "NAME")]
    function: Function,
    /// With --function table: file with the values
    #[arg(long, value_name = "FILE", required_if_eq("function", "table"))]
    table: Option<PathBuf>,
    #[command(flatten)]
    encoding: EncodingArgs,
    /// Key of the ciphertexts, whose noise decides which encodings are accepted
    #[arg(long, alias = "choice", value_enum, value_name = "KEY", default_value = "big")]
    key: KeyOrderArg,
    /// Accept a failure probability of up to 2^LOG2 [default: -64; for identity and table with an NVME_TFHE set -40]
    #[arg(long, value_name = "LOG2", value_parser = log2_probability, allow_negative_numbers = true)]
    max_log2_p_fail: Option<f64>,
    /// Where to write the test vector
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    #[command(flatten)]
    security: SecurityArgs,
    /// Overwrite a file that exists
    #[arg(long)]
    force: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Function {
    /// z: refreshes a ciphertext
    Identity,
    /// floor(z^2/4), for products
    SquareQuarter,
    /// The values of --table
    Table,
}

#[derive(Serialize)]
struct Interval {
    min: i64,
    max: i64,
    padding: bool,
}

impl From<&Encoding> for Interval {
    fn from(encoding: &Encoding) -> Self {
        Self { min: encoding.min(), max: encoding.max(), padding: encoding.padding() }
    }
}

#[derive(Serialize)]
struct Report<'a> {
    path: &'a PathBuf,
    bytes: u64,
    params: &'a str,
    input: Interval,
    output: Interval,
    #[serde(skip_serializing_if = "Option::is_none")]
    largest_operand: Option<i64>,
    log2_p_fail: f64,
}

/// The encoding, if bootstraps under the set keep its messages apart.
fn admissible(args: &Args, parameters: &ParameterSet) -> Result<Encoding, CliError> {
    let encoding = args.encoding.encoding()?;
    let given = parameters.log2_p_fail_of(&encoding, args.key.into());
    let limit = args.max_log2_p_fail.unwrap_or_else(|| parameters.log2_p_fail_limit());
    if given <= limit {
        return Ok(encoding);
    }
    Err(CliError::Usage(format!(
        "{} messages are too many for {}: a bootstrap would fail with a probability of 2^{given:.1}, the limit is \
         2^{limit:.1}; use fewer messages or another set, or raise the limit (--max-log2-p-fail)",
        encoding.levels(),
        parameters.name
    )))
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    let parameters = args.parameters.parameters(args.security.policy())?;
    let mut product = None;
    let (input, output, vector) = match args.function {
        Function::SquareQuarter => {
            if args.encoding.is_given() {
                let what =
                    "--function square-quarter computes its encodings; leave out --bits, --min, --max and --no-padding";
                return Err(CliError::Usage(what.to_owned()));
            }
            let square =
                QuarterSquare::new(&parameters, args.key.into(), args.max_log2_p_fail.unwrap_or(DEFAULT_LOG2_P_FAIL))?;
            product = Some(square);
            (*square.input(), *square.output(), square.test_vector(&parameters)?)
        }
        Function::Identity => {
            let encoding = admissible(args, &parameters)?;
            (encoding, encoding, parameters.test_vector(&encoding, &encoding, |z| z)?)
        }
        Function::Table => {
            let encoding = admissible(args, &parameters)?;
            let table = args.table.as_deref();
            let table = table.ok_or_else(|| CliError::Usage("--function table needs --table FILE".to_owned()))?;
            (encoding, encoding, tfhe::table(table, &parameters, &encoding)?)
        }
    };
    let bytes = files::write(&args.out, &vector.to_bytes(), files::PUBLIC, args.force)?;
    let own = || parameters.log2_p_fail_of(&input, args.key.into());
    let log2_p_fail = product.map_or_else(own, |square| square.log2_p_fail());
    let report = Report {
        path: &args.out,
        bytes,
        params: &parameters.name,
        input: (&input).into(),
        output: (&output).into(),
        largest_operand: product.map(|square| square.max()),
        log2_p_fail,
    };
    let mut text = format!(
        "{}: {}\nencrypt with {}{}\ndecrypt with {}",
        args.out.display(),
        human_bytes(bytes),
        inputs::describe(&input),
        product.map_or_else(String::new, |square| format!(" --range 0:{}", square.max())),
        inputs::describe(&output)
    );
    let p_fail = ModelProbability { log2: log2_p_fail };
    text += &match product {
        Some(square) => format!("\noperands from 0 to {}; a product is wrong with probability {p_fail}", square.max()),
        None => format!("\na bootstrap of a fresh or bootstrapped ciphertext fails with probability {p_fail}"),
    };
    output::result(args.json, &report, &text)
}
