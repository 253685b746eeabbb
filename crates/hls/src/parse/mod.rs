//! The parser from text to [`Unit`]. It expands macros, chooses conditional parts, and refuses text outside of the subset.

mod casts;
mod condition;
mod expression;
mod macros;
mod preprocess;
mod scopes;
mod statement;
mod text;
mod tree;
mod types;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tree_sitter::Node;

use crate::Source;
use crate::ast::{Declaration, Function, Type, Unit};
use crate::diagnostic::{Diagnostic, Problem, Result};
use macros::Macros;
use text::{Text, children, field};
use tree::tree;

/// Headers and conditional parts inside of one another.
const MAX_NESTING: usize = 256;

/// Parses a source. `defines` are macros and their values, as `-D` gives them to a C compiler.
///
/// # Errors
/// The first [`Diagnostic`], if the source is not in the subset.
///
/// # Example
/// ```
/// use ciphermill_hls::{Source, parse};
///
/// let text = "#include <stdint.h>\nvoid copy(uint16_t a[N]) { for (unsigned i = 1; i < N; i++) a[i] = a[i - 1]; }";
/// let unit = parse(&Source::new("copy.c", text), &[("N".to_owned(), "8".to_owned())])?;
/// assert_eq!(unit.functions[0].name, "copy");
/// # Ok::<(), ciphermill_hls::Diagnostic>(())
/// ```
pub fn parse(source: &Source, defines: &[(String, String)]) -> Result<Unit, Diagnostic> {
    unit(source, defines).map_err(|problem| problem.of(source))
}

fn unit(source: &Source, defines: &[(String, String)]) -> Result<Unit> {
    let mut file = File {
        macros: Macros::new(defines)?,
        types: types::standard(),
        typedefs: casts::types(source),
        headers: Arc::clone(&source.headers),
        booleans: false,
        once: BTreeSet::new(),
        included: 0,
        nesting: 0,
        unit: Unit::default(),
    };
    let text = Text { text: source.text(), file: 0, at: None };
    let tree = tree(text, text.begin(), &file.typedefs)?;
    file.items(text, children(tree.root_node()))?;
    scopes::check(&file.unit)?;
    Ok(file.unit)
}

/// The state of the parser in a file.
struct File {
    macros: Macros,
    /// The types that have names.
    types: BTreeMap<String, Type>,
    /// The names of the types that the source and all headers define.
    typedefs: BTreeSet<String>,
    headers: Arc<BTreeMap<String, String>>,
    /// Whether `<stdbool.h>` was included.
    booleans: bool,
    /// Headers with `#pragma once` that were read.
    once: BTreeSet<String>,
    /// The number of headers that were read, repeated ones included.
    included: usize,
    /// Headers and conditional parts around the present node.
    nesting: usize,
    unit: Unit,
}

impl File {
    /// The items outside of functions.
    fn items(&mut self, text: Text<'_>, nodes: Vec<Node<'_>>) -> Result<()> {
        // Headers and conditional parts can be nested.
        if self.nesting == MAX_NESTING {
            let what = format!("headers and conditional parts nested more than {MAX_NESTING} deep");
            return Err(Problem::new(text.begin(), what, "write `#pragma once` at the top of the header"));
        }
        self.nesting += 1;
        let read = self.items_inside(text, nodes);
        self.nesting -= 1;
        read
    }

    fn items_inside(&mut self, text: Text<'_>, nodes: Vec<Node<'_>>) -> Result<()> {
        for node in nodes {
            if let Some(chosen) = self.preprocess(text, node)? {
                self.items(text, chosen)?;
                continue;
            }
            match node.kind() {
                "type_definition" => self.type_definition(text, node)?,
                "declaration" => self.constants(text, node)?,
                "function_definition" => {
                    let function = self.function(text, node)?;
                    self.unit.functions.push(function);
                }
                ";" => {}
                "preproc_call" if text.of(node).trim_end() == "#pragma once" => {}
                _ => {
                    let what = format!("`{}` outside of a function", text.short(node));
                    return Err(text.problem(node, what, "use only constants, types and functions there"));
                }
            }
        }
        Ok(())
    }

    fn constants(&mut self, text: Text<'_>, node: Node<'_>) -> Result<()> {
        // The declaration of a function without its body is not needed.
        if children(node).iter().any(|child| child.kind() == "function_declarator") {
            return Ok(());
        }
        let declared = self.declaration(text, node)?;
        if let Some(variable) = declared.iter().find(|one| !one.constant) {
            return Err(Problem::new(
                variable.place,
                format!("`{}` is a variable outside of a function", variable.name),
                "make it `const`, or declare it in a function",
            ));
        }
        self.unit.constants.extend(declared);
        Ok(())
    }

    fn function(&mut self, text: Text<'_>, node: Node<'_>) -> Result<Function> {
        let internal =
            children(node).iter().any(|child| child.kind() == "storage_class_specifier" && text.of(*child) == "static");
        let result = self.result_type(text, field(text, node, "type")?)?;
        let declarator = field(text, node, "declarator")?;
        if declarator.kind() != "function_declarator" {
            return Err(text.problem(declarator, "a function that returns a pointer", "return a value"));
        }
        let name = field(text, declarator, "declarator")?;
        let mut parameters: Vec<Declaration> = Vec::new();
        for parameter in children(field(text, declarator, "parameters")?) {
            match parameter.kind() {
                "parameter_declaration" if text.of(parameter).trim() == "void" => {}
                "parameter_declaration" => parameters.extend(self.declaration(text, parameter)?),
                _ => {
                    let what = format!("`{}` as a parameter", text.short(parameter));
                    return Err(text.problem(parameter, what, "use unsigned values and arrays"));
                }
            }
        }
        let body = self.block(text, field(text, node, "body")?)?;
        let (place, name) = (text.place(name), self.name_of(text, name)?.to_owned());
        Ok(Function { place, name, result, parameters, body, internal })
    }
}
