//! Products in the tensor memory of a pair of blocks with 64 rows each: where their scale factors are, which no compiler's kernel tells.

use ptx_isa::TABLE;
use ptx_isa::matrix::tensor::{BlockMemory, COLUMNS, Given, LANES, Left, TensorMemory, TensorProduct};
use ptx_isa::text::Statement;

const ROWS: usize = 64;
const N: usize = 64;
/// Columns of the scale factors.
const SCALES: [usize; 2] = [128, 160];

struct Cells(Vec<u32>);

impl TensorMemory for Cells {
    fn get(&self, lane: usize, column: usize) -> Option<u32> {
        self.0.get(lane * COLUMNS + column).copied()
    }

    fn set(&mut self, lane: usize, column: usize, bits: u32) -> bool {
        self.0[lane * COLUMNS + column] = bits;
        true
    }
}

#[test]
fn scale_factors_of_64_rows() {
    let text = "tcgen05.mma.cta_group::2.kind::mxf8f6f4.block_scale.block32 [%r1], %rd1, %rd2, %r2, [%r3], [%r4], %p1;";
    let statement = Statement::parse(&TABLE, text).unwrap();
    let product = TensorProduct::new(statement.form(), statement.free(), 100).unwrap();
    // All elements are one, so that a result is 32 times both factors.
    let one = |_: u64, bytes: u8| Some(0x3838_3838 & (u64::MAX >> (64 - 8 * bytes)));
    let (row_scale, column_scale) = (|row: usize| 100 + row as u32 % 27, |column: usize| 110 + column as u32 % 23);
    let mut cells = [0, 1].map(|block| {
        let mut cells = Cells(vec![0; LANES * COLUMNS]);
        // Each quarter of the lanes has the factors of 64 rows.
        for (row, copy) in (0..ROWS).flat_map(|row| (0..4).map(move |copy| (row, copy))) {
            cells.set(32 * copy + row % 32, SCALES[0] + row / 32, row_scale(ROWS * block + row));
        }
        // The quarters of one half have those of the first columns, those of the other one those of the others.
        for (column, copy) in (0..N).flat_map(|column| (0..2).map(move |copy| (column, copy))) {
            let (half, place) = (column / (N / 2), column % (N / 2));
            cells.set(64 * half + 32 * copy + place % 32, SCALES[1] + place / 32, column_scale(column));
        }
        cells
    });
    let mut blocks: Vec<_> = cells.iter_mut().map(|tensor| BlockMemory { tensor, shared: &one }).collect();
    let given = Given {
        d: 0,
        a: Left::Shared(0),
        b: 0,
        shape: (N as u32 / 8) << 17 | 1 << 23 | 1 << 27,
        keep: false,
        off: [0; 2],
        power: 0,
        zero: 0,
        metadata: 0,
        scales: SCALES.map(|column| column as u32),
    };
    product.multiply(&given, &mut blocks).unwrap();
    for (row, column) in (0..2 * ROWS).flat_map(|row| (0..N).map(move |column| (row, column))) {
        // The first columns of the result are in the first half of the lanes.
        let lane = row % ROWS + column / (N / 2) * 64;
        let found = f32::from_bits(cells[row / ROWS].get(lane, column % (N / 2)).unwrap());
        let power = row_scale(row) as i32 + column_scale(column) as i32 - 2 * 127;
        assert_eq!(found, 32.0 * 2_f32.powi(power), "row {row}, column {column}");
    }
}
