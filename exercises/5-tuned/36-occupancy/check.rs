// Kernels of this repository as an H200's driver reports them, then random blocks on four kinds of SM.
//
// The rule is that of `cudaOccMaxActiveBlocksPerMultiprocessor` in `cuda_occupancy.h`, for a block with one
// barrier and a check of registers per block that is as large as that of an SM. It was compared with that header on 66
// million blocks, and with `cuOccupancyMaxActiveBlocksPerMultiprocessor` on an H200 on 22,500 launches of 375 kernels:
// it differs only where a kernel has named barriers, of which an SM has 64.

use exercise::{Fresh, Submission, Verdict, compare, expect};

/// Warps, blocks, registers; partitions, unit of registers; shared memory, per block, reserved, unit.
type Limits = ([usize; 3], (usize, usize), (usize, usize, usize, usize));

const K: usize = 1024;

/// By compute capability.
const SMS: [(&str, Limits); 4] = [
    ("9.0", ([64, 32, 65536], (4, 256), (228 * K, 227 * K, K, 128))),
    ("8.0", ([64, 32, 65536], (4, 256), (164 * K, 163 * K, K, 128))),
    ("8.6", ([48, 16, 65536], (4, 256), (100 * K, 99 * K, K, 128))),
    ("7.5", ([32, 16, 65536], (4, 256), (64 * K, 64 * K, 0, 256))),
];

/// Kernels with their threads, registers and bytes of shared memory, and the blocks that an H200's driver reports.
const REAL: [(&str, [usize; 3], usize); 12] = [
    ("matmul_step1", [1024, 32, 0], 2),
    ("matmul_step4", [512, 52, 4096], 2),
    ("matmul_step5", [256, 128, 16384], 2),
    ("matmul_step8", [256, 128, 33280], 2),
    ("attention_step1_mix", [64, 32, 0], 32),
    ("attention_step4", [128, 96, 41600], 5),
    ("attention_step5", [128, 109, 17920], 4),
    ("softmax_step1", [128, 29, 0], 16),
    ("softmax_step2", [256, 25, 1024], 8),
    ("softmax_step4", [256, 52, 64], 4),
    ("attention_d64x64_f32_level4", [128, 254, 0], 2),
    ("ternary_linear_lut_f32_level4", [256, 64, 46464], 4),
];

pub fn check(fresh: &mut Fresh, submission: &mut Submission) -> Verdict {
    let mut held = Held { submission, warps: (0, 0) };
    for (name, of, blocks) in REAL {
        held.blocks(SMS[0], of, &format!(" ({name})"))?;
        let (found, occupancy): (usize, f64) = held.submission.call("of_hopper", (of,))?;
        expect(found == blocks, format!("resident blocks of {name} on HOPPER"), blocks, found)?;
        let expected = (blocks * of[0].div_ceil(32)) as f64 / 64.;
        expect(occupancy == expected, format!("occupancy of {name} on HOPPER"), expected, occupancy)?;
    }
    let of_kernels = std::mem::take(&mut held.warps);
    for sm in SMS {
        let per_block = sm.1.2.1;
        for round in 0..100 {
            let threads = match fresh.below(3) {
                0 => 32 * (1 + fresh.below(32)),
                1 => 1 + fresh.below(96),
                _ => 1 + fresh.below(1024),
            };
            let shared = match fresh.below(5) {
                0 => 0,
                1 => fresh.below(8 * K),
                2 => fresh.below(per_block),
                3 => per_block - fresh.below(2),
                // A divisor of the memory: what is reserved decides whether one more block fits.
                _ => sm.1.2.0 / (2 + fresh.below(15)),
            };
            let registers = if round % 4 == 0 { 1 + fresh.below(32) } else { 1 + fresh.below(255) };
            held.blocks(sm, [threads, registers, shared], "")?;
        }
        for threads in [1, 32, 96, 104, 288, 1024] {
            // An odd number of warps per partition and a block that is too large.
            for of in [[threads, 176, 0], [threads, 255, 0], [threads, 40, per_block + 1], [threads, 8, 0]] {
                held.blocks(sm, of, "")?;
            }
        }
    }
    let others = held.warps;
    let counters = [
        ("resident warps of kernels of this repository", of_kernels.0, of_kernels.1),
        ("resident warps of all other blocks", others.0, others.1),
    ];
    compare("the blocks of this check", "starter", &counters);
    Ok(())
}

struct Held<'s> {
    submission: &'s mut Submission,
    /// Sums of resident warps: by the starter's rule, and by the submission.
    warps: (usize, usize),
}

impl Held<'_> {
    fn blocks(&mut self, (of_sm, limits): (&str, Limits), of: [usize; 3], note: &str) -> Verdict {
        let [threads, registers, shared] = of;
        let what = format!("{threads} threads, {registers} registers, {shared} bytes{note} on {of_sm}");
        let ([places, blocks, _], _, _) = limits;
        let warps = threads.div_ceil(32);
        let (by_registers, by_shared) = (by_registers(limits, of), by_shared_memory(limits, shared));
        let resident = by_registers.min(by_shared).min(places / warps).min(blocks);
        for (name, title, expected) in [
            ("by_registers", "blocks by registers", by_registers),
            ("by_shared_memory", "blocks by shared memory", by_shared),
            ("resident", "resident blocks", resident),
        ] {
            let found: usize = self.submission.call(name, (limits, of))?;
            expect(found == expected, format!("{title} of {what}"), number(expected), number(found))?;
        }
        self.warps.0 += by_division(limits, of) * warps;
        self.warps.1 += resident * warps;
        let found: f64 = self.submission.call("occupancy", (limits, of))?;
        let expected = (resident * warps) as f64 / places as f64;
        expect((found - expected).abs() < 1e-12, format!("occupancy of {what}"), expected, found)
    }
}

/// Resident blocks by the starter's rule: two divisions, without units, partitions, reserved bytes and places.
fn by_division(([_, _, all], _, (shared, ..)): Limits, [threads, registers, bytes]: [usize; 3]) -> usize {
    (all / (registers * threads)).min(shared / bytes.max(1))
}

fn number(n: usize) -> String {
    if n == usize::MAX { "usize::MAX".into() } else { n.to_string() }
}

fn by_registers(([_, _, all], (partitions, unit), _): Limits, [threads, registers, _]: [usize; 3]) -> usize {
    let units = (registers * 32).div_ceil(unit);
    let units_of_partition = all / unit / partitions;
    (units_of_partition / units) * partitions / threads.div_ceil(32)
}

fn by_shared_memory((_, _, (all, per_block, reserved, unit)): Limits, shared: usize) -> usize {
    match (shared + reserved).div_ceil(unit) {
        0 => usize::MAX,
        _ if shared > per_block => 0,
        units => all / (units * unit),
    }
}
