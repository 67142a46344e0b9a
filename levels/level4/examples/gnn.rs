//! The graph transformer at level 4:
//! `cargo run --release -p level4 --example gnn -- --edges FILE.csv`

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::gnn::main(4)
}
