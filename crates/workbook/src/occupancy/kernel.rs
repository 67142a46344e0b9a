//! Resources of a kernel, from its file or as read on a GPU.

use std::path::Path;

use cli::files;
use data::BadInput;
use serde::Deserialize;
use simt::{Kernel, Module};

use crate::sim::text::Text;

/// The readings, as `scripts/ncu.py` writes them.
const READ: &str = "kernels/counters/h200.json";

/// Names in an error.
const NAMED: usize = 8;

/// A kernel; what is not known has to be an option.
#[derive(Debug, Default, PartialEq)]
pub struct Known {
    /// Name of the kernel.
    pub name: Option<String>,
    /// Threads per block.
    pub threads: Option<u32>,
    /// Registers per thread.
    pub registers: Option<u32>,
    /// Bytes of shared memory per block.
    pub shared: Option<u32>,
    /// Where the numbers come from, a sentence each.
    pub notes: Vec<String>,
}

#[derive(Deserialize)]
struct Readings {
    gpu: String,
    launches: Vec<Launch>,
}

#[derive(Deserialize)]
struct Launch {
    entry: String,
    block: [u32; 3],
    smem: u32,
    read: Read,
}

#[derive(Deserialize)]
struct Read {
    registers: u32,
}

impl Launch {
    fn threads(&self) -> u32 {
        self.block.iter().product()
    }
}

impl Known {
    /// Reads a kernel of a file, or one of the readings.
    ///
    /// # Errors
    /// [`BadInput`] if there is no such kernel.
    pub fn of(kernel: &str, entry: Option<&str>) -> Result<Self, BadInput> {
        let path = Path::new(kernel);
        let is_file = ["ptx", "cu"].map(Some).contains(&extension(path));
        match (is_file, entry) {
            (true, _) => in_file(path, entry),
            (false, None) => read(kernel),
            (false, Some(_)) => {
                let expected = "a .ptx or .cu file for --entry";
                Err(BadInput::new("occupancy", expected, format!("{kernel:?}")))
            }
        }
    }
}

fn extension(path: &Path) -> Option<&str> {
    path.extension()?.to_str()
}

/// The only kernel of a file, or that of the name.
fn in_file(path: &Path, entry: Option<&str>) -> Result<Known, BadInput> {
    let text = Text::read(path, "compute_75")?;
    let module = Module::parse(&text.ptx).map_err(|e| text.bad_input(e))?;
    let entries: Vec<&str> = module.entries().collect();
    let entry = match (entry, &entries[..]) {
        (Some(entry), _) => entry,
        (None, [only]) => only,
        (None, []) => return Err(BadInput::new(&text.name, "PTX with a kernel", "none")),
        (None, several) => {
            let expected = format!("one of {}", some_of(several.iter().copied()));
            return Err(BadInput::new("--entry", expected, "none"));
        }
    };
    let kernel = module.kernel(entry).map_err(|e| text.bad_input(e))?;
    Ok(declared(&kernel))
}

/// Threads of a block; a text may declare more than a number holds.
fn threads(axes: [u32; 3]) -> u32 {
    axes.into_iter().fold(1, u32::saturating_mul)
}

/// Resources that the PTX of a kernel declares.
fn declared(kernel: &Kernel) -> Known {
    let note = "threads and shared memory are those that the kernel declares: \
                --threads and --shared are for launches with other numbers";
    Known {
        name: Some(kernel.name().to_owned()),
        threads: kernel.declared_threads().map(threads),
        registers: None,
        shared: Some(kernel.shared_bytes()),
        notes: vec![note.into()],
    }
}

/// The launch of a kernel with the most threads, and among these with the most shared memory.
fn read(entry: &str) -> Result<Known, BadInput> {
    let file = files::find(READ)?;
    let text = data::read_text(&file)?;
    let readings: Readings = serde_json::from_str(&text)
        .map_err(|e| BadInput::new(READ, "readings of scripts/ncu.py", e))?;
    let of_entry = |launch: &&Launch| launch.entry == entry;
    let launches = readings.launches.iter().filter(of_entry);
    let by_size = |launch: &Launch| (launch.threads(), launch.smem);
    let mut sizes: Vec<(u32, u32)> = launches.clone().map(by_size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let largest = launches.max_by_key(|launch| by_size(launch));
    let launch = largest.ok_or_else(|| unknown(entry, &readings))?;
    let mut notes = vec![format!("registers as read on an {}", readings.gpu)];
    if sizes.len() > 1 {
        notes.push(format!(
            "the largest of {} recorded launches: --threads and --shared are for the others",
            sizes.len()
        ));
    }
    Ok(Known {
        name: Some(launch.entry.clone()),
        threads: Some(launch.threads()),
        registers: Some(launch.read.registers),
        shared: Some(launch.smem),
        notes,
    })
}

fn unknown(entry: &str, readings: &Readings) -> BadInput {
    let mut entries: Vec<&str> = readings.launches.iter().map(|l| &*l.entry).collect();
    entries.sort_unstable();
    entries.dedup();
    let similar: Vec<&str> = entries
        .iter()
        .copied()
        .filter(|e| e.contains(entry))
        .collect();
    let expected = match &similar[..] {
        [] => format!("a .ptx or .cu file, or a kernel of {READ}, such as rms_norm_f32_level4"),
        similar => format!("one of {}", some_of(similar.iter().copied())),
    };
    BadInput::new("occupancy", expected, format!("{entry:?}"))
}

/// The first names, and how many there are more.
fn some_of<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = names.len().saturating_sub(NAMED);
    let named: Vec<&str> = names.take(NAMED).collect();
    let named = named.join(", ");
    match more {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use occupancy::{Block, Sm};

    /// The launches ran on a GPU of compute capability 9.0, so at least one of their blocks fits.
    #[test]
    fn every_launch_of_the_readings_fits() {
        let text = std::fs::read_to_string(files::find(READ).unwrap()).unwrap();
        let readings: Readings = serde_json::from_str(&text).unwrap();
        assert!(readings.launches.len() > 500);
        let hopper = Sm::of(9, 0).unwrap();
        for launch in &readings.launches {
            let block = Block {
                threads: launch.threads(),
                registers: launch.read.registers,
                shared: launch.smem,
            };
            assert!(hopper.resident_blocks(&block) > 0, "{}", launch.entry);
        }
    }

    #[test]
    fn a_product_of_threads_does_not_wrap_around() {
        // Without a limit, 128 threads.
        assert_eq!(threads([1_431_655_766, 3, 64]), u32::MAX);
    }

    #[test]
    fn a_long_list_of_names_ends_with_a_number() {
        assert_eq!(some_of(["a", "b"].into_iter()), "a, b");
        let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
        let eight = "a, b, c, d, e, f, g, h";
        assert_eq!(some_of(names[..8].iter().copied()), eight);
        assert_eq!(some_of(names.into_iter()), format!("{eight} and 2 more"));
    }
}
