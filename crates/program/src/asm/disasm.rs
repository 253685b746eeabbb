//! The disassembler: text that assembles to the same program.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::class::TypeClass;
use crate::id::VrId;
use crate::instruction::{Operands, Program};
use crate::set::InstructionSet;

/// The program as text with literal registers, one instruction a line. It needs no bindings to assemble.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let text = disassemble(&sum);
/// assert_eq!(text, "homadd 3:0:2, 3:0:3\nreturn 3:0:2\n");
/// assert_eq!(assemble(set, &text, &Bindings::new())?.program, sum);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn disassemble(program: &Program) -> String {
    let mut text = String::new();
    for instruction in program.instructions() {
        line(&mut text, &instruction.to_string());
    }
    text
}

/// The program as text with named registers, which `.bind` lines at its head declare: `tv`, `tv1`, … for registers of a
/// class with the default name `tv`, and `r1`, `r2`, … for the others, in the order in which they appear. It needs no
/// bindings to assemble, and a reader may bind its names again.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let text = disassemble_named(set, &sum);
/// assert_eq!(text, ".bind r1 3:0:2\n.bind r2 3:0:3\n\nhomadd r1, r2\nreturn r1\n");
/// assert_eq!(assemble(set, &text, &Bindings::new())?.program, sum);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn disassemble_named(set: &InstructionSet, program: &Program) -> String {
    let mut names: HashMap<VrId, String> = HashMap::new();
    let mut counts: HashMap<Option<&'static str>, usize> = HashMap::new();
    let (mut header, mut code) = (String::new(), String::new());
    for instruction in program.instructions() {
        let operands: Vec<String> = instruction
            .registers()
            .map(|register| {
                let name = names.entry(register).or_insert_with(|| {
                    let prefix = match set.class(register.type_code) {
                        TypeClass::Known(class) => class.default_name(),
                        TypeClass::Unassigned { .. } => None,
                    };
                    let count = counts.entry(prefix).or_default();
                    *count += 1;
                    let name = match (prefix, *count) {
                        (Some(prefix), 1) => prefix.to_owned(),
                        (Some(prefix), count) => format!("{prefix}{}", count - 1),
                        (None, count) => format!("r{count}"),
                    };
                    line(&mut header, &format!(".bind {name} {register}"));
                    name
                });
                name.clone()
            })
            .collect();
        let mut text = format!("{} {}", instruction.mnemonic(), operands.join(", "));
        if let Operands::Factor(_, value) = instruction.operands() {
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
