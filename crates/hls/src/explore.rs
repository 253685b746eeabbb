//! Compilation over a grid of macros: the costs of each point, and the points that no other one beats.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::analysis::{Layout, is_registers};
use crate::ir::Role;
use crate::report::Report;
use crate::schedule::Target;
use crate::{Design, Source};

mod picture;

/// The schema of an [`Exploration`].
pub const SCHEMA: &str = "ciphermill.hls.exploration/1";
/// The greatest number of points of a grid.
pub const MAX_POINTS: usize = 1024;

/// Why a grid is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GridError {
    /// There are too many points.
    #[error("the grid has {points} points; use at most {MAX_POINTS}")]
    Points {
        /// The number of points, or the greatest number.
        points: usize,
    },
    /// A macro has no values.
    #[error("macro {name} has no values; give it one or more")]
    NoValues {
        /// The macro.
        name: String,
    },
    /// A macro is given twice.
    #[error("macro {name} is given more than once; give it one value, or vary it once")]
    Repeated {
        /// The macro.
        name: String,
    },
}

/// Macros with a value for all points, and macros with several values.
///
/// # Example
/// ```
/// use ciphermill_hls::explore::Grid;
/// use ciphermill_hls::schedule::Target;
/// use ciphermill_hls::Source;
///
/// let text = "void clear(unsigned char a[N]) { for (unsigned i = 0; i < N; i++) a[i] = 0; }";
/// let grid = Grid::new(Vec::new(), vec![("N".to_owned(), vec!["4".to_owned(), "8".to_owned()])])?;
/// let found = grid.explore(&Source::new("clear.c", text), "clear", &Target::ecp5(100.0), &|_, _| ());
/// assert_eq!(found.points.len(), 2);
/// assert!(found.points[0].pareto);
/// # Ok::<(), ciphermill_hls::explore::GridError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    fixed: Vec<(String, String)>,
    axes: Vec<(String, Vec<String>)>,
    points: usize,
}

/// The points of a grid, compiled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exploration {
    /// [`SCHEMA`].
    pub schema: String,
    /// The file of the source.
    pub source: String,
    /// The function.
    pub function: String,
    /// The technology.
    pub target: String,
    /// The clock in MHz.
    pub mhz: f64,
    /// The kind of the cycles: `analytic`.
    pub cycles_kind: String,
    /// The kind of LUTs, multipliers of a size, registers and block memories: `estimate`.
    pub resources_kind: String,
    /// The macros that have one value.
    pub defines: BTreeMap<String, String>,
    /// The macros that vary, in the order of the columns.
    pub varied: Vec<String>,
    /// The points, the last macro changing fastest.
    pub points: Vec<Point>,
}

/// A point of a grid.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// The values of the macros that vary.
    pub values: BTreeMap<String, String>,
    /// Its figures; `None` if the compiler refuses it.
    pub figures: Option<Figures>,
    /// Why the compiler refuses it.
    pub refusal: Option<String>,
    /// Whether no other point is at least as good in cycles, LUTs and multipliers and better in one of them.
    pub pareto: bool,
}

/// The costs of a point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// Cycles from start to done.
    pub cycles: u64,
    /// The longest interval of its kernels.
    pub interval: u32,
    /// Whether all kernels reach the bound of their interval.
    pub at_bound: bool,
    /// Products of two values.
    pub multipliers: u64,
    /// The bits of additions and subtractions.
    pub adder_bits: u64,
    /// Banks of all memories that have ports.
    pub banks: u64,
    /// LUTs, an estimate: see [`Estimate`](crate::report::Estimate).
    pub luts: u64,
    /// Multipliers of 26 × 17 bits, an estimate.
    pub dsps: u64,
    /// Registers of one bit, an estimate.
    pub registers: u64,
    /// Block memories, an estimate.
    pub block_memories: u64,
    /// The greatest clock in MHz by the delays of the technology. It may be below the clock of the schedules.
    #[serde(default)]
    pub attainable_mhz: u32,
}

impl Figures {
    fn of(design: &Design, report: &Report) -> Self {
        let memories = design.program.memories.iter();
        let with_ports = memories.filter(|one| !matches!(one.role, Role::Table(_)) && !is_registers(one));
        Self {
            cycles: report.cycles.start_to_done,
            interval: report.kernels.iter().map(|one| one.interval.reached).max().unwrap_or(0),
            at_bound: report.kernels.iter().all(|one| one.interval.at_bound),
            multipliers: report.hardware.multiplier_count(),
            adder_bits: report.hardware.adder_bits,
            banks: with_ports.map(|one| Layout::of(one).banks as u64).sum(),
            luts: report.estimate.luts,
            dsps: report.estimate.dsps,
            registers: report.estimate.registers,
            block_memories: report.estimate.block_memories,
            attainable_mhz: report.target.attainable_mhz(),
        }
    }

    /// The figures to minimise.
    fn costs(&self) -> [u64; 3] {
        [self.cycles, self.luts, self.multipliers]
    }

    /// Whether this is at least as good in all costs, and better in one.
    fn beats(&self, other: &Self) -> bool {
        let (a, b) = (self.costs(), other.costs());
        a != b && a.iter().zip(b).all(|(a, b)| *a <= b)
    }
}

impl Grid {
    /// A grid.
    ///
    /// # Errors
    /// [`GridError`], if it has too many points, or a macro has no values or is given twice.
    pub fn new(fixed: Vec<(String, String)>, axes: Vec<(String, Vec<String>)>) -> Result<Self, GridError> {
        let mut names: Vec<&String> = fixed.iter().map(|one| &one.0).chain(axes.iter().map(|one| &one.0)).collect();
        names.sort();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(GridError::Repeated { name: pair[0].clone() });
        }
        if let Some((name, _)) = axes.iter().find(|(_, values)| values.is_empty()) {
            return Err(GridError::NoValues { name: name.clone() });
        }
        let points = axes.iter().fold(1usize, |all, (_, values)| all.saturating_mul(values.len()));
        if points > MAX_POINTS { Err(GridError::Points { points }) } else { Ok(Self { fixed, axes, points }) }
    }

    /// The number of points.
    #[must_use]
    pub fn points(&self) -> usize {
        self.points
    }

    /// All macros of a point, from 0.
    #[must_use]
    pub fn defines(&self, point: usize) -> Vec<(String, String)> {
        [self.fixed.as_slice(), &self.values(point)].concat()
    }

    /// The macros of a point that vary, with their values.
    #[must_use]
    pub fn values(&self, point: usize) -> Vec<(String, String)> {
        let mut rest = point;
        let mut values = Vec::with_capacity(self.axes.len());
        for (name, all) in self.axes.iter().rev() {
            values.push((name.clone(), all[rest % all.len()].clone()));
            rest /= all.len();
        }
        values.reverse();
        values
    }

    /// Compiles all points. Calls `progress` with the number of compiled points and the number of all points.
    #[must_use]
    pub fn explore(
        &self,
        source: &Source,
        function: &str,
        target: &Target,
        progress: &dyn Fn(usize, usize),
    ) -> Exploration {
        let compiled = |point: usize| -> Point {
            let defines = self.defines(point);
            let figures = source.compile(&defines, function, target).map(|design| {
                let report = Report::of(&design, source, &defines, target);
                Figures::of(&design, &report)
            });
            progress(point + 1, self.points);
            let values = self.values(point).into_iter().collect();
            match figures {
                Ok(figures) => Point { values, figures: Some(figures), refusal: None, pareto: false },
                Err(refusal) => Point { values, figures: None, refusal: Some(refusal.to_string()), pareto: false },
            }
        };
        let mut points: Vec<Point> = (0..self.points).map(compiled).collect();
        let all: Vec<Figures> = points.iter().filter_map(|point| point.figures.clone()).collect();
        for point in &mut points {
            point.pareto = point.figures.as_ref().is_some_and(|one| !all.iter().any(|other| other.beats(one)));
        }
        Exploration {
            schema: SCHEMA.to_owned(),
            source: source.name().to_owned(),
            function: function.to_owned(),
            target: target.name.clone(),
            mhz: (1e6 / target.period).round() / 1e3,
            cycles_kind: "analytic".to_owned(),
            resources_kind: "estimate".to_owned(),
            defines: self.fixed.iter().cloned().collect(),
            varied: self.axes.iter().map(|(name, _)| name.clone()).collect(),
            points,
        }
    }
}

/// A cell of a table of comma-separated values, in quotation marks if it needs them.
fn cell(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

impl Exploration {
    /// Indented JSON with a line feed at its end.
    #[must_use]
    pub fn to_json(&self) -> String {
        // All keys are text and all numbers finite, so a JSON form exists.
        serde_json::to_string_pretty(self).map_or_else(|_| String::new(), |text| text + "\n")
    }

    /// Reads an exploration.
    ///
    /// # Errors
    /// If the text is not JSON of an exploration.
    pub fn from_json(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// A line for each point: the varied macros, the figures, and the refusal.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let mut out = self.varied.iter().map(|name| cell(name) + ",").collect::<String>();
        out += "cycles,interval,at_bound,multipliers,adder_bits,banks,luts_estimate,dsps_estimate,registers_estimate,\
                block_memories_estimate,attainable_mhz,pareto,refusal\n";
        for point in &self.points {
            for name in &self.varied {
                out += &cell(point.values.get(name).map_or("", String::as_str));
                out.push(',');
            }
            match &point.figures {
                Some(one) => {
                    let _ = write!(
                        out,
                        "{},{},{},{},{},{},{},{},{},{},{}",
                        one.cycles,
                        one.interval,
                        one.at_bound,
                        one.multipliers,
                        one.adder_bits,
                        one.banks,
                        one.luts,
                        one.dsps,
                        one.registers,
                        one.block_memories,
                        one.attainable_mhz
                    );
                }
                None => out += ",,,,,,,,,,",
            }
            let _ = writeln!(out, ",{},{}", point.pareto, cell(point.refusal.as_deref().unwrap_or_default()));
        }
        out
    }
}
