//! The design space (Fig. 3 of the paper): the resources and the cycles of every combination in a sweep.
//!
//! Resources follow from formulas ([`Costs`](super::cost)), cycles from a run of the pipeline. A stage without
//! transforms gets the smallest power of two of lanes with which it is as fast as the slowest transform stage: the
//! paper's rule of equal stages.

use serde::{Deserialize, Serialize};

use super::cost::{self, Costs, Device, Resources};
use super::design::{Design, MAX_LANES, Units, butterflies};
use super::error::{PipelineError, require_range};
use super::job::Job;
use super::machine::PipelineMachine;
use super::parts::{Body, Preemption};
use super::simulate::simulate;
use crate::description;
use crate::record::{Label, Record};

/// The schema of a sweep.
pub const EXPLORE_SCHEMA: &str = "ciphermill-explore/1";
/// The paper's sweep, on its FPGA.
pub const CHAM_EXPLORE: &str = include_str!("../../machines/cham-explore.toml");
/// The maximum number of designs in a sweep.
pub const MAX_DESIGNS: u64 = 1 << 14;
/// The maximum number of products of a row and a ciphertext in the runs of all designs, which take a few minutes.
pub const MAX_SWEEP_PRODUCTS: u64 = 1 << 28;

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sweep {
    engines: Vec<u64>,
    butterflies: Vec<u64>,
    radix: Vec<u64>,
    forward_units: Vec<u64>,
    inverse_units: Vec<u64>,
    leaf_slots: Vec<u64>,
    body: Vec<Body>,
    preemption: Vec<Preemption>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct JobSpec {
    rows: u64,
    columns: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: String,
    name: String,
    job: JobSpec,
    sweep: Sweep,
    units: Units,
    device: Device,
    cost: Costs,
}

/// A checked sweep.
///
/// # Example
/// ```
/// use ciphermill_arch::pipeline::{CHAM_EXPLORE, Exploration, PipelineError};
///
/// assert_eq!(Exploration::from_toml(CHAM_EXPLORE)?.job().rows, 1024);
/// let empty = Exploration::from_toml(&CHAM_EXPLORE.replace("engines = [1, 2, 4]", "engines = []"));
/// assert!(matches!(empty, Err(PipelineError::EmptySweep { what: "engines" })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Exploration {
    file: File,
}

impl Exploration {
    /// Parses and checks a sweep.
    ///
    /// # Errors
    /// If the text is not TOML of this shape, a number is out of range, a list is empty, or there are too many designs.
    pub fn from_toml(text: &str) -> Result<Self, PipelineError> {
        let syntax = |why: String| PipelineError::Syntax { what: "sweep", why };
        let file: File = description::read(text).map_err(syntax)?;
        if file.schema != EXPLORE_SCHEMA {
            return Err(syntax(format!("its schema is `{}`, not `{EXPLORE_SCHEMA}`", file.schema)));
        }
        file.units.check()?;
        file.device.check()?;
        file.cost.check()?;
        let sweep = &file.sweep;
        let lists = [
            ("engines", sweep.engines.len()),
            ("butterflies", sweep.butterflies.len()),
            ("radix", sweep.radix.len()),
            ("forward_units", sweep.forward_units.len()),
            ("inverse_units", sweep.inverse_units.len()),
            ("leaf_slots", sweep.leaf_slots.len()),
            ("body", sweep.body.len()),
            ("preemption", sweep.preemption.len()),
        ];
        let mut designs = 1u64;
        for (what, len) in lists {
            if len == 0 {
                return Err(PipelineError::EmptySweep { what });
            }
            designs = designs.saturating_mul(len as u64);
        }
        require_range("number of designs", designs, 1, MAX_DESIGNS)?;
        for &given in &sweep.butterflies {
            butterflies("butterflies", given)?;
        }
        for &radix in &sweep.radix {
            if radix != 2 && radix != 4 {
                return Err(PipelineError::Range { what: "radix (2 or 4)".to_owned(), given: radix, min: 2, max: 4 });
            }
        }
        for &units in sweep.forward_units.iter().chain(&sweep.inverse_units) {
            require_range("transform units", units, 1, MAX_LANES)?;
        }
        for &slots in &sweep.leaf_slots {
            require_range("leaf_slots", slots, 2, 1024)?;
        }
        Ok(Self { file })
    }

    /// The job that every design runs.
    pub fn job(&self) -> Job {
        Job { rows: self.file.job.rows, columns: self.file.job.columns }
    }

    /// The properties of the units.
    pub fn units(&self) -> Units {
        self.file.units
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.file.device
    }

    /// All designs in the order of the sweep, without radix-4 designs that have no such unit.
    fn designs(&self) -> Vec<Design> {
        let sweep = &self.file.sweep;
        let mut designs = vec![Design::default()];
        /// Combines every design with every value.
        fn by<T: Copy>(designs: &mut Vec<Design>, values: &[T], set: impl Fn(&mut Design, T)) {
            let with = |design: Design, value: T| {
                let mut design = design;
                set(&mut design, value);
                design
            };
            *designs = designs
                .iter()
                .flat_map(|&design| values.iter().map(move |&v| (design, v)))
                .map(|(d, v)| with(d, v))
                .collect();
        }
        by(&mut designs, &sweep.engines, |design, value| design.engines = value);
        by(&mut designs, &sweep.butterflies, |design, value| design.butterflies = value);
        by(&mut designs, &sweep.radix, |design, value| design.radix = value);
        by(&mut designs, &sweep.forward_units, |design, value| design.forward_units = value);
        by(&mut designs, &sweep.inverse_units, |design, value| design.inverse_units = value);
        by(&mut designs, &sweep.leaf_slots, |design, value| design.leaf_slots = value);
        by(&mut designs, &sweep.body, |design, value| design.body = value);
        by(&mut designs, &sweep.preemption, |design, value| design.preemption = value);
        designs.retain(|design| design.radix == 2 || design.butterflies == self.file.units.radix4_butterflies);
        designs
    }
}

/// A design with its resources and cycles.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DesignPoint {
    /// The design.
    pub design: Design,
    /// The resources of all engines and the platform.
    pub resources: Resources,
    /// The largest share of a device resource.
    pub share: f64,
    /// The name of that resource.
    pub scarcest: &'static str,
    /// Whether all shares are below the device's `max_share`.
    pub fits: bool,
    /// Cycles of the job; `None` for a design that does not fit.
    pub cycles: Option<u64>,
    /// Cycles per row in the middle of the job.
    pub cycles_steady: Option<f64>,
    /// The largest utilization of a stage.
    pub utilization: Option<f64>,
    /// Whether the design is on the Pareto front: no other design that fits is at least as fast with less of the
    /// device, or faster with as much.
    pub pareto: bool,
}

/// The designs of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DesignSpace {
    /// The sweep's name.
    pub name: String,
    /// Cycles are simulated, resources analytic.
    pub label: Label,
    /// The job.
    pub job: Job,
    /// The device.
    pub device: Device,
    /// The points in the order of the sweep.
    pub points: Vec<DesignPoint>,
}

/// Runs a sweep. `base` supplies the ring, the clock and all other unchanged parameters.
///
/// # Errors
/// If a design is impossible, the job is out of range, or the designs together exceed [`MAX_SWEEP_PRODUCTS`].
///
/// # Example
/// ```
/// use ciphermill_arch::pipeline::{CHAM_EXPLORE, CHAM_PAPER, Exploration, PipelineMachine, explore};
///
/// let small = CHAM_EXPLORE
///     .replace("rows = 1024", "rows = 16")
///     .replace("engines = [1, 2, 4]", "engines = [1]")
///     .replace("butterflies = [1, 2, 4, 8, 16]", "butterflies = [4]");
/// let space = explore(&Exploration::from_toml(&small)?, &PipelineMachine::from_toml(CHAM_PAPER)?)?;
/// assert_eq!(space.points.len(), 144);
/// let front = space.front();
/// assert!(!front.is_empty() && front.iter().all(|point| point.fits));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn explore(exploration: &Exploration, base: &PipelineMachine) -> Result<DesignSpace, PipelineError> {
    let file = &exploration.file;
    let job = exploration.job();
    let designs = exploration.designs();
    let shape = job.shape(&base.ring())?;
    let products = shape.rows * shape.column_tiles;
    if designs.len() as u64 * products > MAX_SWEEP_PRODUCTS {
        return Err(PipelineError::SweepTooLarge { designs: designs.len(), products, max: MAX_SWEEP_PRODUCTS });
    }
    let mut points = Vec::new();
    for design in designs {
        let machine = design.machine(base, &file.units)?;
        let resources = cost::resources(&file.cost, &file.device, &machine, &design, &job)?;
        let (scarcest, share) = file.device.scarcest(&resources);
        let fits = share <= file.device.max_share;
        let run = if fits { Some(simulate(&machine, &job, None)?) } else { None };
        points.push(DesignPoint {
            design,
            resources,
            share,
            scarcest,
            fits,
            cycles: run.as_ref().map(|run| run.cycles),
            cycles_steady: run.as_ref().and_then(|run| run.steady_cycles_per_row),
            utilization: run.as_ref().map(super::run::PipelineRun::utilization),
            pareto: false,
        });
    }
    mark_front(&mut points);
    Ok(DesignSpace { name: file.name.clone(), label: Label::Simulated, job, device: file.device.clone(), points })
}

/// In the order of share and then cycles, a design is on the front if it is faster than all designs before it.
fn mark_front(points: &mut [DesignPoint]) {
    let mut order: Vec<usize> = (0..points.len()).filter(|&i| points[i].cycles.is_some()).collect();
    order.sort_by(|&i, &j| {
        points[i].share.total_cmp(&points[j].share).then(points[i].cycles.cmp(&points[j].cycles)).then(i.cmp(&j))
    });
    let mut best = u64::MAX;
    for i in order {
        let cycles = points[i].cycles.unwrap_or(u64::MAX);
        points[i].pareto = cycles < best;
        best = best.min(cycles);
    }
}

impl DesignSpace {
    /// The point of a design in the sweep.
    pub fn point(&self, design: &Design) -> Option<&DesignPoint> {
        self.points.iter().find(|point| point.design == *design)
    }

    /// The designs on the Pareto front, in ascending order of their share.
    pub fn front(&self) -> Vec<&DesignPoint> {
        let mut front: Vec<&DesignPoint> = self.points.iter().filter(|point| point.pareto).collect();
        front.sort_by(|a, b| a.share.total_cmp(&b.share));
        front
    }

    /// A record for each design that fits, `arch-explore/<sweep>/<design>`.
    pub fn records(&self) -> Vec<Record> {
        let mut records = Vec::new();
        for point in &self.points {
            let Some(cycles) = point.cycles else { continue };
            let design = point.design.name();
            let mut record =
                Record::new(format!("arch-explore/{}/{design}", self.name), design, Label::Simulated, cycles)
                    .with("rows", self.job.rows)
                    .with("columns", self.job.columns)
                    .with("lut", point.resources.lut)
                    .with("dsp", point.resources.dsp)
                    .with("bram", point.resources.bram)
                    .with("uram", point.resources.uram)
                    .with("share", point.share)
                    .with("scarcest", point.scarcest)
                    .with("pareto", point.pareto);
            record.cycles_steady = point.cycles_steady;
            record.utilization = point.utilization;
            records.push(record);
        }
        records
    }
}
