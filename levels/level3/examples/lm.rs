//! The language model at level 3:
//! `cargo run --release -p level3 --example lm -- --prompt "A trait is"`

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::lm::main(3)
}
