//! The language model at level 2:
//! `cargo run --release -p level2 --example lm -- --prompt "A trait is"`

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::lm::main(2)
}
