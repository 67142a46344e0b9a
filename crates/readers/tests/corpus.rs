//! Each reader on its seeds, on what the fuzzer found, and on mutations of both.
//!
//! `READERS_SECONDS=600 cargo test --release -p readers -- --nocapture` gives each reader that time; without the variable
//! it is half a second. `READERS_SEED` begins another row of random numbers.

use std::fs;
use std::panic::catch_unwind;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use readers::{ALL, Reader, mutate};

/// Time after which a reader counts as hanging, on a machine that does other things, too.
const HANGS: Duration = Duration::from_secs(20);

/// Reads an input; a panic or a hang names a file with it.
fn read(reader: &Reader, bytes: &[u8]) {
    let begin = Instant::now();
    let read = reader.read;
    let done = catch_unwind(|| read(bytes));
    let took = begin.elapsed();
    if done.is_err() || took > HANGS {
        let path = std::env::temp_dir().join(format!("{}-{}", reader.name, std::process::id()));
        fs::write(&path, bytes).unwrap();
        panic!("{}: {took:?} for {}", reader.name, path.display());
    }
}

#[test]
fn seeds_and_what_was_found_are_read() {
    for reader in &ALL {
        let seeds = reader.seeds();
        assert!(!seeds.is_empty(), "{}", reader.name);
        seeds.iter().for_each(|seed| read(reader, seed));
    }
}

/// Names of the files or folders in a folder of `fuzz/`, without extension, in order.
fn names(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(readers::root().join("fuzz").join(folder)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let name = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
    let mut names: Vec<String> = paths.map(name).collect();
    names.sort();
    names
}

#[test]
fn every_reader_has_a_target_and_a_saved_corpus() {
    let readers: Vec<&str> = ALL.iter().map(|reader| reader.name).collect();
    assert_eq!(names("targets"), readers);
    let mut saved = names("regressions");
    saved.retain(|name| name != "README");
    assert_eq!(saved, readers);
    let manifest = fs::read_to_string(readers::root().join("fuzz/Cargo.toml")).unwrap();
    for name in readers {
        assert!(!names(&format!("regressions/{name}")).is_empty(), "{name}");
        // A target has no code of its own, so that nothing in it is left unchecked where libFuzzer is not built.
        let target = readers::root().join(format!("fuzz/targets/{name}.rs"));
        let text = fs::read_to_string(&target).unwrap();
        assert_eq!(text, format!("#![no_main]\n\nfuzz::target!(\"{name}\");\n"));
        let bin = format!("[[bin]]\nname = \"{name}\"\npath = \"targets/{name}.rs\"\n");
        assert!(manifest.contains(&bin), "fuzz/Cargo.toml lacks {name}");
    }
    let bins = manifest.matches("[[bin]]").count();
    assert_eq!(bins, ALL.len() + 1, "one for each reader, and `any`");
}

/// A name that no reader has ends a fuzzer at its first input.
#[test]
#[should_panic(expected = "expected a reader, found none")]
fn a_target_runs_the_reader_of_its_name() {
    ALL.iter()
        .for_each(|reader| readers::fuzz(reader.name, b""));
    readers::fuzz("none", b"");
}

#[test]
fn mutations_are_read() {
    let seconds = std::env::var("READERS_SECONDS").map_or(0.5, |text| text.parse().unwrap());
    let seed = std::env::var("READERS_SEED").map_or(0, |text| text.parse().unwrap());
    for reader in &ALL {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let seeds = reader.seeds();
        let begin = Instant::now();
        let mut count = 0u64;
        while begin.elapsed().as_secs_f64() < seconds {
            read(reader, &mutate::mutated(&seeds, &mut rng));
            count += 1;
        }
        println!("{}: {count} inputs in {seconds} s, no panic", reader.name);
        assert!(count > 0);
    }
}
