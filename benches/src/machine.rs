//! Where and when a measurement was made, read from the system without any tool.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use candle_core::Device;
use data::BadInput;
use kernels::dispatch::processor;

use results::Machine;

/// This machine, with the device that computes; `root` is the repository, or a copy of what a measurement needs.
///
/// # Errors
/// When the device does not say what it is.
pub fn describe(device: &Device, root: &Path) -> Result<Machine> {
    let [name, driver, toolkit] = gpu(device)?.map_or([None, None, None], |gpu| gpu.map(Some));
    let days = days(SystemTime::now())?;
    Ok(Machine {
        device: if device.is_cpu() { "cpu" } else { "cuda" }.into(),
        name: name.unwrap_or_else(processor),
        threads: candle_core::utils::get_num_threads(),
        os: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        rustc: env!("RUSTC_VERSION").into(),
        candle: env!("CANDLE_VERSION").into(),
        commit: commit(root).unwrap_or_else(|| "unknown".into()),
        date: date(days),
        driver,
        toolkit,
    })
}

/// The commit of the working tree, with `-dirty` after it when files differ from it, but for what measurements before
/// this one have written; in a bundle, which is no working tree, the one that its file `commit` names.
fn commit(root: &Path) -> Option<String> {
    if let Ok(text) = fs::read_to_string(root.join("commit")) {
        return Some(text.trim().to_string());
    }
    let root = fs::canonicalize(root.join(".")).ok()?;
    let git =
        |arguments: &[&str]| output("git", &[&["-C", root.to_str()?][..], arguments].concat());
    let commit = git(&["rev-parse", "--short=9", "HEAD"])?;
    let recorded = [":!benches/results", ":!README.md"];
    let changed = git(&[&["diff", "--name-only", "HEAD", "--"], &recorded[..]].concat())?;
    Some(if changed.is_empty() {
        commit
    } else {
        commit + "-dirty"
    })
}

/// Returns a program's trimmed stdout, or `None` when it is absent or fails.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_string())
}

/// Days since 1970-01-01.
fn days(now: SystemTime) -> Result<u64, BadInput> {
    /// 9999-12-31, the last day with a year of four digits.
    const LAST: u64 = 2_932_896;
    let since = now.duration_since(UNIX_EPOCH).ok();
    let days = since.map(|since| since.as_secs() / 86_400);
    days.filter(|days| *days <= LAST)
        .ok_or_else(|| BadInput::new("the system's clock", "a time from 1970 to 9999", "another"))
}

/// `2026-11-21` from days since 1970-01-01 (Hinnant, "chrono-compatible low-level date algorithms").
fn date(days: u64) -> String {
    let z = days + 719_468; // days since 0000-03-01
    let (era, day_of_era) = (z / 146_097, z % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Name, driver and toolkit of a GPU.
#[cfg(feature = "cuda")]
fn gpu(device: &Device) -> Result<Option<[String; 3]>> {
    use candle_core::cuda::cudarc::driver::sys::CUDA_VERSION;
    let Ok(cuda) = device.as_cuda_device() else {
        return Ok(None);
    };
    let name = cuda.cuda_stream().context().name()?;
    let text = fs::read_to_string("/proc/driver/nvidia/version").unwrap_or_default();
    let driver = driver(&text).unwrap_or("unknown").to_string();
    let toolkit = format!("{}.{}", CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
    Ok(Some([name, driver, toolkit]))
}

#[cfg(not(feature = "cuda"))]
fn gpu(_: &Device) -> Result<Option<[String; 3]>> {
    Ok(None)
}

/// `580.82.07` of the driver's own line: the first word of numbers and dots.
#[cfg(any(feature = "cuda", test))]
fn driver(version: &str) -> Option<&str> {
    let is_version =
        |word: &&str| word.contains('.') && word.chars().all(|c| c.is_ascii_digit() || c == '.');
    version.split_whitespace().find(is_version)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn dates_follow_the_calendar() {
        let expected = ["1970-01-01", "2000-02-29", "2000-03-01", "2026-11-21"];
        assert_eq!([0, 11_016, 11_017, 20_778].map(date), expected);
    }

    #[test]
    fn a_clock_outside_the_calendar_is_refused() -> Result<()> {
        let day = Duration::from_secs(86_400);
        assert_eq!(date(days(UNIX_EPOCH + 2_932_896 * day)?), "9999-12-31");
        for wrong in [UNIX_EPOCH - day, UNIX_EPOCH + 2_932_897 * day] {
            let error = days(wrong).unwrap_err().to_string();
            assert!(
                error.starts_with("the system's clock: expected a time from 1970 to 9999"),
                "{error}"
            );
        }
        Ok(())
    }

    #[test]
    fn a_version_is_found_in_what_the_driver_says() {
        let version = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release";
        assert_eq!(driver(version), Some("580.82.07"));
    }

    #[test]
    fn the_build_knows_its_versions() {
        for version in [env!("RUSTC_VERSION"), env!("CANDLE_VERSION")] {
            assert!(
                version.starts_with(|c: char| c.is_ascii_digit()),
                "{version:?}"
            );
        }
    }
}
