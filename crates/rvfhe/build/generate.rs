//! The generator of the Rust code for the encodings.

use std::fmt::Write as _;

use crate::opcodes::{Argument, Instruction, reserved};

/// The constants of all operands.
pub(crate) fn fields(arguments: &[Argument]) -> String {
    let mut text =
        String::from("/// The operands of `opcodes/arg_lut.csv`.\npub(crate) mod field {\n    use super::Field;\n");
    for Argument { name, high, low } in arguments {
        let _ = writeln!(
            text,
            "    pub(crate) const {}: Field = Field {{ name: \"{name}\", high: {high}, low: {low} }};",
            constant(name)
        );
    }
    text + "}\n"
}

/// An enumeration of the instructions, with their encodings.
pub(crate) fn mnemonics(name: &str, what: &str, instructions: &[Instruction]) -> Result<String, String> {
    let variants: Vec<String> = instructions.iter().map(|instruction| variant(&instruction.name)).collect();
    if let Some(twice) = variants.iter().enumerate().find(|(index, variant)| variants[..*index].contains(variant)) {
        return Err(format!("two instructions would both be {name}::{}", twice.1));
    }
    let mut text = format!(
        "/// {what}\n#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]\npub enum {name} {{\n"
    );
    for (variant, instruction) in variants.iter().zip(instructions) {
        let _ = writeln!(text, "    /// `{}`\n    {variant},", instruction.name);
    }
    let _ = writeln!(text, "}}\n\nimpl {name} {{\n    /// All of them, in the order of the source.");
    let _ = writeln!(text, "    pub const ALL: [Self; {}] = [", variants.len());
    for variant in &variants {
        let _ = writeln!(text, "        Self::{variant},");
    }
    let _ = writeln!(
        text,
        "    ];\n\n    /// Its encoding.\n    #[must_use]\n    pub const fn encoding(self) -> &'static Encoding {{"
    );
    let _ = writeln!(text, "        match self {{");
    for (variant, instruction) in variants.iter().zip(instructions) {
        let Instruction { name, extension, mask, value, .. } = instruction;
        let select = mask & !reserved(instruction, instructions);
        let fields: Vec<String> =
            instruction.arguments.iter().map(|argument| format!("field::{}", constant(&argument.name))).collect();
        let _ = writeln!(
            text,
            "            Self::{variant} => &Encoding {{\n                name: \"{name}\",\n                \
             extension: \"{extension}\",\n                mask: {mask:#010x},\n                \
             value: {value:#010x},\n                select: {select:#010x},\n                \
             fields: &[{}],\n            }},",
            fields.join(", ")
        );
    }
    text.push_str("        }\n    }\n}\n");
    Ok(text)
}

fn constant(name: &str) -> String {
    name.to_ascii_uppercase().replace('.', "_")
}

fn variant(name: &str) -> String {
    name.split(['.', '_'])
        .map(|part| {
            let mut letters = part.chars();
            letters.next().map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
        })
        .collect()
}
