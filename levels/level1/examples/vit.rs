//! The vision transformer at level 1:
//! `cargo run --release -p level1 --example vit -- --image FILE.png`

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::vit::main(1)
}
