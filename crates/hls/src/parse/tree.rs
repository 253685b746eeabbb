//! The syntax tree of a text, and what no text may have.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use super::text::Text;
use super::{casts, words};
use crate::diagnostic::{Place, Problem, Result};

/// Bytes of a source, and of a header.
const MAX_BYTES: usize = 1 << 20;
/// Nodes of the syntax tree from the root to a leaf.
const MAX_DEPTH: usize = 256;
/// Steps of the parser for any text. A text without ambiguous parentheses takes a step for 20 to 50 bytes, and the steps for a
/// long expression with ambiguous parentheses grow with the square of its length.
const MIN_STEPS: usize = 1024;
/// A text may have a step for each such number of bytes as well, in all of its parses.
const BYTES_OF_A_STEP: usize = 4;
/// Parses of a text, each of which finds names in expressions that the one before took for parts of a type.
const MAX_PARSES: usize = 16;

/// The syntax tree of a text without errors. `types` are the names of types.
pub(super) fn tree(text: Text<'_>, begin: Place, types: &BTreeSet<String>) -> Result<Tree> {
    let bytes = text.text.len();
    if bytes > MAX_BYTES {
        return Err(Problem::new(begin, format!("{bytes} bytes, at most {MAX_BYTES}"), "split the source"));
    }
    let most = MIN_STEPS + bytes / BYTES_OF_A_STEP;
    let mut steps = Steps { parser: Parser::new(), begin, most, left: most };
    let mut tree = steps.parse(text.text)?;
    let mut changed = casts::with_numbers(&tree, text.text, types);
    for _ in 1..MAX_PARSES {
        let Some(other) = changed else { break };
        tree = steps.parse(&other)?;
        changed = casts::with_numbers(&tree, &other, types);
    }
    check(&tree, text)?;
    Ok(tree)
}

/// A parser and the remaining steps of a text.
struct Steps {
    parser: Parser,
    begin: Place,
    most: usize,
    left: usize,
}

impl Steps {
    fn parse(&mut self, text: &str) -> Result<Tree> {
        let failed = |what: String| Problem::new(self.begin, what, "report this");
        self.parser.set_language(&tree_sitter_c::LANGUAGE.into()).map_err(|error| failed(error.to_string()))?;
        let left = &mut self.left;
        let mut step = |_: &ParseState| match left.checked_sub(1) {
            Some(fewer) => {
                *left = fewer;
                ControlFlow::Continue(())
            }
            None => ControlFlow::Break(()),
        };
        let options = ParseOptions::new().progress_callback(&mut step);
        let mut part = |begin: usize, _| text.as_bytes().get(begin..).unwrap_or_default();
        let tree = self.parser.parse_with_options(&mut part, None, Some(options));
        tree.ok_or_else(|| {
            let what = format!("more than {} steps of the parser", self.most);
            Problem::new(self.begin, what, "use variables for parts of long expressions")
        })
    }
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
