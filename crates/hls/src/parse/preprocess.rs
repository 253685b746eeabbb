//! Directives: definitions of macros, headers, and conditional parts.

use std::sync::Arc;

use tree_sitter::Node;

use super::macros::Undefined;
use super::{File, Text, children, field, tree};
use crate::diagnostic::Result;

/// Headers of the C standard, which are built in.
const HEADERS: [&str; 4] = ["<stdint.h>", "<assert.h>", "<stdbool.h>", "<stddef.h>"];
/// Headers, repeated ones included.
const MAX_INCLUDES: usize = 64;

impl File {
    /// Processes a directive. Returns the chosen nodes of a conditional part, or `None` if the node is a pragma or not a
    /// directive.
    pub(super) fn preprocess<'t>(&mut self, text: Text<'_>, node: Node<'t>) -> Result<Option<Vec<Node<'t>>>> {
        Ok(Some(match node.kind() {
            "preproc_include" => {
                self.include(text, node)?;
                Vec::new()
            }
            "preproc_def" => {
                self.define(text, node)?;
                Vec::new()
            }
            "preproc_function_def" => {
                let what = "a macro with arguments";
                return Err(text.problem(node, what, "write a `static` function"));
            }
            "preproc_ifdef" => {
                let name = field(text, node, "name")?;
                let negated = node.child(0).is_some_and(|directive| directive.kind() == "#ifndef");
                // The guard of a header defines its own name, whatever that is.
                let is_guard = negated && defines(text, node.named_child(1), text.of(name));
                let defined =
                    if is_guard { self.macros.get(text.of(name)).is_some() } else { self.is_defined(text, name)? };
                self.chosen(text, node, defined != negated)?
            }
            "preproc_if" | "preproc_elif" => {
                let condition = self.condition(text, field(text, node, "condition")?)?;
                self.chosen(text, node, condition)?
            }
            "preproc_else" => children(node),
            "preproc_call" => {
                let directive = field(text, node, "directive")?;
                let argument = node.child_by_field_name("argument").map_or("", |argument| text.of(argument).trim());
                match text.of(directive) {
                    "#pragma" => return Ok(None),
                    "#undef" => self.macros.remove(without_comment(argument)),
                    "#error" => {
                        return Err(text.problem(
                            node,
                            format!("#error {argument}"),
                            "define the macros that the source requires, or change their values",
                        ));
                    }
                    other => {
                        return Err(text.problem(node, format!("directive `{other}`"), "remove it"));
                    }
                }
                Vec::new()
            }
            _ => return Ok(None),
        }))
    }

    fn define(&mut self, text: Text<'_>, node: Node<'_>) -> Result<()> {
        let name = field(text, node, "name")?;
        let value = node.child_by_field_name("value").map(|value| text.of(value));
        // A macro without a value can be tested by `#ifdef`.
        let value = without_comment(value.unwrap_or_default());
        let what = format!("macro {}", text.of(name));
        self.macros.insert(text.of(name), value).map_err(|refusal| match refusal {
            Undefined::Twice => {
                let what = format!("{what} is defined with two values");
                text.problem(node, what, "use `#undef`, or `#ifndef` around the second one")
            }
            Undefined::OfC => text.problem(name, format!("{what} has a name of C and its headers"), "rename it"),
        })
    }

    /// Reads a header of the source. Headers of the C standard are built in.
    fn include(&mut self, text: Text<'_>, node: Node<'_>) -> Result<()> {
        let path = text.of(field(text, node, "path")?);
        if HEADERS.contains(&path) {
            self.booleans |= path == "<stdbool.h>";
            return Ok(());
        }
        let headers = Arc::clone(&self.headers);
        let name = path.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let Some((index, (name, content))) =
            headers.iter().enumerate().find(|(_, (known, _))| Some(known.as_str()) == name)
        else {
            let known = HEADERS.iter().map(|&one| one.to_owned()).chain(headers.keys().map(|one| format!("\"{one}\"")));
            let known = known.collect::<Vec<_>>().join(", ");
            let way_out = match name {
                Some(name) => format!("add `{name}` to the folder of the source, or include {known}"),
                None => format!("include {known} only"),
            };
            return Err(text.problem(node, format!("`#include {path}`"), way_out));
        };
        if std::iter::successors(node.parent(), |one| one.parent()).any(|one| one.kind() == "compound_statement") {
            return Err(text.problem(node, "an #include in a function", "include at the top of the source"));
        }
        if self.once.contains(name) {
            return Ok(());
        }
        self.included += 1;
        if self.included > MAX_INCLUDES {
            let what = format!("more than {MAX_INCLUDES} headers are included");
            return Err(text.problem(node, what, "write `#pragma once` at the top of the header"));
        }
        let header = Text { text: content, file: index as u16 + 1, at: None };
        let tree = tree(header, header.begin(), &self.typedefs)?;
        let nodes = children(tree.root_node());
        if nodes.iter().any(|one| header.of(*one).trim_end() == "#pragma once") {
            self.once.insert(name.clone());
        }
        self.items(header, nodes)
    }

    /// The nodes of a conditional part, or of its alternative.
    fn chosen<'t>(&mut self, text: Text<'_>, node: Node<'t>, condition: bool) -> Result<Vec<Node<'t>>> {
        let part = |name| node.child_by_field_name(name);
        if condition {
            let others = ["name", "condition", "alternative"].map(|name| part(name).map(|other| other.id()));
            return Ok(children(node).into_iter().filter(|child| !others.contains(&Some(child.id()))).collect());
        }
        match part("alternative") {
            Some(alternative) => match self.preprocess(text, alternative)? {
                Some(chosen) => Ok(chosen),
                None => {
                    let what = format!("directive `{}`", text.short(alternative));
                    Err(text.problem(alternative, what, "use `#elif defined(…)`, or `#else`"))
                }
            },
            None => Ok(Vec::new()),
        }
    }
}

/// The words of a directive.
pub(super) fn without_comment(value: &str) -> &str {
    let end = value.find("//").into_iter().chain(value.find("/*")).min();
    value[..end.unwrap_or(value.len())].trim()
}

/// Whether a directive defines a macro.
fn defines(text: Text<'_>, directive: Option<Node<'_>>, name: &str) -> bool {
    let directive = directive.filter(|one| one.kind() == "preproc_def");
    directive.and_then(|one| one.child_by_field_name("name")).is_some_and(|defined| text.of(defined) == name)
}
