//! Random programs through every pass, against a C compiler: `random_programs [count [first]]`. Prints a summary as JSON,
//! and the differences on the error output.

#[path = "../tests/random/mod.rs"]
mod random;

fn main() -> std::process::ExitCode {
    let numbers: Result<Vec<u64>, _> = std::env::args().skip(1).map(|argument| argument.parse()).collect();
    let Ok(numbers) = numbers else {
        eprintln!("random_programs [count [first]]");
        return std::process::ExitCode::from(2);
    };
    let (count, first) =
        (numbers.first().map_or(50_000, |count| *count as usize), numbers.get(1).copied().unwrap_or(0));
    let folder = match tempfile::tempdir() {
        Ok(folder) => folder,
        Err(error) => {
            eprintln!("a folder for C programs: {error}");
            return std::process::ExitCode::FAILURE;
        }
    };
    let summary = random::check(first, count, folder.path());
    summary.failures.iter().for_each(|failure| eprintln!("{failure}"));
    let json = serde_json::json!({
        "first": first,
        "programs": summary.programs,
        "lowered": summary.lowered,
        "scheduled": summary.scheduled,
        "kernels": summary.kernels,
        "longer_intervals": summary.longer_intervals,
        "cycles": summary.cycles,
        "compared": summary.compared,
        "refused": summary.refused,
        "failures": summary.failures.len(),
    });
    println!("{json:#}");
    if summary.failures.is_empty() { std::process::ExitCode::SUCCESS } else { std::process::ExitCode::FAILURE }
}
