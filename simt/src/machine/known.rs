//! Happens-before knowledge: up to which time one lane's accesses are ordered before another lane's next
//! ones.
//!
//! Barriers and `bar.warp.sync` order all participants. Fences and atomics order pairs: a lane that writes a
//! word by an atomic or other strong access publishes what it knew at its last fence. A lane that reads the
//! word by such an access acquires that knowledge.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::coalesce::lanes;
use super::race::Stamp;

/// Vector clock of a lane at a fence: a time for each warp, and for lanes whose later times it knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Knowledge {
    /// Whether it came through a fence of the device or the system: other blocks see it.
    pub device: bool,
    warps: Vec<u32>,
    lanes: HashMap<u32, [u32; 32]>,
}

impl Knowledge {
    /// Accesses of a warp up to this time, which other blocks see.
    pub fn of_warp(warp: usize, time: u32) -> Self {
        let mut warps = vec![0; warp + 1];
        warps[warp] = time + 1;
        Self {
            device: true,
            warps,
            lanes: HashMap::new(),
        }
    }

    /// Whether it includes what was done at this time.
    pub fn knows(&self, other: Stamp) -> bool {
        let of_warp = self.warps.get(other.warp as usize);
        let of_lane = self.lanes.get(&other.warp).map(|l| &l[other.lane as usize]);
        of_warp.into_iter().chain(of_lane).any(|&t| other.time < t)
    }

    /// Adds another's.
    pub fn join(&mut self, other: &Self) {
        self.device |= other.device;
        self.warps
            .resize(self.warps.len().max(other.warps.len()), 0);
        later(&mut self.warps, &other.warps);
        for (warp, times) in &other.lanes {
            later(self.lanes.entry(*warp).or_insert([0; 32]), times);
        }
    }
}

/// Element-wise maximum of times.
fn later(mine: &mut [u32], other: &[u32]) {
    for (mine, other) in mine.iter_mut().zip(other) {
        *mine = (*mine).max(*other);
    }
}

/// Knowledge of several blocks, by their numbers.
pub type Peers = HashMap<u32, Knowledge>;

/// A warp's knowledge of its block.
#[derive(Debug, Clone)]
pub struct Known {
    /// Time up to which all lanes of this warp know each other.
    together: u32,
    /// Times that lane i knows of lane j, once lanes have synchronised in parts.
    lanes: Option<Box<[[u32; 32]; 32]>>,
    /// Times of the other warps of the block.
    pub warps: Vec<u32>,
    /// Knowledge of other blocks.
    pub peers: Arc<Peers>,
    /// Knowledge of each lane at its last fence.
    pub fenced: [Option<Arc<Knowledge>>; 32],
    /// When each lane last synchronised.
    pub now: [u32; 32],
}

impl Known {
    /// The initial knowledge in a block of this many warps.
    pub fn new(warps: usize) -> Self {
        Self {
            together: 1,
            lanes: None,
            warps: vec![1; warps],
            peers: Arc::default(),
            fenced: Default::default(),
            now: [1; 32],
        }
    }

    /// Whether lane `lane` knows what lane `other` of the same warp did at `time`.
    pub fn knows_lane(&self, lane: u32, other: u32, time: u32) -> bool {
        lane == other
            || time < self.together
            || (self.lanes.as_ref()).is_some_and(|l| time < l[lane as usize][other as usize])
    }

    /// Whether every lane knows what all others of the warp did at `time`.
    pub fn knows_all_lanes(&self, time: u32) -> bool {
        time < self.together
    }

    /// Whether lanes have synchronised in parts and differ in their knowledge.
    pub fn has_parts(&self) -> bool {
        self.lanes.is_some()
    }

    /// Whether all lanes last synchronised at the same time.
    pub fn is_even(&self) -> bool {
        self.now == [self.now[0]; 32]
    }

    /// Synchronises the lanes of `mask`, of a warp with the lanes `born`. Lanes that have returned and are
    /// not named do not take part: their last accesses are unordered with later ones.
    pub fn sync_lanes(&mut self, mask: u32, born: u32, clock: &mut u32) {
        *clock += 1;
        for lane in lanes(mask) {
            self.now[lane] = *clock;
        }
        let fenced = joined(lanes(mask).filter_map(|lane| self.fenced[lane].as_ref()));
        for lane in lanes(mask) {
            self.fenced[lane].clone_from(&fenced);
        }
        if mask & born == born {
            self.together = *clock;
            self.lanes = None;
            return;
        }
        let known = self.lanes.get_or_insert_with(|| Box::new([[0; 32]; 32]));
        let mut all = [0; 32];
        for i in lanes(mask) {
            later(&mut all, &known[i]);
        }
        for j in lanes(mask) {
            all[j] = *clock;
        }
        for i in lanes(mask) {
            known[i] = all;
        }
    }

    /// Synchronises all lanes of these warps. They also learn what the warps that arrived without waiting did
    /// before their arrival (warp and time), and what they knew of other blocks.
    pub fn barrier(
        all: &mut [&mut Known],
        members: &[usize],
        came: &[(usize, u32, Arc<Peers>)],
        clock: &mut u32,
    ) {
        *clock += 1;
        let len = all.iter().map(|warp| warp.warps.len()).max().unwrap_or(0);
        let mut known = vec![0; len];
        for warp in all.iter() {
            later(&mut known, &warp.warps);
        }
        for &(warp, time, _) in came {
            known[warp] = known[warp].max(time);
        }
        for &member in members {
            known[member] = *clock;
        }
        let fenced = joined(all.iter().flat_map(|warp| warp.fenced.iter().flatten()));
        let of_warps = all.iter().map(|warp| &warp.peers);
        let peers = together(of_warps.chain(came.iter().map(|(_, _, peers)| peers)));
        for warp in all.iter_mut() {
            warp.peers.clone_from(&peers);
            warp.together = *clock;
            warp.lanes = None;
            warp.now = [*clock; 32];
            warp.warps.clone_from(&known);
            warp.fenced.fill(fenced.clone());
        }
    }

    /// A fence by the lanes of `mask` of warp `warp`. What each lane knows may be published, and to other
    /// blocks if the fence has device scope.
    pub fn fence(&mut self, warp: usize, mask: u32, clock: &mut u32, device: bool) {
        *clock += 1;
        let mut warps = self.warps.clone();
        warps[warp] = self.together;
        for lane in lanes(mask) {
            self.now[lane] = *clock;
            let mut row = self.lanes.as_ref().map_or([0; 32], |l| l[lane]);
            row[lane] = *clock;
            self.fenced[lane] = Some(Arc::new(Knowledge {
                device,
                warps: warps.clone(),
                lanes: HashMap::from([(warp as u32, row)]),
            }));
        }
    }

    /// The lanes of `mask` of a warp come to know what others of the cluster had done.
    pub fn meet(&mut self, (block, warp): (u32, usize), mask: u32, others: &Peers) {
        for (&other, knowledge) in others {
            if other != block && !knowledge.device {
                continue;
            }
            if other != block {
                self.learn_of(other, knowledge);
                continue;
            }
            // Lanes that came together know all of each other.
            let times = knowledge.lanes.get(&(warp as u32));
            let times = times.map(|all| lanes(mask).map(|lane| all[lane]));
            if mask == !0
                && let Some(first) = times.and_then(Iterator::min)
            {
                self.together = self.together.max(first);
            }
            lanes(mask).for_each(|lane| self.learn(warp, lane, knowledge));
        }
    }

    /// The warp comes to know what another block knew.
    fn learn_of(&mut self, block: u32, knowledge: &Knowledge) {
        Arc::make_mut(&mut self.peers)
            .entry(block)
            .or_default()
            .join(knowledge);
    }

    /// The lanes of `mask` synchronise with others: what they do next, those do not know.
    pub fn tick(&mut self, mask: u32, clock: &mut u32) {
        *clock += 1;
        lanes(mask).for_each(|lane| self.now[lane] = *clock);
    }

    /// Lane `lane` of warp `warp` comes to know what another of the block knew.
    fn learn(&mut self, warp: usize, lane: usize, knowledge: &Knowledge) {
        // Bulk copies are known by numbers beyond those of the warps.
        let len = self.warps.len().max(knowledge.warps.len());
        self.warps.resize(len, 0);
        later(&mut self.warps, &knowledge.warps);
        for (&other, times) in &knowledge.lanes {
            if other as usize != warp {
                // A warp keeps one time for each other warp, not one per lane.
                let latest = times.iter().copied().max().unwrap_or(0);
                self.warps[other as usize] = self.warps[other as usize].max(latest);
                continue;
            }
            if times.iter().all(|&time| time <= self.together) {
                continue;
            }
            let known = self.lanes.get_or_insert_with(|| Box::new([[0; 32]; 32]));
            later(&mut known[lane], times);
        }
    }
}

/// Merges the knowledge of several lanes; `None` if none has any.
fn joined<'a>(mut all: impl Iterator<Item = &'a Arc<Knowledge>>) -> Option<Arc<Knowledge>> {
    let mut sum = all.next()?.clone();
    for one in all {
        if !Arc::ptr_eq(&sum, one) {
            Arc::make_mut(&mut sum).join(one);
        }
    }
    Some(sum)
}

/// Merges knowledge of other blocks; warps that know the same share it.
fn together<'a>(mut all: impl Iterator<Item = &'a Arc<Peers>>) -> Arc<Peers> {
    let mut sum = all.next().cloned().unwrap_or_default();
    for one in all {
        if Arc::ptr_eq(&sum, one) || one.is_empty() {
            continue;
        }
        let sum = Arc::make_mut(&mut sum);
        for (block, knowledge) in &**one {
            sum.entry(*block).or_default().join(knowledge);
        }
    }
    sum
}

/// Knowledge published through an address, by block.
type Published = HashMap<u64, Vec<(u32, Arc<Knowledge>)>>;

/// Published knowledge by generic address.
#[derive(Debug, Default)]
pub struct Board(Mutex<Published>);

impl Board {
    /// Lane `lane` of `block` publishes by a strong write to `address`, also what its warp knows of other blocks.
    pub fn publish(&self, address: u64, block: u32, known: &Known, lane: usize) {
        let Some(fenced) = &known.fenced[lane] else {
            return;
        };
        let Ok(mut board) = self.0.lock() else { return };
        let entries = board.entry(address).or_default();
        match entries.iter_mut().find(|(b, _)| *b == block) {
            Some((_, entry)) if Arc::ptr_eq(entry, fenced) => {}
            Some((_, entry)) => Arc::make_mut(entry).join(fenced),
            None => entries.push((block, fenced.clone())),
        }
        for (peer, knowledge) in &*known.peers {
            match entries.iter_mut().find(|(b, _)| b == peer) {
                Some((_, entry)) if **entry == *knowledge => {}
                Some((_, entry)) => Arc::make_mut(entry).join(knowledge),
                None => entries.push((*peer, Arc::new(knowledge.clone()))),
            }
        }
    }

    /// A lane acquires by a strong read of `address`; its warp learns what was published there.
    pub fn acquire(
        &self,
        address: u64,
        (block, warp, lane): (u32, usize, usize),
        known: &mut Known,
    ) {
        let Ok(board) = self.0.lock() else { return };
        for (other, knowledge) in board.get(&address).into_iter().flatten() {
            if *other == block {
                known.learn(warp, lane, knowledge);
            } else if knowledge.device {
                known.learn_of(*other, knowledge);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::race::in_order;
    use super::*;

    fn stamp(warp: u32, lane: u32, known: &Known) -> Stamp {
        Stamp {
            block: 0,
            warp,
            lane,
            time: known.now[lane as usize],
        }
    }

    #[test]
    fn lanes_know_the_lanes_they_synchronised_with() {
        let mut known = Known::new(1);
        let mut clock = 1;
        let before = stamp(0, 1, &known);
        assert!(!in_order(stamp(0, 0, &known), before, &known));
        known.sync_lanes(0b0110, !0, &mut clock);
        assert!(!in_order(stamp(0, 0, &known), before, &known));
        assert!(in_order(stamp(0, 2, &known), before, &known));
        assert!(!in_order(stamp(0, 2, &known), stamp(0, 1, &known), &known));
        known.sync_lanes(!0, !0, &mut clock);
        assert!(in_order(stamp(0, 0, &known), before, &known));
    }

    #[test]
    fn a_fence_publishes_exactly_what_its_lane_knew() {
        let (mut writer, mut reader) = (Known::new(2), Known::new(2));
        let (board, mut clock) = (Board::default(), 1);
        let [own, neighbour] = [0, 1].map(|lane| stamp(0, lane, &writer));
        writer.fence(0, 1, &mut clock, true);
        board.publish(64, 0, &writer, 0);
        // Another block.
        let mut other = Known::new(2);
        board.acquire(64, (1, 0, 0), &mut other);
        assert!(other.peers[&0].knows(own) && !other.peers[&0].knows(neighbour));
        // Its block's other warp knows it by a flag or after a barrier.
        let (mut late, mut flagged) = (Known::new(2), Known::new(2));
        other.fence(0, 1, &mut clock, false);
        board.publish(72, 1, &other, 0);
        board.acquire(72, (1, 1, 0), &mut flagged);
        assert!(flagged.peers[&0].knows(own) && late.peers.is_empty());
        Known::barrier(&mut [&mut other, &mut late], &[0, 1], &[], &mut clock);
        assert!(late.peers[&0].knows(own) && !late.peers[&0].knows(neighbour));
        // Another warp acquires nothing through another address, and the knowledge through this one.
        board.acquire(68, (0, 1, 0), &mut reader);
        assert!(!in_order(stamp(1, 0, &reader), own, &reader));
        board.acquire(64, (0, 1, 0), &mut reader);
        assert!(in_order(stamp(1, 0, &reader), own, &reader));
    }
}
