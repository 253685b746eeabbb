//! Support for GNU's assembler and C compiler, and the table of the reference page; all generated from the encodings.
//!
//! `cargo run -p ciphermill-rvfhe --example rvfhe-generate` writes the files in `include/` and the table in
//! `docs/rvfhe-isa.md`. A test compares them.

mod c_header;
mod macros;
mod table;

pub use c_header::c_header;
pub use macros::assembler_include;
pub use table::{TABLE_BEGIN, TABLE_END, encoding_table, with_table};

use super::instruction::Instruction;
use super::operand::{Address, Operand, Tile};

/// An instruction for GNU as: in standard syntax if it is a standard one, otherwise as a macro of
/// [`assembler_include`].
///
/// The free marks of the text form become the arguments `free1`, `free2` and `free`; an address becomes two arguments.
///
/// # Example
/// ```
/// use ciphermill_rvfhe::isa::{Instruction, gnu};
///
/// let butterfly = Instruction::decode(0x2623_81ab)?;
/// assert_eq!(gnu::gnu_text(&butterfly), "rvfhe.mbfly v3, v7, t2, m0, free2=1");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn gnu_text(instruction: &Instruction) -> String {
    use Instruction::*;
    let name = instruction.mnemonic();
    match *instruction {
        Madd { vd, vs1, vs2, modulus } | Msub { vd, vs1, vs2, modulus } => {
            let (one, two) = (flag("free1", vs1.free), flag("free2", vs2.free));
            format!("rvfhe.{name} {vd}, {}, {}, {modulus}{one}{two}", vs1.register, vs2.register)
        }
        Mmul { vd, vs1, ts2, modulus } => {
            let (one, two) = (flag("free1", vs1.free), free2(ts2));
            format!("rvfhe.{name} {vd}, {}, {}, {modulus}{one}{two}", vs1.register, ts2.register)
        }
        Mbfly { vd, vs1, ts2, modulus } => {
            format!("rvfhe.{name} {vd}, {vs1}, {}, {modulus}{}", ts2.register, free2(ts2))
        }
        Fbfly { vd, vs1, ts2, .. } => format!("rvfhe.{name} {vd}, {vs1}, {}{}", ts2.register, free2(ts2)),
        Ldp { vd, row, tile, free } => {
            let rotate = flag("rotate", tile.rotates());
            let tile = if tile == Tile::NONE { String::new() } else { format!(", tile={}", tile.log()) };
            format!("rvfhe.{name} {vd}, {}{tile}{rotate}{}", place(row), flag("free", free))
        }
        Ldt { td, row, broadcast } => format!("rvfhe.{name} {td}, {}{}", place(row), flag("broadcast", broadcast)),
        Lds { vd, vector } => format!("rvfhe.{name} {vd}, {}", place(vector)),
        Sts { vs1, vector } => format!("rvfhe.{name} {vs1}, {}", place(vector)),
        Copy { core, vs1, row } | Copyk { core, vs1, row } => format!("rvfhe.{name} {core}, {vs1}, {}", place(row)),
        Phase => format!("rvfhe.{name}"),
        Csrrw { rd, modulus, rs1 } => format!("{name} {rd}, {:#x}, {rs1}", modulus.csr()),
        Lui { .. } | Addi { .. } | Add { .. } | Xor { .. } | Bne { .. } | Jal { .. } | Ebreak => {
            instruction.to_string()
        }
    }
}

fn flag(name: &str, set: bool) -> String {
    if set { format!(", {name}=1") } else { String::new() }
}

fn free2<R>(operand: Operand<R>) -> String {
    flag("free2", operand.free)
}

fn place<const BITS: u32>(address: Address<BITS>) -> String {
    format!("{}, {}", address.offset.get(), address.base)
}
