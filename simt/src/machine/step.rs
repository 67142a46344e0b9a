//! Execution of one instruction of a fragment.

use crate::alu::{Alu, Compare, D, W};
use crate::code::{Logic, Op, Reg, Scope, Slot};
use crate::report::Class;

use super::block::{Block, Next};
use super::warp::Warp;

impl Block<'_> {
    /// Executes instruction `pc` for the lanes `active`, those of `mask` whose guard is true.
    pub fn step(&mut self, w: usize, i: usize, pc: u32, mask: u32, active: u32) -> Next {
        let op = &self.grid.kernel.code[pc as usize].op;
        match op {
            Op::Branch { to, meet } => return self.branch(w, i, pc, mask, active, *to, *meet),
            Op::Exit => {
                return match active {
                    0 => Next::Step,
                    _ if active == mask => {
                        self.exit(w, i, active);
                        Next::Moved
                    }
                    _ => {
                        // The remaining lanes go on after those that returned.
                        self.warps[w].fragments[i].pc += 1;
                        self.exit(w, i, active);
                        Next::Moved
                    }
                };
            }
            _ => {}
        }
        if active == 0 {
            return Next::Step;
        }
        match op {
            Op::Alu {
                alu,
                d,
                from,
                flops,
            } => {
                self.check_read(w, pc, active, from);
                self.counts[pc as usize].flops +=
                    u64::from(*flops) * u64::from(active.count_ones());
                alu_step(&mut self.warps[w], alu, *d, from, active);
            }
            Op::Carry { .. } => self.carry(w, pc, active),
            Op::Setp {
                compare,
                d,
                a,
                b,
                combine,
            } => {
                self.check_read(w, pc, active, &[*a, *b]);
                if let Some((_, p, _)) = combine {
                    self.check_pred(w, pc, active, *p, "the predicate");
                }
                let warp = &mut self.warps[w];
                let holds = compare_step(warp, compare, *a, *b);
                let (yes, no) = match combine {
                    None => (holds, !holds),
                    Some((logic, p, negated)) => {
                        let c = warp.preds[*p as usize] ^ if *negated { !0 } else { 0 };
                        (combined(*logic, holds, c), combined(*logic, !holds, c))
                    }
                };
                for (d, value) in [(d.0, yes), (d.1, no)] {
                    if let Some(d) = d {
                        warp.set_pred(d, active, value);
                    }
                }
            }
            Op::Selp { d, a, b, p } => self.select(w, pc, active, *d, (*a, *b), *p),
            Op::Logic { logic, d, a, b } => {
                self.check_pred(w, pc, active, *a, "the predicate");
                self.check_pred(w, pc, active, *b, "the predicate");
                let warp = &mut self.warps[w];
                let [x, y] = [a, b].map(|r| warp.preds[*r as usize]);
                warp.set_pred(*d, active, combined(*logic, x, y));
            }
            Op::PredConstant { d, value } => {
                self.warps[w].set_pred(*d, active, if *value { !0 } else { 0 });
            }
            Op::Clock { d } => {
                let steps = self.warps[w].steps;
                self.warps[w].set(*d, active, [steps; 32]);
            }
            Op::ActiveMask { d } => self.warps[w].set_word(*d, active, [active; 32]),
            Op::Load {
                d,
                bytes,
                signed,
                from,
                strong,
            } => self.load(w, pc, active, d, (*bytes, *signed, *strong), from),
            Op::Store {
                to,
                from,
                bytes,
                strong,
                release,
            } => {
                self.check_read(w, pc, active, from);
                if let Some(scope) = release {
                    self.fence(w, active, *scope);
                }
                self.store(w, pc, active, to, from, (*bytes, *strong));
            }
            Op::Atomic { .. } => self.atomic(w, pc, active),
            Op::CopyAsync {
                to,
                from,
                bytes,
                size,
            } => self.copy_async(w, pc, active, (to, from), *bytes, *size),
            Op::CopyCommit => self.copy_commit(w, active),
            Op::CopyWait(groups) => self.copy_wait(w, active, *groups),
            Op::Shuffle { members, .. }
            | Op::Vote { members, .. }
            | Op::Match { members, .. }
            | Op::Redux { members, .. }
            | Op::WarpSync { members } => return self.sync(w, i, pc, active, *members),
            Op::LoadMatrix { .. } | Op::StoreMatrix { .. } | Op::Mma(_) | Op::WmmaMemory(_) => {
                return self.matrix(w, pc, active);
            }
            Op::Barrier { .. } => return self.barrier(w, i, pc, active),
            Op::Mbarrier { at, act } => self.mbarrier(w, pc, active, at, *act),
            Op::BulkLoad {
                to,
                from,
                bytes,
                barrier,
            } => self.bulk_load(w, pc, active, (to, from), *bytes, barrier),
            Op::StoreAsync {
                to,
                from,
                bytes,
                barrier,
            } => self.store_async(w, pc, active, to, (from, *bytes), barrier),
            Op::BulkStore { to, from, bytes } => self.bulk_store(w, pc, active, (to, from), *bytes),
            Op::BulkCommit => self.bulk_commit(w, active),
            Op::BulkWait { groups, read } => self.bulk_wait(w, active, *groups, *read),
            Op::LaunchDependents => self.trigger(),
            Op::GridWait => self.wait_for_grid(w, active),
            Op::MapAddress { d, a, rank } => self.map_address(w, pc, active, *d, *a, *rank),
            Op::AddressRank { d, a } => self.address_rank(w, pc, active, *d, *a),
            Op::ClusterArrive { aligned, release } => {
                let at = (w, i, pc);
                return self.arrive_cluster(at, (mask, active), *aligned, *release);
            }
            Op::ClusterWait { aligned } => {
                return self.wait_cluster((w, i, pc), (mask, active), *aligned);
            }
            Op::Fence(scope) => self.fence(w, active, *scope),
            Op::BranchIndex { index, to, meet } => {
                return self.branch_index(w, i, pc, (mask, active), *index, to, *meet);
            }
            Op::Trap => {
                let lane = active.trailing_zeros() as usize;
                self.find(Class::Trap, w, pc, lane, || "trap".into());
                self.stop();
                return Next::Moved;
            }
            Op::Print { d, format, values } => self.print(w, pc, active, *d, *format, *values),
            Op::AssertFail { from } => {
                let lane = active.trailing_zeros() as usize;
                let message = self.text_at(w, from.first().copied(), lane);
                self.find(Class::Trap, w, pc, lane, || {
                    format!("assertion failed: {message}")
                });
                self.stop();
                return Next::Moved;
            }
            Op::Nothing | Op::Branch { .. } | Op::Exit => {}
        }
        Next::Step
    }

    /// Lets the lanes publish their knowledge from here on, within the scope.
    fn fence(&mut self, w: usize, active: u32, scope: Scope) {
        let clock = &mut self.clock;
        let known = &mut self.warps[w].known;
        known.fence(w, active, clock, scope != Scope::Block);
    }

    /// Reports a read of an unwritten predicate.
    #[inline]
    pub fn check_pred(&mut self, w: usize, pc: u32, active: u32, p: Reg, what: &str) {
        let missing = active & !self.warps[w].preds_written[p as usize];
        if missing != 0 {
            self.unwritten_register(w, pc, missing, what);
        }
    }

    /// Reports a read of an unwritten register.
    #[inline]
    pub fn check_read(&mut self, w: usize, pc: u32, active: u32, from: &[Slot]) {
        for (n, &slot) in from.iter().enumerate() {
            let missing = self.warps[w].unwritten(slot, active);
            if missing != 0 {
                let name = self.grid.kernel.name_of(slot);
                let what = name.unwrap_or_else(|| format!("operand {}", n + 1));
                self.unwritten_register(w, pc, missing, &what);
            }
        }
    }

    fn select(&mut self, w: usize, pc: u32, active: u32, d: Slot, from: (Slot, Slot), p: Reg) {
        self.check_pred(w, pc, active, p, "the predicate");
        let warp = &self.warps[w];
        let p = warp.preds[p as usize];
        // Only the selected operand is read.
        let missing = warp.unwritten(from.0, active & p) | warp.unwritten(from.1, active & !p);
        if missing != 0 {
            self.unwritten_register(w, pc, missing, "the selected operand");
        }
        let warp = &mut self.warps[w];
        let (a, b) = (warp.wide(from.0), warp.wide(from.1));
        let chosen = std::array::from_fn(|l| if p >> l & 1 != 0 { a[l] } else { b[l] });
        warp.set(d, active, chosen);
    }

    #[allow(clippy::too_many_arguments)]
    fn branch(
        &mut self,
        w: usize,
        i: usize,
        pc: u32,
        mask: u32,
        taken: u32,
        to: u32,
        meet: Option<u32>,
    ) -> Next {
        if taken == 0 {
            return Next::Step;
        }
        let warp = &mut self.warps[w];
        if taken == mask {
            warp.fragments[i].pc = to;
            warp.arrive(i);
        } else {
            self.counts[pc as usize].divergent += 1;
            warp.split(i, taken, to, meet);
        }
        Next::Moved
    }

    #[allow(clippy::too_many_arguments)]
    fn branch_index(
        &mut self,
        w: usize,
        i: usize,
        pc: u32,
        (mask, active): (u32, u32),
        index: Reg,
        to: &[u32],
        meet: Option<u32>,
    ) -> Next {
        self.check_read(w, pc, active, &[Slot::Word(index)]);
        // Splits off the lanes that share the first active lane's target. The others repeat the instruction;
        // lanes whose guard is false go on.
        let values = self.warps[w].words[index as usize];
        let lane = active.trailing_zeros() as usize;
        let Some(&target) = to.get(values[lane] as usize) else {
            self.find(Class::OutOfBounds, w, pc, lane, || {
                format!("index {} of {} targets", values[lane], to.len())
            });
            self.stop();
            return Next::Moved;
        };
        let same = (0..32).fold(0, |m, l| m | u32::from(values[l] == values[lane]) << l);
        let taken = active & same;
        if taken == mask {
            self.warps[w].fragments[i].pc = target;
            self.warps[w].arrive(i);
            return Next::Moved;
        }
        self.counts[pc as usize].divergent += 1;
        let rest = if taken == active { pc + 1 } else { pc };
        self.warps[w].split_to(i, (taken, target), rest, meet);
        Next::Moved
    }
}

/// Computes d = f(from), lane by lane.
#[inline]
fn alu_step(warp: &mut Warp, alu: &Alu, d: Slot, from: &[Slot], active: u32) {
    let word = |n: usize| -> &W {
        match from[n] {
            Slot::Word(r) => &warp.words[r as usize],
            Slot::Double(_) => &[0; 32],
        }
    };
    let double = |n: usize| -> &D {
        match from[n] {
            Slot::Double(r) => &warp.doubles[r as usize],
            Slot::Word(_) => &[0; 32],
        }
    };
    let words = match alu {
        Alu::W(f) => f(word(0)),
        Alu::WW(f) => f(word(0), word(1)),
        Alu::WWW(f) => f(word(0), word(1), word(2)),
        Alu::WWWW(f) => f(word(0), word(1), word(2), word(3)),
        Alu::DtoW(f) => f(double(0)),
        _ => {
            let doubles = match alu {
                Alu::D(f) => f(double(0)),
                Alu::DD(f) => f(double(0), double(1)),
                Alu::DDD(f) => f(double(0), double(1), double(2)),
                Alu::WtoD(f) => f(word(0)),
                Alu::WWtoD(f) => f(word(0), word(1)),
                Alu::WWDtoD(f) => f(word(0), word(1), double(2)),
                Alu::DWtoD(f) => f(double(0), word(1)),
                Alu::DWWtoD(f) => f(double(0), word(1), word(2)),
                Alu::DDWWtoD(f) => f(double(0), double(1), word(2), word(3)),
                _ => return,
            };
            return match d {
                Slot::Double(r) => warp.set_double(r, active, doubles),
                Slot::Word(_) => warp.set(d, active, doubles),
            };
        }
    };
    match d {
        Slot::Word(r) => warp.set_word(r, active, words),
        Slot::Double(_) => warp.set(d, active, words.map(u64::from)),
    }
}

fn compare_step(warp: &Warp, compare: &Compare, a: Slot, b: Slot) -> u32 {
    match (compare, a, b) {
        (Compare::W(f), Slot::Word(a), Slot::Word(b)) => {
            f(&warp.words[a as usize], &warp.words[b as usize])
        }
        (Compare::D(f), Slot::Double(a), Slot::Double(b)) => {
            f(&warp.doubles[a as usize], &warp.doubles[b as usize])
        }
        _ => 0,
    }
}

fn combined(logic: Logic, a: u32, b: u32) -> u32 {
    match logic {
        Logic::And => a & b,
        Logic::Or => a | b,
        Logic::Xor => a ^ b,
    }
}
