//! The graph transformer at level 5:
//! `cargo run --release -p level5 --example gnn -- --edges FILE.csv`

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::gnn::main(5)
}
