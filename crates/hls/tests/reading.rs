//! Sources from files: headers come from the source's folder alone, and within bounds.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use ciphermill_hls::{ReadError, Source, parse};

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ciphermill-hls-{}-{name}", std::process::id()));
        fs::create_dir_all(path.join("in")).expect("a folder");
        Self(path)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join("in").join(name);
        fs::write(&path, text).expect("a file");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn headers_of_headers_are_read() {
    let folder = Folder::new("headers");
    folder.write("b.h", "#define N 4\n");
    folder.write("a.h", "#pragma once\n  #  include  \"b.h\" // sizes\n");
    symlink("a.h", folder.0.join("in/link.h")).expect("a link");
    let path = folder.write("top.c", "#include \"link.h\"\n#include <stdint.h>\nvoid f(uint8_t a[N]) { a[0] = N; }\n");
    let source = Source::read(&path).expect("all is there");
    assert_eq!(source.name(), "top.c");
    assert_eq!(parse(&source, &[]).expect("C").functions.len(), 1);
}

#[test]
fn a_missing_header_counts_where_it_is_included() {
    let folder = Folder::new("missing");
    let path = folder.write("top.c", "#ifdef SIM\n#include \"sim.h\"\n#endif\nvoid f(unsigned a[4]) { a[0] = 1; }\n");
    let source = Source::read(&path).expect("the header may be away");
    assert!(parse(&source, &[]).is_ok());
    let refused = parse(&source, &[("SIM".to_owned(), String::new())]).expect_err("it counts now");
    assert!(
        refused.to_string().starts_with("top.c:2:1: `#include \"sim.h\"`; add `sim.h` to the folder "),
        "{refused}"
    );
}

#[test]
fn headers_elsewhere_are_refused() {
    let folder = Folder::new("outside");
    fs::write(folder.0.join("secret.h"), "#define N 4\n").expect("a file");
    symlink("../secret.h", folder.0.join("in/link.h")).expect("a link");
    fs::create_dir(folder.0.join("in/sub")).expect("a folder");
    let absolute = folder.0.join("secret.h").display().to_string();
    for name in ["../secret.h", absolute.as_str(), "link.h", "sub/x.h", "..", "./link.h"] {
        let path = folder.write("top.c", format!("\n#include \"{name}\"\n"));
        match Source::read(&path) {
            Err(ReadError::Outside { line: 2, name: told, .. }) => assert_eq!(told, name),
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn files_have_bounds() {
    let folder = Folder::new("bounds");
    let long = " ".repeat((1 << 20) + 1);
    assert!(matches!(Source::read(&folder.write("long.c", &long)), Err(ReadError::TooLong { most: 1_048_576, .. })));
    assert!(matches!(Source::read(&folder.write("text.c", [0xff])), Err(ReadError::NotText { .. })));
    assert!(matches!(Source::read(&folder.0.join("in")), Err(ReadError::NotAFile { .. })));
    assert!(matches!(Source::read(&folder.0.join("none.c")), Err(ReadError::File { .. })));
    assert!(matches!(Source::read("/".as_ref()), Err(ReadError::Name { .. })));
    fs::create_dir(folder.0.join("in/dir.h")).expect("a folder");
    assert!(matches!(Source::read(&folder.write("dir.c", "#include \"dir.h\"")), Err(ReadError::NotAFile { .. })));

    let includes: String = (0..65).map(|number| format!("#include \"h{number}.h\"\n")).collect();
    (0..65).for_each(|number| drop(folder.write(&format!("h{number}.h"), "")));
    assert!(matches!(Source::read(&folder.write("many.c", includes)), Err(ReadError::Headers { most: 64, .. })));
    let whole = " ".repeat(1 << 20);
    (0..4).for_each(|number| drop(folder.write(&format!("h{number}.h"), &whole)));
    let includes: String = (0..4).map(|number| format!("#include \"h{number}.h\"\n")).collect();
    assert!(matches!(Source::read(&folder.write("heavy.c", includes)), Err(ReadError::AllTooLong { .. })));
}

#[test]
fn the_guard_of_a_header_may_have_any_name() {
    let header = "#ifndef __SIZE_H__\n#define __SIZE_H__\n#define N 4\n#endif\n";
    let text = "#include \"size.h\"\n#include \"size.h\"\nvoid f(unsigned char a[N]) { a[0] = 1; }";
    let source = Source::new("f.c", text).with_header("size.h", header);
    let program = source.lower(&[], "f").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(program.memories[0].len(), 4);
}
