//! Without encryption: the mathematics, and the encoder against its definition.

use ciphermill_lattice::PolynomialSize;
use ciphermill_math::Isa;
use ciphermill_math::products::{SumBlock, VectorBlock};

use super::super::RowPackedOptions;
use super::super::layout::Layout;
use super::super::matrix::PreparedTile;
use super::super::reference;
use super::super::tables::Tables;
use ciphermill_bfv::context::Context;
use ciphermill_bfv::keyswitch::Gadget;
use ciphermill_bfv::parameters::{ParameterSet, ParameterSpec, SecurityPolicy};

/// Shapes for N = 32: rows, columns, baby steps.
const SHAPES: [(usize, usize, usize); 14] = [
    (1, 1, 1),
    (1, 7, 4),
    (9, 1, 2),
    (5, 3, 1),
    (8, 8, 2),
    (16, 8, 2),
    (17, 8, 4),
    (32, 32, 4),
    (31, 29, 32),
    (32, 32, 1),
    (33, 5, 2),
    (70, 9, 4),
    (20, 40, 4),
    (45, 65, 8),
];

/// Of no weight here.
const OPTIONS: RowPackedOptions = RowPackedOptions {
    baby_steps: 1,
    baby_gadget: Gadget::Limbs { limbs_per_digit: 1 },
    giant_gadget: Gadget::Limbs { limbs_per_digit: 1 },
};

fn entry(row: usize, column: usize) -> i64 {
    (row * 37 + column * 101 + row * column) as i64 % 255 - 127
}

#[test]
fn packing_leaves_p_times_the_products_at_their_places() {
    for (rows, cols, babies) in SHAPES {
        let layout = Layout::new(rows, cols, 32, babies).expect("in range");
        let vector: Vec<i64> = (0..cols).map(|j| (j * 53) as i64 % 17 - 8).collect();
        let mut seen = 0;
        for tile in layout.tiles() {
            let packed = reference::pack(&layout, &tile, &vector, &entry);
            for row in tile.rows.clone() {
                assert_eq!(row, seen, "rows in order");
                seen += 1;
                let expected: i64 = (0..cols).map(|j| entry(row, j) * vector[j]).sum();
                let place = layout.place(&tile, row - tile.rows.start);
                assert_eq!(packed[place], expected * layout.divisor() as i64, "row {row} of {rows} by {cols}");
            }
        }
        assert_eq!(seen, rows);
    }
}

/// A set for N = 32 without security.
fn parameters() -> ParameterSet {
    let primes: Vec<u64> = ciphermill_math::modulus::ntt_primes(45, 32).take(2).map(|p| p.value()).collect();
    let spec = ParameterSpec {
        name: "TEST".into(),
        polynomial_size: PolynomialSize::new(32).expect("a power of two"),
        ciphertext_moduli: primes[..1].to_vec(),
        special_moduli: primes[1..].to_vec(),
        plaintext_modulus: 65537,
        gadget: Gadget::Limbs { limbs_per_digit: 1 },
    };
    ParameterSet::new(spec, SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly).expect("admissible")
}

#[test]
fn the_encoder_makes_the_matrix_of_the_definition() {
    // Entries for which sums fit 16 bits, and others.
    for factor in [1, 1000] {
        for isa in Isa::available() {
            let context = Context::new(&parameters(), isa).expect("available");
            for (rows, cols, babies) in SHAPES {
                let layout = Layout::new(rows, cols, 32, babies).expect("in range");
                let tables =
                    Tables::new(&context, &layout, OPTIONS.baby_gadget, OPTIONS.giant_gadget).expect("available");
                let matrix = |row: usize, column: usize| factor * entry(row, column);
                for tile in layout.tiles() {
                    let read = |row: usize, out: &mut [i64]| {
                        out.iter_mut().enumerate().for_each(|(j, x)| *x = matrix(row, j));
                    };
                    let prepared = PreparedTile::new(&context, &layout, &tables, &tile, &read).expect("small entries");
                    check(&context, &layout, &tables, &tile, &prepared, &matrix);
                }
            }
        }
    }
}

fn check(
    context: &Context,
    layout: &Layout,
    tables: &Tables,
    tile: &super::super::layout::Tile,
    prepared: &PreparedTile,
    matrix: &dyn Fn(usize, usize) -> i64,
) {
    let n = layout.polynomial_size;
    let (zeros, ones) = (vec![0; n], vec![1; n]);
    for column in 0..layout.column_tiles() * layout.babies() {
        let (column_tile, baby) = (column / layout.babies(), column % layout.babies());
        let plaintexts: Vec<_> =
            (0..tile.plaintexts).map(|i| reference::plaintext(layout, tile, column_tile, i, matrix)).collect();
        for ((limb, tables), block) in context.chain().limbs().iter().zip(&tables.limbs).zip(prepared.limbs.iter()) {
            // The product with a unit vector is a column.
            let mut unit = VectorBlock::zeroed(n, 1, block.columns());
            unit.set(0, column, [&ones, &zeros]);
            let mut sums = SumBlock::zeroed(n, tile.giants, 1);
            tables.kernels.multiply(block, &unit, &mut sums.part(), false);
            for giant in 0..tile.giants {
                let mut spectrum = vec![0; n];
                tables.order.from_orbit(sums.get(giant, 0)[0], &mut spectrum);
                limb.engine().inverse_in_place(&mut spectrum);
                let expected = reference::entry(layout, tile, baby, giant, &plaintexts);
                let expected: Vec<u64> = expected.iter().map(|&x| limb.modulus().reduce_signed(x)).collect();
                assert_eq!(spectrum, expected, "row {giant}, column {column} of {layout:?}");
            }
        }
    }
}

#[test]
fn entries_beyond_the_range_are_refused() {
    let context = Context::new(&parameters(), Isa::current()).expect("available");
    let layout = Layout::new(32, 32, 32, 4).expect("in range");
    let tables = Tables::new(&context, &layout, OPTIONS.baby_gadget, OPTIONS.giant_gadget).expect("available");
    let prepare = |value: i64| {
        let read = |_: usize, out: &mut [i64]| out.fill(value);
        PreparedTile::new(&context, &layout, &tables, &layout.tile(0), &read).map(|_| ())
    };
    // 32 of them are summed in 32 bits.
    prepare((1 << 26) - 1).expect("fits");
    for value in [1 << 26, -(1 << 26), i64::MAX, i64::MIN] {
        let error = prepare(value).expect_err("does not fit").to_string();
        assert!(error.contains(&((1u64 << 26) - 1).to_string()), "{error}");
    }
}

#[test]
fn shapes_beyond_the_range_are_refused() {
    for (rows, cols, babies) in [(0, 1, 1), (1, 0, 1), (16385, 1, 1), (1, 16385, 1), (1, 1, 0), (1, 1, 3), (1, 1, 64)] {
        Layout::new(rows, cols, 32, babies).expect_err("out of range");
    }
}
