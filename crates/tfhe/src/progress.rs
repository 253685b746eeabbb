//! Progress reports of long operations.

/// Called with (work done, all work) while something long runs.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let mut percent = 0;
/// let progress: progress::Progress<'_> = &mut |done, all| percent = 100 * done / all;
/// client.write_bootstrap_key(KeyForm::Seeded, KeySeeds::from_os()?, Vec::new(), progress)?;
/// assert_eq!(percent, 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Progress<'a> = &'a mut dyn FnMut(u64, u64);
