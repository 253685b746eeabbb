//! The assembler.

mod bindings;
mod line_map;

pub use bindings::{Binding, BindingError, Bindings};
pub use line_map::LineMap;
