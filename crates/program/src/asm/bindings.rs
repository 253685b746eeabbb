//! Bindings of names to registers, given together with the text.

use std::collections::BTreeMap;
use std::str::FromStr;

use thiserror::Error;

use crate::id::{ParseVrIdError, VrId};

/// One `name=type:key:data`, the value of a `--bind` flag.
///
/// # Example
/// ```
/// use ciphermill_program::{Binding, Bindings, VrId};
///
/// let binding: Binding = "r2=3:0:2".parse()?;
/// let register: VrId = "3:0:2".parse()?;
/// assert_eq!(Bindings::collect([binding])?.get("r2"), Some(register));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    name: String,
    register: VrId,
}

/// A refused binding.
///
/// # Example
/// ```
/// use ciphermill_program::{Binding, BindingError};
///
/// assert!(matches!("r2".parse::<Binding>(), Err(BindingError::Form { .. })));
/// assert!(matches!("r2=3:0".parse::<Binding>(), Err(BindingError::Register { .. })));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BindingError {
    /// No `=`.
    #[error("`{text}` is not a binding; write name=type:key:data, as in r2=3:0:2")]
    Form {
        /// The given text.
        text: String,
    },
    /// A program could not spell the name.
    #[error("`{name}` is not a register name; a name is a letter or `_`, then letters, digits and `_`")]
    Name {
        /// The given text.
        name: String,
    },
    /// The register does not parse.
    #[error("the register of `{name}`: {source}")]
    Register {
        /// The name to bind.
        name: String,
        /// The error in the register.
        source: ParseVrIdError,
    },
    /// The name is bound to two registers.
    #[error("`{name}` is bound to {first} and to {second}; bind it once")]
    Twice {
        /// The name.
        name: String,
        /// The register of the first binding.
        first: VrId,
        /// The register of the second.
        second: VrId,
    },
}

impl Binding {
    /// Binds `name` to `register`.
    ///
    /// # Errors
    /// If a program could not spell the name.
    ///
    /// # Example
    /// ```
    /// use ciphermill_program::{Binding, BindingError, VrId};
    ///
    /// let register: VrId = "3:0:2".parse()?;
    /// assert_eq!(Binding::new("r2", register)?, "r2=3:0:2".parse::<Binding>()?);
    /// assert!(matches!(Binding::new("2r", register), Err(BindingError::Name { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(name: &str, register: VrId) -> Result<Self, BindingError> {
        if is_name(name) {
            Ok(Self { name: name.to_owned(), register })
        } else {
            Err(BindingError::Name { name: name.to_owned() })
        }
    }
}

impl FromStr for Binding {
    type Err = BindingError;

    fn from_str(text: &str) -> Result<Self, BindingError> {
        let (name, register) = text.split_once('=').ok_or_else(|| BindingError::Form { text: text.to_owned() })?;
        let register = register.parse().map_err(|source| BindingError::Register { name: name.to_owned(), source })?;
        Self::new(name, register)
    }
}

/// The registers that names stand for. Names are case-sensitive.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let bindings = Bindings::collect(["a=3:0:2".parse()?, "b=3:0:3".parse()?])?;
/// assert_eq!(assemble(set, "homadd a, b\nreturn a", &bindings)?.program, sum);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bindings {
    registers: BTreeMap<String, VrId>,
}

impl Bindings {
    /// No names.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Gathers bindings, as from the `--bind` flags of a command line.
    ///
    /// # Errors
    /// If a name is bound to two registers; a repeated binding is accepted.
    ///
    /// # Example
    /// ```
    /// use ciphermill_program::{BindingError, Bindings};
    ///
    /// let bindings = Bindings::collect(["a=3:0:2".parse()?, "b=3:0:3".parse()?])?;
    /// assert_eq!(bindings.iter().count(), 2);
    /// let twice = Bindings::collect(["a=3:0:2".parse()?, "a=3:0:3".parse()?]);
    /// assert!(matches!(twice, Err(BindingError::Twice { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn collect(bindings: impl IntoIterator<Item = Binding>) -> Result<Self, BindingError> {
        let mut all = Self::new();
        for binding in bindings {
            all.insert(binding)?;
        }
        Ok(all)
    }

    /// Adds one binding.
    ///
    /// # Errors
    /// If the name is bound to another register already.
    ///
    /// # Example
    /// ```
    /// use ciphermill_program::Bindings;
    ///
    /// let mut bindings = Bindings::new();
    /// bindings.insert("a=3:0:2".parse()?)?;
    /// assert!(bindings.insert("a=3:0:2".parse()?).is_ok());
    /// assert!(bindings.insert("a=3:0:3".parse()?).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert(&mut self, Binding { name, register }: Binding) -> Result<(), BindingError> {
        match self.registers.get(&name) {
            Some(&first) if first != register => Err(BindingError::Twice { name, first, second: register }),
            _ => {
                self.registers.insert(name, register);
                Ok(())
            }
        }
    }

    /// The register of a name.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let bindings = Bindings::collect(["a=3:0:2".parse()?])?;
    /// assert_eq!(bindings.get("a"), Some(x));
    /// assert_eq!(bindings.get("A"), None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn get(&self, name: &str) -> Option<VrId> {
        self.registers.get(name).copied()
    }

    /// All names with their registers, by name.
    ///
    /// # Example
    /// ```
    /// use ciphermill_program::Bindings;
    ///
    /// let bindings = Bindings::collect(["b=3:0:3".parse()?, "a=3:0:2".parse()?])?;
    /// let names: Vec<&str> = bindings.iter().map(|(name, _)| name).collect();
    /// assert_eq!(names, ["a", "b"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (&str, VrId)> {
        self.registers.iter().map(|(name, &register)| (name.as_str(), register))
    }
}

/// Whether `text` can name a register in a program.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
