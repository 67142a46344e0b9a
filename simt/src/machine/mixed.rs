//! Lanes that met at a `*.sync` from different instructions.
//!
//! Hardware allows this, and after a branch it may be intended: each side has its own shuffle. But if a guard
//! keeps some members from a shuffle, their next shuffle answers it, and so on until the last one waits
//! forever. The defect is where the lanes fell out of step, not where the deadlock shows.

use crate::report::Class;

use super::block::Block;
use super::findings::names;
use super::warp::State;

/// Maximum number of recorded meetings.
const MOST: usize = 256;

impl Block<'_> {
    /// Records a meeting of lanes at several instructions.
    pub fn keep_mixed(&mut self, w: usize, parts: &[(u32, u32)]) {
        let mixed = &mut self.warps[w].mixed;
        let first = parts.first().map(|(pc, _)| *pc);
        let differs = parts.iter().any(|(pc, _)| Some(*pc) != first);
        if differs && mixed.len() < MOST && !mixed.iter().any(|known| known == parts) {
            mixed.push(parts.to_vec());
        }
    }

    /// Returns where `lane`, now at `pc`, fell out of step with the lanes `others`, and their instruction at
    /// that time; `None` if they never met at different instructions.
    pub fn out_of_step(&self, w: usize, pc: u32, lane: usize, others: u32) -> Option<(u32, u32)> {
        let mut seen = vec![pc];
        let mut origin = None;
        let at = |parts: &[(u32, u32)], lanes: u32| {
            let part = parts.iter().find(|(_, mask)| mask & lanes != 0);
            part.map(|(pc, _)| *pc)
        };
        loop {
            let here = *seen.last()?;
            let before = self.warps[w].mixed.iter().find_map(|parts| {
                let own = at(parts, 1 << lane)?;
                (at(parts, others) == Some(here) && !seen.contains(&own)).then_some(own)
            });
            let Some(before) = before else {
                return origin;
            };
            origin = Some((before, here));
            seen.push(before);
        }
    }

    /// Reports that `lane`, now at `pc`, fell out of step with `others` of its member mask; returns whether
    /// it did.
    pub fn find_mixed(&mut self, w: usize, pc: u32, lane: usize, wanted: u32, others: u32) -> bool {
        let Some((own, theirs)) = self.out_of_step(w, pc, lane, others) else {
            return false;
        };
        let step = &self.grid.kernel.code[own as usize];
        let location = self.grid.kernel.code[theirs as usize].location.words();
        let what = format!(
            "lane {lane} executes it, and {} of its member mask {wanted:#010x} do not: it is paired with their next \
             {} in {location}, and from then on the lanes are out of step",
            names(others),
            step.form.split('.').next().unwrap_or_default(),
        );
        self.find(Class::WrongMask, w, own, lane, || what);
        true
    }

    /// Reports lanes that wait for lanes out of step; returns whether there were any.
    pub fn find_out_of_step(&mut self) -> bool {
        let waiting = self.warps.iter().enumerate().flat_map(|(w, warp)| {
            let fragments = warp.fragments.iter();
            fragments.filter_map(move |f| match f.state {
                State::Lanes(wanted) => Some((w, f.pc, f.mask, wanted)),
                _ => None,
            })
        });
        let waiting: Vec<(usize, u32, u32, u32)> = waiting.collect();
        waiting
            .into_iter()
            .fold(false, |any, (w, pc, mask, wanted)| {
                let lane = mask.trailing_zeros() as usize;
                self.find_mixed(w, pc, lane, wanted, wanted & !mask) || any
            })
    }
}
