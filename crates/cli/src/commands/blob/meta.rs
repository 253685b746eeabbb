//! `blob meta`: an object as blocks, for hosts that write it with `dd`.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use ciphermill_blockspace::layout::Placement;
use ciphermill_client::files::{self, PendingFile};
use ciphermill_program::{META_BLOCK_BYTES, Metadata, VrId};
use serde::Serialize;
use uuid::Uuid;

use crate::error::CliError;
use crate::inputs::RegisterArgs;
use crate::output;

/// Data up to this many blocks is copied block by block; more of it by the mebibyte.
const SMALL_BLOCKS: u64 = 256;

/// Write an object as blocks: its metadata block, its padded data, and the dd lines
///
/// A host that only reads and writes blocks stores an object by two writes: the metadata block, which declares register
/// and size, and the data. The verb reads no device. It prints the addresses and the dd lines.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  $ ciphermill blob meta --id 4:0:3 --at 100016 --uuid 5ab9c8f1-3a36-4d5e-9d0c-0d3f0f0a7c11 y.ct
  $ ciphermill blob meta --id 3:0:2 --at 100000 --blocks 16777216 --device /dev/nvme1n1 --armed x.ct

A device name such as /dev/nvme0n1 does not identify a namespace: from Linux 6.12 on, the kernel numbers several \
namespaces in the order of their arrival. --uuid uses the name that udev derives from the UUID of the namespace.")]
pub(super) struct Args {
    #[command(flatten)]
    register: RegisterArgs,
    /// First data block
    #[arg(long, value_name = "BLOCK")]
    at: u64,
    /// Blocks of the namespace, a power of two; the default is that of `serve`
    #[arg(long, value_name = "N", default_value_t = 1 << 28)]
    blocks: u64,
    #[command(flatten)]
    target: TargetArgs,
    /// Let a plain read run the program (compute-on-read types only)
    #[arg(long)]
    armed: bool,
    /// Disarm the object at the first read
    #[arg(long, requires = "armed")]
    one_shot: bool,
    /// Store the object unchanged, whatever its type
    #[arg(long)]
    stored: bool,
    /// Object
    file: PathBuf,
    /// Prefix of the written files, PREFIX.meta and PREFIX.data [default: FILE]
    #[arg(long, short, value_name = "PREFIX")]
    out: Option<PathBuf>,
    /// Overwrite files that exist
    #[arg(long)]
    force: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// The block device of the dd lines.
#[derive(clap::Args, Debug)]
#[group(id = "target", required = true, multiple = false)]
struct TargetArgs {
    /// UUID of the namespace; `serve --json` prints it
    #[arg(long)]
    uuid: Option<Uuid>,
    /// Path of the block device
    #[arg(long, value_name = "PATH")]
    device: Option<PathBuf>,
}

impl TargetArgs {
    fn path(&self) -> PathBuf {
        let by_uuid = || format!("/dev/disk/by-id/nvme-uuid.{}", self.uuid.unwrap_or_default()).into();
        self.device.clone().unwrap_or_else(by_uuid)
    }
}

#[derive(Serialize)]
struct Report {
    id: String,
    bytes: u64,
    metadata_file: PathBuf,
    data_file: PathBuf,
    metadata_block: u64,
    first_block: u64,
    blocks: u64,
    commands: Vec<String>,
}

pub(super) fn run(args: &Args) -> Result<(), CliError> {
    let register = args.register.register()?;
    if args.armed {
        super::refuse_arming(register)?;
    }
    let (mut object, size) = files::open(&args.file)?;
    let placement = Placement::new(args.blocks, args.at, size).map_err(|error| CliError::Usage(error.to_string()))?;
    let prefix = args.out.as_ref().unwrap_or(&args.file);
    let (metadata_file, data_file) = (with_suffix(prefix, ".meta"), with_suffix(prefix, ".data"));
    let mut data = PendingFile::create(&data_file, files::PUBLIC, args.force)?;
    let object_crc32c = data.fill(|out| pad(&mut object, &placement, size, out))?;
    let mut meta = PendingFile::create(&metadata_file, files::PUBLIC, args.force)?;
    let metadata = metadata(args, register, size, object_crc32c);
    meta.fill(|out| out.write_all(&metadata.encode()))?;
    files::commit_all([data, meta])?;
    let commands = commands(&placement, &metadata_file, &data_file, prefix, &args.target.path());
    let report = Report {
        id: register.to_string(),
        bytes: size,
        metadata_block: placement.metadata(),
        first_block: placement.data().start,
        blocks: placement.blocks(),
        metadata_file,
        data_file,
        commands,
    };
    output::result(args.json, &report, &text(&report))
}

fn metadata(args: &Args, id: VrId, size: u64, object_crc32c: Option<NonZeroU32>) -> Metadata {
    let Args { armed, one_shot, stored, .. } = *args;
    Metadata { id, armed, one_shot, stored, size, object_crc32c }
}

fn with_suffix(prefix: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(prefix);
    name.push(suffix);
    name.into()
}

/// Copies the object of `size` bytes, fills its last block with zeros, and returns the object's checksum.
fn pad(
    object: &mut impl Read,
    placement: &Placement,
    size: u64,
    out: &mut impl Write,
) -> io::Result<Option<NonZeroU32>> {
    let (mut left, mut crc, mut piece) = (size, 0, vec![0; 1 << 20]);
    while left > 0 {
        let piece = &mut piece[..left.min(1 << 20) as usize];
        object.read_exact(piece)?;
        crc = crc32c::crc32c_append(crc, piece);
        out.write_all(piece)?;
        left -= piece.len() as u64;
    }
    out.write_all(&[0; META_BLOCK_BYTES][..(placement.padded_bytes() - size) as usize])?;
    Ok(NonZeroU32::new(crc))
}

/// The dd lines: the metadata block, the data, and a read of the data's blocks.
fn commands(placement: &Placement, meta: &Path, data: &Path, prefix: &Path, device: &Path) -> Vec<String> {
    let (device, read) = (word(device), word(&with_suffix(prefix, ".read")));
    let (first, blocks) = (placement.data().start, placement.blocks());
    let (meta, data) = (word(meta), word(data));
    let write =
        |file: &str, seek: u64| format!("dd if={file} of={device} bs=4096 seek={seek} oflag=direct conv=notrunc");
    let (bytes, length) = (first * META_BLOCK_BYTES as u64, placement.padded_bytes());
    let (put, get) = if blocks <= SMALL_BLOCKS {
        let get = format!("dd if={device} of={read} bs=4096 skip={first} count={blocks} iflag=direct");
        (write(&data, first), get)
    } else {
        (
            format!("dd if={data} of={device} bs=1M seek={bytes} oflag=direct,seek_bytes conv=notrunc"),
            format!("dd if={device} of={read} bs=1M skip={bytes} count={length} iflag=direct,skip_bytes,count_bytes"),
        )
    };
    vec![write(&meta, placement.metadata()), put, get]
}

/// A path as one word of a POSIX shell.
fn word(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,=".contains(c);
    if text.chars().all(plain) { text.into_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

fn text(report: &Report) -> String {
    let Report { id, bytes, metadata_file, data_file, metadata_block, first_block, blocks, commands } = report;
    format!(
        "{}: metadata block of {id}, block {metadata_block}\n\
         {}: {bytes} bytes in {blocks} block(s) from block {first_block}\n{}",
        metadata_file.display(),
        data_file.display(),
        commands.join("\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_one_word_of_a_shell() {
        for (path, expected) in [
            ("/dev/disk/by-id/nvme-uuid.1-2", "/dev/disk/by-id/nvme-uuid.1-2"),
            ("a b", "'a b'"),
            ("it's;rm", r"'it'\''s;rm'"),
            ("$(x)", "'$(x)'"),
        ] {
            assert_eq!(word(Path::new(path)), expected);
        }
    }
}
