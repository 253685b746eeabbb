//! The placement of scratchpad slices, by name.

use std::fmt;
use std::str::FromStr;

use crate::array::Grid;

/// Cores that have a slice of the scratchpad.
///
/// # Example
/// ```
/// use ciphermill_arch::{array::Grid, report::Slices};
///
/// assert_eq!("corners".parse(), Ok(Slices::Corners));
/// assert_eq!(Slices::Corners.cores(&Grid { rows: 4, columns: 4 }), [0, 3, 12, 15]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slices {
    /// Every core. The memory network then carries nothing.
    All,
    /// The cores of the first and the last row.
    Rows,
    /// The cores in the corners.
    Corners,
    /// The cores of the first column.
    Column,
    /// The listed cores, as a bit mask.
    Cores(u32),
}

impl Slices {
    /// The placements with a name.
    pub const NAMED: [Self; 4] = [Self::All, Self::Rows, Self::Corners, Self::Column];
    /// The accepted texts, for errors.
    pub const WANTED: &str = "all, rows, corners, column, or core numbers such as 0+3+12+15";

    /// The core numbers in a grid, ascending, in the form of machine files: an empty list for every core.
    pub fn cores(self, grid: &Grid) -> Vec<u32> {
        let (last_row, last_column) = (grid.rows.saturating_sub(1), grid.columns.saturating_sub(1));
        let has = |core: u32| {
            let (row, column) = (core / grid.columns.max(1), core % grid.columns.max(1));
            match self {
                Self::All => false,
                Self::Rows => row == 0 || row == last_row,
                Self::Corners => (row == 0 || row == last_row) && (column == 0 || column == last_column),
                Self::Column => column == 0,
                Self::Cores(cores) => cores >> core & 1 == 1,
            }
        };
        match self {
            // Numbers outside the grid are kept, so that the check of the machine reports them.
            Self::Cores(_) => (0..32).filter(|core| has(*core)).collect(),
            _ => (0..grid.rows.saturating_mul(grid.columns).min(32)).filter(|core| has(*core)).collect(),
        }
    }
}

impl fmt::Display for Slices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Rows => f.write_str("rows"),
            Self::Corners => f.write_str("corners"),
            Self::Column => f.write_str("column"),
            Self::Cores(cores) => {
                let numbers: Vec<String> =
                    (0..32).filter(|core| cores >> core & 1 == 1).map(|core| core.to_string()).collect();
                f.write_str(&numbers.join("+"))
            }
        }
    }
}

impl FromStr for Slices {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if let Some(named) = Self::NAMED.into_iter().find(|named| named.to_string() == text) {
            return Ok(named);
        }
        text.split('+')
            .try_fold(0_u32, |cores, number| {
                let core = number.parse::<u32>().ok().filter(|core| *core < 32).ok_or(())?;
                if cores >> core & 1 == 1 { Err(()) } else { Ok(cores | 1 << core) }
            })
            .map(Self::Cores)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_and_found() {
        let cores = |text: &str, rows, columns| {
            let slices: Slices = text.parse().unwrap();
            assert_eq!(slices.to_string(), text);
            slices.cores(&Grid { rows, columns })
        };
        assert!(cores("all", 4, 4).is_empty());
        assert_eq!(cores("rows", 4, 4), [0, 1, 2, 3, 12, 13, 14, 15]);
        assert_eq!(cores("corners", 4, 4), [0, 3, 12, 15]);
        assert_eq!(cores("column", 4, 4), [0, 4, 8, 12]);
        assert_eq!(cores("5+10", 4, 4), [5, 10]);
        assert_eq!((cores("corners", 1, 2), cores("corners", 2, 1)), (vec![0, 1], vec![0, 1]));
        assert_eq!(cores("corners", 1, 1), [0]);
        assert_eq!(cores("31", 4, 4), [31]);
        for text in ["", "4,", "32", "1+1", "+", "-1", "corner", "1 + 2", "99999999999"] {
            assert!(text.parse::<Slices>().is_err(), "{text}");
        }
    }
}
