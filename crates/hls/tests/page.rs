//! The example, the picture and the figures of `docs/hls.md`. `CIPHERMILL_REWRITE_GOLDEN=1 cargo test -p ciphermill-hls
//! --test page` rewrites the picture and the figures.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;

use ciphermill_hls::Source;
use ciphermill_hls::explore::Grid;
use ciphermill_hls::report::Report;
use ciphermill_hls::schedule::Target;

const BEGIN: &str = "<!-- figures by crates/hls/tests/page.rs -->\n\n";
const END: &str = "\n<!-- end of figures -->";

/// One test at a time reads and rewrites the page.
static PAGE: Mutex<()> = Mutex::new(());

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> String {
    fs::read_to_string(root().join("docs/hls.md")).expect("the page")
}

fn rewrites() -> bool {
    std::env::var_os("CIPHERMILL_REWRITE_GOLDEN").is_some()
}

#[test]
fn the_example_has_the_picture_of_the_page() {
    let _page = PAGE.lock();
    let page = page();
    let (_, rest) = page.split_once("```c\n").expect("an example in C");
    let (text, _) = rest.split_once("```").expect("its end");
    let (source, target) = (Source::new("scale.c", text), Target::ecp5(100.0));
    let design = source.compile(&[], "scale", &target).unwrap_or_else(|error| panic!("{error}"));
    let report = Report::of(&design, &source, &[], &target);
    assert_eq!((report.kernels[0].interval.reached, report.memories[0].bits), (1, 12));
    let path = root().join("docs/pictures/hls_scale.svg");
    if rewrites() {
        fs::write(&path, report.picture()).expect("room");
    }
    assert!(page.contains("(pictures/hls_scale.svg)"));
    let drawn = fs::read_to_string(&path).expect("the picture");
    assert!(drawn == report.picture(), "docs/pictures/hls_scale.svg is not the picture of the example");
}

/// The rows of the table of figures.
fn figures() -> String {
    let source = Source::read(&root().join("hw/hls/ntt_gs.c")).expect("the source");
    let of = |name: &str, values: &[&str]| (name.to_owned(), values.iter().map(|&value| value.to_owned()).collect());
    let axes = vec![of("N", &["256"]), of("B", &["1", "2", "4", "8", "16"])];
    let grid = Grid::new(vec![("Q".to_owned(), "3329".to_owned())], axes).expect("five points");
    let found = grid.explore(&source, "ntt_gs", &Target::ecp5(100.0), &|_, _| ());
    let mut table =
        "| B | floor | start to done | II | multipliers | banks | LUTs, estimate | registers, estimate |\n".to_owned();
    table += "| --- | --- | --- | --- | --- | --- | --- | --- |\n";
    for point in &found.points {
        let butterflies: u64 = point.values["B"].parse().expect("a number");
        let floor = 256 / 2 * 8 / butterflies;
        let one = point.figures.as_ref().unwrap_or_else(|| panic!("{:?}", point.refusal));
        assert!(one.cycles > floor && one.at_bound);
        table += &format!(
            "| {butterflies} | {floor} | {} | {} | {} | {} | {} | {} |\n",
            one.cycles, one.interval, one.multipliers, one.banks, one.luts, one.registers
        );
    }
    table
}

#[test]
fn the_page_has_the_figures_of_an_exploration() {
    let _page = PAGE.lock();
    let (page, table) = (page(), figures());
    let (before, rest) = page.split_once(BEGIN).expect("the mark of the figures");
    let (known, after) = rest.split_once(END).expect("the mark of their end");
    if rewrites() {
        fs::write(root().join("docs/hls.md"), format!("{before}{BEGIN}{table}{END}{after}")).expect("room");
        return;
    }
    for (known, made) in known.lines().zip(table.lines()) {
        assert_eq!(known, made, "docs/hls.md");
    }
    assert_eq!(known.len(), table.len());
}
