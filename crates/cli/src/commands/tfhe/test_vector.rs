//! `test-vector`: the tables that programmable bootstrapping looks up.

use std::path::PathBuf;

use ciphermill_client::{files, tfhe};
use ciphermill_tfhe::Encoding;
use ciphermill_tfhe::quarter_square::{DEFAULT_LOG2_P_FAIL, QuarterSquare};
use clap::ValueEnum;
use serde::Serialize;

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
    /// With --function square-quarter: key of the ciphertexts
    #[arg(long, alias = "choice", value_enum, value_name = "KEY", default_value = "big")]
    key: KeyOrderArg,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    log2_p_fail: Option<f64>,
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
            let square = QuarterSquare::new(&parameters, args.key.into(), DEFAULT_LOG2_P_FAIL)?;
            product = Some(square);
            (*square.input(), *square.output(), square.test_vector(&parameters)?)
        }
        Function::Identity => {
            let encoding = args.encoding.encoding()?;
            (encoding, encoding, parameters.test_vector(&encoding, &encoding, |z| z)?)
        }
        Function::Table => {
            let encoding = args.encoding.encoding()?;
            let table = args.table.as_deref();
            let table = table.ok_or_else(|| CliError::Usage("--function table needs --table FILE".to_owned()))?;
            (encoding, encoding, tfhe::table(table, &parameters, &encoding)?)
        }
    };
    let bytes = files::write(&args.out, &vector.to_bytes(), files::PUBLIC, args.force)?;
    let report = Report {
        path: &args.out,
        bytes,
        params: &parameters.name,
        input: (&input).into(),
        output: (&output).into(),
        largest_operand: product.map(|square| square.max()),
        log2_p_fail: product.map(|square| square.log2_p_fail()),
    };
    let mut text = format!(
        "{}: {}\nencrypt with {}\ndecrypt with {}",
        args.out.display(),
        human_bytes(bytes),
        inputs::describe(&input),
        inputs::describe(&output)
    );
    if let Some(square) = product {
        let (max, p_fail) = (square.max(), square.log2_p_fail());
        text += &format!("\noperands from 0 to {max}; a product is wrong with probability 2^{p_fail:.1}");
    }
    output::result(args.json, &report, &text)
}
