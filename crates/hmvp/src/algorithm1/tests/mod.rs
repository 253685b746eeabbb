//! Tests by what they compare with.

mod exact;
mod noise;
mod reference;
mod support;
