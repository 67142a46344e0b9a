//! The language model at level 4:
//! `cargo run --release -p level4 --example lm -- --prompt "A trait is"`

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::lm::main(4)
}
