//! The vision transformer at level 2:
//! `cargo run --release -p level2 --example vit -- --image FILE.png`

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::vit::main(2)
}
