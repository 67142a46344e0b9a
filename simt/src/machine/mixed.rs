//! Lanes that met at a `*.sync` although they stood at different instructions.
//!
//! Hardware lets them, and after a branch it may be meant: each side has a shuffle of its own. But a shuffle that a
//! guard keeps some of its members from is answered by their next one, and so is each that follows, until the last
//! one waits for lanes that never come. The fault is where the lanes fell out of step, not where that shows.

use crate::report::Class;

use super::block::Block;
use super::findings::names;
use super::warp::State;

/// Meetings that are kept.
const MOST: usize = 256;

impl Block<'_> {
    /// Keeps a meeting of lanes at several instructions.
    pub fn keep_mixed(&mut self, w: usize, parts: &[(u32, u32)]) {
        let mixed = &mut self.warps[w].mixed;
        let first = parts.first().map(|(pc, _)| *pc);
        let differs = parts.iter().any(|(pc, _)| Some(*pc) != first);
        if differs && mixed.len() < MOST && !mixed.iter().any(|known| known == parts) {
            mixed.push(parts.to_vec());
        }
    }

    /// Where `lane`, which is at `pc`, fell out of step with the lanes `others`, and the instruction at which they
    /// were then; `None` where they never met it elsewhere.
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

    /// Finds that `lane`, which is at `pc`, fell out of step with `others` of its member mask; whether it did.
    pub fn find_mixed(&mut self, w: usize, pc: u32, lane: usize, wanted: u32, others: u32) -> bool {
        let Some((own, theirs)) = self.out_of_step(w, pc, lane, others) else {
            return false;
        };
        let step = &self.grid.kernel.code[own as usize];
        let place = self.grid.kernel.code[theirs as usize].place.words();
        let what = format!(
            "lane {lane} executes it, and {} of its member mask {wanted:#010x} do not: it is paired with their next \
             {} in {place}, and from then on the lanes are out of step",
            names(others),
            step.form.split('.').next().unwrap_or_default(),
        );
        self.find(Class::WrongMask, w, own, lane, || what);
        true
    }

    /// Finds who waits for lanes that it fell out of step with; whether anyone does.
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
