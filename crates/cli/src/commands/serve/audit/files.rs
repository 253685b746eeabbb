//! The files of the audit log: lines appended whole, rotation.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::AuditSettings;

/// A medium for lines.
trait Medium: Write {
    /// Removes all bytes from `len` on.
    fn cut(&mut self, len: u64) -> io::Result<()>;
}

impl Medium for File {
    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }
}

/// Lines on a medium. A line that cannot be written whole leaves nothing behind, or else the next one begins on a new line.
#[derive(Debug)]
struct Lines<M> {
    medium: M,
    bytes: u64,
    /// Whether the medium ends within a line.
    torn: bool,
}

impl<M: Medium> Lines<M> {
    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        let begun: &[u8] = if self.torn { b"\n" } else { b"" };
        let bytes = [begun, line].concat();
        match self.medium.write_all(&bytes) {
            Ok(()) => {
                self.bytes += bytes.len() as u64;
                self.torn = false;
                Ok(())
            }
            Err(error) => {
                self.torn |= self.medium.cut(self.bytes).is_err();
                Err(error)
            }
        }
    }
}

/// The files.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) settings: AuditSettings,
    lines: Lines<File>,
}

/// Opens a file to append to, private to its owner, not through a symbolic link.
fn open(path: &Path) -> io::Result<Lines<File>> {
    let no_follow = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
    let mut options = OpenOptions::new();
    let mut file = options.read(true).append(true).create(true).mode(0o600).custom_flags(no_follow).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    if found.mode() & 0o077 != 0 {
        return Err(io::Error::other(format!(
            "other users may access it (mode {:03o}); use chmod 600",
            found.mode() & 0o777
        )));
    }
    let torn = ends_within_a_line(&mut file, found.len())?;
    Ok(Lines { medium: file, bytes: found.len(), torn })
}

/// Whether a crash cut the last line.
fn ends_within_a_line(file: &mut File, len: u64) -> io::Result<bool> {
    let mut last = [b'\n'];
    if len > 0 {
        file.seek(SeekFrom::Start(len - 1))?;
        file.read_exact(&mut last)?;
    }
    Ok(last != [b'\n'])
}

impl Files {
    pub(super) fn open(settings: AuditSettings) -> io::Result<Self> {
        let lines = open(&settings.file)?;
        Ok(Self { settings, lines })
    }

    pub(super) fn append(&mut self, line: &[u8]) -> io::Result<()> {
        if self.lines.bytes > 0 && self.lines.bytes + line.len() as u64 > self.settings.bytes {
            self.rotate()?;
        }
        self.lines.append(line)
    }

    fn numbered(&self, number: u32) -> PathBuf {
        let mut name = self.settings.file.clone().into_os_string();
        name.push(format!(".{number}"));
        name.into()
    }

    /// The present file becomes number 1, number 1 number 2, and so on; the last goes.
    fn rotate(&mut self) -> io::Result<()> {
        self.lines.medium.sync_all()?;
        // An attempt that renamed the files and then could not open a new one is not repeated.
        if self.settings.file.symlink_metadata().is_ok() {
            self.shift()?;
        }
        self.lines = open(&self.settings.file)?;
        Ok(())
    }

    fn shift(&self) -> io::Result<()> {
        let last = self.settings.files.saturating_sub(1);
        for number in (1..last).rev() {
            rename(&self.numbered(number), &self.numbered(number + 1))?;
        }
        match last {
            0 => fs::remove_file(&self.settings.file),
            _ => rename(&self.settings.file, &self.numbered(1)),
        }
    }
}

fn rename(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A medium with room for some bytes, which may refuse to be cut.
    #[derive(Default)]
    struct Small {
        bytes: Vec<u8>,
        room: usize,
        uncut: bool,
    }

    impl Write for Small {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = bytes.len().min(self.room);
            self.room -= taken;
            self.bytes.extend_from_slice(&bytes[..taken]);
            if taken == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(taken) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Medium for Small {
        fn cut(&mut self, len: u64) -> io::Result<()> {
            if self.uncut {
                return Err(io::ErrorKind::Unsupported.into());
            }
            self.bytes.truncate(len as usize);
            Ok(())
        }
    }

    #[test]
    fn a_line_that_is_not_written_whole_spoils_no_other() {
        for (uncut, expected) in [(false, "one\nthree\n"), (true, "one\ntw\nthree\n")] {
            let medium = Small { room: 6, uncut, ..Small::default() };
            let mut lines = Lines { medium, bytes: 0, torn: false };
            lines.append(b"one\n").expect("room");
            lines.append(b"two\n").expect_err("no room");
            lines.medium.room = 100;
            lines.append(b"three\n").expect("room again");
            assert_eq!(String::from_utf8_lossy(&lines.medium.bytes), expected);
        }
    }
}
