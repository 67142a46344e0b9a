//! The program `workbook`.

use std::process::ExitCode;

fn main() -> ExitCode {
    workbook::main()
}
