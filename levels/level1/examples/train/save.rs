//! Output of a training: the model's folder, and the record of how it was made.

use std::collections::HashMap;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use candle_core::DType;
use data::BadInput;
use serde_json::{Value, json};

use crate::run::{Training, recent};
use crate::task::Task;

/// Writes a file whole or not at all, and makes its folder if there is none.
pub fn write_file(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|e| BadInput::unwritable(folder, &e))?;
    }
    Ok(data::save_as(path, bytes)?)
}

/// Writes JSON that people read, too.
pub fn write_json(path: &Path, value: &Value) -> anyhow::Result<()> {
    write_file(path, format!("{value:#}\n").as_bytes())
}

/// Writes the weights in bf16, the configuration, and what else belongs to the model. The weights, by far the largest,
/// are first: a disk that they do not fit on keeps the earlier model.
pub fn model<T: Task>(folder: &Path, task: &T, training: &Training) -> anyhow::Result<()> {
    let files = task.files()?;
    let vars = training.variables.all();
    let weights = vars
        .iter()
        .map(|(name, var)| Ok((name, var.as_tensor().to_dtype(DType::BF16)?)))
        .collect::<candle_core::Result<Vec<_>>>()?;
    // transformers asks for the framework that wrote the file.
    let metadata = HashMap::from([("format".to_string(), "pt".to_string())]);
    let views = weights.iter().map(|(name, tensor)| (name, tensor));
    let bytes = safetensors::serialize(views, Some(metadata))?;
    write_file(&folder.join("model.safetensors"), &bytes)?;
    for (name, bytes) in files {
        write_file(&folder.join(name), &bytes)?;
    }
    write_json(&folder.join("config.json"), &task.config())
}

/// The record of a training: how long, on what, and what came out.
pub fn record(training: &Training, figures: Value) -> Result<Value, BadInput> {
    Ok(json!({
        "steps": training.losses.len(),
        "seconds": training.seconds.round(),
        "seed": training.seed,
        "parameters": training.variables.count(),
        "final_loss": recent(&training.losses),
        "date": date(SystemTime::now())?,
        "machine": machine(),
        "eval": figures,
    }))
}

fn machine() -> Value {
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = info
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map(|(_, name)| name.trim());
    json!({
        "cpu": cpu,
        "cores": crate::shards::threads(),
        "arch": std::env::consts::ARCH,
        "os": std::env::consts::OS,
    })
}

/// The day in UTC, `2026-01-31`.
///
/// # Errors
/// [`BadInput`] before 1970 and after 9999.
pub fn date(now: SystemTime) -> Result<String, BadInput> {
    /// The last second with a year of four digits.
    const LAST: u64 = 253_402_300_799;
    let since = now.duration_since(UNIX_EPOCH);
    if !since.is_ok_and(|since| since.as_secs() <= LAST) {
        let expected = "a time from 1970 to 9999";
        return Err(BadInput::new("the system's clock", expected, "another"));
    }
    let now = humantime::format_rfc3339_seconds(now).to_string();
    Ok(now.chars().take_while(|c| *c != 'T').collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_have_years_of_four_digits() {
        let time = |days: u64| std::time::Duration::from_secs(86_400 * days);
        let day = |days: u64| date(UNIX_EPOCH + time(days)).unwrap();
        assert_eq!(day(11_016), "2000-02-29");
        assert_eq!(day(20_818), "2026-12-31");
        assert_eq!(day(2_932_896), "9999-12-31");
        for wrong in [UNIX_EPOCH - time(1), UNIX_EPOCH + time(2_932_897)] {
            date(wrong).unwrap_err();
        }
    }

    /// As on a full disk: the exit code is that of a file that cannot be written.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_the_users() {
        let error = write_file("/dev/full".as_ref(), b"1").unwrap_err();
        let bad: &BadInput = error.downcast_ref().unwrap();
        assert!(
            bad.to_string().starts_with("cannot write `/dev/full`: "),
            "{bad}"
        );
    }

    #[test]
    fn a_file_is_replaced_and_nothing_else_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/a.json");
        write_file(&path, b"1").unwrap();
        write_file(&path, b"2").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"2");
        assert_eq!(
            std::fs::read_dir(folder.path().join("new"))
                .unwrap()
                .count(),
            1
        );
    }
}
