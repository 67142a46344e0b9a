//! Divergence and reconvergence of a warp's lanes.

use super::warp::{Fragment, Meet, State, Warp};

impl Warp {
    /// The lanes return, and no other lane waits for them any longer.
    pub fn retire(&mut self, mask: u32) {
        self.live &= !mask;
        for meet in 0..self.meets.len() {
            self.meets[meet].expected &= !mask;
            self.go_on(meet);
        }
    }

    /// Fragment `i` has reached its meeting point, or the last missing lane has returned. Once all expected
    /// lanes are there, they go on.
    pub fn arrive(&mut self, i: usize) {
        let fragment = &self.fragments[i];
        let Some(meet) = fragment.meet else { return };
        if self.meets[meet].pc != fragment.pc {
            return;
        }
        let fragment = self.fragments.swap_remove(i);
        self.meets[meet].arrived |= fragment.mask;
        self.go_on(meet);
    }

    /// Resumes the lanes of a complete meeting.
    pub fn go_on(&mut self, meet: usize) {
        let Meet {
            pc,
            expected,
            arrived,
            parent,
        } = self.meets[meet];
        if arrived == 0 || expected & !arrived != 0 {
            return;
        }
        self.meets[meet].arrived = 0;
        self.free.push(meet);
        self.resume(pc, arrived, parent);
    }

    /// Lanes go on at `pc`, or wait if their outer meeting is at the same place.
    fn resume(&mut self, pc: u32, mask: u32, meet: Option<usize>) {
        self.fragments.push(Fragment {
            pc,
            mask,
            meet,
            state: State::Ready,
        });
        self.arrive(self.fragments.len() - 1);
    }

    /// Splits fragment `i` at a branch: the lanes of `taken` go to `to`, the others to the next instruction,
    /// and all meet at `meet`.
    pub fn split(&mut self, i: usize, taken: u32, to: u32, meet: Option<u32>) {
        let rest = self.fragments[i].pc + 1;
        self.split_to(i, (taken, to), rest, meet);
    }

    /// The same, but the other lanes go to `rest`.
    pub fn split_to(&mut self, i: usize, (taken, to): (u32, u32), rest: u32, meet: Option<u32>) {
        let Fragment {
            mask, meet: outer, ..
        } = self.fragments.swap_remove(i);
        let meet = match meet {
            None => outer,
            // Lanes that leave a loop one after another share one meeting.
            Some(pc) if outer.is_some_and(|m| self.meets[m].pc == pc) => outer,
            Some(pc) => Some(self.new_meet(Meet {
                pc,
                expected: mask,
                arrived: 0,
                parent: outer,
            })),
        };
        self.resume(to, taken, meet);
        self.resume(rest, mask & !taken, meet);
    }

    fn new_meet(&mut self, meet: Meet) -> usize {
        match self.free.pop() {
            Some(i) => {
                self.meets[i] = meet;
                i
            }
            None => {
                self.meets.push(meet);
                self.meets.len() - 1
            }
        }
    }

    /// Releases lanes that wait at meetings; returns whether there were any.
    pub fn stop_waiting(&mut self) -> bool {
        let mut any = false;
        for meet in 0..self.meets.len() {
            let Meet {
                pc,
                arrived,
                parent,
                ..
            } = self.meets[meet];
            if arrived == 0 {
                continue;
            }
            any = true;
            self.meets[meet].arrived = 0;
            self.meets[meet].expected &= !arrived;
            // Lanes that arrive later no longer wait for these; these go to the parent meeting.
            self.resume(pc, arrived, parent);
        }
        any
    }

    /// Keeps only the lanes of `here` in fragment `i`; the others go on at `pc`.
    pub fn part(&mut self, i: usize, here: u32, pc: u32) {
        let mut others = self.fragments[i].clone();
        others.mask &= !here;
        others.pc = pc;
        self.fragments[i].mask = here;
        self.fragments.push(others);
        self.arrive(self.fragments.len() - 1);
    }

    /// Moves ready fragments that are at their meeting point into the meeting.
    pub fn arrive_all(&mut self) {
        for i in (0..self.fragments.len()).rev() {
            if self
                .fragments
                .get(i)
                .is_some_and(|f| f.state == State::Ready)
            {
                self.arrive(i);
            }
        }
    }

    /// Merges ready fragments at the same instruction with the same next meeting.
    pub fn merge(&mut self) {
        let mut i = 0;
        while i < self.fragments.len() {
            let mut j = i + 1;
            while j < self.fragments.len() {
                let (a, b) = (&self.fragments[i], &self.fragments[j]);
                let ready = a.state == State::Ready && b.state == State::Ready;
                if ready && a.pc == b.pc && a.meet == b.meet {
                    self.fragments[i].mask |= b.mask;
                    self.fragments.swap_remove(j);
                } else {
                    j += 1;
                }
            }
            i += 1;
        }
    }

    /// Lanes that wait at a barrier of the block, by instruction.
    pub fn waiting_at(&self, id: u32) -> Vec<(u32, u32)> {
        let mut all: Vec<(u32, u32)> = vec![];
        for f in self
            .fragments
            .iter()
            .filter(|f| f.state == State::Barrier(id))
        {
            match all.iter_mut().find(|(pc, _)| *pc == f.pc) {
                Some((_, mask)) => *mask |= f.mask,
                None => all.push((f.pc, f.mask)),
            }
        }
        all
    }

    /// Resumes the lanes that waited at a barrier and merges those at the same instruction.
    pub fn leave_barrier(&mut self, id: u32) {
        let waits = |f: &&mut Fragment| f.state == State::Barrier(id);
        let mut any = false;
        for fragment in self.fragments.iter_mut().filter(waits) {
            fragment.state = State::Ready;
            fragment.pc += 1;
            any = true;
        }
        if any {
            self.merge();
            self.arrive_all();
        }
    }
}
