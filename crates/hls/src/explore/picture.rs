//! The points of an exploration as a picture: cycles over LUTs, both logarithmic; the radius grows with the
//! multipliers.

use std::fmt::Write as _;

use super::{Exploration, Figures, Point};
use crate::report::escape;

// Pixels.
const LEFT: f64 = 80.0;
const PLOT_WIDTH: f64 = 760.0;
const PLOT_HEIGHT: f64 = 420.0;
const MARGIN: f64 = 12.0;
const RIGHT: f64 = 170.0;
/// The greatest number of points with a label.
const LABELLED: usize = 40;

const STYLE: &str = "
text { font: 12px sans-serif; fill: #222 }
.title { font-weight: bold }
.cycle { fill: #666; font-size: 10px }
.axis { fill: #666; font-size: 11px }
.tick { stroke: #ddd }
.pareto { fill: #99c1f1; stroke: #1a5fb4; fill-opacity: 0.8 }
.other { fill: #deddda; stroke: #77767b; fill-opacity: 0.6 }
";

/// A logarithmic axis.
struct Axis {
    least: f64,
    most: f64,
}

impl Axis {
    fn of(values: impl Iterator<Item = u64> + Clone) -> Self {
        // A single value is in the middle.
        let least = values.clone().min().unwrap_or(1).max(1) as f64 / 1.25;
        let most = values.max().unwrap_or(1).max(1) as f64 * 1.25;
        Self { least, most }
    }

    /// The share of the axis up to a value.
    fn share(&self, value: u64) -> f64 {
        ((value.max(1) as f64 / self.least).ln() / (self.most / self.least).ln()).clamp(0.0, 1.0)
    }

    /// Round values: 1, 2 and 5 times the powers of ten.
    fn ticks(&self) -> Vec<u64> {
        let powers = (0..19).map(|power| 10u64.pow(power));
        let all = powers.flat_map(|power| [1, 2, 5].map(|digit: u64| power.saturating_mul(digit)));
        all.filter(|tick| (self.least..=self.most).contains(&(*tick as f64))).collect()
    }
}

fn radius(figures: &Figures) -> f64 {
    4.0 + (figures.multipliers as f64).sqrt() * 1.5
}

impl Exploration {
    /// A picture in SVG.
    #[must_use]
    pub fn picture(&self) -> String {
        let compiled: Vec<(&Point, &Figures)> =
            self.points.iter().filter_map(|point| point.figures.as_ref().map(|figures| (point, figures))).collect();
        let luts = Axis::of(compiled.iter().map(|one| one.1.luts));
        let cycles = Axis::of(compiled.iter().map(|one| one.1.cycles));
        let top = MARGIN + 40.0;
        let x = |figures: &Figures| LEFT + PLOT_WIDTH * luts.share(figures.luts);
        let y = |figures: &Figures| top + PLOT_HEIGHT * (1.0 - cycles.share(figures.cycles));
        let mut body = String::new();
        let refused = self.points.len() - compiled.len();
        let title = format!(
            "{}: cycles and estimated LUTs of {} points for {} at {} MHz",
            self.function,
            compiled.len(),
            self.target,
            self.mhz
        );
        let _ =
            writeln!(body, "<text class=\"title\" x=\"{MARGIN}\" y=\"{:.1}\">{}</text>", MARGIN + 14.0, escape(&title));
        let note = format!(
            "a larger circle has more multipliers; blue: no other point is as good; {refused} points are refused"
        );
        let _ = writeln!(body, "<text class=\"axis\" x=\"{MARGIN}\" y=\"{:.1}\">{note}</text>", MARGIN + 30.0);
        let (bottom, right) = (top + PLOT_HEIGHT, LEFT + PLOT_WIDTH);
        for tick in luts.ticks() {
            let at = LEFT + PLOT_WIDTH * luts.share(tick);
            let _ = writeln!(
                body,
                "<line class=\"tick\" x1=\"{at:.1}\" y1=\"{top:.1}\" x2=\"{at:.1}\" y2=\"{bottom:.1}\"/>"
            );
            let _ = writeln!(
                body,
                "<text class=\"cycle\" text-anchor=\"middle\" x=\"{at:.1}\" y=\"{:.1}\">{tick}</text>",
                bottom + 14.0
            );
        }
        for tick in cycles.ticks() {
            let at = top + PLOT_HEIGHT * (1.0 - cycles.share(tick));
            let _ = writeln!(
                body,
                "<line class=\"tick\" x1=\"{LEFT:.1}\" y1=\"{at:.1}\" x2=\"{right:.1}\" y2=\"{at:.1}\"/>"
            );
            let _ = writeln!(
                body,
                "<text class=\"cycle\" text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">{tick}</text>",
                LEFT - 6.0,
                at + 3.0
            );
        }
        let middle = (LEFT + right) / 2.0;
        let _ = writeln!(
            body,
            "<text class=\"axis\" text-anchor=\"middle\" x=\"{middle}\" y=\"{:.1}\">LUTs of 6 inputs, estimated</text>",
            bottom + 32.0
        );
        let half = (top + bottom) / 2.0;
        let _ = writeln!(
            body,
            "<text class=\"axis\" text-anchor=\"middle\" transform=\"rotate(-90 20 {half})\" x=\"20\" y=\"{half}\">\
             cycles from start to done, analytic</text>"
        );
        // Large circles are drawn first, so they cover no small one.
        let mut drawn = compiled.clone();
        drawn.sort_by_key(|(_, figures)| std::cmp::Reverse(figures.multipliers));
        for (point, figures) in &drawn {
            let class = if point.pareto { "pareto" } else { "other" };
            let text = self.label(point);
            let _ = writeln!(
                body,
                "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"{:.1}\"><title>{}</title></circle>",
                x(figures),
                y(figures),
                radius(figures),
                escape(&format!(
                    "{text}: {} cycles, {} LUTs, {} multipliers",
                    figures.cycles, figures.luts, figures.multipliers
                ))
            );
        }
        let mut front: Vec<(&Point, &Figures)> = compiled.iter().filter(|(point, _)| point.pareto).copied().collect();
        front.sort_by_key(|(_, figures)| (figures.luts, figures.cycles));
        for (point, figures) in front.iter().take(LABELLED) {
            let _ = writeln!(
                body,
                "<text class=\"cycle\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                x(figures) + radius(figures) + 4.0,
                y(figures) + 3.0,
                escape(&self.label(point))
            );
        }
        let (width, height) = (LEFT + PLOT_WIDTH + RIGHT, bottom + 44.0);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
             <style>{STYLE}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{body}</svg>\n"
        )
    }

    /// The values of a point.
    fn label(&self, point: &Point) -> String {
        let value = |name: &String| format!("{name}={}", point.values.get(name).map_or("", String::as_str));
        self.varied.iter().map(value).collect::<Vec<_>>().join(" ")
    }
}
