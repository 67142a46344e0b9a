//! Matmuls by a warp, and the loads and stores of their fragments.

mod blocks;
mod fragment;
mod requests;
mod wmma;

use crate::code::{Mma, Op, Reg, Slot};
use crate::report::Class;

use super::block::{Block, Next};
use fragment::{Layout, gather, scatter, sizes};

impl Block<'_> {
    /// Executes `ldmatrix`, `stmatrix`, `mma.sync` and `wmma.*` for all lanes of the warp.
    pub fn matrix(&mut self, w: usize, pc: u32, active: u32) -> Next {
        if active != !0 {
            let lane = active.trailing_zeros() as usize;
            self.find(Class::WrongMask, w, pc, lane, || {
                format!(
                    "all 32 lanes have to execute it together, and {} do",
                    active.count_ones()
                )
            });
        }
        let kernel = self.grid.kernel;
        match &kernel.code[pc as usize].op {
            Op::LoadMatrix {
                d,
                transposed,
                from,
            } => self.load_matrix(w, pc, active, d, (from, *transposed)),
            Op::StoreMatrix {
                to,
                from,
                transposed,
            } => self.store_matrix(w, pc, active, from, (to, *transposed)),
            Op::Mma(mma) => self.mma(w, pc, mma),
            Op::WmmaMemory(memory) => self.wmma_memory(w, pc, memory),
            _ => {}
        }
        Next::Step
    }

    /// Computes d = a·b + c. Sums are computed in f64 and rounded once; hardware sums in f32 in an order of
    /// its own.
    fn mma(&mut self, w: usize, pc: u32, mma: &Mma) {
        for regs in [&mma.a_regs, &mma.b_regs, &mma.c_regs] {
            for &r in regs {
                self.check_read(w, pc, !0, &[Slot::Word(r)]);
            }
        }
        let (m, n, k) = sizes(mma.shape);
        self.counts[pc as usize].flops += 2 * (m * n * k) as u64;
        let words = |regs: &[Reg]| -> Vec<[u32; 32]> {
            regs.iter()
                .map(|&r| self.warps[w].words[r as usize])
                .collect()
        };
        let (a, b, c) = (words(&mma.a_regs), words(&mma.b_regs), words(&mma.c_regs));
        let layout = if mma.wmma { Layout::Wmma } else { Layout::Mma };
        let a = gather(&a, mma.a, (m, k), |e, i, size| layout.a(e, i, size));
        let b = gather(&b, mma.b, (k, n), |e, i, size| layout.b(e, i, size));
        let c = gather(&c, mma.c, (m, n), |e, i, size| layout.c(e, i, size));
        let mut d = c;
        for row in 0..m {
            for column in 0..n {
                let products = (0..k).map(|x| a[row * k + x] * b[x * n + column]);
                d[row * n + column] += products.sum::<f64>();
            }
        }
        let packed = scatter(&d, mma.c, mma.d_regs.len(), (m, n), |e, i, size| {
            layout.c(e, i, size)
        });
        for (&r, value) in mma.d_regs.iter().zip(packed) {
            self.warps[w].set_word(r, !0, value);
        }
    }
}
