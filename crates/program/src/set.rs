//! Instruction sets: the built-in instructions and those of schemes, in one table.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::RangeInclusive;

use thiserror::Error;

use crate::class::{ObjectClass, TypeClass};
use crate::id::TypeCode;
use crate::spec::{Action, InstructionSpec, MOVE, Opcode, POP, PUSH, RETURN};

/// The part of an instruction set that one scheme supplies.
///
/// # Example
/// ```
/// use ciphermill_program::{InstructionSet, InstructionSpec, ObjectClass, Opcode, Operand, Scheme, TypeCode};
///
/// static NUMBER: ObjectClass = ObjectClass::ciphertext("a number", TypeCode(100), TypeCode(101));
/// static DOUBLE: InstructionSpec =
///     InstructionSpec::new(Opcode(900), "double", &[Operand::read_write("n", &NUMBER)], "n ← 2n");
/// static NUMBERS: Scheme =
///     Scheme { name: "numbers", classes: &[&NUMBER], instructions: &[&DOUBLE], opcodes: &[900..=909] };
///
/// let set = InstructionSet::new([&NUMBERS])?;
/// assert_eq!(set.named("Double").map(|spec| spec.opcode()), Some(Opcode(900)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Scheme {
    /// The name of the scheme, for people.
    pub name: &'static str,
    /// The classes of its objects.
    pub classes: &'static [&'static ObjectClass],
    /// Its instructions.
    pub instructions: &'static [&'static InstructionSpec],
    /// The opcodes set aside for it; all of its instructions have one of them.
    pub opcodes: &'static [RangeInclusive<u16>],
}

impl Scheme {
    /// Whether the opcode is one of those set aside for it.
    #[must_use]
    pub fn has_opcode(&self, opcode: Opcode) -> bool {
        self.opcodes.iter().any(|opcodes| opcodes.contains(&opcode.0))
    }
}

static PROGRAM: ObjectClass = ObjectClass::operand("a program", TypeCode::PRG);

/// The instructions and types that every set has: `return`, `mov`, `push`, `pop`, and the type of programs.
static BUILT_IN: Scheme = Scheme {
    name: "the device",
    classes: &[&PROGRAM],
    instructions: &[&RETURN, &MOVE, &PUSH, &POP],
    opcodes: &[0..=3],
};

/// The built-in instructions and those of some schemes.
///
/// ```
/// use ciphermill_program::{InstructionSet, Opcode};
///
/// let set = InstructionSet::new([])?;
/// assert_eq!(set.instruction(Opcode(1)).map(|spec| spec.syntax()), Some("mov n1, n2".to_owned()));
/// # Ok::<(), ciphermill_program::InstructionSetError>(())
/// ```
#[derive(Clone, Debug)]
pub struct InstructionSet {
    schemes: Vec<&'static Scheme>,
    instructions: BTreeMap<Opcode, &'static InstructionSpec>,
}

/// Schemes do not make an instruction set.
///
/// # Example
/// ```
/// # use ciphermill_program::*;
/// # static NUMBER: ObjectClass = ObjectClass::ciphertext("a number", TypeCode(100), TypeCode(101));
/// # static DOUBLE: InstructionSpec =
/// #     InstructionSpec::new(Opcode(900), "double", &[Operand::read_write("n", &NUMBER)], "n ← 2n");
/// // `double` has the opcode 900.
/// static NUMBERS: Scheme =
///     Scheme { name: "numbers", classes: &[&NUMBER], instructions: &[&DOUBLE], opcodes: &[901..=909] };
/// let refused = InstructionSet::new([&NUMBERS]);
/// assert!(matches!(refused, Err(InstructionSetError::Outside { opcode: Opcode(900), .. })));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InstructionSetError {
    /// Two schemes use one opcode.
    #[error("{first} and {second} both have opcode {opcode}; give each instruction its own")]
    Opcode {
        /// The opcode.
        opcode: Opcode,
        /// The mnemonic of the first instruction.
        first: &'static str,
        /// The mnemonic of the second.
        second: &'static str,
    },
    /// Two instructions have one name.
    #[error("two instructions are called `{mnemonic}`; give each instruction its own name")]
    Mnemonic {
        /// The name.
        mnemonic: &'static str,
    },
    /// Two classes share a type code.
    #[error("the types of {first} and of {second} overlap; give each class its own codes")]
    Types {
        /// The first class.
        first: &'static ObjectClass,
        /// The second class.
        second: &'static ObjectClass,
    },
    /// An opcode is not among those of its scheme.
    #[error("`{mnemonic}` has opcode {opcode}, which is not set aside for {scheme}")]
    Outside {
        /// The instruction.
        mnemonic: &'static str,
        /// Its opcode.
        opcode: Opcode,
        /// Its scheme.
        scheme: &'static str,
    },
    /// A row contradicts itself.
    #[error("`{mnemonic}` is not an instruction: {what}")]
    Row {
        /// The instruction.
        mnemonic: &'static str,
        /// The contradiction.
        what: &'static str,
    },
}

impl InstructionSet {
    /// The built-in instructions and those of `schemes`. A scheme given twice counts once.
    ///
    /// # Errors
    /// If two schemes claim an opcode, a mnemonic or a type code, or if a row contradicts itself.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let paillier_only = InstructionSet::new([&paillier::SCHEME])?;
    /// assert!(paillier_only.named("padd").is_some());
    /// assert!(paillier_only.named("homadd").is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(schemes: impl IntoIterator<Item = &'static Scheme>) -> Result<Self, InstructionSetError> {
        let mut set = Self { schemes: Vec::new(), instructions: BTreeMap::new() };
        for scheme in std::iter::once(&BUILT_IN).chain(schemes) {
            if !set.schemes.iter().any(|known| std::ptr::eq(*known, scheme)) {
                set.add(scheme)?;
            }
        }
        Ok(set)
    }

    fn add(&mut self, scheme: &'static Scheme) -> Result<(), InstructionSetError> {
        for second in scheme.classes {
            if let Some(first) = self.classes().find(|first| first.overlaps(second)) {
                return Err(InstructionSetError::Types { first, second });
            }
        }
        for &spec in scheme.instructions {
            let (opcode, mnemonic) = (spec.opcode(), spec.mnemonic());
            if let Some(what) = spec.fault() {
                return Err(InstructionSetError::Row { mnemonic, what });
            }
            if !scheme.has_opcode(opcode) {
                return Err(InstructionSetError::Outside { mnemonic, opcode, scheme: scheme.name });
            }
            if self.named(mnemonic).is_some() {
                return Err(InstructionSetError::Mnemonic { mnemonic });
            }
            if let Some(first) = self.instructions.insert(opcode, spec) {
                return Err(InstructionSetError::Opcode { opcode, first: first.mnemonic(), second: mnemonic });
            }
        }
        self.schemes.push(scheme);
        Ok(())
    }

    /// All instructions, by opcode.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let first: Vec<_> = set.instructions().take(4).map(|spec| spec.mnemonic()).collect();
    /// assert_eq!(first, ["return", "mov", "push", "pop"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn instructions(&self) -> impl Iterator<Item = &'static InstructionSpec> + '_ {
        self.instructions.values().copied()
    }

    /// All classes of objects, scheme by scheme.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert!(set.classes().any(|class| class.default_name() == Some("tv")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn classes(&self) -> impl Iterator<Item = &'static ObjectClass> + '_ {
        self.schemes.iter().flat_map(|scheme| scheme.classes.iter().copied())
    }

    /// The instruction with this opcode.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(set.instruction(Opcode(5)).map(|spec| spec.syntax()), Some("homadd n1, n2".to_owned()));
    /// assert!(set.instruction(Opcode(999)).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn instruction(&self, opcode: Opcode) -> Option<&'static InstructionSpec> {
        self.instructions.get(&opcode).copied()
    }

    /// The instruction with this name, in any case.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(set.named("HomAdd").map(|spec| spec.opcode()), Some(Opcode(5)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn named(&self, word: &str) -> Option<&'static InstructionSpec> {
        self.instructions().find(|spec| spec.is_called(word))
    }

    /// The class of a type code.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(set.class(TypeCode(1)).to_string(), "a test vector (type 1)");
    /// assert!(matches!(set.class(TypeCode(40)), TypeClass::Unassigned { from: Some(35) }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn class(&self, code: TypeCode) -> TypeClass {
        match self.classes().find(|class| class.contains(code)) {
            Some(class) => TypeClass::Known(class),
            None => {
                let above = self.classes().map(|class| u32::from(class.last()) + 1).max().unwrap_or(0);
                TypeClass::Unassigned { from: (u32::from(code.0) >= above).then_some(above) }
            }
        }
    }

    /// Whether reading an object of the type can run the program of its key (compute-on-read).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert!(set.computes_on_reads(tfhe::TLWE_COR));
    /// assert!(!set.computes_on_reads(tfhe::TLWE_COW));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn computes_on_reads(&self, code: TypeCode) -> bool {
        matches!(self.class(code), TypeClass::Known(class) if class.on_read() == Some(code))
    }

    /// The scheme for which an opcode without an instruction is set aside.
    pub(crate) fn reserved_for(&self, opcode: Opcode) -> Option<&'static str> {
        self.schemes.iter().find(|scheme| scheme.has_opcode(opcode)).map(|scheme| scheme.name)
    }

    /// The defined opcodes as text, as in `0 to 7, 16 and 32 to 36`.
    pub(crate) fn opcodes(&self) -> String {
        let mut runs: Vec<RangeInclusive<u16>> = Vec::new();
        for &Opcode(code) in self.instructions.keys() {
            match runs.last_mut() {
                Some(run) if *run.end() + 1 == code => *run = *run.start()..=code,
                _ => runs.push(code..=code),
            }
        }
        let shown = runs.iter().map(|run| match run.end() - run.start() {
            0 => run.start().to_string(),
            _ => format!("{} to {}", run.start(), run.end()),
        });
        listed(shown, "and")
    }

    /// The names of all instructions but `return`, by opcode.
    pub(crate) fn mnemonics(&self) -> String {
        let names: Vec<_> =
            self.instructions().filter(|spec| spec.action() != Action::Return).map(|spec| spec.mnemonic()).collect();
        names.join(", ")
    }

    /// The types of ciphertexts as text, as in `3, 4, 7 or 8`.
    pub(crate) fn ciphertext_types(&self, conjunction: &str) -> String {
        let mut codes: Vec<TypeCode> =
            self.classes().filter(|class| class.is_ciphertext()).flat_map(ObjectClass::codes).collect();
        codes.sort_unstable();
        listed(codes, conjunction)
    }

    /// The type that stands for a ciphertext of any scheme in messages: that of the first scheme that has any.
    pub(crate) fn any_ciphertext(&self) -> TypeCode {
        self.classes().find_map(ObjectClass::on_read).unwrap_or(TypeCode::PRG)
    }
}

fn listed<T: Display>(items: impl IntoIterator<Item = T>, conjunction: &str) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    match items.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} {conjunction} {last}", rest.join(", ")),
        _ => items.concat(),
    }
}
