//! A text that is parsed, and the nodes of its syntax tree.

use tree_sitter::Node;

use crate::diagnostic::{Place, Problem, Result};

/// A text, and its place if it is the value of a macro.
#[derive(Clone, Copy)]
pub(super) struct Text<'t> {
    pub(super) text: &'t str,
    /// As in [`Place`].
    pub(super) file: u16,
    pub(super) at: Option<Place>,
}

impl<'t> Text<'t> {
    pub(super) fn of(self, node: Node<'_>) -> &'t str {
        &self.text[node.byte_range()]
    }

    pub(super) fn place(self, node: Node<'_>) -> Place {
        let start = node.start_position();
        self.at.unwrap_or(Place { file: self.file, line: start.row as u32 + 1, column: start.column as u32 + 1 })
    }

    /// The first character of the file.
    pub(super) fn begin(self) -> Place {
        Place { file: self.file, ..Place::BEGIN }
    }

    pub(super) fn problem(self, node: Node<'_>, what: impl Into<String>, way_out: impl Into<String>) -> Problem {
        Problem::new(self.place(node), what, way_out)
    }

    /// The beginning of the node's text.
    pub(super) fn short(self, node: Node<'_>) -> String {
        let line = self.of(node).lines().next().unwrap_or_default();
        match line.char_indices().nth(40) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line.to_owned(),
        }
    }
}

/// The named children of a node, without comments.
pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).filter(|child| child.kind() != "comment").collect()
}

/// A child that the grammar requires.
pub(super) fn field<'t>(text: Text<'_>, node: Node<'t>, name: &str) -> Result<Node<'t>> {
    node.child_by_field_name(name)
        .ok_or_else(|| text.problem(node, format!("`{}` without its {name}", text.short(node)), "complete it"))
}
