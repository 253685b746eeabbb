//! The extension module, which `cargo test` builds next to this program for the tests of python/tests.

use std::env;

#[test]
fn the_module_is_built_with_the_profile_of_the_tests() {
    let program = env::current_exe().expect("a path");
    let folder = program.parent().expect("a folder");
    let found = folder.read_dir().expect("readable").filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let modules: Vec<_> = found.filter(|name| name.starts_with("lib_native") && name.ends_with(".so")).collect();
    assert!(!modules.is_empty(), "there is no module in {}", folder.display());
}
