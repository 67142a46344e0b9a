//! The graph transformer at level 3:
//! `cargo run --release -p level3 --example gnn -- --edges FILE.csv`

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::gnn::main(3)
}
