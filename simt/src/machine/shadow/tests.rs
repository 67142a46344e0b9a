//! Joint reads equal single reads.

use super::super::coalesce::{Group, lanes};
use super::super::known::Known;
use super::super::race::Access;
use super::*;
use proptest::prelude::*;

/// A record: its epoch and its lane.
type Named = Option<(Epoch, usize)>;

/// The content of each cell, independent of the epochs' indices.
fn content(page: &Page) -> Vec<(Named, Named, u32)> {
    let named = |r: Record| (r.0 != 0).then(|| (page.epochs[r.epoch() - 1], r.lane()));
    let cell = |c: &Cell| (named(c.writer), named(c.reader), c.readers);
    page.cells.iter().map(cell).collect()
}

/// An instruction: warp; whether it writes and is strong; bytes; the lanes of each element.
type Step = (usize, (bool, bool), u32, Vec<(usize, u32)>);

fn step() -> impl Strategy<Value = Step> {
    let elements = prop::collection::vec((0..8usize, any::<u32>()), 1..4);
    let bytes = prop_oneof![Just(4u32), Just(4), Just(4), Just(8), Just(2), Just(1)];
    (0..3usize, any::<(bool, bool)>(), bytes, elements)
}

proptest! {
    /// Joint reads leave the same state as single ones and find the same races.
    #[test]
    fn together_and_one_by_one(
        steps in prop::collection::vec((step(), 0..6u8, any::<u32>()), 1..40),
    ) {
        let mut known: Vec<Known> = (0..3).map(|_| Known::new(3)).collect();
        let mut clock = 1;
        let [mut together, mut single] = [Page::default(), Page::default()];
        for (pc, ((warp, (write, strong), bytes, elements), sync, mask)) in (0..).zip(steps) {
            match sync {
                0 => Known::barrier(&mut known.iter_mut().collect::<Vec<_>>(), &[0, 1, 2], &[], &mut clock),
                1 => known[warp].sync_lanes(!0, !0, &mut clock),
                2 => known[warp].sync_lanes(mask | 1, !0, &mut clock),
                _ => {}
            }
            let known = &known[warp];
            let access = Access { block: mask >> 31, warp: warp as u8, pc, strong: strong && bytes > 2, narrow: false, known, home: mask >> 31 };
            let mut left = !0;
            let [mut found, mut expected] = [vec![], vec![]];
            let [mut a, mut b] = [together.visit(&access), single.visit(&access)];
            for (element, mask) in elements {
                let (at, mask) = (element as u64 * u64::from(bytes), mask & left);
                left &= !mask;
                if mask == 0 {
                    continue;
                }
                let group = Group { lane: mask.trailing_zeros() as u8, mask };
                if !write {
                    a.read_elements(&group, &[at; 32], (bytes, 1), &mut found);
                }
                for lane in lanes(mask) {
                    if write {
                        for visit in [&mut a, &mut b] {
                            visit.write(lane, at as usize, bytes, 1, |_| 0);
                        }
                    } else {
                        let conflict = b.read(lane, at as usize, bytes);
                        expected.extend(conflict.map(|c| (lane, at, c)));
                    }
                }
            }
            prop_assert_eq!(format!("{found:?}"), format!("{expected:?}"));
            prop_assert_eq!(content(&together), content(&single));
        }
    }
}
