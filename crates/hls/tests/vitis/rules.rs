//! The rules of the language.

use std::collections::{BTreeMap, BTreeSet};

use tree_sitter::Node;

use crate::source::{File, Finding, Sources, function_name, function_of, within};

/// Types without a definition in the sources. UG1399, Standard Types, gives the bits of `unsigned`.
const TYPES: [&str; 8] = ["void", "bool", "unsigned", "unsigned int", "uint8_t", "uint16_t", "uint32_t", "uint64_t"];
const HEADERS: [&str; 4] = ["<assert.h>", "<stdbool.h>", "<stddef.h>", "<stdint.h>"];
const ALLOCATION: [&str; 6] = ["malloc", "calloc", "realloc", "alloca", "alloc", "free"];
/// Keywords of C++14 that are names in C.
const WORDS: [&str; 45] = [
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "asm",
    "bitand",
    "bitor",
    "catch",
    "char16_t",
    "char32_t",
    "class",
    "compl",
    "const_cast",
    "constexpr",
    "decltype",
    "delete",
    "dynamic_cast",
    "explicit",
    "export",
    "friend",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "reinterpret_cast",
    "static_assert",
    "static_cast",
    "template",
    "this",
    "thread_local",
    "throw",
    "try",
    "typeid",
    "typename",
    "using",
    "virtual",
];

pub(crate) fn types(sources: &Sources) -> Vec<Finding> {
    let is_type =
        |node: &Node<'_>| matches!(node.kind(), "primitive_type" | "sized_type_specifier" | "type_identifier");
    sources.each(|file| {
        let unknown = |node: &Node<'_>| {
            let name = file.of(*node);
            !TYPES.contains(&name) && !sources.types.contains(name)
        };
        // `unsigned int` has `int` inside of it.
        let outermost = |node: &Node<'_>| node.parent().is_none_or(|parent| parent.kind() != "sized_type_specifier");
        let named = within(file.root()).into_iter().filter(is_type).filter(outermost).filter(unknown);
        let composed = ["struct_specifier", "union_specifier", "enum_specifier"].map(|kind| file.all(kind)).concat();
        named.chain(composed).map(|node| file.finding(node, format!("type `{}`", file.of(node)))).collect()
    })
}

/// The functions that each function calls.
fn calls(sources: &Sources) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in &sources.files {
        for call in file.all("call_expression") {
            let (Some(caller), Some(called)) = (function_of(call), call.child_by_field_name("function")) else {
                continue;
            };
            found.entry(function_name(file, caller).to_owned()).or_default().insert(file.of(called).to_owned());
        }
    }
    found
}

pub(crate) fn recursion(sources: &Sources) -> Vec<Finding> {
    let calls = calls(sources);
    let reaches_itself = |name: &str| {
        let (mut open, mut seen) = (vec![name.to_owned()], BTreeSet::new());
        while let Some(one) = open.pop() {
            for called in calls.get(&one).into_iter().flatten() {
                if called == name {
                    return true;
                }
                if seen.insert(called.clone()) {
                    open.push(called.clone());
                }
            }
        }
        false
    };
    sources.each(|file| {
        let functions = file.all("function_definition").into_iter();
        let recursive = functions.filter(|node| reaches_itself(function_name(file, *node)));
        recursive.map(|node| file.finding(node, format!("`{}` calls itself", function_name(file, node)))).collect()
    })
}

pub(crate) fn pointers(sources: &Sources) -> Vec<Finding> {
    let is_pointer = |node: Node<'_>| node.kind().ends_with("pointer_declarator");
    sources.each(|file| {
        let wrong = |node: &Node<'_>| {
            let inside = within(*node);
            let twice = inside.iter().filter(|one| is_pointer(**one)).count() > 1;
            let parent = node.parent().map(|parent| parent.kind());
            twice || parent == Some("parenthesized_declarator")
        };
        let all = within(file.root()).into_iter().filter(|node| is_pointer(*node));
        all.filter(wrong).map(|node| file.finding(node, format!("pointer `{}`", file.of(node)))).collect()
    })
}

fn called<'f>(file: &'f File) -> impl Iterator<Item = (Node<'f>, &'f str)> {
    let calls = file.all("call_expression").into_iter();
    calls.filter_map(|call| call.child_by_field_name("function").map(|function| (call, file.of(function))))
}

pub(crate) fn dynamic_memory(sources: &Sources) -> Vec<Finding> {
    sources.each(|file| {
        let found = called(file).filter(|(_, name)| ALLOCATION.contains(name));
        found.map(|(call, name)| file.finding(call, format!("call of `{name}`"))).collect()
    })
}

pub(crate) fn system_calls(sources: &Sources) -> Vec<Finding> {
    sources.each(|file| {
        let outside = called(file).filter(|(_, name)| *name != "assert" && !sources.functions.contains(*name));
        let calls = outside.map(|(call, name)| file.finding(call, format!("`{name}` is not defined in the sources")));
        let includes = file.all("preproc_include").into_iter().filter(|node| {
            let path = node.child_by_field_name("path").map_or("", |path| file.of(path));
            !HEADERS.contains(&path) && !path.starts_with('"')
        });
        calls.chain(includes.map(|node| file.finding(node, file.of(node).trim()))).collect()
    })
}

/// Identifiers in an expression that are not constants.
fn variables<'f>(sources: &Sources, file: &'f File, expression: Node<'f>) -> Vec<&'f str> {
    let identifiers = within(expression).into_iter().filter(|node| node.kind() == "identifier");
    identifiers.map(|node| file.of(node)).filter(|name| !sources.constants.contains(*name)).collect()
}

pub(crate) fn lengths(sources: &Sources) -> Vec<Finding> {
    sources.each(|file| {
        let arrays = [file.all("array_declarator"), file.all("abstract_array_declarator")].concat();
        let wrong = arrays.into_iter().filter(|node| match node.child_by_field_name("size") {
            Some(size) => size.kind() == "*" || !variables(sources, file, size).is_empty(),
            None => true,
        });
        wrong.map(|node| file.finding(node, format!("array `{}`", file.of(node)))).collect()
    })
}

pub(crate) fn trip_counts(sources: &Sources) -> Vec<Finding> {
    sources.each(|file| {
        let other = [file.all("while_statement"), file.all("do_statement")].concat().into_iter();
        let other = other.map(|node| file.finding(node, "a loop without a count"));
        let varies = |node: &Node<'_>| !is_counted(sources, file, *node);
        let loops = file.all("for_statement").into_iter().filter(varies);
        other.chain(loops.map(|node| file.finding(node, "a loop whose count is not constant"))).collect()
    })
}

/// Whether a loop has a variable of its own and constants besides.
fn is_counted(sources: &Sources, file: &File, one: Node<'_>) -> bool {
    let part = |name: &str| one.child_by_field_name(name);
    let (Some(first), Some(condition), Some(update)) = (part("initializer"), part("condition"), part("update")) else {
        return false;
    };
    let variable = within(first).into_iter().find(|node| node.kind() == "identifier").map_or("", |node| file.of(node));
    let parts = [first, condition, update];
    let is_simple =
        within(condition).iter().all(|node| !matches!(node.kind(), "call_expression" | "subscript_expression"));
    let assigned = within(part("body").unwrap_or(update)).into_iter().any(|node| {
        let target = node.child_by_field_name("left").or(node.child_by_field_name("argument"));
        matches!(node.kind(), "assignment_expression" | "update_expression")
            && target.is_some_and(|target| file.of(target) == variable)
    });
    let constant = parts.into_iter().all(|part| variables(sources, file, part).iter().all(|name| *name == variable));
    is_simple && constant && (!assigned || part("body").is_none())
}

pub(crate) fn jumps(sources: &Sources) -> Vec<Finding> {
    sources.each(|file| file.all("goto_statement").into_iter().map(|node| file.finding(node, file.of(node))).collect())
}

pub(crate) fn words(sources: &Sources) -> Vec<Finding> {
    let is_name = |node: &Node<'_>| node.kind().ends_with("identifier");
    sources.each(|file| {
        let names = within(file.root()).into_iter().filter(is_name);
        let reserved = names.filter(|node| WORDS.contains(&file.of(*node)));
        reserved.map(|node| file.finding(node, format!("`{}` is a word of C++", file.of(node)))).collect()
    })
}

/// Whether an expression compares and has no effect: it may be left out under `-DNDEBUG`.
fn is_range(file: &File, condition: Node<'_>) -> bool {
    let operator = condition.child_by_field_name("operator").map_or("", |one| file.of(one));
    let compares = ["<", "<=", ">", ">=", "==", "!="].contains(&operator);
    let has_effect =
        |node: &Node<'_>| matches!(node.kind(), "assignment_expression" | "update_expression" | "call_expression");
    compares && !within(condition).iter().any(has_effect)
}

pub(crate) fn assertions(sources: &Sources) -> Vec<Finding> {
    let includes = |file: &File| file.all("preproc_include").iter().any(|node| file.of(*node).contains("<assert.h>"));
    let included = sources.files.iter().any(includes);
    sources.each(|file| {
        let asserts = called(file).filter(|(_, name)| *name == "assert");
        let wrong = asserts.filter(|(call, _)| {
            let arguments = call.child_by_field_name("arguments").and_then(|all| all.named_child(0));
            !included || arguments.is_none_or(|condition| !is_range(file, condition))
        });
        wrong.map(|(call, _)| file.finding(call, file.of(call))).collect()
    })
}

pub(crate) fn top(sources: &Sources) -> Vec<Finding> {
    sources.each(|file| {
        let is_static = |node: &Node<'_>| file.of(*node).starts_with("static ");
        let functions = file.all("function_definition");
        let mut found: Vec<Finding> = crate::pragmas::interfaces(file);
        if file.name.ends_with(".c") && functions.iter().all(is_static) {
            found.push(file.finding(file.root(), "no function that is not static"));
        }
        found
    })
}
