//! Worklogs: one kernel made fast in steps, each a file of its own with one idea.
//!
//! [`matmul`] is C = A·B in nine steps, from one thread per element to tensor cores; [`softmax`] is the
//! softmax of rows in four; [`attention`] is attention in six. The files are in `kernels/worklogs`; the `diff`
//! of two neighbours is the lesson. The models run the kernels of the levels and none of these.
//! `cargo run --release -p kernels --example worklog -- matmul` counts each step in the simulator and times
//! it on a GPU.

pub mod attention;
mod counts;
pub mod matmul;
pub mod softmax;

pub use counts::Counts;

#[cfg(test)]
mod tests {
    use std::fs::read_to_string;

    use super::*;
    use crate::testing::kernels_folder;

    /// A step is read in one sitting, so it includes no other file.
    #[test]
    fn a_step_is_one_file_of_at_most_120_lines() -> std::io::Result<()> {
        let worklogs = [
            ("matmul", matmul::STEPS.len()),
            ("softmax", softmax::STEPS.len()),
            ("attention", attention::STEPS.len()),
        ];
        for (name, steps) in worklogs {
            for step in 1..=steps {
                let file = format!("worklogs/{name}/step{step}.cu");
                let text = read_to_string(kernels_folder().join(&file))?;
                assert!(text.lines().count() <= 120, "{file}");
                assert!(!text.contains("#include"), "{file}");
            }
        }
        Ok(())
    }
}
