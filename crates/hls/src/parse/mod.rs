//! The parser from text to [`Unit`]. It expands macros, chooses conditional parts, and refuses text outside of the subset.

mod condition;
mod expression;
mod macros;
mod preprocess;
mod scopes;
mod statement;
mod types;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tree_sitter::{Node, Parser, Tree};

use crate::Source;
use crate::ast::{Declaration, Function, Type, Unit};
use crate::diagnostic::{Diagnostic, Place, Problem, Result};
use macros::Macros;

/// Bytes of a source, and of a header.
const MAX_BYTES: usize = 1 << 20;
/// Nodes of the syntax tree from the root to a leaf.
const MAX_DEPTH: usize = 256;

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
        headers: Arc::clone(&source.headers),
        booleans: false,
        once: BTreeSet::new(),
        included: 0,
        nesting: 0,
        unit: Unit::default(),
    };
    let text = Text { text: source.text(), file: 0, at: None };
    let tree = tree(text, text.begin())?;
    file.items(text, children(tree.root_node()))?;
    scopes::check(&file.unit)?;
    Ok(file.unit)
}

/// A text, and its place if it is the value of a macro.
#[derive(Clone, Copy)]
struct Text<'t> {
    text: &'t str,
    /// As in [`Place`].
    file: u16,
    at: Option<Place>,
}

impl<'t> Text<'t> {
    fn of(self, node: Node<'_>) -> &'t str {
        &self.text[node.byte_range()]
    }

    fn place(self, node: Node<'_>) -> Place {
        let start = node.start_position();
        self.at.unwrap_or(Place { file: self.file, line: start.row as u32 + 1, column: start.column as u32 + 1 })
    }

    /// The first character of the file.
    fn begin(self) -> Place {
        Place { file: self.file, ..Place::BEGIN }
    }

    fn problem(self, node: Node<'_>, what: impl Into<String>, way_out: impl Into<String>) -> Problem {
        Problem::new(self.place(node), what, way_out)
    }

    /// The beginning of the node's text.
    fn short(self, node: Node<'_>) -> String {
        let line = self.of(node).lines().next().unwrap_or_default();
        match line.char_indices().nth(40) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line.to_owned(),
        }
    }
}

/// The syntax tree of a text without errors.
fn tree(text: Text<'_>, begin: Place) -> Result<Tree> {
    let bytes = text.text.len();
    if bytes > MAX_BYTES {
        return Err(Problem::new(begin, format!("{bytes} bytes, at most {MAX_BYTES}"), "split the source"));
    }
    let mut parser = Parser::new();
    let failed = |what: String| Problem::new(begin, what, "report this");
    parser.set_language(&tree_sitter_c::LANGUAGE.into()).map_err(|error| failed(error.to_string()))?;
    let tree = parser.parse(text.text, None).ok_or_else(|| failed("the parser gave up".to_owned()))?;
    check(&tree, text)?;
    Ok(tree)
}

/// Whether the words of a directive go on in a line that C does not join. The parser takes a `/` at the end of a line for such a
/// line.
fn goes_on(words: &str) -> bool {
    let mut lines: Vec<&str> = words.lines().collect();
    lines.pop();
    lines.iter().any(|line| !line.ends_with('\\'))
}

/// Refuses syntax errors, names that a module cannot have, and nodes that are nested too deep.
fn check(tree: &Tree, text: Text<'_>) -> Result<()> {
    let mut cursor = tree.walk();
    let mut depth = 0;
    // Visits all nodes without recursion, because their depth is not bounded yet.
    loop {
        let node = cursor.node();
        if node.is_error() || node.is_missing() {
            let near = text.short(node);
            let what = if near.trim().is_empty() {
                "a syntax error".to_owned()
            } else {
                format!("a syntax error near `{near}`")
            };
            return Err(match pragma_before_body(text, node) {
                Some(place) => Problem::new(
                    place,
                    "a pragma between a loop or a condition and its body",
                    "put braces around the body, and the pragma first into them",
                ),
                None => text.problem(node, what, "write C that a C compiler accepts"),
            });
        }
        if node.kind() == "preproc_arg" && goes_on(text.of(node)) {
            let what = "a directive with a comment that ends in `/`";
            return Err(text.problem(node, what, "end the comment with another character"));
        }
        if node.kind().ends_with("identifier") && !words::is_name(text.of(node)) {
            let what = format!("`{}` has other characters than ASCII letters, digits and `_`", text.short(node));
            return Err(text.problem(node, what, "rename it"));
        }
        if depth > MAX_DEPTH {
            let what = format!("nested more than {MAX_DEPTH} deep");
            return Err(text.problem(node, what, "use variables for parts of it"));
        }
        if cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return Ok(());
            }
            depth -= 1;
        }
    }
}

/// The place of a pragma in front of the body of a loop or a condition, if the node is the body that is missing there.
fn pragma_before_body(text: Text<'_>, node: Node<'_>) -> Option<Place> {
    let empty = node.parent().filter(|body| node.is_missing() && body.named_child_count() == 0);
    let around = empty.and_then(|body| body.parent())?;
    if !["for_statement", "if_statement"].contains(&around.kind()) {
        return None;
    }
    let rest = &text.text[node.start_byte()..];
    let begin = text.text.len() - rest.trim_start().len();
    let is_pragma = text.text[begin..].strip_prefix('#').is_some_and(|rest| rest.trim_start().starts_with("pragma"));
    let before = &text.text[..begin];
    let (line, column) = (before.matches('\n').count(), before.len() - before.rfind('\n').map_or(0, |at| at + 1));
    let place = Place { file: text.file, line: line as u32 + 1, column: column as u32 + 1 };
    is_pragma.then(|| text.at.unwrap_or(place))
}

/// The named children of a node, without comments.
fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|child| child.kind() != "comment").collect()
}

/// A child that the grammar requires.
fn field<'t>(text: Text<'_>, node: Node<'t>, name: &str) -> Result<Node<'t>> {
    node.child_by_field_name(name)
        .ok_or_else(|| text.problem(node, format!("`{}` without its {name}", text.short(node)), "complete it"))
}

/// The state of the parser in a file.
struct File {
    macros: Macros,
    /// The types that have names.
    types: BTreeMap<String, Type>,
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
        if self.nesting == MAX_DEPTH {
            let what = format!("headers and conditional parts nested more than {MAX_DEPTH} deep");
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
