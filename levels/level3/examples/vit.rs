//! The vision transformer at level 3:
//! `cargo run --release -p level3 --example vit -- --image FILE.png`

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::vit::main(3)
}
