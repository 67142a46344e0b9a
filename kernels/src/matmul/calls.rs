//! Calls of level 5's tiles of `matmul`, whichever the registry would pick.

use candle_core::DType;

use super::level5;
use crate::calls::List;

/// Batch, M, N, K: with rests, and rows of whole quads.
const SHAPES: [[usize; 4]; 2] = [[1, 33, 35, 150], [5, 64, 32, 64]];

pub fn add(list: &mut List) {
    for entry in level5::REGISTRY.entries {
        if let level5::Run::Tile(_) = entry.run {
            for shape in SHAPES {
                tile(list, entry.name, entry.run, shape);
            }
        }
    }
}

/// Multiplies matrices of rows, and transposed views.
fn tile(list: &mut List, name: &str, run: level5::Run, [b, m, n, k]: [usize; 4]) {
    for transposed in [false, true] {
        let what = if transposed {
            format!("{name} of transposed views")
        } else {
            name.to_string()
        };
        let shape = format!("{b} of {m}×{n}×{k}");
        list.kernel(&what, 5, &[DType::F32], &shape, move |i| {
            let mut matrix = |rows, columns| {
                if transposed {
                    i.tensor(&[b, columns, rows])?.t()
                } else {
                    i.tensor(&[b, rows, columns])
                }
            };
            let (x, y) = (matrix(m, k)?, matrix(k, n)?);
            level5::Call::new(&x, &y, Some(&i.tensor(&[n])?))?.run(run)
        });
    }
}
