//! Writes the seeds of a reader into a folder, for a fuzzer: `cargo run -p readers --example seeds -- ptx FOLDER`.

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

use readers::Reader;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [name, folder] = &arguments[..] else {
        eprintln!("error: expected the name of a reader and a folder");
        return ExitCode::from(2);
    };
    let Some(reader) = Reader::named(name) else {
        eprintln!("error: {name}: expected the name of a reader");
        return ExitCode::from(2);
    };
    for (number, seed) in reader.seeds().iter().enumerate() {
        let path = Path::new(folder).join(format!("seed-{number}"));
        if let Err(error) = fs::write(&path, seed) {
            eprintln!("error: {}: {error}", path.display());
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}
