//! From a program back to text that assembles to the same program.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::id::{TypeClass, VrId};
use crate::instruction::{Instruction, Program};

/// The program as text with literal registers, one instruction a line. It needs no bindings to assemble.
#[must_use]
pub fn disassemble(program: &Program) -> String {
    let mut text = String::new();
    for instruction in program.instructions() {
        line(&mut text, &instruction.to_string());
    }
    text
}

/// The program as text with named registers, which `.bind` lines at its head declare: `tv`, `tv1`, … for test vectors and
/// `r1`, `r2`, … for all others, in the order in which they appear. It needs no bindings to assemble, and a reader may
/// bind its names anew.
#[must_use]
pub fn disassemble_named(program: &Program) -> String {
    let mut names: HashMap<VrId, String> = HashMap::new();
    let (mut header, mut code) = (String::new(), String::new());
    let (mut vectors, mut others) = (0_usize, 0_usize);
    for instruction in program.instructions() {
        let operands: Vec<String> = instruction
            .operands()
            .map(|register| {
                let name = names.entry(register).or_insert_with(|| {
                    let name = if register.class() == TypeClass::TestVector {
                        vectors += 1;
                        if vectors == 1 { "tv".to_owned() } else { format!("tv{}", vectors - 1) }
                    } else {
                        others += 1;
                        format!("r{others}")
                    };
                    line(&mut header, &format!(".bind {name} {register}"));
                    name
                });
                name.clone()
            })
            .collect();
        let mut text = format!("{} {}", instruction.mnemonic(), operands.join(", "));
        if let Instruction::HomIntMult { value, .. } = instruction {
            // Writing to a string cannot fail.
            let _ = write!(text, ", {value}");
        }
        line(&mut code, &text);
    }
    header + "\n" + &code
}

fn line(text: &mut String, content: &str) {
    text.push_str(content);
    text.push('\n');
}
