//! Streams: each element is accessed exactly once, in ascending order, by one kernel.

use crate::analysis::{Visit, Visits};
use crate::diagnostic::{Place, Problem, Result};
use crate::ir::{Kernel, Memory, Program};
use crate::pragma::Mode;

/// A way out that is always possible.
const NO_STREAM: &str = "or remove the pragma `interface axis`";

/// An access of a stream in an iteration.
#[derive(Clone, Copy)]
struct Last<'p> {
    kernel: &'p Kernel,
    element: usize,
    iteration: usize,
    writes: bool,
    place: Place,
}

impl Last<'_> {
    /// The element and the iteration in words.
    fn what(&self) -> String {
        format!("element {} in iteration {} of `{}`", self.element, self.iteration, self.kernel.name)
    }
}

/// Checks the streams of a function.
///
/// Vitis HLS has the same rule: each element of a stream is accessed only once and in sequential order (UG1448, HLS 214-244).
pub(crate) fn check(program: &Program) -> Result<()> {
    let all = program.memories.iter().enumerate();
    let streams: Vec<(usize, &Memory)> = all.filter(|(_, memory)| memory.mode == Some(Mode::Stream)).collect();
    streams.iter().try_for_each(|(_, memory)| has_form_of_stream(memory))?;
    let mut last: Vec<Option<Last<'_>>> = vec![None; streams.len()];
    for kernel in program.kernels.iter().filter(|kernel| streams.iter().any(|(number, _)| uses(kernel, *number))) {
        let visits = Visits::of(kernel, &program.memories);
        for ((number, memory), last) in streams.iter().zip(&mut last) {
            *last = in_kernel(*number, memory, kernel, &visits, *last)?;
        }
    }
    streams.iter().zip(last).try_for_each(|((_, memory), last)| ends(memory, last))
}

fn uses(kernel: &Kernel, memory: usize) -> bool {
    kernel.accesses.iter().any(|access| access.memory == memory)
}

fn has_form_of_stream(memory: &Memory) -> Result<()> {
    let refused = |what: &str, way_out: &str| {
        Err(Problem::new(
            memory.place,
            format!("the stream `{}` {what}", memory.name),
            format!("{way_out}, {NO_STREAM}"),
        ))
    };
    if memory.lengths.is_empty() {
        return refused("is a value", "make it an array of one element");
    }
    if memory.divisions.iter().any(Option::is_some) {
        return refused("has a partition, but no banks", "remove the pragma `array_partition`");
    }
    Ok(())
}

/// Follows the accesses of a kernel, after the last access of an earlier kernel.
fn in_kernel<'p>(
    number: usize,
    memory: &Memory,
    kernel: &'p Kernel,
    visits: &Visits,
    mut last: Option<Last<'p>>,
) -> Result<Option<Last<'p>>> {
    let of_stream = |access: &usize| kernel.accesses[*access].memory == number;
    let accesses: Vec<usize> = (0..kernel.accesses.len()).filter(of_stream).collect();
    if accesses.is_empty() {
        return Ok(last);
    }
    for iteration in 0..kernel.iterations() {
        for &access in &accesses {
            let Some(visit) = visits.get(access, iteration) else { continue };
            let now = visited(memory, kernel, access, iteration, visit)?;
            follows(memory, last, now)?;
            last = Some(now);
        }
    }
    Ok(last)
}

/// The element of an access, which must not depend on data.
fn visited<'p>(memory: &Memory, kernel: &'p Kernel, access: usize, iteration: usize, visit: Visit) -> Result<Last<'p>> {
    let one = &kernel.accesses[access];
    let refused = |what: &str, way_out: &str| {
        let what = format!(
            "{what} of the stream `{}` depends on data in iteration {iteration} of `{}`",
            memory.name, kernel.name
        );
        Err(Problem::new(one.place, what, format!("{way_out}, {NO_STREAM}")))
    };
    if one.condition.is_some_and(|condition| kernel.graph.value_in(condition, iteration).is_none()) {
        return refused("the condition of an access", "access the element in every case");
    }
    match visit.element {
        Some(element) => Ok(Last { kernel, element, iteration, writes: one.written.is_some(), place: one.place }),
        None => refused("an index", "access the elements in ascending order"),
    }
}

/// Checks that an access is the next one after the last access.
fn follows(memory: &Memory, last: Option<Last<'_>>, now: Last<'_>) -> Result<()> {
    let name = &memory.name;
    let refused = |what: String, way_out: &str| {
        let problem = Problem::new(now.place, what, format!("{way_out}, {NO_STREAM}"));
        Err(last.map_or_else(|| problem.clone(), |last| problem.clone().and(last.place)))
    };
    let Some(last) = last else {
        let what = format!("the stream `{name}` begins with {}, not with element 0", now.what());
        return if now.element == 0 { Ok(()) } else { refused(what, "access the elements in ascending order") };
    };
    if !std::ptr::eq(last.kernel, now.kernel) {
        let what =
            format!("the stream `{name}` is accessed in two kernels: {} at {{also}}, and {}", last.what(), now.what());
        return refused(what, "copy the elements to an array in the first loop");
    }
    if last.writes != now.writes {
        let what = format!("the stream `{name}` is read and written: {} at {{also}}, and {}", last.what(), now.what());
        return refused(what, "use one stream for the input and another one for the output");
    }
    if now.element == last.element + 1 {
        return Ok(());
    }
    let what = format!("the stream `{name}` has {} after {} at {{also}}", now.what(), last.what());
    refused(what, "access each element once, in ascending order")
}

/// Checks that the last access is that of the last element.
fn ends(memory: &Memory, last: Option<Last<'_>>) -> Result<()> {
    let name = &memory.name;
    let way_out = format!("access each element once, in ascending order, {NO_STREAM}");
    let length = memory.len();
    match last {
        Some(last) if last.element + 1 == length => Ok(()),
        Some(last) => {
            let what = format!("the stream `{name}` ends with {}; its length is {length}", last.what());
            Err(Problem::new(last.place, what, way_out))
        }
        None => Err(Problem::new(memory.place, format!("the stream `{name}` is not used"), way_out)),
    }
}
