//! The vision transformer at level 4:
//! `cargo run --release -p level4 --example vit -- --image FILE.png`

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::vit::main(4)
}
