//! Classes of objects: the types that an instruction accepts in one operand.

use std::fmt;

use crate::id::TypeCode;

/// A run of type codes that stand for one kind of object.
///
/// Instructions ask for classes, not for codes: the compute-on-read and the compute-on-write code of a scheme name the same
/// ciphertext and differ only in the access that runs the program.
///
/// # Example
/// ```
/// use ciphermill_program::{ObjectClass, TypeCode};
///
/// static NUMBER: ObjectClass = ObjectClass::ciphertext("a number", TypeCode(100), TypeCode(101));
/// assert!(NUMBER.contains(TypeCode(101)));
/// assert_eq!(NUMBER.on_read(), Some(TypeCode(100)));
/// assert_eq!(NUMBER.to_string(), "a number (type 100 or 101)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectClass {
    name: &'static str,
    first: u16,
    last: u16,
    kind: Kind,
    default_name: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Operand,
    Ciphertext { on_read: TypeCode },
    Reserved,
}

impl ObjectClass {
    /// A class of objects that programs read and never write, such as keys and tables; `name` has its article, as in
    /// `a test vector`.
    ///
    /// # Example
    /// ```
    /// use ciphermill_program::{ObjectClass, TypeCode};
    ///
    /// let table = ObjectClass::operand("a table", TypeCode(99));
    /// assert!(!table.is_ciphertext());
    /// assert_eq!(table.to_string(), "a table (type 99)");
    /// ```
    #[must_use]
    pub const fn operand(name: &'static str, code: TypeCode) -> Self {
        Self { name, first: code.0, last: code.0, kind: Kind::Operand, default_name: None }
    }

    /// A class of ciphertexts, which programs move, write and return. Reading an object of type `on_read` runs the program,
    /// and writing one of type `on_write`. The codes must be neighbours.
    ///
    /// # Panics
    /// If `on_write` is not the code after `on_read`; in a static, that is an error of the compiler.
    ///
    /// # Example
    /// ```
    /// use ciphermill_program::{ObjectClass, TypeCode};
    ///
    /// let number = ObjectClass::ciphertext("a number", TypeCode(100), TypeCode(101));
    /// assert!(number.is_ciphertext());
    /// assert_eq!(number.on_read(), Some(TypeCode(100)));
    /// ```
    #[must_use]
    pub const fn ciphertext(name: &'static str, on_read: TypeCode, on_write: TypeCode) -> Self {
        assert!(on_read.0 < on_write.0 && on_write.0 - on_read.0 == 1, "the codes of a ciphertext are neighbours");
        Self { name, first: on_read.0, last: on_write.0, kind: Kind::Ciphertext { on_read }, default_name: None }
    }

    /// Codes set aside for later use; `name` is as in `of an unassigned BFV type`.
    ///
    /// # Example
    /// ```
    /// use ciphermill_program::{ObjectClass, TypeCode};
    ///
    /// let spare = ObjectClass::reserved("of a spare type", TypeCode(102), TypeCode(110));
    /// assert!(!spare.is_ciphertext());
    /// assert_eq!(spare.to_string(), "of a spare type (102 to 110)");
    /// ```
    #[must_use]
    pub const fn reserved(name: &'static str, first: TypeCode, last: TypeCode) -> Self {
        Self { name, first: first.0, last: last.0, kind: Kind::Reserved, default_name: None }
    }

    /// The same class, whose object 0 an assembly text may call `name` without a binding.
    ///
    /// # Example
    /// ```
    /// use ciphermill_program::{ObjectClass, TypeCode};
    ///
    /// let table = ObjectClass::operand("a table", TypeCode(99)).with_default_name("t");
    /// assert_eq!(table.default_name(), Some("t"));
    /// ```
    #[must_use]
    pub const fn with_default_name(mut self, name: &'static str) -> Self {
        self.default_name = Some(name);
        self
    }

    /// Whether the class has the code.
    #[must_use]
    pub const fn contains(&self, code: TypeCode) -> bool {
        self.first <= code.0 && code.0 <= self.last
    }

    /// The codes of the class, ascending.
    ///
    /// # Example
    /// ```
    /// use ciphermill_program::{ObjectClass, TypeCode};
    ///
    /// let number = ObjectClass::ciphertext("a number", TypeCode(100), TypeCode(101));
    /// assert!(number.codes().eq([TypeCode(100), TypeCode(101)]));
    /// ```
    pub fn codes(&self) -> impl Iterator<Item = TypeCode> + use<> {
        (self.first..=self.last).map(TypeCode)
    }

    /// Whether registers of the class hold ciphertexts, which programs move, write and return.
    #[must_use]
    pub const fn is_ciphertext(&self) -> bool {
        matches!(self.kind, Kind::Ciphertext { .. })
    }

    /// The type whose reading runs the program (compute-on-read), if the class is one of ciphertexts.
    #[must_use]
    pub const fn on_read(&self) -> Option<TypeCode> {
        match self.kind {
            Kind::Ciphertext { on_read } => Some(on_read),
            Kind::Operand | Kind::Reserved => None,
        }
    }

    /// The name that stands for object 0 of the class where an assembly text does not bind it.
    #[must_use]
    pub const fn default_name(&self) -> Option<&'static str> {
        self.default_name
    }

    /// A type of the class, for examples in messages.
    pub(crate) const fn example(&self) -> TypeCode {
        TypeCode(self.first)
    }

    pub(crate) const fn overlaps(&self, other: &Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    pub(crate) const fn last(&self) -> u16 {
        self.last
    }
}

impl fmt::Display for ObjectClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, first, last, .. } = self;
        match self.kind {
            Kind::Reserved => write!(f, "{name} ({first} to {last})"),
            _ if first == last => write!(f, "{name} (type {first})"),
            _ => write!(f, "{name} (type {first} or {last})"),
        }
    }
}

/// The class of a type code in an [`InstructionSet`](crate::InstructionSet).
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// assert!(set.class(TypeCode(3)).is_ciphertext());
/// assert!(matches!(set.class(TypeCode(1)), TypeClass::Known(class) if class.default_name() == Some("tv")));
/// assert_eq!(set.class(TypeCode(40)).to_string(), "of an unassigned type (from 35)");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypeClass {
    /// A scheme's class has the code.
    Known(&'static ObjectClass),
    /// No scheme has the code.
    Unassigned {
        /// The first code above those of all schemes, if the code is one of those above.
        from: Option<u32>,
    },
}

impl TypeClass {
    /// Whether the code stands for a ciphertext.
    #[must_use]
    pub const fn is_ciphertext(self) -> bool {
        matches!(self, Self::Known(class) if class.is_ciphertext())
    }
}

impl fmt::Display for TypeClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(class) => fmt::Display::fmt(class, f),
            Self::Unassigned { from: Some(from) } => write!(f, "of an unassigned type (from {from})"),
            Self::Unassigned { from: None } => f.write_str("of an unassigned type"),
        }
    }
}
