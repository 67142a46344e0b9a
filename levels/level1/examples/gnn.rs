//! The graph transformer at level 1:
//! `cargo run --release -p level1 --example gnn -- --edges FILE.csv`

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::gnn::main(1)
}
