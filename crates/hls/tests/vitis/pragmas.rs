//! The pragmas of UG1399 2020.2.

use tree_sitter::Node;

use crate::source::{File, Finding, Sources, function_of, within};

/// A value of a setting.
#[derive(Clone, Copy)]
enum Value {
    /// A number, a macro or a constant.
    Number,
    /// A name of the source.
    Name,
    /// One of these words.
    One(&'static [&'static str]),
}

/// The syntax of a pragma.
struct Form {
    name: &'static str,
    /// Settings with a value: the key, its values, and whether the setting is required.
    settings: &'static [(&'static str, Value, bool)],
    /// Groups of words. A pragma has at most one word of a group, and exactly one if the group is required.
    words: &'static [(&'static [&'static str], bool)],
    /// The pragma is in the body of a loop or of a function, and not only somewhere in a function.
    of_body: bool,
}

const PARTITIONS: &[&str] = &["cyclic", "block", "complete"];
const MODES: &[&str] = &[
    "ap_none",
    "ap_stable",
    "ap_vld",
    "ap_ack",
    "ap_hs",
    "ap_ovld",
    "ap_memory",
    "bram",
    "ap_fifo",
    "axis",
    "s_axilite",
    "m_axi",
    "ap_ctrl_none",
    "ap_ctrl_hs",
    "ap_ctrl_chain",
];
/// Modes of arrays.
const MODES_OF_ARRAYS: [&str; 5] = ["ap_memory", "bram", "ap_fifo", "axis", "m_axi"];
const MEMORIES: &[&str] = &["fifo", "ram_1p", "ram_1wnr", "ram_2p", "ram_s2p", "ram_t2p", "rom_1p", "rom_2p", "rom_np"];

const FORMS: &[Form] = &[
    Form {
        name: "array_partition",
        settings: &[("variable", Value::Name, true), ("factor", Value::Number, false), ("dim", Value::Number, false)],
        words: &[(PARTITIONS, false)],
        of_body: false,
    },
    Form {
        name: "bind_storage",
        settings: &[
            ("variable", Value::Name, true),
            ("type", Value::One(MEMORIES), true),
            ("impl", Value::One(&["bram", "lutram", "uram", "srl", "auto"]), false),
            ("latency", Value::Number, false),
        ],
        words: &[],
        of_body: false,
    },
    Form {
        name: "dependence",
        settings: &[("variable", Value::Name, false), ("distance", Value::Number, false)],
        words: &[
            (&["array", "pointer"], false),
            (&["intra", "inter"], true),
            (&["RAW", "WAR", "WAW"], false),
            (&["true", "false"], true),
        ],
        of_body: true,
    },
    Form { name: "inline", settings: &[], words: &[(&["recursive", "off"], false)], of_body: false },
    Form {
        name: "interface",
        settings: &[("port", Value::Name, true), ("depth", Value::Number, false), ("latency", Value::Number, false)],
        words: &[(MODES, true), (&["register"], false)],
        of_body: false,
    },
    Form {
        name: "pipeline",
        settings: &[("II", Value::Number, false), ("style", Value::One(&["stp", "flp", "frp"]), false)],
        words: &[(&["off"], false), (&["rewind"], false), (&["enable_flush"], false)],
        of_body: true,
    },
    Form {
        name: "unroll",
        settings: &[("factor", Value::Number, false)],
        words: &[(&["region"], false), (&["skip_exit_check"], false)],
        of_body: true,
    },
];

/// A pragma in a file.
struct Pragma<'f> {
    node: Node<'f>,
    /// The words after `#pragma`.
    words: Vec<&'f str>,
}

impl<'f> Pragma<'f> {
    fn form(&self) -> Option<&'static Form> {
        let name = self.words.get(1)?;
        FORMS.iter().find(|form| self.words[0] == "HLS" && form.name == *name)
    }

    /// Settings with their values, and words.
    fn settings(&self) -> (Vec<(&'f str, &'f str)>, Vec<&'f str>) {
        let all = self.words.iter().skip(2);
        let with = all.clone().filter_map(|word| word.split_once('=')).collect();
        (with, all.copied().filter(|word| !word.contains('=')).collect())
    }

    fn value(&self, key: &str) -> Option<&'f str> {
        self.settings().0.into_iter().find(|(name, _)| *name == key).map(|(_, value)| value)
    }
}

/// The pragmas of a file, except `#pragma once` of a header.
fn pragmas(file: &File) -> Vec<Pragma<'_>> {
    let words = |node: Node<'_>| file.of(node).trim().strip_prefix("#pragma").map(str::split_whitespace);
    let calls = file.all("preproc_call").into_iter();
    let all = calls.filter_map(|node| words(node).map(|words| Pragma { node, words: words.collect() }));
    all.filter(|one| one.words != ["once"]).collect()
}

pub(crate) fn forms(sources: &Sources) -> Vec<Finding> {
    sources.each(|file| {
        let wrong = |one: &Pragma<'_>| mistake(sources, one).map(|what| file.finding(one.node, what));
        pragmas(file).iter().filter_map(wrong).collect()
    })
}

/// The mistake in the form of a pragma, if one exists.
fn mistake(sources: &Sources, one: &Pragma<'_>) -> Option<String> {
    let Some(form) = one.form() else { return Some(format!("`{}` is not documented", one.words.join(" "))) };
    let (settings, words) = one.settings();
    for (key, value) in &settings {
        let Some((_, kind, _)) = form.settings.iter().find(|(name, ..)| name == key) else {
            return Some(format!("no setting `{key}`"));
        };
        if !fits(sources, *kind, value) {
            return Some(format!("`{key}={value}`"));
        }
    }
    let missing = form.settings.iter().find(|(key, _, required)| *required && one.value(key).is_none());
    if let Some((key, ..)) = missing {
        return Some(format!("no `{key}`"));
    }
    if let Some(word) = words.iter().find(|word| !form.words.iter().any(|(group, _)| group.contains(word))) {
        return Some(format!("no word `{word}`"));
    }
    for (group, required) in form.words {
        let count = words.iter().filter(|word| group.contains(word)).count();
        if count > 1 || (*required && count == 0) {
            return Some(format!("{count} of the words {group:?}"));
        }
    }
    // `complete` is the default, and has no factor; the others need one.
    let is_whole = form.name == "array_partition" && !words.iter().any(|word| ["block", "cyclic"].contains(word));
    let needs = form.name == "array_partition" && !is_whole;
    let has = one.value("factor").is_some();
    (needs && !has || is_whole && has).then(|| "a factor belongs to `block` and `cyclic`".to_owned())
}

fn fits(sources: &Sources, kind: Value, value: &str) -> bool {
    match kind {
        Value::Number => value.parse::<u32>().is_ok() || sources.constants.contains(value),
        Value::Name => value.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !value.is_empty(),
        Value::One(words) => words.contains(&value),
    }
}

pub(crate) fn places(sources: &Sources) -> Vec<Finding> {
    sources.each(|file| {
        let wrong = |one: &Pragma<'_>| misplaced(file, one).map(|what| file.finding(one.node, what));
        pragmas(file).iter().filter_map(wrong).collect()
    })
}

/// The mistake in the place of a pragma, if one exists.
fn misplaced(file: &File, one: &Pragma<'_>) -> Option<String> {
    let form = one.form()?;
    let Some(function) = function_of(one.node) else { return Some("outside of functions".to_owned()) };
    let around = one.node.parent().and_then(|block| block.parent()).map_or("", |parent| parent.kind());
    if form.of_body && !["for_statement", "function_definition"].contains(&around) {
        return Some(format!("`{}` is not in the body of a loop or function", form.name));
    }
    let variable = one.value("variable")?;
    (!declares_array(file, function, variable)).then(|| format!("the function has no array `{variable}`"))
}

/// Whether a function has a parameter or a variable that is an array.
fn declares_array(file: &File, function: Node<'_>, name: &str) -> bool {
    within(function).into_iter().filter(|node| node.kind() == "array_declarator").any(|node| {
        let identifier = within(node).into_iter().find(|one| one.kind() == "identifier");
        identifier.is_some_and(|one| file.of(one) == name)
    })
}

/// Interfaces that do not belong to a parameter of a top function, or that arrays do not have.
pub(crate) fn interfaces(file: &File) -> Vec<Finding> {
    let all = pragmas(file).into_iter().filter(|one| one.words.get(1) == Some(&"interface"));
    let wrong = |one: &Pragma<'_>| {
        let (Some(function), Some(port)) = (function_of(one.node), one.value("port")) else { return true };
        let declarator = function.child_by_field_name("declarator");
        let parameters = declarator.and_then(|one| one.child_by_field_name("parameters"));
        let is_array = parameters.is_some_and(|parameters| declares_array(file, parameters, port));
        let is_known = port == "return" || is_array;
        let mode = one.settings().1.first().copied().unwrap_or_default();
        file.of(function).starts_with("static ") || !is_known || (is_array && !MODES_OF_ARRAYS.contains(&mode))
    };
    all.filter(wrong).map(|one| file.finding(one.node, one.words.join(" "))).collect()
}
