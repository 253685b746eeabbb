//! Sources as syntax trees.

use std::collections::BTreeSet;

use tree_sitter::{Node, Parser, Tree};

/// A place that violates a rule.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) what: String,
}

/// A file.
pub(crate) struct File {
    pub(crate) name: String,
    text: String,
    tree: Tree,
}

impl File {
    pub(crate) fn of(&self, node: Node<'_>) -> &str {
        &self.text[node.byte_range()]
    }

    pub(crate) fn finding(&self, node: Node<'_>, what: impl Into<String>) -> Finding {
        Finding { file: self.name.clone(), line: node.start_position().row + 1, what: what.into() }
    }

    pub(crate) fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }

    /// All nodes of a kind.
    pub(crate) fn all(&self, kind: &str) -> Vec<Node<'_>> {
        within(self.root()).into_iter().filter(|node| node.kind() == kind).collect()
    }
}

/// A node and all nodes inside of it.
pub(crate) fn within(node: Node<'_>) -> Vec<Node<'_>> {
    let (mut found, mut open) = (Vec::new(), vec![node]);
    while let Some(node) = open.pop() {
        found.push(node);
        let mut cursor = node.walk();
        let inside: Vec<Node<'_>> = node.children(&mut cursor).collect();
        open.extend(inside.into_iter().rev());
    }
    found
}

/// The nodes around a node, the innermost first.
pub(crate) fn around(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    std::iter::successors(node.parent(), |one| one.parent())
}

/// The function around a node.
pub(crate) fn function_of(node: Node<'_>) -> Option<Node<'_>> {
    around(node).find(|one| one.kind() == "function_definition")
}

/// Files that include one another.
pub(crate) struct Sources {
    pub(crate) files: Vec<File>,
    /// Macros, and constants outside of functions.
    pub(crate) constants: BTreeSet<String>,
    /// Types with names.
    pub(crate) types: BTreeSet<String>,
    pub(crate) functions: BTreeSet<String>,
}

impl Sources {
    pub(crate) fn new(files: impl IntoIterator<Item = (String, String)>) -> Self {
        let files: Vec<File> = files.into_iter().map(|(name, text)| file(name, text)).collect();
        let names = |kind: &'static str, field: &'static str| -> BTreeSet<String> {
            let of = |file: &File| {
                let named = file.all(kind).into_iter().filter_map(|node| node.child_by_field_name(field));
                named.map(|node| file.of(node).to_owned()).collect::<Vec<_>>()
            };
            files.iter().flat_map(of).collect()
        };
        let mut constants = names("preproc_def", "name");
        constants.extend(files.iter().flat_map(global_constants));
        let types = names("type_definition", "declarator");
        let functions = files.iter().flat_map(|file| {
            file.all("function_definition").into_iter().map(|node| function_name(file, node).to_owned())
        });
        let functions = functions.collect();
        Self { files, constants, types, functions }
    }

    /// Findings of all files.
    pub(crate) fn each<'s>(&'s self, check: impl Fn(&'s File) -> Vec<Finding>) -> Vec<Finding> {
        self.files.iter().flat_map(check).collect()
    }
}

fn file(name: String, text: String) -> File {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_c::LANGUAGE.into()).expect("the grammar of C");
    let tree = parser.parse(&text, None).expect("a tree");
    assert!(!tree.root_node().has_error(), "{name} is not C");
    File { name, text, tree }
}

/// The name of a function.
pub(crate) fn function_name<'f>(file: &'f File, function: Node<'_>) -> &'f str {
    let declarator = function.child_by_field_name("declarator").and_then(|one| one.child_by_field_name("declarator"));
    declarator.map_or("", |name| file.of(name))
}

/// Names of `const` declarations outside of functions.
fn global_constants(file: &File) -> Vec<String> {
    let is_global = |node: &Node<'_>| function_of(*node).is_none() && file.of(*node).contains("const ");
    let declared = file.all("declaration").into_iter().filter(is_global);
    declared
        .flat_map(|node| within(node).into_iter().find(|one| one.kind() == "identifier"))
        .map(|name| file.of(name).to_owned())
        .collect()
}
