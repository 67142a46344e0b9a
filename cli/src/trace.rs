//! `--trace`: which kernels ran, how often and how long.

use std::io::Write;
use std::time::Duration;

use candle_core::Device;
use models::trace::{Event, record};

/// All runs of one kernel inside the same other ones.
struct Row {
    path: Vec<&'static str>,
    calls: usize,
    tensors: usize,
    time: Duration,
}

/// Runs `program`, and with `on` prints a table of the kernels that it ran.
pub fn traced<T>(
    on: bool,
    device: &Device,
    program: impl FnOnce() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    if !on {
        return program();
    }
    let (value, events) = record(device, || Ok(program()))?;
    let value = value?;
    std::io::stdout().write_all(table(&rows(&events)).as_bytes())?;
    Ok(value)
}

fn rows(events: &[Event]) -> Vec<Row> {
    let mut rows: Vec<Row> = vec![];
    let mut path = vec![];
    for event in events {
        path.truncate(event.depth);
        path.push(event.kernel);
        let index = rows.iter().position(|row| row.path == path);
        let index = index.unwrap_or_else(|| {
            let at = place(&rows, &path);
            rows.insert(
                at,
                Row {
                    path: path.clone(),
                    calls: 0,
                    tensors: 0,
                    time: Duration::ZERO,
                },
            );
            at
        });
        let row = &mut rows[index];
        row.calls += 1;
        row.tensors += event.tensors;
        row.time += event.time;
    }
    rows
}

/// Where a new row goes: behind all that is in the same kernel.
fn place(rows: &[Row], path: &[&str]) -> usize {
    let outer = &path[..path.len() - 1];
    let inside = |row: &Row| row.path.starts_with(outer);
    rows.iter().rposition(inside).map_or(rows.len(), |i| i + 1)
}

/// A line a row; the share is that of the time in all kernels.
fn table(rows: &[Row]) -> String {
    let outer = |row: &&Row| row.path.len() == 1;
    let total: Duration = rows.iter().filter(outer).map(|row| row.time).sum();
    let name = |row: &Row| {
        let kernel = row.path.last().copied().unwrap_or_default();
        format!("{}{kernel}", "  ".repeat(row.path.len() - 1))
    };
    let width = rows.iter().map(|row| name(row).len()).max().unwrap_or(0);
    let mut text = format!(
        "{:width$}  {:>7}  {:>8}  {:>10}  {:>6}\n",
        "kernel", "calls", "tensors", "ms", "share"
    );
    for row in rows {
        text += &format!(
            "{:width$}  {:>7}  {:>8}  {:>10.3}  {:>5.1}%\n",
            name(row),
            row.calls,
            row.tensors,
            row.time.as_secs_f64() * 1e3,
            100. * row.time.as_secs_f64() / total.as_secs_f64().max(f64::MIN_POSITIVE),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kernel: &'static str, depth: usize, ms: u64) -> Event {
        Event {
            kernel,
            depth,
            tensors: 2,
            time: Duration::from_millis(ms),
            launches: vec![],
        }
    }

    #[test]
    fn events_are_added_up_where_they_nest() {
        let events = [
            event("qkv_level2", 0, 3),
            event("linear_level1", 1, 2),
            event("linear_level1", 0, 4),
            event("qkv_level2", 0, 3),
            event("linear_level1", 1, 1),
        ];
        let expected = "\
kernel             calls   tensors          ms   share
qkv_level2             2         4       6.000   60.0%
  linear_level1        2         4       3.000   30.0%
linear_level1          1         2       4.000   40.0%
";
        assert_eq!(table(&rows(&events)), expected);
    }

    #[test]
    fn a_program_that_runs_no_kernel_has_an_empty_table() -> anyhow::Result<()> {
        assert_eq!(traced(true, &Device::Cpu, || Ok(7))?, 7);
        Ok(())
    }
}
