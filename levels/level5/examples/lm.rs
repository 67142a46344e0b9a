//! The language model at level 5:
//! `cargo run --release -p level5 --example lm -- --prompt "A trait is"`

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::lm::main(5)
}
