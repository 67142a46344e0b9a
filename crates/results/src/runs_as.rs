//! The code that a level runs on a device.

/// Returns what runs at a level: candle, hand-written PTX or CUDA, or on a CPU a Rust twin, which computes the same as
/// the kernel. The words before a colon are the short form.
///
/// # Panics
/// For a level that does not exist.
pub fn runs_as(level: usize, on_gpu: bool) -> &'static str {
    match (level, on_gpu) {
        (1, true) => "candle",
        (2, true) => "candle, fused",
        (3, true) => "PTX",
        (4, true) => "CUDA C++",
        (5, true) => "tuned: CUDA C++ and cuBLAS",
        (1, false) => "candle",
        (2, false) => "candle, fused",
        (3, false) => "Rust twin: loops over rows",
        (4, false) => "Rust twin: SIMD",
        (5, false) => "Rust twin: SIMD, tuned",
        _ => panic!("expected a level from 1 to 5, found {level}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HIGHEST;

    #[test]
    fn a_cpu_runs_no_kernel_of_a_gpu() {
        for level in 1..=usize::from(HIGHEST) {
            let [gpu, cpu] = [true, false].map(|on_gpu| runs_as(level, on_gpu));
            assert!(!cpu.contains("PTX") && !cpu.contains("CUDA"), "{cpu}");
            assert_eq!(cpu.starts_with("Rust twin"), level >= 3, "{cpu}");
            assert!(!gpu.contains("Rust"), "{gpu}");
        }
    }

    #[test]
    #[should_panic(expected = "expected a level from 1 to 5, found 6")]
    fn a_level_that_does_not_exist_is_an_error() {
        runs_as(usize::from(HIGHEST) + 1, true);
    }
}
