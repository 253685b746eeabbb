//! Figures of the macro-pipeline.

use ciphermill_arch::pipeline::{
    CHAM_CIPHERMILL, CHAM_EXPLORE, CHAM_PAPER, CHAM_ROOFLINE, Design, DesignPoint, Exploration, Job, Kernel,
    PipelineMachine, RooflineMachine, Table3Row, explore, roofline, table3, table3_records,
};

use crate::keep::{keep, keep_part, keep_rows, number, table};

fn pipeline(text: &str) -> PipelineMachine {
    PipelineMachine::from_toml(text).expect("a committed machine")
}

/// The rows of the paper's Table 3, and one larger matrix.
#[test]
fn pipelines() {
    let [paper, ours] = [CHAM_PAPER, CHAM_CIPHERMILL].map(|text| table3(&pipeline(text), &[4096]).expect("runs"));
    keep("pipeline-table3", &[table3_records(&paper), table3_records(&ours)].concat());
    let cells = |row: &Table3Row| [format!("{:.2}", row.ms), number(row.ratio, 2)];
    let rows = paper.iter().zip(&ours).map(|(paper, ours)| {
        let printed = paper.printed.map_or(String::new(), |printed| printed.accelerator_ms.to_string());
        let ([a, b], [c, d]) = (cells(paper), cells(ours));
        [paper.run.job.rows.to_string(), printed, a, b, c, d]
    });
    let head = ["rows", "printed, ms", "`cham-paper`, ms", "ratio", "`cham-ciphermill`, ms", "ratio"];
    let slope = |rows: &[Table3Row]| {
        let run = rows.iter().find(|row| row.run.job.rows == 2048).expect("a row of the table");
        number(run.run.steady_cycles_per_row, 0)
    };
    let last =
        ["cycles per row".to_owned(), "6146".to_owned(), slope(&paper), String::new(), slope(&ours), String::new()];
    keep_part("docs/arch-pipeline.md", "table-3", &table(head, rows.chain([last])));
    let mut stages = Vec::new();
    for rows in [&paper, &ours] {
        let run = &rows.iter().find(|row| row.run.job.rows == 2048).expect("a row of the table").run;
        let mine = run.stages.iter().filter(|stage| stage.engine == 0);
        stages.extend(mine.map(|stage| (run.machine.clone(), stage.stage.name(), 100.0 * stage.utilization)));
    }
    let rows = stages[..9]
        .iter()
        .zip(&stages[9..])
        .map(|((.., name, paper), (.., ours))| [(*name).to_owned(), format!("{paper:.0}"), format!("{ours:.0}")]);
    let part = table(["stage", "`cham-paper`, %", "`cham-ciphermill`, %"], rows);
    keep_part("docs/arch-pipeline.md", "utilization", &part);
}

/// Fig. 2 of the paper.
#[test]
fn pipeline_roofline() {
    let jobs = [64, 1024, 2048].map(|rows| Job { rows, columns: 256 });
    let platforms = RooflineMachine::from_toml(CHAM_ROOFLINE).expect("the committed platforms");
    let paper = pipeline(CHAM_PAPER);
    let roof = roofline(&platforms, &paper.ring(), paper.body(), &jobs).expect("points");
    keep("pipeline-roofline", &roof);
    let rows = roof.points.iter().filter(|point| point.platform == "u200-device").map(|point| {
        let kernel = match point.kernel {
            Kernel::Ntt => "transform, N = 4096".to_owned(),
            Kernel::KeySwitch => "key switch".to_owned(),
            Kernel::Hmvp(Job { rows, columns }) => format!("product, {rows} × {columns}"),
        };
        [
            kernel,
            point.multiplications.to_string(),
            point.bytes.to_string(),
            format!("{:.2}", point.intensity),
            format!("{:.1} G/s", point.attainable / 1e9),
            format!("{:?}", point.bound).to_lowercase(),
        ]
    });
    let head = ["kernel", "multiplications", "bytes", "per byte", "attainable", "bound by"];
    keep_part("docs/arch-pipeline.md", "roofline", &table(head, rows));
}

/// Fig. 3 of the paper.
#[test]
fn pipeline_designs() {
    let paper = pipeline(CHAM_PAPER);
    let space = explore(&Exploration::from_toml(CHAM_EXPLORE).expect("the committed sweep"), &paper).expect("runs");
    // The paper's two best designs: two engines of four butterflies, or one engine of eight.
    let printed = [Design { engines: 2, ..Design::default() }, Design { butterflies: 8, ..Design::default() }];
    let drawn = |point: &DesignPoint| {
        serde_json::json!({
            "design": point.design.name(),
            "share": point.share,
            "scarcest": point.scarcest,
            "cycles": point.cycles,
            "pareto": point.pareto,
            "printed": printed.contains(&point.design),
        })
    };
    let points: Vec<_> = space.points.iter().filter(|point| point.fits).map(drawn).collect();
    keep_rows("pipeline-explore", &points);
    let mut out = format!(
        "\n{} designs, of which {} fit and {} are on the Pareto front. The last two rows are\nthe paper's designs:\n",
        space.points.len(),
        points.len(),
        space.front().len()
    );
    let chosen = space.front().into_iter().chain(printed.iter().filter_map(|design| space.point(design)));
    let milliseconds = |cycles: u64| cycles as f64 / paper.clock_mhz() / 1e3;
    let rows = chosen.map(|point| {
        [
            format!("`{}`", point.design.name()),
            format!("{:.0} % ({})", 100.0 * point.share, point.scarcest),
            number(point.cycles.map(milliseconds), 1),
            number(point.cycles_steady, 0),
        ]
    });
    out += &table(["design", "share", "ms at 300 MHz", "cycles per row"], rows);
    keep_part("docs/arch-pipeline.md", "designs", &out);
}
