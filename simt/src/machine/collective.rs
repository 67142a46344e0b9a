//! Warp collectives, executed once all members have arrived: shuffles, votes, matches, reductions,
//! `bar.warp.sync`.

use crate::alu::{D, W};
use crate::code::{Op, Shuffle, Slot, Vote};
use crate::report::Class;

use super::atomics::update;
use super::block::Block;
use super::coalesce::lanes;

impl Block<'_> {
    /// Executes the instruction for all parts at once. A part is an instruction and its active lanes.
    pub fn happen(&mut self, w: usize, parts: &[(u32, u32)]) {
        let kernel = self.grid.kernel;
        let together = parts.iter().fold(0, |all, (_, mask)| all | mask);
        for &(pc, mask) in parts {
            self.check_members(w, pc, mask.trailing_zeros() as usize);
            match &kernel.code[pc as usize].op {
                Op::WarpSync { .. } => {}
                Op::Shuffle { a, b, c, .. } => {
                    self.check_read(
                        w,
                        pc,
                        mask,
                        &[Slot::Word(*a), Slot::Word(*b), Slot::Word(*c)],
                    );
                }
                Op::Vote { a, .. } => self.check_pred(w, pc, mask, *a, "the predicate"),
                Op::Redux { a, .. } => self.check_read(w, pc, mask, &[Slot::Word(*a)]),
                Op::Match { a, .. } => self.check_read(w, pc, mask, &[*a]),
                _ => {}
            }
        }
        let Some(&(first, _)) = parts.first() else {
            return;
        };
        match &kernel.code[first as usize].op {
            Op::WarpSync { .. } => {
                let clock = &mut self.clock;
                let warp = &mut self.warps[w];
                let born = warp.born;
                warp.known.sync_lanes(together, born, clock);
                if warp.waited & together != 0 {
                    warp.waited |= together;
                }
            }
            Op::Shuffle { .. } => self.shuffle(w, parts, together),
            Op::Vote { .. } => self.vote(w, parts, together),
            Op::Match { .. } => self.matching(w, parts),
            Op::Redux { .. } => self.redux(w, parts),
            Op::ClusterArrive { release, .. } => {
                for &(pc, mask) in parts {
                    self.arrive_lanes(w, pc, mask, *release);
                }
            }
            _ => {}
        }
    }

    fn shuffle(&mut self, w: usize, parts: &[(u32, u32)], together: u32) {
        let kernel = self.grid.kernel;
        let mut source: W = [0; 32];
        for &(pc, mask) in parts {
            if let Op::Shuffle { a, .. } = &kernel.code[pc as usize].op {
                for lane in lanes(mask) {
                    source[lane] = self.warps[w].words[*a as usize][lane];
                }
            }
        }
        for &(pc, mask) in parts {
            let Op::Shuffle {
                d,
                p,
                mode,
                b,
                c,
                members,
                ..
            } = &kernel.code[pc as usize].op
            else {
                continue;
            };
            let [b, c, wanted] = [*b, *c, *members].map(|r| self.warps[w].words[r as usize]);
            let mut value: W = [0; 32];
            let mut in_range = 0;
            for lane in lanes(mask) {
                let (from, fine) = source_lane(*mode, lane as u32, b[lane], c[lane]);
                value[lane] = source[from as usize];
                in_range |= u32::from(fine) << lane;
                // `check_members` has reported a member that met this lane elsewhere.
                let is_missing = fine && together >> from & 1 == 0;
                let member = wanted[lane] & 1 << from;
                if is_missing && (member == 0 || self.out_of_step(w, pc, lane, member).is_none()) {
                    self.find(Class::WrongMask, w, pc, lane, || {
                        format!("reads lane {from}, which does not execute it")
                    });
                }
            }
            let warp = &mut self.warps[w];
            warp.set_word(*d, mask, value);
            if let Some(p) = p {
                warp.set_pred(*p, mask, in_range);
            }
        }
    }

    fn vote(&mut self, w: usize, parts: &[(u32, u32)], together: u32) {
        let kernel = self.grid.kernel;
        let mut yes = 0;
        for &(pc, mask) in parts {
            if let Op::Vote { a, negated, .. } = &kernel.code[pc as usize].op {
                let value = self.warps[w].preds[*a as usize];
                yes |= mask & if *negated { !value } else { value };
            }
        }
        for &(pc, mask) in parts {
            let Op::Vote {
                mode, word, pred, ..
            } = &kernel.code[pc as usize].op
            else {
                continue;
            };
            let warp = &mut self.warps[w];
            if let Some(d) = word {
                warp.set_word(*d, mask, [yes; 32]);
            }
            if let Some(d) = pred {
                let answer = match mode {
                    Vote::All => yes == together,
                    Vote::Any => yes != 0,
                    Vote::Uniform => yes == together || yes == 0,
                    Vote::Ballot | Vote::Popc => false,
                };
                warp.set_pred(*d, mask, if answer { !0 } else { 0 });
            }
        }
    }

    fn matching(&mut self, w: usize, parts: &[(u32, u32)]) {
        let kernel = self.grid.kernel;
        let mut values: D = [0; 32];
        let mut together = 0;
        for &(pc, mask) in parts {
            if let Op::Match { a, .. } = &kernel.code[pc as usize].op {
                let wide = self.warps[w].wide(*a);
                for lane in lanes(mask) {
                    values[lane] = wide[lane];
                }
                together |= mask;
            }
        }
        let equal = |x: u64| {
            lanes(together)
                .filter(|&l| values[l] == x)
                .fold(0, |m, l| m | 1 << l)
        };
        for &(pc, mask) in parts {
            let Op::Match { all, d, p, .. } = &kernel.code[pc as usize].op else {
                continue;
            };
            let mut found: W = [0; 32];
            for lane in lanes(mask) {
                let same: u32 = equal(values[lane]);
                found[lane] = if *all && same != together { 0 } else { same };
            }
            let warp = &mut self.warps[w];
            warp.set_word(*d, mask, found);
            if let Some(p) = p {
                let held = lanes(mask)
                    .filter(|&l| found[l] != 0)
                    .fold(0, |m, l| m | 1 << l);
                warp.set_pred(*p, mask, held);
            }
        }
    }

    fn redux(&mut self, w: usize, parts: &[(u32, u32)]) {
        let kernel = self.grid.kernel;
        let mut result: Option<u64> = None;
        for &(pc, mask) in parts {
            if let Op::Redux { atomic, a, .. } = &kernel.code[pc as usize].op {
                let values = self.warps[w].words[*a as usize];
                for lane in lanes(mask) {
                    let value = u64::from(values[lane]);
                    result = Some(result.map_or(value, |r| update(*atomic, r, value, 0)));
                }
            }
        }
        for &(pc, mask) in parts {
            if let Op::Redux { d, .. } = &kernel.code[pc as usize].op {
                self.warps[w].set_word(*d, mask, [result.unwrap_or(0) as u32; 32]);
            }
        }
    }
}

/// Returns the lane that `lane` reads, and whether it is in its segment; otherwise `lane` reads itself.
fn source_lane(mode: Shuffle, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let b = b & 31;
    let (clamp, segment) = (c & 31, (c >> 8) & 31);
    let max = (lane & segment) | (clamp & !segment);
    let min = lane & segment;
    let (from, fine) = match mode {
        Shuffle::Up => {
            let from = lane.wrapping_sub(b);
            (from, from as i32 >= max as i32)
        }
        Shuffle::Down => (lane + b, lane + b <= max),
        Shuffle::Butterfly => (lane ^ b, (lane ^ b) <= max),
        Shuffle::Index => {
            let from = min | (b & !segment);
            (from, from <= max)
        }
    };
    if fine {
        (from & 31, true)
    } else {
        (lane, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_lanes() {
        assert_eq!(source_lane(Shuffle::Butterfly, 5, 16, 31), (21, true));
        assert_eq!(source_lane(Shuffle::Down, 30, 4, 31), (30, false));
        assert_eq!(source_lane(Shuffle::Down, 3, 4, 31), (7, true));
        assert_eq!(source_lane(Shuffle::Up, 3, 4, 0), (3, false));
        assert_eq!(source_lane(Shuffle::Up, 9, 4, 0), (5, true));
        // Segments of 8 lanes: c is ((32 - 8) << 8) | 31, or (32 - 8) << 8 for `up`.
        let down = 0x181f;
        assert_eq!(source_lane(Shuffle::Down, 6, 4, down), (6, false));
        assert_eq!(source_lane(Shuffle::Index, 13, 2, down), (10, true));
        assert_eq!(source_lane(Shuffle::Up, 9, 4, 0x1800), (9, false));
    }
}
