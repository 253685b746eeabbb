//! Two-dimensional convolution by coefficient encoding.
