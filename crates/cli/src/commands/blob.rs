//! `blob`: objects of a store or a served device, in and out. Every call goes through a transport of the middleware, as an
//! application's would.

mod meta;

use ciphermill_device::handler::{Role, Trigger};
use ciphermill_device::handlers;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use ciphermill_client::files::{self, PendingFile};
use ciphermill_middleware::{BlobStat, Metadata, ObjectFlags, ReadMode, Transferred, TransportError, WriteMode};
use ciphermill_program::{TypeCode, VrId};
use clap::Subcommand;
use serde::Serialize;

use crate::error::CliError;
use crate::inputs::RegisterArgs;
use crate::output::{self, human_bytes};
use crate::place::PlaceArgs;

/// Put, get, list and remove the blobs of a store or a served device; write an object as blocks
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Put(Put),
    Get(Get),
    Ls(Ls),
    Rm(Rm),
    Meta(meta::Args),
}

/// Put a file into a register
///
/// Writing a compute-on-write ciphertext runs the program of its key, if there is one, and stores the result.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  $ ciphermill blob put --store s --id 2:0:1 server.key
  $ ciphermill blob put --store s --type 4 --key 0 --data 3 y.ct
  $ ciphermill blob put --connect 127.0.0.1:4420 --id 4:0:3 y.ct")]
struct Put {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    register: RegisterArgs,
    /// Let a plain read run the program (compute-on-read types only)
    #[arg(long)]
    armed: bool,
    /// Store the file unchanged, whatever its type
    #[arg(long)]
    stored: bool,
    /// File to store
    file: PathBuf,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Get the blob of a register
///
/// An armed compute-on-read ciphertext is computed; any other blob is returned as stored.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  $ ciphermill blob get --store s --id 4:0:3 --out xy.ct
  $ ciphermill blob get --store s --id 3:0:2 --compute --out result.ct")]
struct Get {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    register: RegisterArgs,
    /// Run the program of the blob's key and return its result, armed or not (compute-on-read types only)
    #[arg(long, conflicts_with = "stored")]
    compute: bool,
    /// Return the stored blob, armed or not
    #[arg(long)]
    stored: bool,
    /// Where to write the blob [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Overwrite a file that exists
    #[arg(long)]
    force: bool,
    /// Print the result as JSON (with --out)
    #[arg(long, requires = "out")]
    json: bool,
}

/// List the blobs of a store or a served device
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill blob ls --store s")]
struct Ls {
    #[command(flatten)]
    place: PlaceArgs,
    /// Print the list as JSON
    #[arg(long)]
    json: bool,
}

/// Remove a blob
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill blob rm --store s --id 3:0:2")]
struct Rm {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    register: RegisterArgs,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    id: String,
    r#type: &'static str,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    armed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    computed: Option<bool>,
}

impl Report {
    fn of(stat: &BlobStat) -> Self {
        let register = stat.id.register();
        let armed = Some(stat.flags.contains(ObjectFlags::ARMED));
        Self { id: register.to_string(), r#type: type_name(register), bytes: stat.size, armed, computed: None }
    }
}

/// Whether a write of the register runs the program of its Key ID.
fn computes_on_writes(register: VrId) -> bool {
    handlers::types().any(|known| known.code == register.type_code && known.role == Role::Value(Trigger::OnWrite))
}

fn type_name(register: VrId) -> &'static str {
    use handlers::{bfv, paillier, tfhe};
    match (register.type_code, register.data_id) {
        (TypeCode::PRG, _) => "program",
        (tfhe::TV, _) => "test vector",
        (tfhe::KEY, tfhe::BOOTSTRAPPING_KEY) => "bootstrapping key",
        (tfhe::KEY, tfhe::KEY_SWITCHING_KEY) => "key-switching key",
        (tfhe::KEY, tfhe::CONVERSION_KEY) => "conversion key",
        (tfhe::KEY, _) => "key",
        (tfhe::TLWE_COR, _) => "TLWE-CoR",
        (tfhe::TLWE_COW, _) => "TLWE-CoW",
        (bfv::KEY, _) => "Galois keys",
        (bfv::MATRIX, _) => "matrix",
        (bfv::VECTOR_COR, _) => "vector-CoR",
        (bfv::VECTOR_COW, _) => "vector-CoW",
        (paillier::KEY, _) => "Paillier key",
        (paillier::WEIGHTS, _) => "weights",
        (paillier::VECTOR_COR, _) => "Paillier-CoR",
        (paillier::VECTOR_COW, _) => "Paillier-CoW",
        (tfhe::TABLE, _) => "table",
        (tfhe::WORD_COR, _) => "word-CoR",
        (tfhe::WORD_COW, _) => "word-CoW",
        _ => "other",
    }
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    match &args.verb {
        Verb::Put(args) => put(args),
        Verb::Get(args) => get(args),
        Verb::Ls(args) => ls(args),
        Verb::Rm(args) => rm(args),
        Verb::Meta(args) => meta::run(args),
    }
}

/// Refuses `--armed` for a register whose reads compute nothing.
fn refuse_arming(register: VrId) -> Result<(), CliError> {
    if handlers::instruction_set().computes_on_reads(register.type_code) {
        return Ok(());
    }
    Err(CliError::Usage(format!(
        "--armed lets a read run the program of a compute-on-read register, of type 3, 7, 18 or 33; {register} is {}, and \
         reading it computes nothing: leave --armed out",
        handlers::instruction_set().class(register.type_code)
    )))
}

fn put(args: &Put) -> Result<(), CliError> {
    let register = args.register.register()?;
    if args.armed {
        refuse_arming(register)?;
    }
    let (mut file, len) = files::open(&args.file)?;
    let transport = args.place.transport(true)?;
    let flags = if args.armed { ObjectFlags::ARMED } else { ObjectFlags::NONE };
    let mode = if args.stored { WriteMode::Stored } else { WriteMode::Compute };
    let metadata = Metadata::new(register).with_flags(flags);
    let written = transport.write(&metadata, len, &mut file, mode).map_err(|error| match error {
        TransportError::Content(source) => CliError::file("read", &args.file)(source),
        error => error.into(),
    })?;
    let report = Report { computed: Some(written.computed), ..Report::of(&written.stat) };
    let how = match written.computed {
        true => "computed, the result is stored",
        false if mode == WriteMode::Compute && computes_on_writes(register) => {
            "stored as it is: no program is stored under its Key ID, so none ran"
        }
        false => "stored as it is",
    };
    let text = format!("{register}: {}, {}, {how}", report.r#type, human_bytes(report.bytes));
    output::result(args.json, &report, &text)
}

fn get(args: &Get) -> Result<(), CliError> {
    let register = args.register.register()?;
    if args.out.is_none() && std::io::stdout().is_terminal() {
        let what = "a blob is bytes that a terminal cannot show; give --out FILE, or redirect standard output";
        return Err(CliError::Usage(what.to_owned()));
    }
    let mode = match (args.compute, args.stored) {
        (true, _) => ReadMode::Compute,
        (_, true) => ReadMode::Stored,
        _ => ReadMode::Armed,
    };
    let transport = args.place.transport(false)?;
    let Some(path) = &args.out else {
        let mut out = std::io::stdout().lock();
        transport.read(register.into(), mode, &mut out).map_err(|error| match error {
            TransportError::Output(source) => CliError::Output(source),
            error => error.into(),
        })?;
        return out.flush().map_err(CliError::Output);
    };
    let mut pending = PendingFile::create(path, files::PUBLIC, args.force)?;
    let Transferred { size, computed } = pending.fill(|out| transport.read(register.into(), mode, out))?;
    pending.commit()?;
    let computed_report = Some(computed);
    let report = Report {
        id: register.to_string(),
        r#type: type_name(register),
        bytes: size,
        armed: None,
        computed: computed_report,
    };
    let how = if computed { "computed" } else { "as stored" };
    output::result(args.json, &report, &format!("{}: {register}, {}, {how}", path.display(), human_bytes(size)))
}

fn ls(args: &Ls) -> Result<(), CliError> {
    let blobs = args.place.transport(false)?.list()?;
    let reports: Vec<_> = blobs.iter().map(Report::of).collect();
    let mut table = output::table(["id", "type", "size", "armed"]);
    for report in &reports {
        let armed = if report.armed == Some(true) { "yes" } else { "" };
        table.add_row([&report.id, report.r#type, &human_bytes(report.bytes), armed]);
    }
    output::result(args.json, &reports, &table.to_string())
}

fn rm(args: &Rm) -> Result<(), CliError> {
    let register = args.register.register()?;
    let transport = args.place.transport(false)?;
    let stat = transport.stat(register.into())?;
    transport.delete(register.into())?;
    let report = Report::of(&stat);
    output::result(args.json, &report, &format!("{register}: removed, {}", human_bytes(stat.size)))
}
