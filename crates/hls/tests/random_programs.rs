//! Random programs through every pass, against a C compiler.

mod random;

/// Programs of a run.
const PROGRAMS: usize = 2000;

#[test]
fn random_programs_have_the_values_of_the_c_compiler() {
    let number = |name: &str| std::env::var(name).ok().map(|value| value.parse::<u64>().expect("a number"));
    let first = number("HLS_RANDOM_FIRST").unwrap_or(0);
    let count = number("HLS_RANDOM_PROGRAMS").map_or(PROGRAMS, |count| count as usize);
    let folder = tempfile::tempdir().expect("a folder for C programs");
    let summary = random::check(first, count, folder.path());
    println!(
        "{} programs, {} lowered, {} scheduled, {} kernels, {} of longer intervals, {} cycles, {} results compared",
        summary.programs,
        summary.lowered,
        summary.scheduled,
        summary.kernels,
        summary.longer_intervals,
        summary.cycles,
        summary.compared
    );
    summary.refused.iter().for_each(|(why, count)| println!("{count:6} {why}"));
    summary.failures.iter().for_each(|failure| println!("{}", failure.lines().next().unwrap_or_default()));
    assert!(
        summary.failures.is_empty(),
        "{} programs differ. The first:\n{}",
        summary.failures.len(),
        summary.failures[0]
    );
    // The compiler must not refuse so large a share that the test becomes empty.
    assert_eq!(summary.programs, count);
    assert!(summary.lowered * 100 >= count * 85, "{} of {count} programs are lowered", summary.lowered);
    assert!(summary.scheduled * 100 >= count * 70, "{} of {count} programs are scheduled", summary.scheduled);
}
