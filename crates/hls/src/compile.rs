//! Compilation of a source to scheduled kernels.

use crate::analysis::{self, Distance, Layout, Visits};
use crate::diagnostic::{Diagnostic, Problem, Result};
use crate::ir::{Kernel, Node, Program, Widths};
use crate::schedule::{Address, Schedule, Target, schedule};
use crate::{Source, lower, parse};

/// A kernel with its schedule.
#[derive(Clone, Debug)]
pub struct Scheduled {
    /// The kernel, without divisions.
    pub kernel: Kernel,
    /// The bank and the row of each access.
    pub addresses: Vec<Address>,
    /// The dependences among its accesses.
    pub distances: Vec<Distance>,
    /// The cycle of each operation and access.
    pub schedule: Schedule,
    /// The registers inside of each node's operation.
    pub registers: Vec<u32>,
    /// The bits of each node that are needed.
    pub widths: Widths,
    /// Whether each access is in the hardware; by access.
    pub(crate) used: Vec<bool>,
}

impl Scheduled {
    /// Whether an access is in the hardware: a write, or a read whose value is used.
    #[must_use]
    pub fn is_used(&self, access: usize) -> bool {
        self.used[access]
    }
}

/// A function with the schedules of its kernels.
#[derive(Clone, Debug)]
pub struct Design {
    /// The memories and kernels of the function, before scheduling.
    pub program: Program,
    /// Its kernels, in their order.
    pub kernels: Vec<Scheduled>,
}

impl Source {
    /// Compiles a function for a target, up to its schedule.
    ///
    /// # Errors
    /// The first [`Diagnostic`].
    pub fn compile(&self, defines: &[(String, String)], function: &str, target: &Target) -> Result<Design, Diagnostic> {
        let unit = parse(self, defines)?;
        design(&unit, function, target).map_err(|problem| problem.of(self))
    }
}

fn design(unit: &crate::ast::Unit, function: &str, target: &Target) -> Result<Design> {
    let program = lower::lower(unit, function)?;
    let layouts: Vec<Layout> = program.memories.iter().map(Layout::of).collect();
    let scheduled = |kernel: &Kernel| -> Result<Scheduled> {
        let (kernel, addresses) = lower::constants::expand(kernel, &layouts, target.constant_digits)?;
        let roots = kernel.accesses.iter().flat_map(|access| access.written.into_iter().chain(access.condition));
        let places = addresses.iter().flat_map(|address| [address.bank, address.row]);
        let widths = Widths::of(&kernel.graph, roots.chain(places).collect::<Vec<Node>>());
        let visits = Visits::of(&kernel, &program.memories);
        let distances = analysis::distances(&kernel, &program.memories, &visits);
        analysis::check_independence(&kernel, &program.memories, &distances)?;
        let schedule = schedule(&kernel, &addresses, &program.memories, &visits, &distances, &widths, target)
            .map_err(|problem| explained(problem, &kernel, &program, &visits))?;
        let registers =
            kernel.graph.nodes().map(|(node, _)| target.operation(&kernel.graph, &widths, node).1).collect();
        let mut used: Vec<bool> = kernel.accesses.iter().map(|access| access.written.is_some()).collect();
        for (node, data) in kernel.graph.nodes() {
            if let crate::ir::Op::Read(access) = data.op {
                used[access] = widths.get(&kernel.graph, node).0 > 0;
            }
        }
        Ok(Scheduled { used, kernel, addresses, distances, schedule, registers, widths })
    };
    let kernels = program.kernels.iter().map(scheduled).collect::<Result<_>>()?;
    Ok(Design { program, kernels })
}

/// The refusal of the scheduler, at the first two accesses that meet in a bank if such accesses exist.
fn explained(problem: Problem, kernel: &Kernel, program: &Program, visits: &Visits) -> Problem {
    let Some(one) = analysis::conflicts(kernel, &program.memories, visits).into_iter().next() else { return problem };
    let (first, second) = (&kernel.accesses[one.first], &kernel.accesses[one.second]);
    let name = &program.memories[second.memory].name;
    let what = format!(
        "this access of `{name}` and the one at {{also}} are in the same bank in iteration {} of `{}`; {}",
        one.iteration, kernel.name, problem.what
    );
    Problem::new(second.place, what, problem.way_out).and(first.place)
}
