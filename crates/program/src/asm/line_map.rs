//! From the index of an instruction back to its line.

/// The source line of every instruction of an assembled program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineMap {
    lines: Vec<usize>,
}

impl LineMap {
    /// The line, counted from 1, of the instruction with this index, counted from 0.
    #[must_use]
    pub fn line(&self, index: usize) -> Option<usize> {
        self.lines.get(index).copied()
    }

    pub(super) fn push(&mut self, line: usize) {
        self.lines.push(line);
    }
}
