// Each family at its edges, and each entry of the table at its own.

use exercise::{Fresh, Submission, Verdict, expect};

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

pub fn check(fresh: &mut Fresh, submission: &mut Submission) -> Verdict {
    for ((major, minor), family) in FAMILIES {
        let found: String = submission.call("architecture", (major, minor))?;
        expect(found == family, format!("compute capability {major}.{minor}"), family, found)?;
    }
    for _ in 0..200 {
        let capability = FAMILIES[fresh.below(FAMILIES.len())].0;
        let (m, k, bf16) = ([1usize, 2, 64][fresh.below(3)], [0usize, 8, 12, 64][fresh.below(4)], fresh.below(2) == 1);
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
    Ok(())
}
