//! Tiles of f32: the entries of `tile_f32.cu`.

use crate::launch::{Module, module};

pub(super) static MODULE: Module = module!("patch_embed/level4/tile_f32", sm_75);

/// For each of `TILES_F32`, which are linear's, too.
pub(super) const ENTRIES: [&str; 2] = [
    "patch_embed_f32_level4_64x64",
    "patch_embed_f32_level4_32x32",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::tile::TILES_F32;
    use crate::linear::tile::tests::assert_as_compiled;

    #[test]
    fn tiles_are_those_of_the_kernel() {
        for (tile, entry) in TILES_F32.into_iter().zip(ENTRIES) {
            assert_as_compiled(tile, include_str!("tile_f32.cu"), &MODULE, entry);
        }
    }
}
