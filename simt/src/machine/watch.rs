//! What one warp does, step by step, for pictures.

use crate::alu::D;
use crate::ast::Space;
use crate::report::{Access, Step};

use super::block::Block;
use super::bounds::distance;
use super::coalesce::lanes;

/// Which warp is watched, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watch {
    /// Of the grid.
    pub block: [u32; 3],
    /// Of the block.
    pub warp: u32,
    /// Steps that are kept, at most: those from the start.
    pub steps: usize,
}

impl Block<'_> {
    /// The watch of this warp, if it is the one and has steps left.
    fn watch(&self, w: usize) -> Option<Watch> {
        let watch = self.grid.options.trace?;
        (watch.block == self.id && watch.warp as usize == w).then_some(watch)
    }

    /// An instruction of a block that is watched.
    pub fn record(&mut self, w: usize, pc: u32, active: u32) {
        let Some(watch) = self.watch(w) else { return };
        self.recording = self.trace.len() < watch.steps;
        if !self.recording {
            return;
        }
        let step = &self.grid.kernel.code[pc as usize];
        self.trace.push(Step {
            line: step.place.line,
            source: step.place.source.clone(),
            form: step.form.clone(),
            active,
            accesses: vec![],
        });
    }

    /// Addresses of the instruction that was recorded last; global ones buffer by buffer.
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
