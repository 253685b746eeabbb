//! Commands on a namespace of objects, against a model of it.
#![no_main]

#[path = "../../crates/blockspace/tests/adapter/model.rs"]
mod model;
#[path = "../../crates/blockspace/tests/adapter/support.rs"]
mod support;

use std::sync::{Arc, LazyLock};
use tokio::runtime::Runtime;

static RUNTIME: LazyLock<Arc<Runtime>> = LazyLock::new(support::runtime);

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    model::run(&model::commands(data), &RUNTIME);
});
