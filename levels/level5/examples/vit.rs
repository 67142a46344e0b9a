//! The vision transformer at level 5:
//! `cargo run --release -p level5 --example vit -- --image FILE.png`

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::vit::main(5)
}
