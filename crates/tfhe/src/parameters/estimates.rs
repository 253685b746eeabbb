//! Estimates of the lattice-estimator for the problems behind the named sets.

use crate::parameters::TorusWidth;

/// One LWE or GLWE problem with a uniform binary key, and the log2 of the cheapest attack's operations.
pub(super) struct Estimate {
    dimension: usize,
    torus: TorusWidth,
    log2_std: f64,
    bits: f64,
}

/// The value for a problem whose cheapest attack needs more than 2^512 operations, where the estimator's models end.
const BEYOND: f64 = 512.0;

/// Cost model MATZOV, the lower of the two that were asked. In every row the cheapest attack is the dual hybrid one with the
/// finer search of docs/security/estimate.py. The test `estimates_are_those_on_record` compares this table with
/// docs/security/named-sets-estimates.csv.
pub(super) const ESTIMATES: &[Estimate] = &[
    Estimate { dimension: 668, torus: TorusWidth::U32, log2_std: -13.9701, bits: 131.96 },
    Estimate { dimension: 672, torus: TorusWidth::U32, log2_std: -14.0697, bits: 131.94 },
    Estimate { dimension: 720, torus: TorusWidth::U32, log2_std: -15.2645, bits: 131.69 },
    Estimate { dimension: 736, torus: TorusWidth::U32, log2_std: -15.6628, bits: 131.74 },
    Estimate { dimension: 748, torus: TorusWidth::U32, log2_std: -15.9615, bits: 131.98 },
    Estimate { dimension: 750, torus: TorusWidth::U32, log2_std: -16.0112, bits: 131.49 },
    Estimate { dimension: 784, torus: TorusWidth::U32, log2_std: -16.8576, bits: 132.04 },
    Estimate { dimension: 788, torus: TorusWidth::U32, log2_std: -16.9571, bits: 131.70 },
    Estimate { dimension: 800, torus: TorusWidth::U32, log2_std: -19.0000, bits: 121.70 },
    Estimate { dimension: 836, torus: TorusWidth::U32, log2_std: -18.1519, bits: 131.77 },
    Estimate { dimension: 858, torus: TorusWidth::U32, log2_std: -18.6995, bits: 132.02 },
    Estimate { dimension: 860, torus: TorusWidth::U32, log2_std: -19.0000, bits: 130.50 },
    Estimate { dimension: 884, torus: TorusWidth::U32, log2_std: -19.3467, bits: 132.03 },
    Estimate { dimension: 888, torus: TorusWidth::U32, log2_std: -19.4463, bits: 132.20 },
    Estimate { dimension: 898, torus: TorusWidth::U32, log2_std: -19.6952, bits: 132.19 },
    Estimate { dimension: 904, torus: TorusWidth::U32, log2_std: -19.8445, bits: 132.22 },
    Estimate { dimension: 930, torus: TorusWidth::U32, log2_std: -20.4917, bits: 131.74 },
    Estimate { dimension: 972, torus: TorusWidth::U32, log2_std: -21.5371, bits: 131.78 },
    Estimate { dimension: 978, torus: TorusWidth::U32, log2_std: -21.6865, bits: 131.82 },
    Estimate { dimension: 1048, torus: TorusWidth::U32, log2_std: -23.4289, bits: 132.22 },
    Estimate { dimension: 1536, torus: TorusWidth::U64, log2_std: -35.5759, bits: 132.77 },
    Estimate { dimension: 2048, torus: TorusWidth::U64, log2_std: -48.3204, bits: 132.92 },
    Estimate { dimension: 4096, torus: TorusWidth::U64, log2_std: -62.0000, bits: 218.39 },
    Estimate { dimension: 8192, torus: TorusWidth::U64, log2_std: -62.0000, bits: 478.56 },
    Estimate { dimension: 16384, torus: TorusWidth::U32, log2_std: -31.0000, bits: BEYOND },
    Estimate { dimension: 16384, torus: TorusWidth::U64, log2_std: -50.0000, bits: BEYOND },
];

/// The figure for a problem of the table; the noise is stated to four decimals of its logarithm.
pub(super) fn find(dimension: usize, torus: TorusWidth, log2_std: f64) -> Option<f64> {
    let same =
        |e: &&Estimate| e.dimension == dimension && e.torus == torus && (e.log2_std - log2_std).abs() <= 0.5001e-4;
    ESTIMATES.iter().find(same).map(|e| e.bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both ways: every row of the table is on record, and every MATZOV row on record is in the table.
    #[test]
    fn estimates_are_those_on_record() {
        let record = include_str!("../../../../docs/security/named-sets-estimates.csv");
        let mut rows = 0;
        let mut used = vec![false; ESTIMATES.len()];
        for line in record.lines().filter(|line| !line.starts_with('#')).skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            let [_, _, dimension, log2_std, log2_q, model, _, bits] = fields[..] else { panic!("columns of {line}") };
            rows += 1;
            if model != "MATZOV" {
                continue;
            }
            let bits = if bits == "beyond" { BEYOND } else { bits.parse().expect("a number") };
            let torus = if log2_q == "32" { TorusWidth::U32 } else { TorusWidth::U64 };
            let (dimension, log2_std) =
                (dimension.parse().expect("a number"), log2_std.parse::<f64>().expect("a number"));
            assert_eq!(find(dimension, torus, log2_std), Some(bits), "{line}");
            for (used, e) in used.iter_mut().zip(ESTIMATES) {
                *used |= e.dimension == dimension && e.torus == torus && e.log2_std == log2_std;
            }
        }
        assert_eq!(rows, 84, "twenty-one sets, two problems each, two cost models");
        assert!(used.iter().all(|&u| u), "a row of the table is not on record");
    }
}
