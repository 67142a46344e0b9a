//! The graph transformer at level 2:
//! `cargo run --release -p level2 --example gnn -- --edges FILE.csv`

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::gnn::main(2)
}
