//! The schedule of a report as text.

use std::fmt::Write as _;

use super::{AccessReport, KernelReport, Operation, Report};

/// The greatest number of cycles of an iteration that is drawn as a table. Longer iterations are listed with cycle numbers.
const COLUMNS: u32 = 128;

/// Rows of cells. Each column is as wide as its widest cell.
struct Columns(Vec<Vec<String>>);

impl Columns {
    fn write(&self, out: &mut String, indent: &str) {
        let count = self.0.iter().map(Vec::len).max().unwrap_or(0);
        let widest =
            |column: usize| self.0.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
        let widths: Vec<usize> = (0..count).map(|column| widest(column).unwrap_or(0)).collect();
        for row in &self.0 {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            let line = cells.collect::<Vec<_>>().join("  ");
            let _ = writeln!(out, "{indent}{}", line.trim_end());
        }
    }
}

/// A number of cycles in words.
pub(super) fn cycles(count: u64) -> String {
    format!("{count} cycle{}", if count == 1 { "" } else { "s" })
}

impl Report {
    /// What a user must know of the module besides its figures: trusted dependences, and a path that exceeds the clock period.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let trusted = self.kernels.iter().flat_map(|kernel| &kernel.trusted).map(|one| {
            let (memory, place) = (&one.memory, &one.place);
            format!("trusted, not proved: iterations do not depend on one another through `{memory}` ({place}); the module asserts it in simulation")
        });
        let mut notes: Vec<String> = trusted.collect();
        notes.dedup();
        let attainable = self.target.attainable_mhz();
        if f64::from(attainable) < self.target.mhz {
            let needed = f64::from(self.target.longest_ps) / 1e3;
            notes.push(format!(
                "the longest path takes {needed:.1} ns, more than a period of {} MHz; use a clock of {attainable} MHz or less",
                self.target.mhz
            ));
        }
        notes
    }

    /// The schedule as text: facts of each kernel, its accesses and operations by cycle.
    #[must_use]
    pub fn schedule_text(&self) -> String {
        let mut out = String::new();
        let _ =
            writeln!(out, "{} of {}, for {} at {} MHz", self.function, self.source, self.target.name, self.target.mhz);
        if !self.defines.is_empty() {
            let defines: Vec<String> = self.defines.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let _ = writeln!(out, "{}", defines.join(" "));
        }
        let of = &self.cycles;
        // A sum of one number says nothing.
        let follows =
            if of.follows == of.start_to_done.to_string() { String::new() } else { format!(": {}", of.follows) };
        let _ = writeln!(out, "\n{} from start to done ({}){follows}", cycles(of.start_to_done), of.kind);
        let estimate = &self.estimate;
        let _ = writeln!(
            out,
            "Estimate: {} LUTs of 6 inputs, {} multipliers of 26 × 17 bits, {} registers, {} block memories",
            estimate.luts, estimate.dsps, estimate.registers, estimate.block_memories
        );
        for note in self.notes() {
            let _ = writeln!(out, "Note: {note}");
        }
        let _ = writeln!(out, "\nMemories");
        let mut rows =
            vec![["name", "role", "elements", "bits", "banks", "rows", "ports of a bank"].map(str::to_owned).to_vec()];
        for one in &self.memories {
            let numbers = [one.elements, one.bits as usize, one.banks, one.rows].map(|number| number.to_string());
            rows.push([vec![one.name.clone(), one.role.clone()], numbers.to_vec(), vec![one.ports.clone()]].concat());
        }
        Columns(rows).write(&mut out, "  ");
        for kernel in &self.kernels {
            kernel.text(&mut out);
        }
        out
    }
}

impl KernelReport {
    fn text(&self, out: &mut String) {
        let _ = writeln!(out, "\nKernel {}, {}", self.name, self.place);
        let loops: Vec<String> = self.loops.iter().map(|one| format!("{} {}", one.name, one.trips)).collect();
        let nest = if loops.is_empty() { "none".to_owned() } else { loops.join(" × ") };
        let interval = &self.interval;
        let reached = if interval.at_bound { "the bound is reached" } else { "above the bound" };
        let rest = match (interval.pipelined, interval.proven) {
            (false, _) => "; no pipeline",
            (true, true) => "; proven to be the least",
            (true, false) => "; not proven to be the least",
        };
        let mut facts = vec![
            vec!["loops".to_owned(), format!("{nest} = {} iterations", self.iterations)],
            vec![
                "interval".to_owned(),
                format!(
                    "{}; ports allow {}, dependences {}: {reached}{rest}",
                    cycles(interval.reached.into()),
                    interval.ports,
                    interval.dependences
                ),
            ],
            vec!["gap".to_owned(), format!("{} after each run of the innermost loop", cycles(self.gap.into()))],
            vec![
                "depth".to_owned(),
                format!("{} from the beginning of an iteration to its last write", cycles(self.depth.into())),
            ],
            vec!["cycles".to_owned(), format!("{} = {}", self.cycles, self.follows)],
        ];
        for one in &self.hardware.multipliers {
            let size = format!("{} × {} bits, {} each", one.wider_bits, one.narrower_bits, cycles(one.cycles.into()));
            facts.push(vec!["multipliers".to_owned(), format!("{} of {size}", one.count)]);
        }
        let hardware = &self.hardware;
        for (name, count, bits) in [
            ("adders", hardware.adders, hardware.adder_bits),
            ("× constant", hardware.constant_products, hardware.constant_product_bits),
            ("comparators", hardware.comparators, hardware.comparator_bits),
            ("selections", hardware.selections, hardware.selection_bits),
        ] {
            if count > 0 {
                facts.push(vec![name.to_owned(), format!("{count}, of {bits} bits together")]);
            }
        }
        facts.push(vec!["registers".to_owned(), format!("{} bits", hardware.registers.total())]);
        Columns(facts).write(out, "  ");

        if !self.dependences.is_empty() {
            let _ = writeln!(out, "\n  Dependences");
            let mut rows = vec![["first", "second", "why", "iterations apart"].map(str::to_owned).to_vec()];
            for one in &self.dependences {
                let apart = if one.across_runs { ", across runs of the innermost loop" } else { "" };
                let (first, second) = (format!("x{}", one.first), format!("x{}", one.second));
                rows.push(vec![first, second, one.why.clone(), format!("{}{apart}", one.iterations)]);
            }
            Columns(rows).write(out, "    ");
        }
        self.trusted_text(out);
        self.table(out);
    }

    /// The dependences that pragmas declare to be absent.
    fn trusted_text(&self, out: &mut String) {
        if self.trusted.is_empty() {
            return;
        }
        let _ = writeln!(out, "\n  Dependences that are trusted to be absent, and depend on data");
        let mut rows = vec![["first", "second", "why", "memory", "pragma", "asserted"].map(str::to_owned).to_vec()];
        for one in &self.trusted {
            let asserted = match one.asserted {
                0 => "no: the accesses are in order".to_owned(),
                1 => "in iterations next to one another".to_owned(),
                most => format!("in iterations up to {most} apart"),
            };
            let accesses = [format!("x{}", one.first), format!("x{}", one.second)];
            rows.push(
                [accesses.to_vec(), vec![one.why.clone(), one.memory.clone(), one.place.to_string(), asserted]]
                    .concat(),
            );
        }
        Columns(rows).write(out, "    ");
    }

    /// Accesses and operations by cycle.
    fn table(&self, out: &mut String) {
        let drawn = self.depth <= COLUMNS;
        let marks = |from: u32, to: u32, mark: char| {
            if drawn {
                (0..self.depth).map(|cycle| if (from..=to).contains(&cycle) { mark } else { '·' }).collect()
            } else if from == to {
                format!("{from}")
            } else {
                format!("{from} to {to}")
            }
        };
        let ruler = |of: fn(u32) -> String| if drawn { (0..self.depth).map(of).collect() } else { "cycle".to_owned() };
        let tens = |cycle: u32| if cycle.is_multiple_of(10) { (cycle / 10 % 10).to_string() } else { " ".to_owned() };

        let _ = writeln!(out, "\n  Accesses by cycle of an iteration: # the bank is accessed");
        let mut rows = vec![vec![String::new(), String::new(), String::new(), ruler(tens)]];
        let heads = ["access", "line", "what"].map(str::to_owned).to_vec();
        rows.push([heads.clone(), vec![ruler(|cycle| (cycle % 10).to_string())]].concat());
        for access in &self.accesses {
            let row = [
                format!("x{}", access.id),
                access.place.to_string(),
                access.what(),
                marks(access.cycle, access.cycle, '#'),
            ];
            rows.push(row.to_vec());
        }
        Columns(rows.split_off(usize::from(!drawn))).write(out, "    ");

        let _ = writeln!(out, "\n  Operations by cycle of an iteration: # computes, - its result is kept");
        let mut rows = vec![vec![String::new(), String::new(), String::new(), ruler(tens)]];
        let heads = ["operation", "bits", "what"].map(str::to_owned).to_vec();
        rows.push([heads, vec![ruler(|cycle| (cycle % 10).to_string())]].concat());
        for one in &self.operations {
            let mut shown = marks(one.begin, one.cycle, '#');
            if drawn {
                let kept = |(cycle, mark): (usize, char)| {
                    let late = mark == '·' && (one.cycle..=one.until).contains(&(cycle as u32));
                    if late { '-' } else { mark }
                };
                shown = shown.chars().enumerate().map(kept).collect();
            }
            rows.push(vec![one.id.clone(), one.bits.to_string(), one.what(self), shown]);
        }
        Columns(rows.split_off(usize::from(!drawn))).write(out, "    ");
    }
}

impl AccessReport {
    /// The access in the words of C.
    pub(super) fn what(&self) -> String {
        let indices: String = self.indices.iter().map(|index| format!("[{index}]")).collect();
        let condition = if self.conditional { " if its condition holds" } else { "" };
        let value = self.value.as_deref().unwrap_or_default();
        match self.kind.as_str() {
            "write" => format!("{}{indices} = {value}{condition}", self.memory),
            _ if value.is_empty() => format!("{}{indices}{condition}", self.memory),
            _ => format!("{value} = {}{indices}{condition}", self.memory),
        }
    }
}

impl Operation {
    /// The operation in the words of C, with the name of the variable if there is one.
    pub(super) fn what(&self, kernel: &KernelReport) -> String {
        let operand = |at: usize| self.operands.get(at).map_or("", String::as_str);
        let sign = match self.kind.as_str() {
            "add" => "+",
            "sub" => "-",
            "mul" => "*",
            "and" => "&",
            "or" => "|",
            "xor" => "^",
            "shl" => "<<",
            "shr" => ">>",
            "lt" => "<",
            "eq" => "==",
            "div" => "/",
            "rem" => "%",
            _ => "",
        };
        let text = match self.kind.as_str() {
            "loop" => return format!("counter {}", self.name.as_deref().unwrap_or_default()),
            "read" => {
                let number = operand(0).strip_prefix('x').and_then(|number| number.parse::<usize>().ok());
                let access = number.and_then(|number| kernel.accesses.get(number));
                access.map_or_else(String::new, |access| {
                    let indices: String = access.indices.iter().map(|index| format!("[{index}]")).collect();
                    format!("{}{indices}", access.memory)
                })
            }
            "select" => format!("{} ? {} : {}", operand(0), operand(1), operand(2)),
            _ => format!("{} {sign} {}", operand(0), operand(1)),
        };
        match &self.name {
            Some(name) => format!("{name} = {text}"),
            None => text,
        }
    }
}
