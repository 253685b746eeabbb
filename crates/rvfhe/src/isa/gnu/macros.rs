//! Macros for GNU as.

use std::fmt::Write as _;

use crate::isa::encoding::{Encoding, Field, Mnemonic};
use crate::isa::operand::{Core, ModulusRegister, ScalarRegister, TwiddleRegister, VectorRegister};

/// The kind of a macro's argument.
enum Class {
    /// A register or a core: the prefix of the symbols with its numbers, and its name in messages.
    Named(&'static str, &'static str),
    /// A number from 0 to this one.
    Number(u32),
    /// A number from 0 to this one, 0 by default.
    Optional(u32),
}

/// An argument: its name, its kind, and the fields for its bits, lowest first.
struct Argument {
    name: String,
    class: Class,
    fields: Vec<Field>,
}

const HEAD: &str = "\
/* Macros of the RVFHE instructions for GNU as (binutils 2.38 or later).
 * Made from crates/rvfhe/opcodes/rv_xrvfhe by the example `rvfhe-generate`: do not edit.
 *
 * Each macro is one word of 4 bytes. Registers are v0 to v31 (vectors), t0 to t15 (twiddles), m0 to m7 (moduli), x0 to x31 or their
 * ABI names (scalars); cores are c0 to c31. What stands with a value in the first line of a macro may be left out. Include
 * this file once. */

";

/// ABI names of the scalar registers, by number; x8 has a second one.
const ABI_NAMES: &str =
    "zero ra sp gp tp t0 t1 t2 s0 s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 t3 t4 t5 t6";

/// The text of `include/rvfhe.inc`: a macro `rvfhe.<name>` for each RVFHE instruction, with checks of its operands.
///
/// # Example
/// ```
/// use ciphermill_rvfhe::isa::gnu;
///
/// assert!(gnu::assembler_include().contains(".macro rvfhe.madd vd, vs1, vs2, m, free1=0, free2=0"));
/// ```
#[must_use]
pub fn assembler_include() -> String {
    let mut text = HEAD.to_owned();
    for (class, prefix, count) in [
        ("v", VectorRegister::PREFIX, VectorRegister::COUNT),
        ("t", TwiddleRegister::PREFIX, TwiddleRegister::COUNT),
        ("m", ModulusRegister::PREFIX, ModulusRegister::COUNT),
        ("x", ScalarRegister::PREFIX, ScalarRegister::COUNT),
        ("c", Core::PREFIX, Core::COUNT),
    ] {
        let numbers: Vec<String> = (0..count).map(|number| number.to_string()).collect();
        let numbers = numbers.join(",");
        let _ = writeln!(text, ".irp number,{numbers}\n.set .Lrvfhe_{class}_{prefix}\\number, \\number\n.endr");
    }
    for (number, name) in ABI_NAMES.split(' ').enumerate() {
        let _ = writeln!(text, ".set .Lrvfhe_x_{name}, {number}");
    }
    text.push_str(".set .Lrvfhe_x_fp, 8\n");
    for mnemonic in Mnemonic::ALL {
        if mnemonic.encoding().extension == "rv_xrvfhe" {
            text.push('\n');
            text.push_str(&macro_of(mnemonic));
        }
    }
    text
}

fn arguments(encoding: &Encoding) -> Vec<Argument> {
    let mut arguments: Vec<Argument> = Vec::new();
    for &field in encoding.fields {
        // An offset in two fields is listed with its high and then its low field.
        let name = field.name.strip_suffix("hi").or_else(|| field.name.strip_suffix("lo")).unwrap_or(field.name);
        let name = if name.starts_with("off") || name == "rowoff" { "offset" } else { name };
        match arguments.iter_mut().find(|argument| argument.name == name) {
            Some(argument) => argument.fields.insert(0, field),
            None => arguments.push(Argument { name: name.to_owned(), class: Class::Number(0), fields: vec![field] }),
        }
    }
    for argument in &mut arguments {
        let width: u32 = argument.fields.iter().map(|field| field.width()).sum();
        argument.class = match argument.name.as_str() {
            "vd" | "vs1" | "vs2" => Class::Named("v", "a vector register, v0 to v31"),
            "td" | "ts2" => Class::Named("t", "a twiddle register, t0 to t15"),
            "m" => Class::Named("m", "a modulus register, m0 to m7"),
            "rs1" | "rs2" => Class::Named("x", "a scalar register"),
            "core" => Class::Named("c", "a core, c0 to c31"),
            "tile" => Class::Optional(5),
            "free" | "free1" | "free2" | "broadcast" | "rotate" => Class::Optional(1),
            _ => Class::Number((1 << width) - 1),
        };
    }
    arguments
}

fn macro_of(mnemonic: Mnemonic) -> String {
    let encoding = mnemonic.encoding();
    let name = encoding.name;
    let arguments = arguments(encoding);
    let heads: Vec<String> = arguments
        .iter()
        .map(|argument| match argument.class {
            Class::Optional(_) => format!("{}=0", argument.name),
            Class::Named(..) | Class::Number(_) => argument.name.clone(),
        })
        .collect();
    let mut text = format!(".macro rvfhe.{name} {}", heads.join(", ")).trim_end().to_owned() + "\n";
    let mut refuse = |condition: &str, message: &str| {
        let _ = writeln!(text, "  {condition}\n    .error \"rvfhe.{name}: {message}\"\n    .exitm\n  .endif");
    };
    let mut word = vec![format!("{:#010x}", encoding.value)];
    for Argument { name, class, fields } in &arguments {
        let value = match class {
            Class::Named(class, what) => {
                refuse(&format!(".ifndef .Lrvfhe_{class}_\\{name}"), &format!("\\{name} is not {what}"));
                format!(".Lrvfhe_{class}_\\{name}")
            }
            Class::Number(max) | Class::Optional(max) => {
                let condition = format!(".if ((\\{name}) < 0) || ((\\{name}) > {max})");
                refuse(&condition, &format!("{name} must be 0 to {max}, not \\{name}"));
                format!("(\\{name})")
            }
        };
        let mut below = 0;
        for field in fields {
            let part = if below == 0 { value.clone() } else { format!("({value} >> {below})") };
            word.push(match fields.len() {
                1 => format!("({part} << {})", field.low),
                _ => format!("(({part} & {:#x}) << {})", field.mask() >> field.low, field.low),
            });
            below += field.width();
        }
    }
    let (vd, vs1) = (".Lrvfhe_v_\\vd", ".Lrvfhe_v_\\vs1");
    for (read, free) in [("vs1", "free1"), ("vs2", "free2")] {
        if [read, free, "vd"].iter().all(|name| arguments.iter().any(|argument| argument.name == *name)) {
            let condition = format!(".if (\\{free}) && ({vd} == .Lrvfhe_v_\\{read})");
            refuse(&condition, &format!("\\{read} is written, so it cannot be freed"));
        }
    }
    if matches!(mnemonic, Mnemonic::FbflyDit | Mnemonic::FbflyDif) {
        refuse(
            &format!(".if ({vd} | {vs1}) & 1"),
            "\\vd and \\vs1 must be even: real parts, imaginary parts in the next",
        );
    }
    if matches!(mnemonic, Mnemonic::Mbfly | Mnemonic::FbflyDit | Mnemonic::FbflyDif) {
        refuse(&format!(".if {vd} == {vs1}"), "both results would go to \\vd");
    }
    if mnemonic == Mnemonic::Ldp {
        refuse(".if (\\rotate) && ((\\tile) == 0)", "rotate needs a tile of 1 to 5");
    }
    let _ = writeln!(text, "  .insn 4, {}\n.endm", word.join(" | "));
    text
}
