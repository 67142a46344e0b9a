//! Scheduling: the order of a block's warps and of a warp's fragments.

use super::Schedule;
use super::block::Block;
use super::warp::State;

/// Turns after which lanes at a meeting stop waiting.
const PATIENCE: u64 = 64;
/// The same if the running lanes may be spinning on the waiting ones.
const SPINNING: u64 = 2;

/// The order of the turns of `n` warps, or of blocks of a cluster.
pub(super) fn shuffled(n: usize, schedule: Schedule, random: &mut u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    match schedule {
        Schedule::PostDominator | Schedule::MinPc => {}
        Schedule::MaxPc => order.reverse(),
        Schedule::Random => {
            for i in (1..n).rev() {
                order.swap(i, draw(i + 1, random));
            }
        }
    }
    order
}

/// A random number below `n`: xorshift, the same for the same seed and block.
fn draw(n: usize, random: &mut u64) -> usize {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    (*random % n as u64) as usize
}

impl Block<'_> {
    /// Order of the warps' turns.
    pub(super) fn order(&mut self) -> Vec<usize> {
        shuffled(
            self.warps.len(),
            self.grid.options.schedule,
            &mut self.random,
        )
    }

    /// Chooses the warp's next fragment, if any can run.
    pub(super) fn choose(&mut self, w: usize) -> Option<usize> {
        let fragments = &self.warps[w].fragments;
        if let [one] = &fragments[..] {
            return (one.state == State::Ready).then_some(0);
        }
        let ready = |i: &usize| fragments[*i].state == State::Ready;
        let ready: Vec<usize> = (0..fragments.len()).filter(ready).collect();
        let turns = self.warps[w].turns as usize;
        match self.grid.options.schedule {
            Schedule::PostDominator => ready.last().copied(),
            // Every second turn picks another fragment, because one that lags may wait for one ahead.
            Schedule::MinPc | Schedule::MaxPc if turns % 2 == 1 && !ready.is_empty() => {
                Some(ready[turns / 2 % ready.len()])
            }
            Schedule::MinPc => ready.into_iter().min_by_key(|&i| fragments[i].pc),
            Schedule::MaxPc => ready.into_iter().max_by_key(|&i| fragments[i].pc),
            Schedule::Random if ready.is_empty() => None,
            Schedule::Random => {
                let i = draw(ready.len(), &mut self.random);
                Some(ready[i])
            }
        }
    }

    /// After a full turn another fragment goes first. After several, lanes waiting at a meeting go on,
    /// because the running lanes may be spinning until those have done something.
    pub(super) fn take_turns(&mut self, w: usize) {
        let warp = &mut self.warps[w];
        // The warp may have returned with its last instruction.
        if !warp.fragments.is_empty() {
            warp.fragments.rotate_right(1);
        }
        warp.turns += 1;
        let spins = std::mem::take(&mut warp.spins);
        if warp
            .turns
            .is_multiple_of(if spins { SPINNING } else { PATIENCE })
        {
            warp.stop_waiting();
        }
    }
}
