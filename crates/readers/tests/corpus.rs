//! Each reader on its seeds, on what the fuzzer found, and on mutations of both.
//!
//! `READERS_SECONDS=600 cargo test --release -p readers -- --nocapture` gives each reader that time; without the variable
//! it is half a second. `READERS_SEED` begins another row of random numbers.

use std::fs;
use std::panic::catch_unwind;
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

/// A seed that no reader accepts would leave most of the reader untested.
#[test]
fn a_folder_of_regressions_is_a_readers() {
    let folders = fs::read_dir(readers::root().join("fuzz/regressions")).unwrap();
    for folder in folders {
        let folder = folder.unwrap();
        if folder.path().is_file() {
            continue; // what the folder is for
        }
        let name = folder.file_name().into_string().unwrap();
        assert!(
            Reader::named(&name).is_some(),
            "fuzz/regressions/{name}: no reader has this name"
        );
    }
    let targets = fs::read_to_string(readers::root().join("fuzz/Cargo.toml")).unwrap();
    for reader in &ALL {
        let target = format!("name = \"{}\"", reader.name);
        assert!(
            targets.contains(&target),
            "fuzz/Cargo.toml lacks {}",
            reader.name
        );
    }
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
