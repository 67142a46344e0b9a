// Each family at its edges, and each entry of the table at its own.

use std::error::Error;

use exercise::{Fresh, Submission, Verdict, compare, expect};

const FAMILIES: [((u32, u32), &str); 14] = [
    ((7, 0), "Volta"),
    ((7, 2), "Volta"),
    ((7, 5), "Turing"),
    ((8, 0), "Ampere"),
    ((8, 6), "Ampere"),
    ((8, 7), "Ampere"),
    ((8, 9), "Ada"),
    ((9, 0), "Hopper"),
    ((10, 0), "Blackwell"),
    ((10, 3), "Blackwell"),
    ((11, 0), "Blackwell"),
    ((12, 0), "Blackwell"),
    ((12, 1), "Blackwell"),
    ((6, 1), "unknown"),
];

const ROWS: [usize; 3] = [1, 2, 64];

const INNER: [usize; 4] = [0, 8, 12, 64];

pub fn check(fresh: &mut Fresh, submission: &mut Submission) -> Verdict {
    for ((major, minor), family) in FAMILIES {
        let found: String = submission.call("architecture", (major, minor))?;
        expect(found == family, format!("compute capability {major}.{minor}"), family, found)?;
    }
    for _ in 0..200 {
        let capability = FAMILIES[fresh.below(FAMILIES.len())].0;
        let (m, k, bf16) = (ROWS[fresh.below(3)], INNER[fresh.below(4)], fresh.below(2) == 1);
        let tensor_cores = bf16 && capability.0 >= 8 && k % 8 == 0;
        let expected = match (m, k) {
            (_, 0) => "fill",
            (1, _) => "gemv",
            _ if tensor_cores => "mma",
            _ => "tile",
        };
        let found: String = submission.call("kernel", (m, k, bf16, capability))?;
        let what = format!("m = {m}, k = {k}, bf16 = {bf16}, capability {}.{}", capability.0, capability.1);
        expect(found == expected, what, expected, found)?;
    }
    compare_picks(submission)
}

/// Compares with the starter how many matmuls get a kernel that is not for them.
fn compare_picks(submission: &mut Submission) -> Verdict {
    let before = unfit("starter", submission)?;
    let own = unfit("kernel", submission)?;
    let counters = [
        ("in f32 on tensor cores", before[0], own[0]),
        ("of one row by `mma` or `tile`", before[1], own[1]),
        ("with K = 0 and no fill", before[2], own[2]),
    ];
    let all = FAMILIES.len() * ROWS.len() * INNER.len() * 2;
    compare(&format!("all {all} matmuls on these GPUs"), "starter", &counters);
    Ok(())
}

/// Counts matmuls in f32 that get `mma`, of one row that get `mma` or `tile`, and with K = 0 that do not get `fill`.
fn unfit(name: &str, submission: &mut Submission) -> Result<[usize; 3], Box<dyn Error>> {
    let mut counts = [0; 3];
    for (capability, _) in FAMILIES {
        for (m, k) in ROWS.into_iter().flat_map(|m| INNER.map(|k| (m, k))) {
            for bf16 in [false, true] {
                let found: String = submission.call(name, (m, k, bf16, capability))?;
                let is_tiled = found == "mma" || found == "tile";
                counts[0] += usize::from(found == "mma" && !bf16);
                counts[1] += usize::from(is_tiled && m == 1 && k > 0);
                counts[2] += usize::from(found != "fill" && k == 0);
            }
        }
    }
    Ok(counts)
}
