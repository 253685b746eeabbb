//! The pragmas, in the forms that Vitis HLS documents.

use std::collections::BTreeMap;

use crate::diagnostic::{Place, Problem, Result};

/// A `#pragma HLS`.
#[derive(Clone, Debug, PartialEq)]
pub enum Pragma {
    /// `array_partition`: a dimension of an array is divided among banks.
    Partition {
        /// The array.
        variable: String,
        /// How the elements are divided.
        division: Division,
        /// The dimension, from 1; 0 means all of them.
        dimension: usize,
    },
    /// `pipeline`: iterations begin before earlier ones have ended.
    Pipeline {
        /// The requested cycles from iteration to iteration; `None` requests the least number.
        interval: Option<u32>,
    },
    /// `unroll`: all iterations of a loop at once.
    Unroll,
    /// `dependence … inter false`: iterations of a loop do not depend on one another through an array.
    Independent {
        /// The array.
        variable: String,
    },
    /// `interface`: how a parameter is connected.
    Interface {
        /// The protocol.
        mode: Mode,
        /// The parameter, or `return` for the control of the function.
        port: String,
    },
    /// `bind_storage`: the ports of the banks of an array.
    Storage {
        /// The array.
        variable: String,
        /// The ports of a bank.
        ports: Ports,
    },
    /// `inline`: a function becomes part of its callers, as all functions do.
    Inline,
}

/// How the elements of a dimension are divided among banks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Division {
    /// Each element is a bank.
    Complete,
    /// Neighbouring elements share a bank; the number of banks.
    Block(u32),
    /// Neighbouring elements are in different banks; the number of banks.
    Cyclic(u32),
}

/// The ports of a bank of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ports {
    /// `ram_s2p`: one port reads and one writes in each cycle.
    #[default]
    ReadAndWrite,
    /// `ram_t2p`: each of two ports reads or writes in each cycle.
    TwoOfAny,
}

/// How a parameter is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// `ap_ctrl_hs`: start, done and idle.
    Control,
    /// `ap_memory`: the ports of a memory outside.
    Memory,
    /// `axis`: a stream of elements in their order.
    Stream,
}

/// The value of a macro or a constant of the source; `None` if the name has no such value.
pub(crate) type Lookup<'a> = &'a dyn Fn(&str) -> Result<Option<i128>>;

/// The settings of a pragma.
struct Settings<'a> {
    name: &'a str,
    place: Place,
    lookup: Lookup<'a>,
    /// Words without a value.
    words: Vec<&'a str>,
    values: BTreeMap<String, &'a str>,
}

impl<'a> Settings<'a> {
    fn read(name: &'a str, rest: &'a str, place: Place, lookup: Lookup<'a>) -> Result<Self> {
        let mut settings = Self { name, place, lookup, words: Vec::new(), values: BTreeMap::new() };
        // Spaces may surround an equals sign.
        let mut tokens = rest.split_whitespace().flat_map(|word| word.split_inclusive('=')).peekable();
        let mut tokens_of = Vec::new();
        while let Some(token) = tokens.next() {
            match token.strip_suffix('=') {
                Some("") if !tokens_of.is_empty() => {
                    let key: &str = tokens_of.pop().unwrap_or_default();
                    settings.put(key, tokens.next().unwrap_or_default())?;
                }
                Some(key) => settings.put(key, tokens.next().unwrap_or_default())?,
                None => tokens_of.push(token),
            }
        }
        settings.words = tokens_of;
        Ok(settings)
    }

    /// Notes the value of a key.
    fn put(&mut self, key: &str, value: &'a str) -> Result<()> {
        match self.values.insert(key.to_ascii_lowercase(), value) {
            None => Ok(()),
            Some(first) => Err(self.problem(format!("{key}={first} and {key}={value}"), format!("use one {key}"))),
        }
    }

    fn problem(&self, what: impl Into<String>, way_out: impl Into<String>) -> Problem {
        Problem::new(self.place, format!("pragma {}: {}", self.name, what.into()), way_out)
    }

    fn take(&mut self, key: &str) -> Option<&'a str> {
        self.values.remove(key)
    }

    fn variable(&mut self) -> Result<String> {
        let name = self.take("variable").ok_or_else(|| self.problem("no variable", "add variable=<name>"))?;
        Ok(name.to_owned())
    }

    /// A number: a literal, a macro, or a constant outside of functions. UG1399 documents no expression.
    fn number(&mut self, key: &str, least: u32, most: u32) -> Result<Option<u32>> {
        let Some(text) = self.take(key) else { return Ok(None) };
        let number = match text.parse() {
            Ok(number) => number,
            Err(_) => (self.lookup)(text)?.ok_or_else(|| {
                let way_out = "use a number, or the name of a macro or of a constant outside of functions";
                self.problem(format!("{key}={text}"), way_out)
            })?,
        };
        match u32::try_from(number) {
            Ok(number) if (least..=most).contains(&number) => Ok(Some(number)),
            _ => Err(self.problem(format!("{key}={number}"), format!("use {least} to {most}"))),
        }
    }

    /// The value of a key, or one of the words.
    fn choice(&mut self, key: &str, choices: &[&'static str]) -> Result<&'static str> {
        let given = self.take(key);
        let among = |text: &str| choices.iter().find(|choice| choice.eq_ignore_ascii_case(text)).copied();
        let word = self.words.iter().position(|word| among(word).is_some()).map(|at| self.words.remove(at));
        if let Some((value, word)) = given.zip(word) {
            return Err(self.problem(format!("{key}={value} and `{word}`"), "use one of them"));
        }
        match given.or(word) {
            Some(text) => among(text)
                .ok_or_else(|| self.problem(format!("{key}={text}"), format!("use one of {}", choices.join(", ")))),
            None => Err(match self.words.first() {
                Some(word) => {
                    self.problem(format!("`{word}` is not supported"), format!("use one of {}", choices.join(", ")))
                }
                None => self.problem(format!("no {key}"), format!("add {key}=<one of {}>", choices.join(", "))),
            }),
        }
    }

    /// Refuses settings that the pragma does not have.
    fn end(&self) -> Result<()> {
        match self.values.keys().map(String::as_str).chain(self.words.iter().copied()).next() {
            Some(left) if left.contains(|c: char| !c.is_ascii_alphanumeric() && c != '_') => {
                Err(self.problem(format!("`{left}` is not a setting"), "use a macro in place of an expression"))
            }
            Some("factor") if self.name.eq_ignore_ascii_case("unroll") => {
                let way_out = "remove it, or split the loop into two and unroll the inner one";
                Err(self.problem("`factor` is not supported, because a loop is unrolled completely", way_out))
            }
            Some(left) => Err(self.problem(format!("`{left}` is not supported"), "remove it")),
            None => Ok(()),
        }
    }
}

/// Banks of one dimension.
pub(crate) const MAX_BANKS: u32 = 1024;
/// Dimensions of an array.
const MAX_DIMENSIONS: u32 = 8;
/// Cycles from iteration to iteration.
const MAX_INTERVAL: u32 = 4096;

impl Pragma {
    /// Reads the words after `#pragma`. A setting that is a number may be the name of a macro or a constant.
    pub(crate) fn read(text: &str, place: Place, lookup: Lookup<'_>) -> Result<Self> {
        let mut words = text.trim().splitn(3, char::is_whitespace);
        let (first, name, rest) =
            (words.next().unwrap_or_default(), words.next().unwrap_or_default(), words.next().unwrap_or_default());
        if !first.eq_ignore_ascii_case("HLS") {
            return Err(Problem::new(
                place,
                format!("pragma `{first}` is not known"),
                "use `#pragma HLS …`, or remove it",
            ));
        }
        let mut given = Settings::read(name, rest, place, lookup)?;
        let pragma = match name.to_ascii_lowercase().as_str() {
            "array_partition" => {
                let variable = given.variable()?;
                let kind = given.choice("type", &["complete", "block", "cyclic"])?;
                let factor = given.number("factor", 1, MAX_BANKS)?;
                // 0 means all dimensions.
                let dimension = given.number("dim", 0, MAX_DIMENSIONS)?.map_or(1, |dimension| dimension as usize);
                let banks =
                    || factor.ok_or_else(|| given.problem(format!("{kind} without a factor"), "add factor=<banks>"));
                let division = match kind {
                    "block" => Division::Block(banks()?),
                    "cyclic" => Division::Cyclic(banks()?),
                    _ => Division::Complete,
                };
                Self::Partition { variable, division, dimension }
            }
            "pipeline" => Self::Pipeline { interval: given.number("ii", 1, MAX_INTERVAL)? },
            "unroll" => Self::Unroll,
            "dependence" => {
                let variable = given.variable()?;
                given.choice("type", &["inter"])?;
                given.choice("dependent", &["false"])?;
                Self::Independent { variable }
            }
            "interface" => {
                let mode = match given.choice("mode", &["ap_ctrl_hs", "ap_memory", "axis"])? {
                    "ap_ctrl_hs" => Mode::Control,
                    "ap_memory" => Mode::Memory,
                    _ => Mode::Stream,
                };
                let port = given.take("port").ok_or_else(|| given.problem("no port", "add port=<parameter>"))?;
                Self::Interface { mode, port: port.to_owned() }
            }
            "bind_storage" => {
                let variable = given.variable()?;
                let ports = match given.choice("type", &["ram_s2p", "ram_t2p"])? {
                    "ram_s2p" => Ports::ReadAndWrite,
                    _ => Ports::TwoOfAny,
                };
                Self::Storage { variable, ports }
            }
            "inline" => Self::Inline,
            _ => {
                let known = "array_partition, pipeline, unroll, dependence, interface, bind_storage or inline";
                let way_out = format!("remove it, or use {known}");
                return Err(Problem::new(place, format!("pragma HLS `{name}` is not supported"), way_out));
            }
        };
        given.end()?;
        Ok(pragma)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Pragma, String> {
        let lookup = |name: &str| Ok((name == "BANKS").then_some(8));
        Pragma::read(text, Place::BEGIN, &lookup).map_err(|problem| format!("{}; {}", problem.what, problem.way_out))
    }

    #[test]
    fn forms_of_old_and_new_releases_are_the_same() {
        let complete = Pragma::Partition { variable: "a".to_owned(), division: Division::Complete, dimension: 1 };
        for text in [
            "HLS array_partition variable=a complete",
            "HLS ARRAY_PARTITION variable=a type=complete dim=1",
            "HLS array_partition variable = a complete dim = 1",
        ] {
            assert_eq!(read(text), Ok(complete.clone()), "{text}");
        }
        assert_eq!(
            read("HLS array_partition variable=a block factor=8 dim=2"),
            Ok(Pragma::Partition { variable: "a".to_owned(), division: Division::Block(8), dimension: 2 })
        );
        assert_eq!(
            read("HLS array_partition variable=a block factor=BANKS dim=2"),
            read("HLS array_partition variable=a block factor=8 dim=2")
        );
        assert_eq!(read("HLS pipeline II=2"), Ok(Pragma::Pipeline { interval: Some(2) }));
        assert_eq!(read("HLS pipeline"), Ok(Pragma::Pipeline { interval: None }));
        let independent = Ok(Pragma::Independent { variable: "a".to_owned() });
        assert_eq!(read("HLS dependence variable=a inter false"), independent);
        assert_eq!(read("HLS dependence variable=a type=inter dependent=false"), independent);
        let memory = Ok(Pragma::Interface { mode: Mode::Memory, port: "a".to_owned() });
        assert_eq!(read("HLS interface ap_memory port=a"), memory);
        assert_eq!(read("HLS interface mode=ap_memory port=a"), memory);
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for (text, part) in [
            ("omp parallel", "pragma `omp` is not known"),
            ("HLS dataflow", "pragma HLS `dataflow` is not supported"),
            ("HLS pipeline II=0", "pragma pipeline: ii=0; use 1 to 4096"),
            ("HLS pipeline II=N", "pragma pipeline: ii=N; use a number, or the name of a macro"),
            ("HLS pipeline rewind", "pragma pipeline: `rewind` is not supported"),
            ("HLS array_partition complete", "no variable"),
            ("HLS array_partition variable=a block", "block without a factor"),
            ("HLS array_partition variable=a complete dim=9", "dim=9"),
            ("HLS dependence variable=a intra false", "`intra` is not supported; use one of inter"),
            ("HLS dependence variable=a inter true", "`true` is not supported; use one of false"),
            ("HLS interface m_axi port=a", "`m_axi` is not supported; use one of ap_ctrl_hs, ap_memory, axis"),
            ("HLS bind_storage variable=a type=rom_1p", "type=rom_1p"),
        ] {
            let said = read(text).unwrap_err();
            assert!(said.contains(part), "{text}: {said}");
        }
    }
}
