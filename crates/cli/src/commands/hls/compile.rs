//! `hls compile`: the module of a function, its report, and its schedule as text and as a picture.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ciphermill_client::ClientError;
use ciphermill_client::files::{self, PendingFile};
use ciphermill_hls::{Memories, Options};

use super::{SourceArgs, summary};
use crate::error::CliError;
use crate::output::{self, Progress};

/// Compile a function to SystemVerilog, with a report and its schedule as text and as a picture
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Example:
  $ ciphermill hls compile hw/hls/ntt_gs.c -D N=256 -D Q=3329 -D B=2 --out ntt

The files are NAME.sv (the module), NAME.json (the report), NAME.schedule.txt (operations and accesses by cycle) and \
NAME.svg (the same as a picture), where NAME is the function. A product with an operand of \
more than 18 bits is an instance of prim_mul; prim_mul.sv has this module. The command writes all files, or none.")]
pub(super) struct Args {
    #[command(flatten)]
    source: SourceArgs,
    /// Function to compile [default: the first one of the source that is not `static`]
    #[arg(long, value_name = "NAME")]
    function: Option<String>,
    /// Directory for the files; made, with its parents, if it does not exist
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Where the banks of the function's arrays are: `inside` of the module, with access for a host, or `outside`
    #[arg(long, value_name = "PLACE", default_value = "inside", value_parser = ["inside", "outside"])]
    memories: String,
    /// Overwrite files that exist
    #[arg(long)]
    force: bool,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let source = args.source.read()?;
    let function = args.source.function(&source, args.function.as_deref())?;
    let progress = Progress::spinner("compile");
    let (design, report) = args.source.compile(&source, &function)?;
    let memories = if args.memories == "outside" { Memories::Outside } else { Memories::Inside };
    let options = Options { name: &function, source: source.name(), memories };
    let mut contents = vec![
        (format!("{function}.sv"), design.to_systemverilog(&options)),
        (format!("{function}.json"), report.to_json()),
        (format!("{function}.schedule.txt"), report.schedule_text()),
        (format!("{function}.svg"), report.picture()),
    ];
    let own = contents.len();
    drop(progress);
    let written = loop {
        // A part is the same for every function, and may be there from another one.
        let is_missing = |(file, text): &&(&str, &str)| !is_in(&args.out.join(file), text);
        let parts = design.parts().iter().filter(is_missing);
        contents.truncate(own);
        contents.extend(parts.map(|(file, text)| ((*file).to_owned(), (*text).to_owned())));
        match write(&args.out, &contents, args.force) {
            // A compilation at the same time has written the part.
            Err(CliError::Client(ClientError::Exists { path }))
                if contents[own..].iter().any(|(file, text)| args.out.join(file) == path && is_in(&path, text)) => {}
            written => break written?,
        }
    };
    let mut table = output::table(["file", "size"]);
    for (path, bytes) in &written {
        table.add_row([path.display().to_string(), output::human_bytes(*bytes)]);
    }
    output::result(args.json, &report, &format!("{}\n{table}", summary(&report)))
}

/// Whether a file has this text.
fn is_in(path: &Path, text: &str) -> bool {
    let is_as_long = fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() == text.len() as u64);
    is_as_long && fs::read(path).is_ok_and(|found| found == text.as_bytes())
}

/// Writes all files, or none; returns their paths and sizes.
pub(super) fn write(
    directory: &Path,
    contents: &[(String, String)],
    force: bool,
) -> Result<Vec<(PathBuf, u64)>, CliError> {
    // An existing file of this name is an error of the first file in it.
    match fs::create_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(CliError::file("create", directory)(error));
        }
        _ => {}
    }
    let mut pending = Vec::with_capacity(contents.len());
    let mut written = Vec::with_capacity(contents.len());
    for (name, text) in contents {
        let path = directory.join(name);
        let mut file = PendingFile::create(&path, files::PUBLIC, force)?;
        file.fill(|out| out.write_all(text.as_bytes()))?;
        pending.push(file);
        written.push((path, text.len() as u64));
    }
    files::commit_all(pending)?;
    Ok(written)
}
