//! A product by tiles: what a block fetches at a time, and what a thread reads for its sums.

use super::canvas::{Canvas, WIDTH};

/// A thread's sums at level 3 (kernels/src/linear/level3/linear.ptx) and in level 4's larger tile of f32.
const THREADS: [(&str, [usize; 2]); 2] = [("level 3", [4, 1]), ("level 4", [8, 8])];
/// Side of a matrix element in the right half.
const CELL: f64 = 13.;

/// The block's tile on the left, two threads' tiles on the right.
pub fn draw() -> Canvas {
    let mut canvas = Canvas::new(
        "tiles",
        330.,
        "Tiles of a matmul",
        "Left: a tile of y needs a band of rows of x and a band of rows of w, and takes them a step of K at a time through \
         shared memory. Right: what one thread reads from shared memory for its sums. With 4 by 1 sums it reads 5 words \
         for 4 multiply-adds; with 8 by 8 sums 16 words for 64.",
    );
    block(&mut canvas);
    let mut left = 430.;
    for (level, sums) in THREADS {
        thread(&mut canvas, [left, 60.], level, sums);
        left += 110.;
    }
    canvas.text(
        [430., 20.],
        "strong",
        "one thread: words from shared memory",
    );
    canvas
}

/// wᵀ above, x on the left, y between them.
fn block(canvas: &mut Canvas) {
    canvas.text(
        [10., 20.],
        "strong",
        "one block: one step of K in shared memory",
    );
    let [k, n, m] = [120., 190., 160.];
    let [x, y] = [10., 40. + k + 8.];
    let right = x + k + 8.;
    matrix(canvas, [right, 40., n, k], "wᵀ (K, N)");
    matrix(canvas, [x, y, k, m], "x (M, K)");
    matrix(canvas, [right, y, n, m], "y (M, N)");
    // The bands of one tile, the step that is in shared memory, and the tile.
    canvas.rect([right + 64., 40., 48., k], "a-soft");
    canvas.rect([x, y + 48., k, 48.], "b-soft");
    canvas.rect([right + 64., 40. + 48., 48., 24.], "a");
    canvas.rect([x + 48., y + 48., 24., 48.], "b");
    canvas.rect([right + 64., y + 48., 48., 48.], "c");
    canvas.arrow([x + 80., y + 72.], [x + k - 8., y + 72.], "stroke");
    canvas.arrow(
        [right + 88., 40. + 78.],
        [right + 88., 40. + k - 4.],
        "stroke",
    );
    canvas.text([right + 118., y + 76.], "small", "sums");
}

fn matrix(canvas: &mut Canvas, [x, y, width, height]: [f64; 4], name: &str) {
    canvas.rect([x, y, width, height], "box");
    canvas.text([x + 6., y + height - 8.], "small", name);
}

/// Words of x on the left, of w above, sums between.
fn thread(canvas: &mut Canvas, [left, top]: [f64; 2], level: &str, [rows, columns]: [usize; 2]) {
    let at = |row: usize, column: usize| {
        let step = |i: usize| i as f64 * CELL;
        [
            left + 18. + step(column),
            top + 38. + step(row),
            CELL - 2.,
            CELL - 2.,
        ]
    };
    canvas.text([left, top], "", level);
    for row in 0..rows {
        let [_, y, width, height] = at(row, 0);
        canvas.rect([left, y, width, height], "b");
    }
    for column in 0..columns {
        let [x, _, width, height] = at(0, column);
        canvas.rect([x, top + 20., width, height], "a");
    }
    for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
        canvas.rect(at(row, column), "c");
    }
    let [words, products] = [rows + columns, rows * columns];
    let under = top + 38. + 8. * CELL;
    for (line, text) in (1..).zip([
        format!("{words} words"),
        format!("{products} multiply-adds"),
        format!("{} per word", short(products as f64 / words as f64)),
    ]) {
        let strong = if line == 3 { "small strong" } else { "small" };
        canvas.text([left, under + 20. * f64::from(line)], strong, text);
    }
    debug_assert!(left + 18. + columns as f64 * CELL <= WIDTH);
}

fn short(x: f64) -> String {
    format!("{x:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use simt::{Case, Module, Options};
    use std::path::Path;

    /// Words that a thread reads from shared memory for each multiply-add, as the simulator counts them.
    fn words_a_product(ptx: &str, case: &str) -> f64 {
        let case = Case::parse(case).unwrap();
        let kernel = case.kernel(&Module::parse(ptx).unwrap()).unwrap();
        let mut operands = case.operands(0, Path::new(".")).unwrap();
        let report = kernel
            .launch(
                case.dim,
                &mut operands.buffers,
                &operands.args,
                &Options::default(),
            )
            .unwrap();
        let count = |words: fn(&str) -> u64| -> u64 {
            let lines = report.lines.iter();
            lines
                .map(|line| words(&line.form) * line.counts.warps)
                .sum()
        };
        let words = count(|form| match form {
            _ if !form.starts_with("ld.shared") => 0,
            _ if form.contains(".v4.") => 4,
            _ if form.contains(".v2.") => 2,
            _ => 1,
        });
        words as f64 / count(|form| u64::from(form == "fma.rn.f32")) as f64
    }

    #[test]
    fn threads_read_what_is_drawn() {
        let drawn = |[rows, columns]: [usize; 2]| (rows + columns) as f64 / (rows * columns) as f64;
        let found = words_a_product(
            include_str!("../../../kernels/src/linear/level3/linear.ptx"),
            "--entry linear_f32_level3 --block 32,8 --arg f32:16384:random --arg f32:16384:random \
             --arg null --arg null --arg f32:1024:poison --arg u32:32 --arg u32:32 --arg u32:512 --arg u32:2048",
        );
        assert_eq!(found, drawn(THREADS[0].1));
        let found = words_a_product(
            include_str!("../../../kernels/generated/linear/level4/tile_f32.sm_75.ptx"),
            "--entry linear_f32_level4_64x64 --block 128 --arg f32:32768:random --arg f32:32768:random \
             --arg null --arg null --arg f32:4096:poison --arg u32:64 --arg u32:64 --arg u32:512",
        );
        // The two groups of threads that share K add their sums at the end, by way of shared memory.
        let drawn = drawn(THREADS[1].1);
        assert!(
            (drawn..1.1 * drawn).contains(&found),
            "expected {drawn}, found {found}"
        );
    }
}
