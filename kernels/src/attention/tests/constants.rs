//! Constants that launches share with their kernel files.

use crate::attention::level4::{decode, tile_f32, tile_mma};
use crate::attention::level5::{self, tile_tf32x3, tile_wgmma};
use crate::testing::KernelFile;

#[test]
fn decode_entries_have_the_rows_and_threads_of_their_launches() {
    let levels = [
        ("level4", decode::F32, decode::BF16),
        ("level5", level5::decode::F32, level5::decode::BF16),
    ];
    for (level, f32, bf16) in levels {
        let file = KernelFile::read(&format!("attention/{level}/decode"), "sm_75");
        for (dtype, entries) in [("float", f32), ("bf16", bf16)] {
            for (d, entries) in [32, 64, 128].into_iter().zip(entries) {
                for (rows, entry) in [1, decode::ROWS].into_iter().zip(entries) {
                    let line = format!("DECODE({entry}, {dtype}, {d}, {rows})");
                    assert!(file.has_line(&line), "{line}");
                    assert_eq!(file.max_threads(entry), decode::THREADS, "{entry}");
                }
            }
        }
    }
    let file = KernelFile::read("attention/level4/decode", "sm_75");
    for entry in [
        "attention_combine_f32_level4",
        "attention_combine_bf16_level4",
    ] {
        assert_eq!(file.max_threads(entry), decode::THREADS, "{entry}");
    }
}

#[test]
fn tiles_in_f32_have_the_size_of_their_launches() {
    let file = KernelFile::read("attention/level4/tile_f32", "sm_75");
    for tile in tile_f32::TILES.as_flattened() {
        let (entry, queries) = (tile.entry, tile.queries());
        let line = format!("KERNEL({entry}, {}, {}, {queries})", tile.d, tile.tm);
        assert!(file.has_line(&line), "{line}");
        assert_eq!(file.max_threads(entry), tile.threads(), "{entry}");
    }
    // `TileShape::keys` and `TileShape::smem`
    assert_eq!(file.expression("BN"), "D <= 80 ? 64 : 32");
    assert_eq!(file.expression("PITCH"), "D + 4");
    assert_eq!(file.expression("P_PITCH"), "BN + 8");
}

#[test]
fn tiles_in_bf16_have_the_size_of_their_launches() {
    let file = KernelFile::read("attention/level4/tile_mma", "sm_80");
    assert_eq!(file.constant("BM"), tile_mma::QUERIES);
    assert_eq!(file.constant("BN"), tile_mma::KEYS);
    assert_eq!(
        file.expression("PITCH"),
        format!("D + {}", tile_mma::PADDING)
    );
    for (d, entry) in tile_mma::ENTRIES {
        let line = format!("KERNEL({entry}, {d})");
        assert!(file.has_line(&line), "{line}");
        assert_eq!(file.max_threads(entry), tile_mma::THREADS, "{entry}");
    }
}

#[test]
fn tiles_in_tf32_have_the_size_of_their_launches() {
    let file = KernelFile::read("attention/level5/tile_tf32x3", "sm_80");
    assert_eq!(file.constant("BM"), tile_tf32x3::QUERIES);
    assert_eq!(file.constant("BN"), tile_tf32x3::KEYS);
    assert_eq!(
        file.expression("PITCH"),
        format!("D + {}", tile_tf32x3::PADDING)
    );
    for (d, entry) in tile_tf32x3::ENTRIES {
        let line = format!("KERNEL({entry}, {d})");
        assert!(file.has_line(&line), "{line}");
        assert_eq!(file.max_threads(entry), tile_tf32x3::THREADS, "{entry}");
    }
}

#[test]
fn tiles_on_a_hopper_have_the_size_of_their_launches() {
    let file = KernelFile::read("attention/level5/tile_wgmma", "sm_90a");
    assert_eq!(file.constant("STAGES"), tile_wgmma::STAGES);
    for tile in &tile_wgmma::TILES {
        let (entry, d, groups) = (tile.entry, tile.d, tile.groups);
        let line = format!(
            "KERNEL({entry}, {d}, {groups}, {}, {})",
            tile.keys, tile.blocks
        );
        assert!(file.has_line(&line), "{line}");
        assert_eq!(file.max_threads(entry), tile.threads(), "{entry}");
    }
}
