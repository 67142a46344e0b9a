//! Which sectors a warp's load touches, from the simulator: neighbours, every second word, a row apart.

use super::canvas::{Canvas, WIDTH};
use super::warp::{Access, LANES, access};
use anyhow::Result;
use simt::{Arg, Buffer};

const PTX: &str = include_str!("../../pictures/access.ptx");
/// Words of a sector of 32 bytes.
const SECTOR: usize = 8;
/// Words of memory in the figure.
const WORDS: usize = 256;
const LEFT: f64 = 18.;
const PANEL: f64 = 118.;
const PANELS: [(u32, &str); 3] = [
    (1, "lane t reads word t"),
    (2, "lane t reads word 2·t"),
    (8, "lane t reads word 8·t, a column of 8"),
];

/// Three panels, a stride each.
pub fn draw() -> Result<Canvas> {
    let mut canvas = Canvas::new(
        "coalescing",
        PANELS.len() as f64 * PANEL,
        "Sectors of a load",
        "The 32 lanes of a warp above, memory in sectors of 32 bytes below, three times. Lanes that read neighbouring \
         words touch 4 sectors. With every second word they touch 8, and with words that are 8 apart 32, one sector per lane.",
    );
    for ((stride, title), top) in PANELS.into_iter().zip((0..).map(|i| f64::from(i) * PANEL)) {
        panel(&mut canvas, top, title, &load(stride)?);
    }
    Ok(canvas)
}

/// A load of one warp with this many words from lane to lane.
fn load(stride: u32) -> Result<Access> {
    let mut buffers = [
        Buffer::f32s("x", &[0.; WORDS]),
        Buffer::uninitialised("y", 4 * LANES),
    ];
    let args = [Arg::Buffer(0), Arg::Buffer(1), Arg::U32(stride)];
    access(PTX, "global_load", "ld.global.f32", &mut buffers, &args)
}

fn panel(canvas: &mut Canvas, top: f64, title: &str, load: &Access) {
    let room = WIDTH - 2. * LEFT;
    let (lane, word) = (room / LANES as f64, room / WORDS as f64);
    let [lanes, memory] = [top + 28., top + 84.];
    canvas.text([LEFT, top + 16.], "", title);
    let sectors = load.counts.global_load_sectors;
    let used = 100. * 4. * LANES as f64 / (32 * sectors) as f64;
    let cost = format!("{sectors} sectors, {used} % of their bytes used");
    canvas.text([WIDTH - LEFT, top + 16.], "end strong", cost);
    for sector in 0..WORDS / SECTOR {
        let touched = load.words.iter().any(|word| word / SECTOR == sector);
        let class = if touched { "box a-soft" } else { "box" };
        let x = LEFT + (sector * SECTOR) as f64 * word;
        canvas.rect([x, memory, SECTOR as f64 * word, 18.], class);
    }
    for (t, at) in load.words.iter().enumerate() {
        let [x, y] = [LEFT + (t as f64 + 0.5) * lane, LEFT + *at as f64 * word];
        canvas.rect([x - 8., lanes, 16., 12.], "box b-soft");
        canvas.line([x, lanes + 12.], [y + word / 2., memory], "stroke faint");
        canvas.rect([y, memory, word, 18.], "a");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn sectors_are_those_of_the_words_that_are_drawn() {
        for (stride, expected) in [(1, 4), (2, 8), (8, 32)] {
            let load = load(stride).unwrap();
            let drawn: BTreeSet<_> = load.words.iter().map(|word| word / SECTOR).collect();
            assert_eq!(load.words.len(), LANES);
            assert_eq!(
                (drawn.len(), load.counts.global_load_sectors),
                (expected, expected as u64)
            );
        }
    }
}
