//! How many words of each bank of shared memory a warp wants at once, from the simulator.

use super::canvas::{Canvas, WIDTH};
use super::warp::{Access, access};
use anyhow::Result;
use simt::Arg;

const PTX: &str = include_str!("../../pictures/access.ptx");
/// Banks of shared memory, a word wide each.
const BANKS: usize = 32;
const LEFT: f64 = 18.;
/// Height of one word on a bank's pile.
const WORD: f64 = 3.4;
/// Heights of the two rows of panels: the piles of the first are low.
const ROWS: [f64; 2] = [92., 176.];
const PANELS: [(u32, &str); 4] = [
    (1, "lane t takes word t"),
    (2, "word 2·t"),
    (32, "word 32·t: down a column, rows of 32"),
    (33, "word 33·t: the same, rows of 33"),
];

/// Four panels, two in a row.
pub fn draw() -> Result<Canvas> {
    let mut canvas = Canvas::new(
        "banks",
        ROWS[0] + ROWS[1],
        "Banks of shared memory",
        "For each of the 32 banks the number of words that the lanes of a warp want from it at once, four times. \
         Neighbouring words: one per bank, one wavefront. Every second word: two from every second bank, two wavefronts. Words \
         that are 32 apart: all 32 from bank 0, 32 wavefronts. Words that are 33 apart: one per bank again.",
    );
    for (i, (stride, title)) in PANELS.into_iter().enumerate() {
        let row = i / 2;
        let floor = ROWS[..=row].iter().sum::<f64>() - 26.;
        let corner = [(i % 2) as f64 * WIDTH / 2., floor + 26. - ROWS[row]];
        panel(&mut canvas, corner, floor, title, &store(stride)?);
    }
    Ok(canvas)
}

/// A store of one warp with this many words from lane to lane.
fn store(stride: u32) -> Result<Access> {
    access(
        PTX,
        "shared_store",
        "st.shared.u32",
        &mut [],
        &[Arg::U32(stride)],
    )
}

/// How many of the words lie in each bank.
fn piles(words: &[usize]) -> [usize; BANKS] {
    let mut piles = [0; BANKS];
    for word in words {
        piles[word % BANKS] += 1;
    }
    piles
}

fn panel(canvas: &mut Canvas, [left, top]: [f64; 2], floor: f64, title: &str, store: &Access) {
    let left = left + LEFT;
    let bank = (WIDTH / 2. - 2. * LEFT) / BANKS as f64;
    let wavefronts = store.counts.shared_store_wavefronts;
    let plural = if wavefronts == 1 { "" } else { "s" };
    canvas.text([left, top + 16.], "", title);
    canvas.text(
        [left, top + 34.],
        "strong",
        format!("{wavefronts} wavefront{plural}"),
    );
    for (b, pile) in piles(&store.words).into_iter().enumerate() {
        let x = left + b as f64 * bank;
        for word in 0..pile {
            canvas.rect(
                [
                    x + 1.,
                    floor - (word + 1) as f64 * WORD,
                    bank - 2.,
                    WORD - 0.8,
                ],
                "a",
            );
        }
        canvas.rect([x, floor, bank, 8.], "box");
    }
    canvas.text([left, floor + 20.], "small", "bank 0");
    let right = left + BANKS as f64 * bank;
    canvas.text([right, floor + 20.], "small end", "bank 31");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wavefronts_are_the_highest_pile_that_is_drawn() {
        for (stride, expected) in [(1, 1), (2, 2), (32, 32), (33, 1)] {
            let store = store(stride).unwrap();
            let highest = piles(&store.words).into_iter().max().unwrap();
            assert_eq!(
                (highest, store.counts.shared_store_wavefronts),
                (expected, expected as u64)
            );
        }
    }
}
