//! The integration tests of encrypted matrix-vector products, in one program.

mod below_128;
mod conv2d;
mod conv3d;
mod failures;
mod hostile;
mod numpy;
mod pipeline_counts;
mod plan;
mod products;
mod sums;
mod support;
mod two_party;
