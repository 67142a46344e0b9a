#[path = "../src/compare.rs"]
mod compare;
#[path = "../src/levels.rs"]
mod levels;
use clap::Parser;
#[derive(Parser)]
struct P {
    #[command(flatten)]
    c: compare::CompareArgs,
}
fn main() -> std::process::ExitCode {
    cli::run(|| compare::run(&P::try_parse()?.c))
}
