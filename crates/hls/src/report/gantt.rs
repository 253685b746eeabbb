//! The schedule of a report as a picture: operations over cycles, lanes for the ports of memories, and the following
//! iterations in a lighter colour.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::text::cycles;
use super::{KernelReport, Operation, Report};

// Pixels.
const NAMES: f64 = 250.0;
const PLOT: f64 = 850.0;
const ROW: f64 = 18.0;
const BAR: f64 = 12.0;
const MARGIN: f64 = 12.0;
/// The least width of a bar.
const LEAST: f64 = 1.5;
/// The greatest number of characters of a name.
const LETTERS: usize = 34;
/// The greatest number of operations with their own row; the others share one row.
const OPERATIONS: usize = 160;
/// Iterations after the first that are drawn.
const FOLLOWING: u64 = 3;
/// The greatest number of kernels with a panel.
const PANELS: usize = 64;

/// The same colours as in the pictures of waveforms.
const STYLE: &str = "
text { font: 12px sans-serif; fill: #222 }
.title { font-weight: bold }
.name { text-anchor: end; font: 11px monospace }
.cycle { text-anchor: middle; fill: #666; font-size: 10px }
.axis { text-anchor: middle; fill: #666; font-size: 11px }
.value { text-anchor: middle; font: 10px monospace }
.tick { stroke: #ddd }
.part { stroke: #bbb }
.operation { fill: #99c1f1; stroke: #1a5fb4; stroke-width: 0.5 }
.read { fill: #8ff0a4; stroke: #26a269; stroke-width: 0.5 }
.write { fill: #ffbe6f; stroke: #c64600; stroke-width: 0.5 }
.index { fill: #c0bfbc; stroke: #77767b; stroke-width: 0.5 }
.next { opacity: 0.3 }
";

/// Text within an element of the picture.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            // Other control characters are not XML.
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// The beginning of a name that is too long.
fn short(text: &str) -> String {
    if text.chars().count() <= LETTERS {
        return text.to_owned();
    }
    text.chars().take(LETTERS - 1).chain(['…']).collect()
}

/// Round numbers of cycles for the axis.
fn tick_step(cycles: u64) -> u64 {
    let mut step = 1;
    while cycles / step > 24 {
        step = if step.to_string().starts_with('2') { step / 2 * 5 } else { step * 2 };
    }
    step
}

/// A bar of a row, in cycles of the first iteration.
struct Bar {
    from: f64,
    to: f64,
    class: &'static str,
    text: String,
}

struct Row {
    name: String,
    bars: Vec<Bar>,
}

impl Report {
    /// The schedule as a picture in SVG.
    #[must_use]
    pub fn picture(&self) -> String {
        let mut body = String::new();
        let mut top = MARGIN;
        let period = 1e6 / self.target.mhz;
        for kernel in self.kernels.iter().take(PANELS) {
            let title = format!(
                "{}, {}: an iteration of {}, the next one {} later; {} iterations in {}",
                self.function,
                kernel.name,
                cycles(kernel.depth.into()),
                cycles(kernel.interval.reached.into()),
                kernel.iterations,
                cycles(kernel.cycles)
            );
            top = kernel.panel(&mut body, &title, period, top);
        }
        if let Some(left) = self.kernels.len().checked_sub(PANELS).filter(|left| *left > 0) {
            let _ =
                writeln!(body, "<text x=\"{MARGIN}\" y=\"{:.1}\">{left} more kernels are not drawn</text>", top + 14.0);
            top += 30.0;
        }
        top = legend(&mut body, top);
        let width = NAMES + PLOT + 2.0 * MARGIN;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{top:.0}\" viewBox=\"0 0 {width} {top:.0}\">\n\
             <style>{STYLE}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{body}</svg>\n"
        )
    }
}

/// The legend of the colours.
fn legend(out: &mut String, top: f64) -> f64 {
    let mut x = MARGIN;
    for (class, text, wide) in [
        ("read", "read", 60.0),
        ("write", "write", 65.0),
        ("operation", "operation on data", 145.0),
        ("index", "counters, banks and rows", 190.0),
        ("operation next", "the following iterations", 0.0),
    ] {
        let _ = writeln!(out, "<rect class=\"{class}\" x=\"{x}\" y=\"{top:.1}\" width=\"14\" height=\"{BAR}\"/>");
        let _ = writeln!(out, "<text x=\"{}\" y=\"{:.1}\">{text}</text>", x + 20.0, top + 10.0);
        x += wide + 20.0;
    }
    top + BAR + MARGIN
}

impl KernelReport {
    /// Rows for the ports: the number of accesses in each cycle.
    fn ports(&self) -> Vec<Row> {
        // By memory, then reads before writes.
        let mut lanes: BTreeMap<(&str, &str, Option<u32>), BTreeMap<u32, usize>> = BTreeMap::new();
        for access in &self.accesses {
            let lane = lanes.entry((&access.memory, &access.kind, access.port)).or_default();
            *lane.entry(access.cycle).or_default() += 1;
        }
        let row = |((memory, kind, port), asked): ((&str, &str, Option<u32>), BTreeMap<u32, usize>)| {
            let class = if kind == "write" { "write" } else { "read" };
            let bar = |(cycle, count): (u32, usize)| Bar {
                from: f64::from(cycle),
                to: f64::from(cycle) + 1.0,
                class,
                text: count.to_string(),
            };
            let port = port.map_or_else(String::new, |port| format!(" port {port}"));
            Row { name: format!("{memory}: {kind}s{port}"), bars: asked.into_iter().map(bar).collect() }
        };
        lanes.into_iter().map(row).collect()
    }

    /// Rows for the operations. Operations on indices share one row.
    fn rows(&self, period: f64) -> Vec<Row> {
        let bar = |one: &Operation, class: &'static str| {
            let part = |ps: u32| (f64::from(ps) / period).min(1.0);
            // With registers, from the edge after which the operands are stable to the result's cycle.
            let (from, to) = if one.begin < one.cycle {
                (f64::from(one.begin), f64::from(one.cycle))
            } else {
                (f64::from(one.cycle) + part(one.from_ps), f64::from(one.cycle) + part(one.to_ps))
            };
            Bar { from, to, class, text: String::new() }
        };
        let mut data: Vec<&Operation> = self.operations.iter().filter(|one| !one.index).collect();
        data.sort_by_key(|one| (one.begin, one.cycle, one.to_ps, one.id.len(), one.id.clone()));
        let mut rows = Vec::new();
        let indices: Vec<Bar> = self.operations.iter().filter(|one| one.index).map(|one| bar(one, "index")).collect();
        if !indices.is_empty() {
            let plural = if indices.len() == 1 { "" } else { "s" };
            let name = format!("{} operation{plural} on indices", indices.len());
            rows.push(Row { name, bars: joined(indices, "index") });
        }
        for one in data.iter().take(OPERATIONS) {
            let class = if one.kind == "read" { "read" } else { "operation" };
            rows.push(Row { name: format!("{} = {}", one.id, one.what(self)), bars: vec![bar(one, class)] });
        }
        if data.len() > OPERATIONS {
            let rest: Vec<Bar> = data[OPERATIONS..].iter().map(|one| bar(one, "operation")).collect();
            rows.push(Row { name: format!("{} more operations", rest.len()), bars: joined(rest, "operation") });
        }
        rows
    }

    /// Draws the kernel, and returns the top of the next panel.
    fn panel(&self, out: &mut String, title: &str, period: f64, top: f64) -> f64 {
        let interval = u64::from(self.interval.reached.max(1));
        let following = FOLLOWING.min(self.iterations.saturating_sub(1) as u64);
        let cycles = (u64::from(self.depth) + following * interval).max(1);
        let scale = PLOT / cycles as f64;
        let (ports, operations) = (self.ports(), self.rows(period));
        let begin = top + 22.0;
        let parting = begin + ROW * ports.len() as f64;
        let bottom = parting + ROW * operations.len() as f64;
        let _ = writeln!(out, "<text class=\"title\" x=\"{MARGIN}\" y=\"{:.1}\">{}</text>", top + 14.0, escape(title));
        for tick in (0..=cycles).step_by(tick_step(cycles) as usize) {
            let x = NAMES + tick as f64 * scale;
            let _ = writeln!(
                out,
                "<line class=\"tick\" x1=\"{x:.1}\" y1=\"{begin:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/>"
            );
            let _ = writeln!(out, "<text class=\"cycle\" x=\"{x:.1}\" y=\"{:.1}\">{tick}</text>", bottom + 13.0);
        }
        let right = NAMES + PLOT;
        let _ = writeln!(
            out,
            "<line class=\"part\" x1=\"{MARGIN}\" y1=\"{parting:.1}\" x2=\"{right}\" y2=\"{parting:.1}\"/>"
        );
        let middle = NAMES + PLOT / 2.0;
        let _ = writeln!(
            out,
            "<text class=\"axis\" x=\"{middle}\" y=\"{:.1}\">cycle, from the beginning of the first iteration</text>",
            bottom + 28.0
        );
        for (number, row) in ports.iter().chain(&operations).enumerate() {
            let y = begin + ROW * number as f64;
            let name = escape(&short(&row.name));
            let _ = writeln!(out, "<text class=\"name\" x=\"{}\" y=\"{:.1}\">{name}</text>", NAMES - 8.0, y + 13.0);
            // The first iteration is drawn last, so no lighter bar covers it.
            for iteration in (0..=following).rev() {
                let offset = (iteration * interval) as f64;
                let next = if iteration == 0 { "" } else { " next" };
                for bar in &row.bars {
                    let x = NAMES + (bar.from + offset) * scale;
                    let wide = ((bar.to - bar.from) * scale).max(LEAST);
                    let _ = writeln!(
                        out,
                        "<rect class=\"{}{next}\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{wide:.1}\" height=\"{BAR}\"/>",
                        bar.class,
                        y + 3.0
                    );
                    if iteration == 0 && !bar.text.is_empty() && wide > 7.0 * bar.text.len() as f64 {
                        let _ = writeln!(
                            out,
                            "<text class=\"value\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                            x + wide / 2.0,
                            y + 12.5,
                            bar.text
                        );
                    }
                }
            }
        }
        bottom + 44.0
    }
}

/// Bars that touch become one.
fn joined(mut bars: Vec<Bar>, class: &'static str) -> Vec<Bar> {
    bars.sort_by(|a, b| a.from.total_cmp(&b.from));
    let mut found: Vec<Bar> = Vec::new();
    for bar in bars {
        match found.last_mut() {
            Some(last) if bar.from <= last.to => last.to = last.to.max(bar.to),
            _ => found.push(Bar { class, ..bar }),
        }
    }
    found
}
