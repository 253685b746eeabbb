//! Tests against integers, the plain definition, and the noise model.

mod exact;
mod noise;
mod reference;
mod support;
