//! Step-by-step recording of one warp, for figures.

use crate::alu::D;
use crate::ast::Space;
use crate::report::{Access, Step};

use super::block::Block;
use super::bounds::distance;
use super::coalesce::lanes;

/// The warp to record, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watch {
    /// Block in the grid.
    pub block: [u32; 3],
    /// Warp in the block.
    pub warp: u32,
    /// Maximum number of steps to keep, from the start.
    pub steps: usize,
}

impl Block<'_> {
    /// The settings, if this warp is watched and has steps left.
    fn watch(&self, w: usize) -> Option<Watch> {
        let watch = self.grid.options.trace?;
        (watch.block == self.id && watch.warp as usize == w).then_some(watch)
    }

    /// Records an instruction of a watched warp.
    pub fn record(&mut self, w: usize, pc: u32, active: u32) {
        let Some(watch) = self.watch(w) else { return };
        self.recording = self.trace.len() < watch.steps;
        if !self.recording {
            return;
        }
        let step = &self.grid.kernel.code[pc as usize];
        self.trace.push(Step {
            line: step.location.line,
            source: step.location.source.clone(),
            form: step.form.clone(),
            active,
            accesses: vec![],
        });
    }

    /// Records the addresses of the last recorded instruction; global ones buffer by buffer.
    pub fn record_addresses(&mut self, w: usize, space: Space, at: &D, mask: u32) {
        if !self.recording || self.watch(w).is_none() {
            return;
        }
        let grid = self.grid;
        let Some(step) = self.trace.last_mut() else {
            return;
        };
        let first = step.accesses.len();
        for lane in lanes(mask) {
            let (buffer, offset) = match (space, grid.global.place(at[lane])) {
                (Space::Global, Some((range, offset))) => (Some(range.name.clone()), offset),
                (Space::Global, None) => (None, at[lane] as i64),
                _ => (None, distance(at[lane])),
            };
            let same = |a: &&mut Access| a.buffer == buffer;
            match step.accesses[first..].iter_mut().find(same) {
                Some(access) => {
                    access.lanes |= 1 << lane;
                    access.offsets.push(offset);
                }
                None => step.accesses.push(Access {
                    space,
                    buffer,
                    lanes: 1 << lane,
                    offsets: vec![offset],
                }),
            }
        }
    }
}
