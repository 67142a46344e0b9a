//! How a recorded number is written in a chapter: three significant digits and a unit.

use anyhow::{Context, Result, bail};
use results::Row;

/// The figure that `field` names, in `unit` where it is a time.
pub fn figure(row: &Row, field: &str, unit: &str) -> Result<String> {
    let absent = || format!("expected `{field}` in the row `{}`, found null", row.key());
    Ok(match field {
        "median" => time(row.median_ms, unit)?,
        "device" => time(row.device_ms.with_context(absent)?, unit)?,
        "speedup" => ratio(row.speedup),
        "tensors" => row.tensors.to_string(),
        "launches" => row.launches.with_context(absent)?.to_string(),
        "peak" => bytes(row.peak_bytes),
        "difference" => difference(row.max_difference),
        _ => {
            bail!(
                "expected a field median, device, speedup, tensors, launches, peak or difference, found `{field}`"
            )
        }
    })
}

/// `1.23 ms`; units are `s`, `ms` and `us`.
pub fn time(ms: f64, unit: &str) -> Result<String> {
    Ok(match unit {
        "s" => format!("{} s", three_digits(ms / 1e3)),
        "ms" => format!("{} ms", three_digits(ms)),
        "us" => format!("{} µs", three_digits(ms * 1e3)),
        _ => bail!("expected a unit s, ms or us, found `{unit}`"),
    })
}

/// `1.04×`.
pub fn ratio(x: f64) -> String {
    format!("{}×", three_digits(x))
}

/// `12.3 MiB`
pub fn bytes(n: u64) -> String {
    let kib = n as f64 / 1024.;
    match kib {
        _ if kib >= 1024. * 1024. => format!("{} GiB", three_digits(kib / 1024. / 1024.)),
        _ if kib >= 1024. => format!("{} MiB", three_digits(kib / 1024.)),
        _ => format!("{} KiB", three_digits(kib)),
    }
}

/// `3e-7`, or a plain 0.
pub fn difference(x: f64) -> String {
    if x == 0.0 {
        "0".into()
    } else {
        format!("{x:.0e}")
    }
}

/// Three significant digits, never fewer than those before the point.
pub fn three_digits(x: f64) -> String {
    let rounded = format!("{x:.2e}");
    let exponent = rounded
        .split_once('e')
        .and_then(|(_, e)| e.parse::<i32>().ok());
    match exponent {
        Some(exponent) if x != 0.0 => {
            let decimals = (2i32 - exponent).clamp(0, 9) as usize;
            format!("{x:.decimals$}")
        }
        _ => "0".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_significant_digits() {
        let pairs = [
            (0.01234, "0.0123"),
            (0.5, "0.500"),
            (1.234, "1.23"),
            (12.34, "12.3"),
        ];
        for (x, text) in pairs {
            assert_eq!(three_digits(x), text);
        }
        assert_eq!(three_digits(1234.4), "1234");
        assert_eq!(three_digits(9.999), "10.0");
        assert_eq!(three_digits(0.0), "0");
    }

    #[test]
    fn units() {
        assert_eq!(time(1.234, "us").unwrap(), "1234 µs");
        assert_eq!(time(1234.0, "s").unwrap(), "1.23 s");
        assert_eq!(bytes(123_456), "121 KiB");
        assert_eq!(bytes(12_345_678), "11.8 MiB");
        assert_eq!(difference(2.6e-7), "3e-7");
        let error = time(1.0, "hours").unwrap_err().to_string();
        assert_eq!(error, "expected a unit s, ms or us, found `hours`");
    }
}
