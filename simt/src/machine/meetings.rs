//! Where the lanes of a warp part, and where they meet again.

use super::warp::{Fragment, Meet, State, Warp};

impl Warp {
    /// Lanes return: nobody waits for them any longer.
    pub fn retire(&mut self, mask: u32) {
        self.live &= !mask;
        for meet in 0..self.meets.len() {
            self.meets[meet].expected &= !mask;
            self.go_on(meet);
        }
    }

    /// Fragment `i` has come to where its lanes meet others, or the last of those has returned: whoever is
    /// there goes on when all are.
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

    /// Lets those go on that are at a complete meeting.
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

    /// Lanes go on at `pc`, or wait again if others meet there too.
    fn resume(&mut self, pc: u32, mask: u32, meet: Option<usize>) {
        self.fragments.push(Fragment {
            pc,
            mask,
            meet,
            state: State::Ready,
        });
        self.arrive(self.fragments.len() - 1);
    }

    /// Fragment `i` splits at a branch: the lanes of `taken` go to `to`, the others to the next instruction,
    /// and all meet at `meet`.
    pub fn split(&mut self, i: usize, taken: u32, to: u32, meet: Option<u32>) {
        let rest = self.fragments[i].pc + 1;
        self.split_to(i, (taken, to), rest, meet);
    }

    /// The same; the others go to `rest`.
    pub fn split_to(&mut self, i: usize, (taken, to): (u32, u32), rest: u32, meet: Option<u32>) {
        let Fragment {
            mask, meet: outer, ..
        } = self.fragments.swap_remove(i);
        let meet = match meet {
            None => outer,
            // A loop whose lanes leave it one after the other has one place where they meet.
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

    /// Those who wait at a meeting wait no longer: whether there were any.
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
            // Those who meet here later do not wait for these, and these meet whoever the parent expects.
            self.resume(pc, arrived, parent);
        }
        any
    }

    /// Only the lanes of `here` stay in fragment `i`; the others go on by themselves at `pc`.
    pub fn part(&mut self, i: usize, here: u32, pc: u32) {
        let mut others = self.fragments[i].clone();
        others.mask &= !here;
        others.pc = pc;
        self.fragments[i].mask = here;
        self.fragments.push(others);
        self.arrive(self.fragments.len() - 1);
    }

    /// Ready fragments that have come to where they meet others.
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

    /// Ready fragments at the same instruction, on the way to the same meeting, go on as one.
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

    /// Who waits at a barrier of the block: instructions, and the lanes at each.
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

    /// The barrier is complete: those who waited there go on, together if they came one after the other.
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
