//! The language model at level 1:
//! `cargo run --release -p level1 --example lm -- --prompt "A trait is"`

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::lm::main(1)
}
