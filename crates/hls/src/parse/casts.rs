//! Names that the grammar takes for types.
//!
//! Without the declared types, `(x) + y` is the sum of two variables or a conversion of +y to the type x. The grammar may take
//! the conversion. A name that no `typedef` has is a variable, a function or a macro. The text is parsed again with a number in its
//! place, because a number cannot be a type. Its node then is a `number_literal` with the name as its text.

use std::collections::BTreeSet;
use std::ops::Range;

use tree_sitter::{Node, Tree};

use super::words::{is_name, is_of_c};
use crate::Source;

/// The words of all `typedef`s in a source and its headers. For a word that is not the name of a type, the choice of the grammar
/// stays.
pub(super) fn types(source: &Source) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for text in source.headers.values().map(String::as_str).chain([source.text()]) {
        let mut is_inside = false;
        for word in words(text) {
            match word {
                "typedef" => is_inside = true,
                ";" => is_inside = false,
                _ if is_inside && is_name(word) => drop(found.insert(word.to_owned())),
                _ => {}
            }
        }
    }
    found
}

/// The words of a text, and its other characters one by one. Comments are left out.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        while let Some(comment) = ["//", "/*"].into_iter().find(|begin| rest.starts_with(begin)) {
            let end = if comment == "//" { "\n" } else { "*/" };
            rest = rest[2..].split_once(end).map_or("", |(_, after)| after);
        }
        let is_inside = |c: char| c.is_alphanumeric() || c == '_';
        let word = rest.find(|c| !is_inside(c)).unwrap_or(rest.len());
        let first = rest.chars().next()?.len_utf8();
        let (word, after) = rest.split_at(word.max(first));
        rest = after;
        Some(word)
    })
}

/// Whether a node is a name.
pub(super) fn is_named(kind: &str, text: &str) -> bool {
    kind == "identifier" || kind == "number_literal" && is_name(text)
}

/// The text with a number for each name that the tree has as the type of a conversion, and that is none; `None` if there is no
/// such name.
pub(super) fn with_numbers(tree: &Tree, text: &str, types: &BTreeSet<String>) -> Option<String> {
    let names = names(tree, text, types);
    if names.is_empty() {
        return None;
    }
    let mut bytes = text.as_bytes().to_vec();
    names.into_iter().for_each(|name| bytes[name].fill(b'1'));
    String::from_utf8(bytes).ok()
}

fn names(tree: &Tree, text: &str, types: &BTreeSet<String>) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut cursor = tree.walk();
    // Visits all nodes without recursion, because their depth is not bounded yet.
    loop {
        found.extend(name(cursor.node(), text, types));
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return found;
            }
        }
    }
}

/// The name of a conversion to a type that does not exist, if its operand begins with an operator of two operands.
fn name(node: Node<'_>, text: &str, types: &BTreeSet<String>) -> Option<Range<usize>> {
    if node.kind() != "cast_expression" {
        return None;
    }
    let operand = node.child_by_field_name("value")?;
    let of = node.child_by_field_name("type")?.child_by_field_name("type")?;
    // The type of `(f(x)) + y` is that of a macro with an argument.
    let name = of.child_by_field_name("name").unwrap_or(of);
    let word = &text[name.byte_range()];
    let is_variable = is_name(word) && !is_of_c(word) && !types.contains(word);
    (is_variable && text[operand.byte_range()].starts_with(['+', '-', '*', '&'])).then(|| name.byte_range())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_definitions_are_those_outside_of_comments() {
        let text = "// a typedef of x\ntypedef uint8_t /* a; b */ byte;typedef unsigned long long\n long_t; my_typedef_t z; /* typedef w;";
        let found = types(&Source::new("f.c", text).with_header("h.h", "uint8_t é;//\ntypedef uint8_t last"));
        let expected = ["byte", "last", "long", "long_t", "uint8_t", "unsigned"];
        assert!(found.iter().eq(expected), "{found:?}");
    }
}
