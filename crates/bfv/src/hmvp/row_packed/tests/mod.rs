//! Tests by what they compare with.

mod plain;
