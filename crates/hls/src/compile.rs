//! Compilation of a source to scheduled kernels.

use crate::analysis::{self, Distance, Layout, MAX_DISTANCES, Trusted, Visits};
use crate::diagnostic::{Diagnostic, Problem, Result};
use crate::ir::{Access, Kernel, Node, Op, Program, Room, State, Widths};
use crate::pragma::Mode;
use crate::schedule::simulate::{SimulationError, simulate};
use crate::schedule::{Address, Schedule, Target, schedule};
use crate::sharing::Sharing;
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
    /// The dependences that a pragma declares to be absent, and that depend on data.
    pub trusted: Vec<Trusted>,
    /// The cycle of each operation and access.
    pub schedule: Schedule,
    /// The registers inside of each node's operation.
    pub registers: Vec<u32>,
    /// The bits of each node that are needed.
    pub widths: Widths,
    /// The multipliers that several products share.
    pub(crate) sharing: Sharing,
    /// Whether each access is in the hardware; by access.
    pub(crate) used: Vec<bool>,
}

impl Scheduled {
    /// Whether an access is in the hardware: a write, a read whose value is used, or a read of a stream.
    #[must_use]
    pub fn is_used(&self, access: usize) -> bool {
        self.used[access]
    }

    /// The number of products that share a multiplier with others.
    #[must_use]
    pub fn shared_products(&self) -> usize {
        self.sharing.units.iter().map(|unit| unit.products.len()).sum()
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

impl Design {
    /// Runs all kernels by their schedules. Returns the number of cycles from start to done, which is that of
    /// [`run_cycles`](Self::run_cycles).
    ///
    /// # Errors
    /// The rule that a schedule breaks.
    ///
    /// # Example
    /// ```
    /// use ciphermill_hls::Source;
    /// use ciphermill_hls::ir::State;
    /// use ciphermill_hls::schedule::Target;
    ///
    /// let text = "void f(unsigned char a[4]) { for (unsigned i = 0; i < 4; i++) a[i] = a[i] ^ 3; }";
    /// let design = Source::new("f.c", text).compile(&[], "f", &Target::ecp5(120.0))?;
    /// let mut state = State::before(&design.program, [vec![0, 1, 2, 3]]);
    /// let cycles = design.simulate(&mut state)?;
    /// assert_eq!(cycles, design.run_cycles());
    /// assert_eq!(state.arrays(&design.program).next(), Some(&[3, 2, 1, 0].map(Some)[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn simulate(&self, state: &mut State) -> std::result::Result<u64, SimulationError> {
        let memories = &self.program.memories;
        self.kernels.iter().try_fold(self.start_cycles(), |before, one| {
            let accesses = (&*one.addresses, &*one.used);
            let cycles = simulate(&one.kernel, accesses, &one.registers, memories, &one.schedule, state)?;
            // A kernel of one cycle has another one for its end.
            Ok(before + cycles + u64::from(one.schedule.depth == 1))
        })
    }
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
    let mut kernels = Vec::new();
    let mut left = Left { room: Room::default(), distances: MAX_DISTANCES, trusted: MAX_TRUSTED };
    for kernel in &program.kernels {
        let one = scheduled(kernel, &program, &layouts, target, &left)?;
        left = left.without(&one);
        kernels.push(one);
    }
    Ok(Design { program, kernels })
}

/// Trusted pairs of accesses of all kernels. The module has an assertion for each.
const MAX_TRUSTED: usize = 1 << 14;

/// What the remaining kernels of a function may have.
struct Left {
    room: Room,
    distances: usize,
    trusted: usize,
}

impl Left {
    fn without(&self, one: &Scheduled) -> Self {
        Self {
            room: self.room.without(&one.kernel.graph),
            distances: self.distances.saturating_sub(one.distances.len()),
            trusted: self.trusted.saturating_sub(one.trusted.len()),
        }
    }
}

/// The dependences of a kernel that are trusted to be absent, at most `room`.
fn trusted(kernel: &Kernel, visits: &Visits, room: usize) -> Result<Vec<Trusted>> {
    let found = analysis::trusted(kernel, visits);
    match found.get(room) {
        None => Ok(found),
        Some(one) => {
            let what = format!("more than {MAX_TRUSTED} pairs of accesses whose indices depend on data, in all loops");
            Err(Problem::new(one.place, what, "remove the pragma, or unroll less"))
        }
    }
}

/// The dependences of a kernel, at most `room`.
fn distances(kernel: &Kernel, program: &Program, visits: &Visits, room: usize) -> Result<Vec<Distance>> {
    analysis::distances_within(kernel, &program.memories, visits, room).ok_or_else(|| {
        let what = format!("more than {MAX_DISTANCES} dependences among accesses of all loops");
        Problem::new(kernel.place, what, "unroll less, or use indices that depend on loop variables alone")
    })
}

/// A kernel with its schedule.
fn scheduled(
    kernel: &Kernel,
    program: &Program,
    layouts: &[Layout],
    target: &Target,
    left: &Left,
) -> Result<Scheduled> {
    let (kernel, addresses) = lower::constants::expand(kernel, layouts, target.constant_digits, left.room)?;
    let widths = widths(&kernel, &addresses, program);
    let visits = Visits::of(&kernel, &program.memories);
    let distances = distances(&kernel, program, &visits, left.distances)?;
    let trusted = trusted(&kernel, &visits, left.trusted)?;
    analysis::check_independence(&kernel, &program.memories, &visits, &distances)?;
    let count = program.kernels.len();
    let schedule = schedule(&kernel, &addresses, &program.memories, &visits, &distances, &widths, target, count)
        .map_err(|problem| explained(problem, &kernel, program, &visits))?;
    let registers: Vec<u32> =
        kernel.graph.nodes().map(|(node, _)| target.operation(&kernel.graph, &widths, node).1).collect();
    let sharing = Sharing::of(&kernel, &schedule, &registers, &widths, target);
    let used = used(&kernel, program, &widths);
    Ok(Scheduled { used, sharing, kernel, addresses, distances, trusted, schedule, registers, widths })
}

/// The widths of the values that the accesses of the hardware need.
fn widths(kernel: &Kernel, addresses: &[Address], program: &Program) -> Widths {
    let needed = |number: usize| -> Vec<Node> {
        let access = &kernel.accesses[number];
        let (bank, row) = addresses[number].needed(&program.memories[access.memory]);
        access.written.into_iter().chain(access.condition).chain(bank).chain(row).collect()
    };
    let always = kernel.accesses.iter().enumerate().filter(|(_, access)| has_effect(access, program));
    Widths::of(&kernel.graph, always.flat_map(|(number, _)| needed(number)), needed)
}

/// Whether an access has an effect besides its value: a write, or a read that takes an element of a stream.
fn has_effect(access: &Access, program: &Program) -> bool {
    access.written.is_some() || program.memories[access.memory].mode == Some(Mode::Stream)
}

/// Whether each access is in the hardware: one with an effect, or a read whose value is used.
fn used(kernel: &Kernel, program: &Program, widths: &Widths) -> Vec<bool> {
    let mut used: Vec<bool> = kernel.accesses.iter().map(|access| has_effect(access, program)).collect();
    for (node, data) in kernel.graph.nodes() {
        if let Op::Read(access) = data.op {
            used[access] |= widths.get(&kernel.graph, node).0 > 0;
        }
    }
    used
}

/// The refusal of the scheduler, at the first two accesses that meet in a bank if such accesses exist.
fn explained(problem: Problem, kernel: &Kernel, program: &Program, visits: &Visits) -> Problem {
    // A refusal with two places names the accesses that depend on one another.
    if problem.also.is_some() {
        return problem;
    }
    let Some(one) = analysis::conflicts(kernel, &program.memories, visits).into_iter().next() else { return problem };
    let (first, second) = (&kernel.accesses[one.first], &kernel.accesses[one.second]);
    let name = &program.memories[second.memory].name;
    let what = format!(
        "this access of `{name}` and the one at {{also}} are in the same bank in iteration {} of `{}`; {}",
        one.iteration, kernel.name, problem.what
    );
    Problem::new(second.place, what, problem.way_out).and(first.place)
}
