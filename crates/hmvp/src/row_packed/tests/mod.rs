//! Tests against integers, the plain definition, counts, and the noise model.

mod costs;
mod encrypted;
mod noise;
mod plain;
mod support;
