//! Member masks of shuffles, votes, matches, reductions and `bar.warp.sync`.
//!
//! Lanes that arrive one after another wait until all members that have not returned are there. Then the
//! instruction runs for all of them at once.

use crate::code::{Atomic, Op, Reg, Shuffle, Vote};
use crate::report::Class;

use super::block::{Block, Next};
use super::coalesce::lanes;
use super::findings::names;
use super::warp::State;

impl Block<'_> {
    /// Executes a `*.sync` at `pc`; at once if all members are here.
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
        let alike = lanes(active)
            .filter(same)
            .fold(0, |all, lane| all | 1 << lane);
        if alike == active && wanted & self.warps[w].live & !active == 0 {
            self.happen(w, &[(pc, active)]);
            return Next::Step;
        }
        if active != alike {
            self.warps[w].part(i, alike, pc);
        } else if wanted & here & !active != 0 {
            // Members whose guard is false go on; they may still arrive later.
            self.warps[w].part(i, active, pc + 1);
        }
        self.warps[w].fragments[i].state = State::Lanes(wanted);
        Next::Moved
    }

    /// Reports a member mask that names lanes which have returned or never existed.
    pub fn check_members(&mut self, w: usize, pc: u32, first: usize) {
        let Some(members) = members(&self.grid.kernel.code[pc as usize].op) else {
            return;
        };
        let warp = &self.warps[w];
        let wanted = warp.words[members as usize][first];
        let (gone, beyond) = (wanted & warp.born & !warp.live, wanted & !warp.born);
        if gone != 0 && !self.find_mixed(w, pc, first, wanted, gone) {
            self.find(Class::WrongMask, w, pc, first, || {
                format!(
                    "member mask {wanted:#010x} names {}, which returned without executing it",
                    names(gone)
                )
            });
        }
        if beyond != 0 && wanted != !0 {
            self.find(Class::WrongMask, w, pc, first, || {
                format!(
                    "member mask {wanted:#010x} names {}, which the block does not have",
                    names(beyond)
                )
            });
        }
    }

    /// Runs the waiting `*.sync` instructions whose members have all arrived.
    pub fn meet_at_sync(&mut self, w: usize) {
        while let Some((wanted, kind)) = self.complete(w) {
            let kernel = self.grid.kernel;
            let warp = &mut self.warps[w];
            let mut parts = vec![];
            for fragment in &mut warp.fragments {
                let op = &kernel.code[fragment.pc as usize].op;
                if fragment.state == State::Lanes(wanted) && kind_of(op) == kind {
                    parts.push((fragment.pc, fragment.mask));
                    if kind == Kind::ClusterWait {
                        fragment.state = State::Cluster;
                        continue;
                    }
                    fragment.state = State::Ready;
                    fragment.pc += 1;
                }
            }
            if matches!(kind, Kind::ClusterArrive { .. } | Kind::ClusterWait) {
                self.check_aligned(w, &parts);
            }
            self.keep_mixed(w, &parts);
            self.happen(w, &parts);
            let warp = &mut self.warps[w];
            warp.merge();
            warp.arrive_all();
        }
    }

    /// Finds a member mask whose live lanes all wait at the same kind of instruction.
    fn complete(&self, w: usize) -> Option<(u32, Kind)> {
        let warp = &self.warps[w];
        let kernel = self.grid.kernel;
        let kind = |pc: u32| kind_of(&kernel.code[pc as usize].op);
        warp.fragments.iter().find_map(|f| {
            let State::Lanes(wanted) = f.state else {
                return None;
            };
            let same = warp
                .fragments
                .iter()
                .filter(|g| g.state == f.state && kind(g.pc) == kind(f.pc));
            let here = same.fold(0, |all, g| all | g.mask);
            (wanted & warp.live & !here == 0).then(|| (wanted, kind(f.pc)))
        })
    }
}

/// The instruction and qualifiers that lanes must share to meet.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Shuffle(Shuffle),
    Vote(Vote),
    Match { all: bool },
    Redux(Atomic),
    WarpSync,
    ClusterArrive { release: bool },
    ClusterWait,
    None,
}

fn kind_of(op: &Op) -> Kind {
    match op {
        Op::Shuffle { mode, .. } => Kind::Shuffle(*mode),
        Op::Vote { mode, .. } => Kind::Vote(*mode),
        Op::Match { all, .. } => Kind::Match { all: *all },
        Op::Redux { atomic, .. } => Kind::Redux(*atomic),
        Op::WarpSync { .. } => Kind::WarpSync,
        Op::ClusterArrive { release, .. } => Kind::ClusterArrive { release: *release },
        Op::ClusterWait { .. } => Kind::ClusterWait,
        _ => Kind::None,
    }
}

/// The register of the member mask.
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
