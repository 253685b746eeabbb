//! Ways in which the files of a store come to be elsewhere while it is open.

use std::{fs, os::unix::fs::symlink, path::Path};

type Step = Box<dyn Fn(&Path)>;

/// A change under an open store.
pub(crate) struct Displacement {
    /// For messages: the change, or the file that it concerns.
    pub(crate) what: String,
    /// Makes it in the directory of the store.
    pub(crate) make: Step,
    /// Puts all back, where that is possible.
    pub(crate) undo: Step,
}

impl Displacement {
    fn new(what: &str, make: impl Fn(&Path) + 'static, undo: impl Fn(&Path) + 'static) -> Self {
        Self { what: what.to_owned(), make: Box::new(make), undo: Box::new(undo) }
    }
}

/// The directory is moved or deleted; each of the files is moved, deleted, replaced by an equal one, or by a link to it.
pub(crate) fn displacements(files: &'static [&'static str]) -> Vec<Displacement> {
    let aside = |place: &Path| place.with_file_name("aside");
    let mut all = vec![
        Displacement::new(
            "the directory is moved",
            move |place| fs::rename(place, aside(place)).expect("moved"),
            move |place| fs::rename(aside(place), place).expect("moved back"),
        ),
        Displacement::new("the directory is deleted", |place| fs::remove_dir_all(place).expect("deleted"), |_| ()),
    ];
    for name in files {
        let file = move |place: &Path| place.join(name);
        all.extend([
            Displacement::new(
                name,
                move |place| fs::rename(file(place), aside(place)).expect("moved"),
                move |place| fs::rename(aside(place), file(place)).expect("moved back"),
            ),
            Displacement::new(name, move |place| fs::remove_file(file(place)).expect("deleted"), |_| ()),
            Displacement::new(
                name,
                move |place| {
                    fs::copy(file(place), aside(place)).expect("a copy");
                    fs::rename(aside(place), file(place)).expect("replaced by an equal file");
                },
                |_| (),
            ),
            Displacement::new(
                name,
                move |place| {
                    fs::rename(file(place), aside(place)).expect("moved");
                    symlink(aside(place), file(place)).expect("a link to it");
                },
                |_| (),
            ),
        ]);
    }
    all
}

/// Puts a link to it in the place of a file, and checks that `open` refuses the link and leaves the file as it is.
pub(crate) fn link_is_refused(file: &Path, aside: &Path, open: impl Fn() -> String) {
    fs::rename(file, aside).expect("moved");
    let before = fs::read(aside).expect("a file");
    symlink(aside, file).expect("a link");
    let error = open();
    assert!(error.contains("symbolic link"), "{}: {error}", file.display());
    assert!(fs::read(aside).expect("a file") == before, "{}", file.display());
    fs::remove_file(file).expect("removed");
    fs::rename(aside, file).expect("moved back");
}
