//! The parser of one instruction.

use super::error::{AsmError, AsmProblem};
use super::line::{Line, Token, integer};
use crate::isa::encoding::Mnemonic;
use crate::isa::instruction::{FloatButterfly, Instruction, OperandError};
use crate::isa::operand::{BranchOffset, Immediate, JumpOffset, Tile, UpperImmediate};

/// An instruction with its position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Statement<'a> {
    pub(super) line: usize,
    pub(super) column: usize,
    /// A branch to a label has the distance 0 until it is resolved.
    pub(super) instruction: Instruction,
    pub(super) target: Option<Target<'a>>,
}

/// The target label of a branch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target<'a> {
    pub(super) name: &'a str,
    pub(super) column: usize,
}

const EXPECTED_MNEMONIC: &str = "an instruction: madd, msub, mmul, mbfly, fbfly.dit, fbfly.dif, ldp, ldt, lds, sts, copy, \
                                 copyk, phase, lui, addi, add, xor, bne, jal, csrrw or ebreak";

/// The instruction in the rest of a line, if there is one.
pub(super) fn parse<'a>(line: &mut Line<'a>) -> Result<Option<Statement<'a>>, AsmError> {
    let Some(head) = line.next() else { return Ok(None) };
    let mnemonic = Mnemonic::ALL
        .into_iter()
        .find(|mnemonic| mnemonic.encoding().name == head.text)
        .ok_or_else(|| line.expected(EXPECTED_MNEMONIC, head))?;
    let mut target = None;
    let instruction = operands(mnemonic, line, &mut target)?;
    line.end()?;
    instruction.check().map_err(|error| line.error(head.column, error.into()))?;
    Ok(Some(Statement { line: line.number, column: head.column, instruction, target }))
}

/// The operand that `read` parses, after a comma.
fn next<'a, T>(line: &mut Line<'a>, read: impl FnOnce(&mut Line<'a>) -> Result<T, AsmError>) -> Result<T, AsmError> {
    line.comma()?;
    read(line)
}

fn operands<'a>(
    mnemonic: Mnemonic,
    line: &mut Line<'a>,
    target: &mut Option<Target<'a>>,
) -> Result<Instruction, AsmError> {
    Ok(match mnemonic {
        Mnemonic::Madd | Mnemonic::Msub => {
            let (vd, vs1) = (line.vector()?, next(line, Line::vector_read)?);
            let (vs2, modulus) = (next(line, Line::vector_read)?, next(line, Line::modulus)?);
            match mnemonic {
                Mnemonic::Madd => Instruction::Madd { vd, vs1, vs2, modulus },
                _ => Instruction::Msub { vd, vs1, vs2, modulus },
            }
        }
        Mnemonic::Mmul => {
            let (vd, vs1) = (line.vector()?, next(line, Line::vector_read)?);
            let (ts2, modulus) = (next(line, Line::twiddle_read)?, next(line, Line::modulus)?);
            Instruction::Mmul { vd, vs1, ts2, modulus }
        }
        Mnemonic::Mbfly => {
            let (vd, vs1) = (line.vector()?, next(line, Line::vector)?);
            let (ts2, modulus) = (next(line, Line::twiddle_read)?, next(line, Line::modulus)?);
            Instruction::Mbfly { vd, vs1, ts2, modulus }
        }
        Mnemonic::FbflyDit | Mnemonic::FbflyDif => {
            let form = match mnemonic {
                Mnemonic::FbflyDit => FloatButterfly::DecimationInTime,
                _ => FloatButterfly::DecimationInFrequency,
            };
            let (vd, vs1) = (line.vector()?, next(line, Line::vector)?);
            Instruction::Fbfly { form, vd, vs1, ts2: next(line, Line::twiddle_read)? }
        }
        Mnemonic::Ldp => {
            let (vd, row) = (line.vector()?, next(line, Line::address)?);
            let free = line.take("!");
            let tile = if line.take(",") { tile(line)? } else { Tile::NONE };
            Instruction::Ldp { vd, row, tile, free }
        }
        Mnemonic::Ldt => {
            let (td, row) = (line.twiddle()?, next(line, Line::address)?);
            Instruction::Ldt { td, row, broadcast: option(line, "broadcast", "`broadcast`")? }
        }
        Mnemonic::Lds => Instruction::Lds { vd: line.vector()?, vector: next(line, Line::address)? },
        Mnemonic::Sts => Instruction::Sts { vs1: line.vector()?, vector: next(line, Line::address)? },
        Mnemonic::Copy | Mnemonic::Copyk => {
            let (core, vs1) = (line.core()?, next(line, Line::vector)?);
            let row = next(line, Line::address)?;
            match mnemonic {
                Mnemonic::Copy => Instruction::Copy { core, vs1, row },
                _ => Instruction::Copyk { core, vs1, row },
            }
        }
        Mnemonic::Phase => Instruction::Phase,
        Mnemonic::Lui => {
            let rd = line.scalar()?;
            let (token, number) = next(line, Line::number)?;
            Instruction::Lui { rd, immediate: line.at(token, UpperImmediate::new(number))? }
        }
        Mnemonic::Addi => {
            let (rd, rs1) = (line.scalar()?, next(line, Line::scalar)?);
            let (token, number) = next(line, Line::number)?;
            Instruction::Addi { rd, rs1, immediate: line.at(token, Immediate::new(number))? }
        }
        Mnemonic::Add | Mnemonic::Xor => {
            let (rd, rs1, rs2) = (line.scalar()?, next(line, Line::scalar)?, next(line, Line::scalar)?);
            match mnemonic {
                Mnemonic::Add => Instruction::Add { rd, rs1, rs2 },
                _ => Instruction::Xor { rd, rs1, rs2 },
            }
        }
        Mnemonic::Csrrw => {
            let (rd, modulus) = (line.scalar()?, next(line, Line::modulus)?);
            Instruction::Csrrw { rd, modulus, rs1: next(line, Line::scalar)? }
        }
        Mnemonic::Bne => {
            let (rs1, rs2) = (line.scalar()?, next(line, Line::scalar)?);
            let (token, instructions) = distance(mnemonic, line, target)?;
            Instruction::Bne { rs1, rs2, offset: line.at(token, BranchOffset::new(instructions))? }
        }
        Mnemonic::Jal => {
            let rd = line.scalar()?;
            let (token, instructions) = distance(mnemonic, line, target)?;
            Instruction::Jal { rd, offset: line.at(token, JumpOffset::new(instructions))? }
        }
        Mnemonic::Ebreak => Instruction::Ebreak,
    })
}

/// The distance of a branch or jump in instructions; 0 for a label.
fn distance<'a>(
    mnemonic: Mnemonic,
    line: &mut Line<'a>,
    target: &mut Option<Target<'a>>,
) -> Result<(Token<'a>, i64), AsmError> {
    const EXPECTED: &str = "a label, or a distance in bytes as in .+8";
    let token = next(line, |line| line.expect(EXPECTED))?;
    let mut instructions = 0;
    match token.text.strip_prefix('.') {
        Some(distance) if distance.starts_with(['+', '-']) => {
            let bytes = integer(distance).ok_or_else(|| line.expected(EXPECTED, token))?;
            if bytes % 4 != 0 {
                let bytes = i32::try_from(bytes).unwrap_or(if bytes < 0 { i32::MIN } else { i32::MAX });
                let problem = AsmProblem::Operand(OperandError::BranchNotAligned { mnemonic, bytes });
                return Err(line.error(token.column, problem));
            }
            instructions = bytes / 4;
        }
        _ => *target = Some(Target { name: token.text, column: token.column }),
    }
    Ok((token, instructions))
}

/// Whether a comma and this word follow. Any other word is an error.
fn option(line: &mut Line<'_>, word: &str, expected: &'static str) -> Result<bool, AsmError> {
    if !line.take(",") {
        return Ok(false);
    }
    let token = line.expect(expected)?;
    if token.text == word { Ok(true) } else { Err(line.expected(expected, token)) }
}

fn tile(line: &mut Line<'_>) -> Result<Tile, AsmError> {
    const EXPECTED: &str = "`tile=` and the logarithm of its side";
    let token = line.expect(EXPECTED)?;
    if token.text != "tile" || !line.take("=") {
        return Err(line.expected(EXPECTED, token));
    }
    let (token, number) = line.number()?;
    let rotate = option(line, "rotate", "`rotate`")?;
    line.at(token, Tile::new(number, rotate))
}
