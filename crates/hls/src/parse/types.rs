//! Types and declarations.

use std::collections::BTreeMap;

use tree_sitter::Node;

use super::{File, Text, children, field};
use crate::ast::{Declaration, Initial, Type};
use crate::diagnostic::Result;

/// The types that C and its headers name.
pub(super) fn standard() -> BTreeMap<String, Type> {
    let named = [
        ("uint8_t", 8),
        ("uint16_t", 16),
        ("uint32_t", 32),
        ("uint64_t", 64),
        ("bool", 1),
        ("_Bool", 1),
        ("unsigned", 32),
        ("unsigned int", 32),
        ("unsigned char", 8),
        ("unsigned short", 16),
        ("unsigned short int", 16),
        ("unsigned long long", 64),
        ("unsigned long long int", 64),
        ("unsigned __int128", 128),
    ];
    named.into_iter().map(|(name, bits)| (name.to_owned(), Type::unsigned(bits))).collect()
}

impl File {
    /// A type, as a declaration or a conversion names it.
    pub(super) fn type_of(&self, text: Text<'_>, node: Node<'_>) -> Result<Type> {
        let name = self.name_of(text, node)?.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some(known) = self.types.get(&name) {
            return Ok(*known);
        }
        let way_out = match name.as_str() {
            "float" | "double" => "use integers; a fixed-point number is an integer",
            "unsigned long" | "unsigned long int" => "use uint64_t, as the bits of this type depend on the machine",
            "size_t" => "use uint32_t, as the bits of this type depend on the machine",
            _ if node.kind() == "struct_specifier" || node.kind() == "union_specifier" => {
                "use an array for each member"
            }
            _ => "use uint8_t, uint16_t, uint32_t, uint64_t, unsigned or unsigned __int128",
        };
        Err(text.problem(node, format!("type `{name}`"), way_out))
    }

    /// The type of a function's result; `None` if it is `void`.
    pub(super) fn result_type(&self, text: Text<'_>, node: Node<'_>) -> Result<Option<Type>> {
        if text.of(node) == "void" { Ok(None) } else { self.type_of(text, node).map(Some) }
    }

    pub(super) fn type_definition(&mut self, text: Text<'_>, node: Node<'_>) -> Result<()> {
        let of = self.type_of(text, field(text, node, "type")?)?;
        let declarator = field(text, node, "declarator")?;
        if declarator.kind() != "type_identifier" {
            return Err(text.problem(declarator, "a type of arrays or pointers", "name the type of an element"));
        }
        self.types.insert(self.name_of(text, declarator)?.to_owned(), of);
        Ok(())
    }

    /// The variables of a declaration, or the parameter of a function.
    pub(super) fn declaration(&self, text: Text<'_>, node: Node<'_>) -> Result<Vec<Declaration>> {
        let of = self.type_of(text, field(text, node, "type")?)?;
        let parts = children(node);
        let has = |kind: &str, word: &str| parts.iter().any(|part| part.kind() == kind && text.of(*part) == word);
        let (constant, fixed) = (has("type_qualifier", "const"), has("storage_class_specifier", "static"));
        if let Some(part) = parts.iter().find(|part| {
            matches!(part.kind(), "type_qualifier" | "storage_class_specifier")
                && !matches!(text.of(**part), "const" | "static")
        }) {
            return Err(text.problem(*part, format!("`{}`", text.of(*part)), "remove it"));
        }
        let mut cursor = node.walk();
        let declarators: Vec<_> = node.children_by_field_name("declarator", &mut cursor).collect();
        declarators.into_iter().map(|declarator| self.declarator(text, declarator, of, constant, fixed)).collect()
    }

    fn declarator(&self, text: Text<'_>, node: Node<'_>, of: Type, constant: bool, fixed: bool) -> Result<Declaration> {
        let (mut inner, initial) = match node.kind() {
            "init_declarator" => {
                (field(text, node, "declarator")?, Some(self.initial(text, field(text, node, "value")?)?))
            }
            _ => (node, None),
        };
        let mut lengths = Vec::new();
        while inner.kind() == "array_declarator" {
            let length = inner.child_by_field_name("size");
            let length =
                length.ok_or_else(|| text.problem(inner, "an array without its length", "state the length"))?;
            lengths.push(self.expression(text, length)?);
            inner = field(text, inner, "declarator")?;
        }
        // The last length is the outermost declarator's.
        lengths.reverse();
        match inner.kind() {
            "identifier" if self.types.contains_key(text.of(inner)) => {
                let what = format!("`{}` is the name of a type as well", text.of(inner));
                Err(text.problem(inner, what, "rename it"))
            }
            "identifier" => Ok(Declaration {
                place: text.place(inner),
                name: self.name_of(text, inner)?.to_owned(),
                of,
                lengths,
                constant,
                fixed,
                initial,
            }),
            "pointer_declarator" => {
                Err(text.problem(inner, "a pointer", "use an array with its length, such as `a[N]`"))
            }
            _ => Err(text.problem(inner, format!("`{}`", text.short(inner)), "declare a variable or an array")),
        }
    }

    fn initial(&self, text: Text<'_>, node: Node<'_>) -> Result<Initial> {
        if node.kind() == "initializer_list" {
            let elements = children(node).into_iter().map(|element| self.initial(text, element));
            return Ok(Initial::Elements(elements.collect::<Result<_>>()?, text.place(node)));
        }
        self.expression(text, node).map(Initial::Value)
    }
}
