//! The matmuls of a block: the launches of `matmul.cu`.

use candle_core::{Result, Tensor};

use super::prepared::{Normed, Plain};
use super::{C, F, TOKENS};
use crate::launch::{Launch, Module, module};

static MODULE: Module = module!("encoder_pass/level5/matmul", sm_90a);

/// THREADS, ROWS and SPLIT of `matmul.cu`: threads of a block, rows of a tile, blocks that share K = F.
const THREADS: usize = 256;
const ROWS: usize = 64;
const SPLIT: usize = 4;

/// BN: columns of a tile.
const QKV_COLUMNS: usize = 96;
const COLUMNS: usize = 64;

/// Columns of K in a box.
const PANEL: usize = 64;

/// BYTES of a tile with all of its C columns of K, and 64 bytes of barriers.
const fn tile_bytes(columns: usize) -> usize {
    2 * C * (columns + ROWS) + 64
}

/// The sums of a cluster for one of its blocks: SPLIT · SUMS_BYTES.
const SUMS_BYTES: usize = SPLIT * COLUMNS / 8 * (32 * 16 + 64);

/// A launch with a tile for each 64 rows and `columns` columns of y, whose first arguments are x and w.
fn tiles<'a>(
    entry: &'static str,
    x: &'a Tensor,
    w: &'a Tensor,
    (n, columns): (usize, usize),
) -> Launch<'a> {
    Launch::new(&MODULE, entry)
        .grid(n / columns, TOKENS.div_ceil(ROWS), 1)
        .block(THREADS, 1, 1)
        .smem(tile_bytes(columns))
        .programmatic()
        .boxes(x, ROWS, PANEL)
        .boxes(w, columns, PANEL)
}

/// y (T, 3C) = norm(x)·wᵀ + b, x (T, C) with these moments.
pub fn qkv(x: &Tensor, moments: &Tensor, layer: &Normed, y: &Tensor) -> Result<()> {
    let launch = tiles("encoder_qkv_bf16_level5", x, &layer.w, (3 * C, QKV_COLUMNS));
    norm_matmul(launch, moments, layer, y)
}

/// y (T, F) = gelu(norm(x)·wᵀ + b), x (T, C) with these moments.
pub fn up(x: &Tensor, moments: &Tensor, layer: &Normed, y: &Tensor) -> Result<()> {
    let launch = tiles("encoder_up_bf16_level5", x, &layer.w, (F, COLUMNS));
    norm_matmul(launch, moments, layer, y)
}

fn norm_matmul(launch: Launch, moments: &Tensor, layer: &Normed, y: &Tensor) -> Result<()> {
    launch
        .constant(&layer.constants)
        .read(moments)
        .write(y)
        .f32(layer.eps)
        .launch()
}

/// y (T, C) = x·wᵀ + b + residual, x (T, C), and the moments of y.
pub fn out(x: &Tensor, layer: &Plain, residual: &Tensor, y: (&Tensor, &Tensor)) -> Result<()> {
    let launch = tiles("encoder_out_bf16_level5", x, &layer.w, (C, COLUMNS));
    matmul_residual(launch, layer, residual, y)
}

/// The same for x (T, F), in clusters.
pub fn down(x: &Tensor, layer: &Plain, residual: &Tensor, y: (&Tensor, &Tensor)) -> Result<()> {
    let launch = tiles("encoder_down_bf16_level5", x, &layer.w, (C, COLUMNS))
        .grid(C / COLUMNS, TOKENS.div_ceil(ROWS), SPLIT)
        .smem(tile_bytes(COLUMNS) + SUMS_BYTES);
    matmul_residual(launch, layer, residual, y)
}

fn matmul_residual(
    launch: Launch,
    layer: &Plain,
    residual: &Tensor,
    (y, moments): (&Tensor, &Tensor),
) -> Result<()> {
    launch
        .constant(&layer.b)
        .read(residual)
        .write(y)
        .write(moments)
        .launch()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoder_pass::level5::{D, PART};
    use crate::testing::{KernelFile, directive};

    #[test]
    fn sizes_are_those_of_the_kernels() {
        let file = KernelFile::read("encoder_pass/level5/matmul", "sm_90a");
        for (name, value) in [
            ("TOKENS", TOKENS),
            ("C", C),
            ("F", F),
            ("D", D),
            ("THREADS", THREADS),
            ("ROWS", ROWS),
            ("SPLIT", SPLIT),
        ] {
            assert_eq!(file.constant(name), value, "{name}");
        }
        for line in [
            format!("  norm_matmul<3 * C, {QKV_COLUMNS}, false>(&x, &w, constants, moments, y, eps);"),
            format!("  norm_matmul<F, {COLUMNS}, true>(&x, &w, constants, moments, y, eps);"),
            "  using Tile = EncoderTile<2 * PART>; // a warpgroup has a part of each row".into(),
            format!("  using Tile = EncoderTile<{COLUMNS}>;"),
            "  static constexpr int PANELS = C / 64, W_BYTES = BN * 128, X_BYTES = ROWS * 128;".into(),
            "  static constexpr int X = PANELS * W_BYTES, BARRIERS = X + PANELS * X_BYTES, BYTES = BARRIERS + 64;".into(),
            "  constexpr int FRAGMENT_BYTES = 32 * 16 + 64, SUMS_BYTES = 2 * Tile::FRAGMENTS * FRAGMENT_BYTES;".into(),
        ] {
            assert!(file.has_line(&line), "{line}");
        }
        assert_eq!(COLUMNS, 2 * PART);
        for kernel in ["qkv", "up", "out", "down"] {
            let entry = format!("encoder_{kernel}_bf16_level5");
            assert_eq!(file.max_threads(&entry), THREADS, "{entry}");
        }
        let down = directive(
            MODULE.texts()[0],
            "encoder_down_bf16_level5",
            ".reqnctapercluster",
        );
        assert_eq!(down, SPLIT);
    }
}
