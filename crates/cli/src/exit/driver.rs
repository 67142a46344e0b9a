//! Explanations of errors of CUDA's driver, and remedies.

/// Error codes of the driver that a user can do something about.
/// ("CUDA Driver API", Data types used by CUDA driver, `CUresult`.)
const MEANINGS: [(&[&str], &str); 5] = [
    (
        &["CUDA_ERROR_OUT_OF_MEMORY", "CUBLAS_STATUS_ALLOC_FAILED"],
        "the GPU has too little free memory: use a smaller model or batch, or end other programs that use the GPU",
    ),
    (
        &["CUDA_ERROR_UNSUPPORTED_PTX_VERSION"],
        "the GPU's driver is older than a kernel's PTX: update the driver; `cargo run --release -- doctor` names the version",
    ),
    (
        &["CUDA_ERROR_NO_BINARY_FOR_GPU"],
        "a kernel is not made for this GPU: `cargo run --release -- doctor` says which levels it runs",
    ),
    (
        &["CUDA_ERROR_INVALID_PTX"],
        "the driver cannot assemble a kernel's PTX: it has an error, which the simulator names with its line, or needs a newer GPU",
    ),
    (
        &[
            "CUDA_ERROR_ILLEGAL_ADDRESS",
            "CUDA_ERROR_MISALIGNED_ADDRESS",
            "CUDA_ERROR_ILLEGAL_INSTRUCTION",
            "CUDA_ERROR_INVALID_ADDRESS_SPACE",
            "CUDA_ERROR_INVALID_PC",
            "CUDA_ERROR_HARDWARE_STACK_ERROR",
            "CUDA_ERROR_ASSERT",
            "CUDA_ERROR_LAUNCH_FAILED",
            "CUDA_ERROR_LAUNCH_TIMEOUT",
        ],
        "a kernel failed on the GPU: `--device sim` runs levels 3 to 5 in the simulator, which names the line",
    ),
];

/// Puts what an error of the driver means before its message.
pub fn explained(message: String) -> String {
    let is_in = |(codes, _): &&(&[&str], &str)| {
        codes
            .iter()
            .any(|code| words(&message).any(|word| word == *code))
    };
    match MEANINGS.iter().find(is_in) {
        Some((_, meaning)) => format!("{meaning} ({message})"),
        None => message,
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_driver_say_what_to_do() {
        let told = |code: &str| explained(format!("DriverError({code}, \"why\")"));
        for (code, start) in [
            (
                "CUDA_ERROR_OUT_OF_MEMORY",
                "the GPU has too little free memory: ",
            ),
            (
                "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
                "the GPU's driver is older ",
            ),
            (
                "CUDA_ERROR_NO_BINARY_FOR_GPU",
                "a kernel is not made for this GPU: ",
            ),
            (
                "CUDA_ERROR_INVALID_PTX",
                "the driver cannot assemble a kernel's PTX: ",
            ),
            ("CUDA_ERROR_LAUNCH_FAILED", "a kernel failed on the GPU: "),
        ] {
            let line = told(code);
            assert!(
                line.starts_with(start) && line.ends_with(&format!("({code}, \"why\"))")),
                "{line}"
            );
        }
        assert_eq!(
            told("CUDA_ERROR_NOT_FOUND"),
            "DriverError(CUDA_ERROR_NOT_FOUND, \"why\")"
        );
        assert_eq!(
            told("MY_CUDA_ERROR_ASSERT"),
            "DriverError(MY_CUDA_ERROR_ASSERT, \"why\")"
        );
    }
}
