//! Tiles of bf16 on tensor cores: the entries of `mma.cu`.

use crate::launch::{Module, module};

pub(super) static MODULE: Module = module!("patch_embed/level4/mma", sm_80, sm_90);

/// For each of `TILES_BF16`, which are linear's, too.
pub(super) const ENTRIES: [&str; 3] = [
    "patch_embed_bf16_level4_128x128",
    "patch_embed_bf16_level4_64x64",
    "patch_embed_bf16_level4_32x64",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::tile::TILES_BF16;
    use crate::linear::tile::tests::assert_as_compiled;

    #[test]
    fn tiles_are_those_of_the_kernel() {
        for (tile, entry) in TILES_BF16.into_iter().zip(ENTRIES) {
            assert_as_compiled(tile, include_str!("mma.cu"), &MODULE, entry);
        }
    }
}
