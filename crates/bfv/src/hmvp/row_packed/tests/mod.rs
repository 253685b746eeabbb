//! Tests by what they compare with.

mod encrypted;
mod plain;
mod support;
