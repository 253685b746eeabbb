//! Programs from ELF files: size limits, checks, decoding.

use object::LittleEndian;
use object::elf;
use object::read::elf::{FileHeader, ProgramHeader, Sym};

use super::error::ElfError;
use super::instruction::Instruction;

type Header = elf::FileHeader64<LittleEndian>;

/// A loaded program, which can run any number of times.
///
/// # Example
/// ```
/// use ciphermill_arch::scalar::{Program, Variant};
///
/// let program = Program::from_elf(Variant::Naive.elf())?;
/// let begin = program.symbol("transform_begin")?;
/// assert!(program.code().any(|(address, _, instruction)| address == begin && instruction.is_some()));
/// assert!(Program::from_elf(b"not an ELF file").is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Program {
    pub(super) entry: u64,
    pub(super) segments: Vec<Segment>,
    symbols: Vec<(String, u64)>,
}

/// A part of the program's memory.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) start: u64,
    /// The length in memory. Bytes beyond `bytes` are zero.
    pub(super) length: u64,
    pub(super) bytes: Vec<u8>,
    pub(super) readable: bool,
    pub(super) writable: bool,
    /// The words and decoded instructions of an executable segment, which is never writable.
    pub(super) code: Vec<(u32, Option<Instruction>)>,
}

impl Segment {
    fn end(&self) -> u64 {
        self.start + self.length
    }
}

impl Program {
    /// The maximum length of a file.
    pub const FILE_MAX: usize = 16 << 20;
    /// The end of a program's address space.
    pub const ADDRESS_MAX: u64 = 64 << 20;
    /// The maximum number of loadable segments.
    pub const SEGMENTS_MAX: usize = 16;
    /// The maximum number of symbols.
    pub const SYMBOLS_MAX: usize = 1 << 16;

    /// Loads a static, little-endian, 64-bit RISC-V program.
    ///
    /// # Errors
    /// If the file is of another kind, exceeds a limit, or has a segment that is outside memory, overlaps another, or
    /// is writable and executable. (Instructions are decoded once, before the program starts.)
    pub fn from_elf(file: &[u8]) -> Result<Self, ElfError> {
        if file.len() > Self::FILE_MAX {
            return Err(ElfError::TooLong { given: file.len(), limit: Self::FILE_MAX });
        }
        let malformed = |error: object::Error| ElfError::Malformed(error.to_string());
        let header = Header::parse(file).map_err(malformed)?;
        let ident = header.e_ident();
        kind("the byte order", ident.data.into(), elf::ELFDATA2LSB.into())?;
        let endian = LittleEndian;
        kind("the file type", header.e_type(endian).into(), elf::ET_EXEC.into())?;
        kind("the machine", header.e_machine(endian).into(), elf::EM_RISCV.into())?;

        let mut segments: Vec<Segment> = Vec::new();
        for program_header in header.program_headers(endian, file).map_err(malformed)? {
            if program_header.p_type(endian) != elf::PT_LOAD || program_header.p_memsz(endian) == 0 {
                continue;
            }
            if segments.len() == Self::SEGMENTS_MAX {
                let given = segments.len() + 1;
                return Err(ElfError::TooMany { what: "loadable segments", given, limit: Self::SEGMENTS_MAX });
            }
            let segment = load(program_header, endian, file)?;
            if segments.iter().any(|other| other.start < segment.end() && segment.start < other.end()) {
                return Err(of_segment(&segment, "overlaps another"));
            }
            segments.push(segment);
        }
        let entry = header.e_entry(endian);
        let starts_code = |s: &Segment| {
            entry.checked_sub(s.start).is_some_and(|offset| offset % 4 == 0 && offset / 4 < s.code.len() as u64)
        };
        if !segments.iter().any(starts_code) {
            return Err(ElfError::Entry { address: entry });
        }
        let symbols = read_symbols(header, endian, file)?;
        Ok(Program { entry, segments, symbols })
    }

    /// The address of a symbol.
    ///
    /// # Errors
    /// If the symbol does not exist.
    pub fn symbol(&self, name: &'static str) -> Result<u64, ElfError> {
        self.symbols
            .iter()
            .find_map(|(symbol, address)| (symbol == name).then_some(*address))
            .ok_or(ElfError::MissingSymbol { name })
    }

    /// The words of code and their instructions, by address.
    pub fn code(&self) -> impl Iterator<Item = (u64, u32, Option<Instruction>)> + '_ {
        self.segments.iter().flat_map(|segment| {
            segment.code.iter().enumerate().map(|(i, &(word, decoded))| (segment.start + 4 * i as u64, word, decoded))
        })
    }
}

fn load(header: &elf::ProgramHeader64<LittleEndian>, endian: LittleEndian, file: &[u8]) -> Result<Segment, ElfError> {
    let (address, length) = (header.p_vaddr(endian), header.p_memsz(endian));
    let problem = |problem| ElfError::Segment { address, bytes: length, problem };
    let end = address.checked_add(length).ok_or_else(|| problem("is outside memory"))?;
    if end > Program::ADDRESS_MAX {
        return Err(problem("ends outside memory; use addresses below 64 MiB"));
    }
    let bytes = header.data(endian, file).map_err(|()| problem("is not in the file"))?;
    if bytes.len() as u64 > length {
        return Err(problem("is longer in the file than in memory"));
    }
    let flags = header.p_flags(endian);
    let has = |flag: u32| flags & flag != 0;
    let executable = has(elf::PF_X);
    if executable && has(elf::PF_W) {
        return Err(problem("is writable and executable; link code and data into separate segments"));
    }
    if executable && address % 4 != 0 {
        return Err(problem("is executable and does not start at a multiple of 4"));
    }
    let mut code = Vec::new();
    if executable {
        for word in bytes.as_chunks::<4>().0 {
            let word = u32::from_le_bytes(*word);
            code.push((word, Instruction::decode(word)));
        }
    }
    Ok(Segment {
        start: address,
        length,
        bytes: bytes.to_vec(),
        readable: has(elf::PF_R),
        writable: has(elf::PF_W),
        code,
    })
}

fn of_segment(segment: &Segment, problem: &'static str) -> ElfError {
    ElfError::Segment { address: segment.start, bytes: segment.length, problem }
}

fn read_symbols(header: &Header, endian: LittleEndian, file: &[u8]) -> Result<Vec<(String, u64)>, ElfError> {
    let malformed = |error: object::Error| ElfError::Malformed(error.to_string());
    let sections = header.sections(endian, file).map_err(malformed)?;
    let table = sections.symbols(endian, file, elf::SHT_SYMTAB).map_err(malformed)?;
    if table.len() > Program::SYMBOLS_MAX {
        return Err(ElfError::TooMany { what: "symbols", given: table.len(), limit: Program::SYMBOLS_MAX });
    }
    let mut symbols = Vec::new();
    for symbol in table.iter() {
        let name = table.symbol_name(endian, symbol).map_err(malformed)?;
        // Only a few known names are looked up, so long names need not be kept.
        if !name.is_empty() && name.len() <= 64 {
            symbols.push((String::from_utf8_lossy(name).into_owned(), symbol.st_value(endian)));
        }
    }
    Ok(symbols)
}

fn kind(what: &'static str, given: u64, wanted: u64) -> Result<(), ElfError> {
    if given == wanted { Ok(()) } else { Err(ElfError::Kind { what, given, wanted }) }
}
