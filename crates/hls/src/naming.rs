//! Names of a source that a module cannot have.
//!
//! A function is the name of a module, and a memory is the first part of the names of its ports and signals. Names of the module
//! itself and keywords would make a text that no tool reads.

use std::collections::HashMap;

use crate::diagnostic::{Place, Problem, Result};
use crate::ir::Program;

/// Keywords of SystemVerilog (IEEE 1800-2017, annex B) that may be names in C.
const KEYWORDS: &str = include_str!("keywords.txt");

/// Names whose ports or registers the module has itself.
const OWN: [&str; 6] = ["clk", "start", "idle", "done", "active", "cycles"];

/// The end, after a memory's name, of the names of its ports and signals.
const PARTS: [&str; 19] = [
    "addr", "at", "bank", "d", "data", "en", "held", "host", "i", "n", "o", "p", "q", "read", "ready", "row", "sent",
    "valid", "write",
];

/// Checks the names of a function and of its memories.
pub(crate) fn check(program: &Program, place: Place) -> Result<()> {
    let name = &program.name;
    let why = match name.as_str() {
        "prim_mul" => Some("the module of wide products"),
        word if KEYWORDS.split_whitespace().any(|keyword| keyword == word) => Some("a keyword of SystemVerilog"),
        _ => None,
    };
    if let Some(why) = why {
        let what = format!("the function `{name}` would be a module, and `{name}` is {why}");
        return Err(Problem::new(place, what, "rename it"));
    }
    let mut names: HashMap<&str, usize> = HashMap::new();
    program.memories.iter().for_each(|memory| *names.entry(&memory.name).or_default() += 1);
    program.memories.iter().try_for_each(|memory| match taken(&memory.name).or_else(|| shared(&memory.name, &names)) {
        Some(why) => Err(Problem::new(memory.place, format!("`{}` {why}", memory.name), "rename it")),
        None => Ok(()),
    })
}

/// The reason for which no memory can have a name.
fn taken(name: &str) -> Option<String> {
    if OWN.contains(&name) {
        return Some("is a name of the module's own signals".to_owned());
    }
    // Signals of the first kernel begin with `k0_`, and blocks of memories with `gen_`.
    let first = name.split('_').next()?;
    let number = first.strip_prefix('k').filter(|rest| !rest.is_empty());
    let is_kernel = number.is_some_and(|rest| rest.bytes().all(|digit| digit.is_ascii_digit()));
    (first == "gen" || is_kernel).then(|| format!("begins with `{first}`, as the module's own signals do"))
}

/// The reason for which a memory cannot have its name next to others. `names` are all names, each with its number of memories.
fn shared(name: &str, names: &HashMap<&str, usize>) -> Option<String> {
    if names[name] > 1 {
        return Some("is the name of the returned value".to_owned());
    }
    // One name is the beginning of another one up to an underscore.
    let mut parts = name.match_indices('_').map(|(at, _)| (&name[..at], &name[at + 1..]));
    let is_port = |(other, rest): &(&str, &str)| {
        names.contains_key(other) && rest.split('_').next().is_some_and(|first| PARTS.contains(&first))
    };
    parts.find(is_port).map(|(other, _)| format!("is a name of the ports of `{other}`"))
}

#[cfg(test)]
mod tests {
    use crate::Source;

    fn message(text: &str, function: &str) -> Option<String> {
        Source::new("f.c", text).lower(&[], function).err().map(|error| error.to_string())
    }

    #[test]
    fn a_keyword_is_not_the_name_of_a_module() {
        let wire = message("void wire(unsigned char a[4]) { a[0] = 1; }", "wire").unwrap_or_default();
        assert_eq!(
            wire,
            "f.c:1:6: the function `wire` would be a module, and `wire` is a keyword of SystemVerilog; rename it"
        );
        assert_eq!(message("void f(unsigned char wire[4]) { wire[0] = 1; }", "f"), None);
        let part = message("void prim_mul(unsigned char a[4]) { a[0] = 1; }", "prim_mul").unwrap_or_default();
        assert!(part.contains("`prim_mul` is the module of wide products; rename it"), "{part}");
    }

    #[test]
    fn names_that_only_look_alike_are_accepted() {
        assert_eq!(
            message("void f(unsigned char a[4], unsigned char a_sum[4]) { a[0] = 1; a_sum[0] = 1; }", "f"),
            None
        );
        assert_eq!(
            message("void f(unsigned char key[4], unsigned char started[4]) { key[0] = 1; started[0] = 1; }", "f"),
            None
        );
    }
}
