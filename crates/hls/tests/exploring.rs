//! Grids of macros: their bounds, their points, and which of these are the best.

use ciphermill_hls::Source;
use ciphermill_hls::explore::{Exploration, Grid, GridError, MAX_POINTS};
use ciphermill_hls::schedule::Target;

const SUMS: &str = "#if B > 4
#error \"B must be at most 4\"
#endif
void sums(unsigned char a[B][N / B]) {
#pragma HLS array_partition variable=a complete dim=1
LOOP:
  for (unsigned i = 0; i < N / B; i++) {
#pragma HLS pipeline II=1
    for (unsigned b = 0; b < B; b++) a[b][i] = a[b][i] & 7;
  }
}
";

fn axis(name: &str, values: &[&str]) -> (String, Vec<String>) {
    (name.to_owned(), values.iter().map(|&value| value.to_owned()).collect())
}

fn explored() -> Exploration {
    let grid = Grid::new(Vec::new(), vec![axis("N", &["16", "32"]), axis("B", &["1", "2", "8"])]).expect("six points");
    let calls = std::cell::Cell::new(0);
    let found = grid.explore(&Source::new("sums.c", SUMS), "sums", &Target::ecp5(100.0), &|done, all| {
        assert_eq!((done, all), (calls.get() + 1, 6));
        calls.set(done);
    });
    assert_eq!(calls.get(), 6);
    found
}

#[test]
fn each_point_has_figures_or_a_refusal() {
    let found = explored();
    let values: Vec<_> =
        found.points.iter().map(|point| (point.values["N"].as_str(), point.values["B"].as_str())).collect();
    assert_eq!(values, [("16", "1"), ("16", "2"), ("16", "8"), ("32", "1"), ("32", "2"), ("32", "8")]);
    for point in &found.points {
        let number = |name: &str| -> u64 { point.values[name].parse().expect("a number") };
        if number("B") > 4 {
            assert_eq!(point.figures, None);
            assert!(!point.pareto);
            let why = point.refusal.as_deref().expect("why");
            assert!(why.starts_with("sums.c:2:1: #error \"B must be at most 4\""), "{why}");
            continue;
        }
        let figures = point.figures.as_ref().expect("it is compiled");
        assert_eq!((figures.interval, figures.banks, figures.at_bound), (1, number("B"), true));
        // The iterations and a few cycles of pipeline.
        let floor = number("N") / number("B");
        assert!((floor..floor + 8).contains(&figures.cycles), "{figures:?}");
    }
}

#[test]
fn the_best_points_are_beaten_by_none() {
    let found = explored();
    let costs = |at: usize| found.points[at].figures.as_ref().map(|one| [one.cycles, one.luts, one.multipliers]);
    let mut best = 0;
    for (at, point) in found.points.iter().enumerate().filter(|(_, point)| point.figures.is_some()) {
        let one = costs(at).expect("figures");
        let beaten =
            (0..found.points.len()).filter_map(costs).any(|other| other != one && (0..3).all(|i| other[i] <= one[i]));
        assert_eq!(point.pareto, !beaten, "{point:?}");
        best += usize::from(point.pareto);
    }
    assert!((1..4).contains(&best), "{best}");
}

#[test]
fn json_csv_and_picture_have_all_points() {
    let found = explored();
    assert_eq!(Exploration::from_json(&found.to_json()).expect("its own JSON"), found);
    let csv = found.to_csv();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines.len(), 7);
    assert!(lines[0].starts_with("N,B,cycles,interval,") && lines[0].ends_with(",pareto,refusal"));
    assert!(lines[1].starts_with("16,1,"));
    assert!(lines[3].starts_with("16,8,,,,,,,,,,,,false,\"sums.c:2:1: "), "{}", lines[3]);
    let commas = lines[0].matches(',').count();
    assert_eq!(lines[1].matches(',').count(), commas);
    let svg = found.picture();
    assert_eq!(svg.matches("<circle ").count(), 4);
    assert!(svg.contains("2 points are refused"));
    assert_eq!(svg, explored().picture());
}

#[test]
fn grids_have_bounds() {
    let many: Vec<String> = (0..=MAX_POINTS).map(|number| number.to_string()).collect();
    let refused = Grid::new(Vec::new(), vec![("N".to_owned(), many.clone())]).expect_err("too many");
    assert_eq!(refused, GridError::Points { points: 1025 });
    assert_eq!(refused.to_string(), "the grid has 1025 points; use at most 1024");
    assert!(Grid::new(Vec::new(), vec![("N".to_owned(), many[1..].to_vec())]).is_ok());
    let eight: Vec<_> = (0..8).map(|axis| (format!("N{axis}"), many.clone())).collect();
    assert_eq!(Grid::new(Vec::new(), eight), Err(GridError::Points { points: usize::MAX }));
    let none = Grid::new(Vec::new(), vec![axis("N", &[])]);
    assert_eq!(none, Err(GridError::NoValues { name: "N".to_owned() }));
    let twice = Grid::new(vec![("N".to_owned(), "1".to_owned())], vec![axis("N", &["2"])]);
    assert_eq!(twice, Err(GridError::Repeated { name: "N".to_owned() }));
}
