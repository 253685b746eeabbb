//! Reads instruction encodings in the format of the riscv-opcodes project and checks them.
//!
//! A line is a name, its operands (names with bits in `arg_lut.csv`) and its fixed bits, `msb..lsb=value` or
//! `bit=value`. A comment has a separate line. `$pseudo_op` and `$import` are not needed and are rejected. The build
//! script and a test use this module, so its errors are texts.

/// The maximum length of a file in bytes.
pub(crate) const MAX_BYTES: usize = 1 << 16;
/// The maximum number of instructions or arguments in a file.
const MAX_LINES: usize = 1 << 10;

/// A named range of bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Argument {
    pub(crate) name: String,
    pub(crate) high: u32,
    pub(crate) low: u32,
}

/// An instruction: its fixed bits with their values, and its operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Instruction {
    pub(crate) name: String,
    pub(crate) extension: String,
    pub(crate) line: usize,
    pub(crate) mask: u32,
    pub(crate) value: u32,
    pub(crate) arguments: Vec<Argument>,
}

/// The lines with content, numbered from 1.
fn lines<'a>(file: &str, text: &'a str) -> Result<Vec<(usize, &'a str)>, String> {
    if text.len() > MAX_BYTES {
        return Err(format!("{file}: {} bytes, at most {MAX_BYTES} are read", text.len()));
    }
    let lines: Vec<_> =
        (1..).zip(text.lines().map(str::trim)).filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).collect();
    if lines.len() > MAX_LINES { Err(format!("{file}: more than {MAX_LINES} lines")) } else { Ok(lines) }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '.')
}

/// The mask of the bits from `low` to `high`, inclusive.
pub(crate) fn bits(high: u32, low: u32) -> u32 {
    (u32::MAX >> (31 - high)) & (u32::MAX << low)
}

fn range(high: &str, low: &str) -> Result<(u32, u32), String> {
    let position = |text: &str| {
        text.parse::<u32>().ok().filter(|&bit| bit < 32).ok_or_else(|| format!("`{text}` is no bit of a word, 0 to 31"))
    };
    let (high, low) = (position(high)?, position(low)?);
    if high < low { Err(format!("bit {high} stands before bit {low}: a range is high..low")) } else { Ok((high, low)) }
}

fn number(text: &str) -> Option<u32> {
    let (radix, digits) = match text.get(..2) {
        Some("0x") => (16, &text[2..]),
        Some("0b") => (2, &text[2..]),
        _ => (10, text),
    };
    // `from_str_radix` would accept a sign.
    if digits.starts_with(['+', '-']) { None } else { u32::from_str_radix(digits, radix).ok() }
}

/// Reads `arg_lut.csv`: lines of `"name", high, low`.
pub(crate) fn arguments(file: &str, text: &str) -> Result<Vec<Argument>, String> {
    let mut arguments: Vec<Argument> = Vec::new();
    for (line, content) in lines(file, text)? {
        let wrong = |message: String| format!("{file}:{line}: {message}");
        let columns: Vec<&str> = content.split(',').map(str::trim).collect();
        let &[name, high, low] = columns.as_slice() else {
            return Err(wrong("expected \"name\", high, low".to_owned()));
        };
        let name = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).filter(|name| is_name(name));
        let name = name.ok_or_else(|| wrong("expected a name of small letters and digits in quotes".to_owned()))?;
        let (high, low) = range(high, low).map_err(&wrong)?;
        if arguments.iter().any(|argument| argument.name == name) {
            return Err(wrong(format!("{name} has its bits already")));
        }
        arguments.push(Argument { name: name.to_owned(), high, low });
    }
    Ok(arguments)
}

/// Reads the instructions of one file with the name `extension`.
pub(crate) fn instructions(extension: &str, text: &str, arguments: &[Argument]) -> Result<Vec<Instruction>, String> {
    let mut instructions: Vec<Instruction> = Vec::new();
    for (line, content) in lines(extension, text)? {
        let instruction = instruction(extension, line, content, arguments)
            .map_err(|message| format!("{extension}:{line}: {message}"))?;
        if let Some(other) = instructions.iter().find(|other| other.name == instruction.name) {
            return Err(format!("{extension}:{line}: {} stands in line {} already", other.name, other.line));
        }
        instructions.push(instruction);
    }
    Ok(instructions)
}

fn instruction(extension: &str, line: usize, content: &str, arguments: &[Argument]) -> Result<Instruction, String> {
    let mut words = content.split_whitespace();
    let name = words.next().unwrap_or_default();
    if !is_name(name) {
        return Err(format!("`{name}` is no name of an instruction; pseudo-instructions and imports are not read"));
    }
    let (extension, name) = (extension.to_owned(), name.to_owned());
    let mut result = Instruction { name, extension, line, mask: 0, value: 0, arguments: Vec::new() };
    let mut taken = 0;
    for word in words {
        let (high, low) = if let Some((position, value)) = word.split_once('=') {
            let (high, low) = position.split_once("..").unwrap_or((position, position));
            let (high, low) = range(high, low)?;
            let value = number(value).ok_or_else(|| format!("`{value}` in {word} is no number"))?;
            if u64::from(value) >> (high - low + 1) != 0 {
                return Err(format!("{word}: the value has more than {} bits", high - low + 1));
            }
            result.mask |= bits(high, low);
            result.value |= value << low;
            (high, low)
        } else {
            let argument = arguments.iter().find(|argument| argument.name == word);
            let argument = argument.ok_or_else(|| format!("arg_lut.csv has no operand `{word}`"))?;
            result.arguments.push(argument.clone());
            (argument.high, argument.low)
        };
        let twice = taken & bits(high, low);
        if twice != 0 {
            return Err(format!("{}: {word} gives bits a second meaning: {}", result.name, positions(twice)));
        }
        taken |= bits(high, low);
    }
    if taken != u32::MAX {
        return Err(format!("{}: nothing says what these bits are: {}", result.name, positions(!taken)));
    }
    Ok(result)
}

/// The set bits as text, highest first.
fn positions(bits: u32) -> String {
    let bits: Vec<String> = (0..32).rev().filter(|bit| bits >> bit & 1 == 1).map(|bit| bit.to_string()).collect();
    bits.join(" ")
}

/// Checks that no word can be two of the instructions, and that all names differ.
pub(crate) fn told_apart(instructions: &[Instruction]) -> Result<(), String> {
    for (index, one) in instructions.iter().enumerate() {
        for other in &instructions[..index] {
            let places = format!("{}:{} and {}:{}", other.extension, other.line, one.extension, one.line);
            if one.name == other.name {
                return Err(format!("{places}: two instructions are called {}", one.name));
            }
            if (one.value ^ other.value) & one.mask & other.mask == 0 {
                let word = one.value | other.value;
                return Err(format!("{places}: the word {word:#010x} is {} and {}", other.name, one.name));
            }
        }
    }
    Ok(())
}

/// The bits of `instruction` that are fixed to 0 and do not distinguish it from another instruction of its opcode.
/// These are the reserved bits, which the decoder names. The reserved bits of standard RISC-V are outside this project.
pub(crate) fn reserved(instruction: &Instruction, all: &[Instruction]) -> u32 {
    const OPCODE: u32 = 0x7f;
    if !instruction.extension.starts_with("rv_xrvfhe") {
        return 0;
    }
    let ones = all
        .iter()
        .filter(|other| (other.value ^ instruction.value) & OPCODE == 0)
        .fold(0, |ones, other| ones | other.value);
    instruction.mask & !instruction.value & !ones & !OPCODE
}
