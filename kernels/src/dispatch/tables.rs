//! The tables in use on a device: the user's own first, then the committed ones.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

use candle_core::Device;

use super::{Facts, Table};
use crate::error::mismatch;

/// Device name of the table for unmeasured GPUs.
pub const ANY_GPU: &str = "any GPU";
/// Device name of the table for unmeasured CPUs.
pub const ANY_CPU: &str = "any CPU";

/// Committed tables, as written by `tune`.
const COMMITTED: &[&str] = &[
    include_str!("tables/cpu.json"),
    include_str!("tables/gpu.json"),
    include_str!("tables/h100.json"),
    include_str!("tables/h200.json"),
];

/// Folder of the user's own tables; `None` if the system has no such folder.
pub fn folder() -> Option<PathBuf> {
    Some(dirs::cache_dir()?.join("candlepower"))
}

/// Tables of a device, read once.
struct Read {
    tables: Vec<Table>,
    /// Notes for the user.
    remarks: Vec<String>,
}

/// Tables by the file name of a device's table.
static READ: LazyLock<Mutex<HashMap<String, &'static Read>>> = LazyLock::new(Mutex::default);

fn read(facts: &Facts) -> &'static Read {
    let mut all = READ.lock().unwrap_or_else(|e| e.into_inner());
    all.entry(Table::file_name(facts)).or_insert_with(|| {
        let (tables, complaint) = find(facts, folder().as_deref(), COMMITTED);
        let complaint = complaint.map(|why| format!("tuning table ignored: {why}"));
        let remarks = complaint.into_iter().chain(foreign(facts, &tables));
        Box::leak(Box::new(Read {
            remarks: remarks.collect(),
            tables,
        }))
    })
}

/// Returns the tables of a device in order of precedence: the user's, the committed one of this device, the
/// one for any device. They are read once; an invalid user's file is skipped, and [`remarks`] says why.
pub fn tables(facts: &Facts) -> &'static [Table] {
    &read(facts).tables
}

/// Returns notes for the user about [`tables`]: a skipped file, and that no table is of this device. Programs
/// print them; this crate prints nothing.
pub fn remarks(facts: &Facts) -> &'static [String] {
    &read(facts).remarks
}

/// Picks kernels on `device` by `table` only from now on; with `None` by the order of each registry. Files
/// are ignored.
///
/// # Errors
/// If tables were already read for this device, because a kernel was picked; or if the driver does not
/// respond.
pub fn use_table(device: &Device, table: Option<Table>) -> candle_core::Result<()> {
    insert(Table::file_name(Facts::of(device)?), table)
}

fn insert(name: String, table: Option<Table>) -> candle_core::Result<()> {
    let mut all = READ.lock().unwrap_or_else(|e| e.into_inner());
    if all.contains_key(&name) {
        let expected = "a device on which no kernel was picked yet";
        return Err(mismatch("use_table", expected, name));
    }
    let tables = table.into_iter().collect();
    let remarks = vec![];
    all.insert(name, Box::leak(Box::new(Read { tables, remarks })));
    Ok(())
}

/// Whether one of `tables` was measured on the device of `facts`.
pub fn is_tuned(facts: &Facts, tables: &[Table]) -> bool {
    tables.iter().any(|table| table.is_of(facts))
}

/// Returns a note if no table was measured on this device; `None` for the simulator, which measures no times.
fn foreign(facts: &Facts, tables: &[Table]) -> Option<String> {
    if facts.simulated || is_tuned(facts, tables) {
        return None;
    }
    let kind = if facts.is_gpu() { "GPU" } else { "CPU" };
    let other = match tables.first() {
        Some(table) => format!(
            "picks kernels as measured on {} ({})",
            table.measured_on(),
            table.date
        ),
        None => "has no measurements to pick kernels by".into(),
    };
    let command = tune_command(facts);
    Some(format!(
        "level 5 {other}; it is not tuned for this {kind}: run `{command}`"
    ))
}

/// Returns the command that measures a device, from the repository's folder.
pub fn tune_command(facts: &Facts) -> &'static str {
    if facts.is_gpu() {
        "cargo run --release --features cuda -- tune"
    } else {
        "cargo run --release -- tune"
    }
}

/// Finds the tables for a device, and any problem in the user's own.
fn find(facts: &Facts, folder: Option<&Path>, committed: &[&str]) -> (Vec<Table>, Option<String>) {
    let own = folder.map(|folder| own(facts, &folder.join(Table::file_name(facts))));
    let (own, complaint) = match own.unwrap_or(Ok(None)) {
        Ok(table) => (table, None),
        Err(complaint) => (None, Some(complaint)),
    };
    // A test parses all of them.
    let committed: Vec<_> = committed.iter().flat_map(|t| Table::parse(t)).collect();
    let any = if facts.is_gpu() { ANY_GPU } else { ANY_CPU };
    let of = |device: &str| committed.iter().find(|t| t.device == device).cloned();
    let tables = [own, of(&facts.name), of(any).filter(|_| facts.name != any)];
    (tables.into_iter().flatten().collect(), complaint)
}

fn own(facts: &Facts, path: &Path) -> Result<Option<Table>, String> {
    let table = Table::load(path)?;
    match &table {
        Some(table) if table.device != facts.name => Err(format!(
            "{}: device: expected {:?}, found {:?}",
            path.display(),
            facts.name,
            table.device
        )),
        _ => Ok(table),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::Op;

    fn table(device: &str, date: &str) -> String {
        let table = Table {
            schema: 1,
            device: device.into(),
            measured_on: None,
            driver: None,
            version: "1.2".into(),
            date: date.into(),
            rules: vec![],
        };
        table.text().expect("finite")
    }

    #[test]
    fn a_table_must_be_set_before_a_kernel_is_picked() -> candle_core::Result<()> {
        let rules = vec![];
        let own = Table {
            rules,
            ..Table::parse(&table("mine", "1")).expect("a table")
        };
        // A unique name, because other tests pick kernels on this CPU.
        let facts = Facts::cpu("a CPU of this test", 2);
        let file = Table::file_name(&facts);
        assert!(insert(file.clone(), Some(own.clone())).is_ok());
        assert_eq!(tables(&facts), [own]);
        assert!(remarks(&facts).is_empty());
        let again = insert(file, None).expect_err("it was named");
        let expected = "use_table: expected a device on which no kernel was picked yet, found a-cpu-of-this-test-2-threads.json";
        assert_eq!(again.to_string(), expected);
        Ok(())
    }

    fn names(tables: &[Table]) -> Vec<(&str, &str)> {
        tables.iter().map(|t| (&*t.device, &*t.date)).collect()
    }

    #[test]
    fn the_users_table_comes_first() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let facts = Facts::cpu("a CPU", 2);
        let file = folder.path().join("a-cpu-2-threads.json");
        let committed = [
            table(ANY_GPU, "1"),
            table("a CPU", "2"),
            table(ANY_CPU, "3"),
        ];
        let committed: Vec<&str> = committed.iter().map(String::as_str).collect();
        let find = || find(&facts, Some(folder.path()), &committed);

        let (found, complaint) = find();
        assert_eq!(names(&found), [("a CPU", "2"), (ANY_CPU, "3")]);
        assert_eq!(complaint, None);

        std::fs::write(&file, table("a CPU", "0"))?;
        let (found, complaint) = find();
        assert_eq!(
            names(&found),
            [("a CPU", "0"), ("a CPU", "2"), (ANY_CPU, "3")]
        );
        assert_eq!(complaint, None);

        for (damaged, says) in [
            ("{".to_string(), "EOF"),
            (
                table("another", "0"),
                r#"expected "a CPU", found "another""#,
            ),
        ] {
            std::fs::write(&file, damaged)?;
            let (found, complaint) = find();
            assert_eq!(names(&found), [("a CPU", "2"), (ANY_CPU, "3")]);
            let complaint = complaint.expect("a line");
            assert!(complaint.contains(says) && complaint.contains("a-cpu-2-threads.json"));
            assert_eq!(complaint.lines().count(), 1);
        }
        // The kernel's log has no end.
        #[cfg(target_os = "linux")]
        {
            std::fs::remove_file(&file)?;
            std::os::unix::fs::symlink("/proc/kmsg", &file)?;
            let (_, complaint) = find();
            assert!(complaint.expect("a line").contains("expected a file"));
        }
        Ok(())
    }

    #[test]
    fn an_unmeasured_gpu_uses_the_table_for_any_gpu() {
        let committed = [table(ANY_GPU, "1"), table(ANY_CPU, "2")];
        let committed: Vec<&str> = committed.iter().map(String::as_str).collect();
        let (found, _) = find(&Facts::any_gpu((8, 6), 40), None, &committed);
        assert_eq!(names(&found), [(ANY_GPU, "1")]);
    }

    /// A CPU with another number of threads is another device: a table of two threads says little about
    /// thirty-two.
    #[test]
    fn a_table_of_another_device_is_called_so() {
        let measured = |facts: &Facts| {
            let table = Table::parse(&table(&facts.name, "2026-11-22")).expect("a table");
            vec![table.of_any(facts)]
        };
        let tables = measured(&Facts::cpu("a CPU", 2));
        assert_eq!(foreign(&Facts::cpu("a CPU", 2), &tables), None);
        for other in [Facts::cpu("a CPU", 32), Facts::cpu("another", 2)] {
            let note = foreign(&other, &tables).expect("a note");
            let expected = "level 5 picks kernels as measured on a CPU, 2 threads (2026-11-22); it is not tuned for this CPU: \
                            run `cargo run --release -- tune`";
            assert_eq!(note, expected);
        }
        let note = foreign(&Facts::cpu("a CPU", 2), &[]).expect("a note");
        assert!(note.starts_with("level 5 has no measurements"), "{note}");
        let simulated = Facts {
            simulated: true,
            ..Facts::any_gpu((9, 0), 132)
        };
        assert_eq!(foreign(&simulated, &[]), None);
    }

    #[test]
    fn the_tables_of_any_device_say_where_they_were_measured() {
        for text in COMMITTED {
            let table = Table::parse(text).expect("a table");
            let any = [ANY_GPU, ANY_CPU].contains(&&*table.device);
            assert_eq!(table.measured_on.is_some(), any, "{}", table.device);
            assert!(table.origin().ends_with(&table.date), "{}", table.origin());
        }
    }

    #[test]
    fn the_committed_tables_are_complete() {
        for text in COMMITTED {
            let table = Table::parse(text).expect("a table");
            assert!(!table.rules.is_empty(), "{}", table.device);
            for rule in &table.rules {
                let (kernel, device) = (&rule.kernel, &table.device);
                assert!(is_there(rule.op, kernel), "{device}: {} {kernel}", rule.op);
                assert!(rule.us > 0. && rule.untuned_us > 0., "{device}: {rule}");
            }
        }
    }

    fn is_there(op: Op, kernel: &str) -> bool {
        match op {
            Op::Matmul => crate::matmul::level5::REGISTRY.named(kernel).is_some(),
            Op::Linear | Op::LinearResidual | Op::LinearGelu | Op::LinearSwiglu => {
                crate::linear::level5::REGISTRY.named(kernel).is_some()
            }
            Op::Attention => crate::attention::level5::REGISTRY.named(kernel).is_some(),
            Op::AttentionStep => crate::attention::level5::STEP_REGISTRY
                .named(kernel)
                .is_some(),
            Op::RmsNorm => crate::rms_norm::level5::REGISTRY.named(kernel).is_some(),
            Op::LayerNorm => crate::layer_norm::level5::REGISTRY.named(kernel).is_some(),
        }
    }
}
