//! Tests by what they compare with.

mod costs;
mod encrypted;
mod noise;
mod plain;
mod support;
