//! What lanes of a warp do together: shuffles, votes, matches, reductions, `bar.warp.sync`.
//!
//! Each names its members. Lanes that come one after the other wait until all members that have not
//! returned are there; then it happens for all of them at once.

use crate::alu::{D, W};
use crate::code::{Op, Reg, Shuffle, Slot, Vote};
use crate::report::Class;

use super::atomics::update;
use super::block::{Block, Next};
use super::coalesce::lanes;
use super::warp::State;

impl Block<'_> {
    /// A `*.sync` at `pc`: at once if all members are here.
    pub fn sync(&mut self, w: usize, i: usize, pc: u32, active: u32, members: Reg) -> Next {
        let warp = &self.warps[w];
        let masks = warp.words[members as usize];
        let first = active.trailing_zeros() as usize;
        let wanted = masks[first];
        for lane in lanes(active) {
            if masks[lane] >> lane & 1 == 0 {
                let mask = masks[lane];
                self.find(Class::WrongMask, w, pc, lane, || {
                    format!("lane {lane} executes it and is not in its member mask {mask:#010x}")
                });
            }
        }
        let here = self.warps[w].fragments[i].mask;
        let same = |lane: &usize| masks[*lane] == wanted;
        let alike = lanes(active).filter(same).fold(0, |all, lane| all | 1 << lane);
        if alike == active && wanted & self.warps[w].live & !active == 0 {
            self.happen(w, &[(pc, active)]);
            return Next::Step;
        }
        if active != alike {
            self.warps[w].part(i, alike, pc);
        } else if wanted & here & !active != 0 {
            // Members whose guard does not hold go on; whether they come later is seen then.
            self.warps[w].part(i, active, pc + 1);
        }
        self.warps[w].fragments[i].state = State::Lanes(wanted);
        Next::Moved
    }

    /// A member mask that names lanes which are not there any more, or never were.
    fn check_members(&mut self, w: usize, pc: u32, first: usize) {
        let Some(members) = members(&self.grid.kernel.code[pc as usize].op) else {
            return;
        };
        let warp = &self.warps[w];
        let wanted = warp.words[members as usize][first];
        let (gone, beyond) = (wanted & warp.born & !warp.live, wanted & !warp.born);
        if gone != 0 {
            self.find(Class::WrongMask, w, pc, first, || {
                format!("member mask {wanted:#010x} names lanes that have returned ({gone:#010x})")
            });
        }
        if beyond != 0 && wanted != !0 {
            self.find(Class::WrongMask, w, pc, first, || {
                format!("member mask {wanted:#010x} names lanes that do not exist ({beyond:#010x})")
            });
        }
    }

    /// Lets the lanes go on that wait at a `*.sync` and whose members are all there.
    pub fn meet_at_sync(&mut self, w: usize) {
        while let Some((wanted, kind)) = self.complete(w) {
            let kernel = self.grid.kernel;
            let warp = &mut self.warps[w];
            let mut parts = vec![];
            for fragment in &mut warp.fragments {
                let op = &kernel.code[fragment.pc as usize].op;
                if fragment.state == State::Lanes(wanted) && std::mem::discriminant(op) == kind {
                    parts.push((fragment.pc, fragment.mask));
                    fragment.state = State::Ready;
                    fragment.pc += 1;
                }
            }
            self.happen(w, &parts);
            let warp = &mut self.warps[w];
            warp.merge();
            warp.arrive_all();
        }
    }

    /// A member mask all of whose live lanes wait at the same kind of instruction.
    fn complete(&self, w: usize) -> Option<(u32, std::mem::Discriminant<Op>)> {
        let warp = &self.warps[w];
        let kernel = self.grid.kernel;
        let kind = |pc: u32| std::mem::discriminant(&kernel.code[pc as usize].op);
        warp.fragments.iter().find_map(|f| {
            let State::Lanes(wanted) = f.state else {
                return None;
            };
            let same = warp.fragments.iter().filter(|g| {
                g.state == f.state && kind(g.pc) == kind(f.pc)
            });
            let here = same.fold(0, |all, g| all | g.mask);
            (wanted & warp.live & !here == 0).then(|| (wanted, kind(f.pc)))
        })
    }

    /// The instruction happens for all parts at once: each its instruction and its active lanes.
    fn happen(&mut self, w: usize, parts: &[(u32, u32)]) {
        let kernel = self.grid.kernel;
        let together = parts.iter().fold(0, |all, (_, mask)| all | mask);
        for &(pc, mask) in parts {
            self.check_members(w, pc, mask.trailing_zeros() as usize);
            match &kernel.code[pc as usize].op {
                Op::WarpSync { .. } => {}
                Op::Shuffle { a, b, c, .. } => {
                    self.check_read(w, pc, mask, &[Slot::Word(*a), Slot::Word(*b), Slot::Word(*c)]);
                }
                Op::Redux { a, .. } => self.check_read(w, pc, mask, &[Slot::Word(*a)]),
                Op::Match { a, .. } => self.check_read(w, pc, mask, &[*a]),
                _ => {}
            }
        }
        let Some(&(first, _)) = parts.first() else { return };
        match &kernel.code[first as usize].op {
            Op::WarpSync { .. } => {
                let clock = &mut self.clock;
                let warp = &mut self.warps[w];
                let live = warp.live;
                warp.known.sync_lanes(together, live, clock);
            }
            Op::Shuffle { .. } => self.shuffle(w, parts, together),
            Op::Vote { .. } => self.vote(w, parts, together),
            Op::Match { .. } => self.matching(w, parts),
            Op::Redux { .. } => self.redux(w, parts),
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
            let Op::Shuffle { d, p, mode, b, c, .. } = &kernel.code[pc as usize].op else {
                continue;
            };
            let (b, c) = {
                let warp = &self.warps[w];
                (warp.words[*b as usize], warp.words[*c as usize])
            };
            let mut value: W = [0; 32];
            let mut in_range = 0;
            for lane in lanes(mask) {
                let (from, fine) = source_lane(*mode, lane as u32, b[lane], c[lane]);
                value[lane] = source[from as usize];
                in_range |= u32::from(fine) << lane;
                if fine && together >> from & 1 == 0 {
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
            let Op::Vote { mode, word, pred, .. } = &kernel.code[pc as usize].op else {
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
        let equal = |x: u64| lanes(together).filter(|&l| values[l] == x).fold(0, |m, l| m | 1 << l);
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
                let held = lanes(mask).filter(|&l| found[l] != 0).fold(0, |m, l| m | 1 << l);
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

/// The register that holds the member mask.
fn members(op: &Op) -> Option<Reg> {
    match op {
        Op::Shuffle { members, .. }
        | Op::Vote { members, .. }
        | Op::Match { members, .. }
        | Op::Redux { members, .. }
        | Op::WarpSync { members } => Some(*members),
        _ => None,
    }
}

/// The lane that `lane` reads, and whether it is in its segment; otherwise it reads itself.
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
    if fine { (from & 31, true) } else { (lane, false) }
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
        // Segments of 8: width 8 is ((32 - 8) << 8) | 31, or 0 for up.
        let down = 0x181f;
        assert_eq!(source_lane(Shuffle::Down, 6, 4, down), (6, false));
        assert_eq!(source_lane(Shuffle::Index, 13, 2, down), (10, true));
        assert_eq!(source_lane(Shuffle::Up, 9, 4, 0x1800), (9, false));
    }
}
