//! `--trace`: the kernels that ran, their number and times, and their launches on a GPU.

mod plan;
mod table;

use std::time::Duration;

use candle_core::Device;
use models::trace::{Event, Launched, Needs, forget, record};

use plan::plan;
use table::{LEGEND, runs_as, table};

/// All runs of one kernel below the same callers.
#[derive(Default)]
struct Row {
    path: Vec<&'static str>,
    calls: usize,
    tensors: usize,
    /// Needs of all calls together; `None` inside an op, whose needs are known as a whole.
    needs: Option<Needs>,
    time: Duration,
    /// Distinct launches and their counts, in the order of first use.
    launches: Vec<(Launched, usize)>,
    /// Reasons for picking the kernel and their counts, in the order of first use.
    reasons: Vec<(String, usize)>,
}

/// Runs `program`, and if `on` prints a table of the kernels it ran.
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
    let on_gpu = device.is_cuda();
    let rows = rows(&events);
    data::print!("{}\n{LEGEND}", table(&rows, on_gpu));
    data::print!("{}", runs_as(on_gpu));
    if !on_gpu && rows.iter().any(Row::has_launches) {
        data::println!(
            "simulated: PTX that the simulator ran, whose time is no GPU's and no part of the sum."
        );
    }
    Ok(value)
}

/// Runs `pass` before tracing if `on`: the first launch of a kernel waits for the driver to compile it, and
/// the first use of a weight packs it. Neither belongs to an op's time. If the level computes a part of `pass` as a
/// whole, which the trace does not show, it prints those launches.
pub fn warm_up<T>(on: bool, pass: impl Fn() -> anyhow::Result<T>) -> anyhow::Result<()> {
    if on {
        levels::whole(&pass)?;
        if let Some(plan) = plan(&forget()) {
            data::println!("{plan}");
            pass()?;
            forget();
        }
    }
    Ok(())
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
            let path = path.clone();
            rows.insert(
                at,
                Row {
                    path,
                    ..Row::default()
                },
            );
            at
        });
        rows[index].add(event);
    }
    rows
}

/// Index of a new row: after all rows below the same kernel.
fn place(rows: &[Row], path: &[&str]) -> usize {
    let outer = &path[..path.len() - 1];
    let inside = |row: &Row| row.path.starts_with(outer);
    rows.iter().rposition(inside).map_or(rows.len(), |i| i + 1)
}

impl Row {
    fn add(&mut self, event: &Event) {
        self.calls += 1;
        self.tensors += event.tensors;
        self.time += event.time;
        if let Some(more) = event.needs {
            let so_far = self.needs.unwrap_or_default();
            self.needs = Some(Needs {
                bytes: so_far.bytes + more.bytes,
                flops: so_far.flops + more.flops,
            });
        }
        for launch in &event.launches {
            match self.launches.iter_mut().find(|(known, _)| known == launch) {
                Some((_, count)) => *count += 1,
                None => self.launches.push((launch.clone(), 1)),
            }
        }
        if let Some(why) = &event.why {
            match self.reasons.iter_mut().find(|(known, _)| known == why) {
                Some((_, count)) => *count += 1,
                None => self.reasons.push((why.clone(), 1)),
            }
        }
    }

    /// Whether it launched kernels; without a GPU, the simulator ran them.
    fn has_launches(&self) -> bool {
        !self.launches.is_empty()
    }

    fn is_outer(&self) -> bool {
        self.path.len() == 1
    }
}

#[cfg(test)]
mod tests;
