//! Recorded products under the roofs that the same run recorded: the memory's limit and the fastest product.
//!
//! "Roofline: an insightful visual performance model", Williams, Waterman, Patterson, 2009.

use super::canvas::{Canvas, WIDTH};
use crate::format::three_digits;
use anyhow::{Context, Result};
use results::bound::{LIMITS, MEMORY};
use results::{OpResults, OpRow};

const LEFT: f64 = 84.;
const RIGHT: f64 = WIDTH - 16.;
const TOP: f64 = 40.;
const FLOOR: f64 = 350.;
/// FLOPs per byte at the two ends, as powers of ten.
const INTENSITY: [f64; 2] = [-1., 2.5];

/// Measured limits: GB/s and GFLOP/s.
struct Roofs {
    bandwidth: f64,
    flops: f64,
}

/// The axes, both in powers of ten.
struct Plot {
    low: f64,
    high: f64,
}

/// Products of f32 at level 3 and at the highest recorded level.
pub fn draw(on: &str, results: &OpResults) -> Result<Canvas> {
    let mut canvas = Canvas::new(
        &format!("roofline-{on}"),
        FLOOR + 48.,
        "Matmuls under the roofs of a machine",
        "Rate against FLOPs per byte, both axes logarithmic. A sloping line is what memory allows, a level line the fastest \
         matmul that was recorded. Matmuls of one row lie at half a FLOP per byte, near the slope, above it if a cache has \
         their weights; matmuls of many rows lie on the right, below the level line.",
    );
    let roofs = roofs(results)?;
    let best = best_level(results)?;
    let points: Vec<&OpRow> = results.rows.iter().filter(|row| product(row)).collect();
    let rates = points.iter().map(|row| rate(row).log10());
    let plot = Plot {
        low: rates.fold(f64::INFINITY, f64::min).floor(),
        high: (roofs.flops * 2.).log10(),
    };
    axes(&mut canvas, &plot);
    roof(&mut canvas, &plot, &roofs);
    for row in points {
        let at = [plot.x(intensity(row)?), plot.y(rate(row))];
        match row.level.as_str() {
            "level3" => canvas.circle(at, 5., "paper stroke b-line"),
            level if level == best => canvas.circle(at, 5., "a"),
            _ => {}
        }
    }
    legend(&mut canvas, best);
    Ok(canvas)
}

/// The memory's limit and the fastest product, in f32.
fn roofs(results: &OpResults) -> Result<Roofs> {
    let mut limits = results.rows.iter().filter(|row| row.op == LIMITS);
    let memory = limits
        .find(|row| row.shape == MEMORY && row.dtype == "f32")
        .context("expected the recorded limit of memory in f32, found none")?;
    let products = results
        .rows
        .iter()
        .filter(|row| row.dtype == "f32" && row.flops.is_some());
    let flops = products
        .filter(|row| row.level.starts_with("level"))
        .map(rate);
    Ok(Roofs {
        bandwidth: memory.bytes.unwrap_or(0) as f64 / memory.us() / 1e3,
        flops: flops.fold(0., f64::max),
    })
}

fn best_level(results: &OpResults) -> Result<&str> {
    let levels = results
        .rows
        .iter()
        .filter(|row| product(row))
        .map(|row| row.level.as_str());
    levels
        .filter(|level| level.starts_with("level")) // and not PyTorch's
        .max()
        .context("expected recorded products in f32, found none")
}

fn product(row: &OpRow) -> bool {
    row.op == "linear" && row.dtype == "f32" && row.flops.is_some()
}

/// GFLOP/s
fn rate(row: &OpRow) -> f64 {
    row.flops.unwrap_or(0) as f64 / row.us() / 1e3
}

/// FLOPs per byte of M × K × N in f32, each operand read once and the result written once.
fn intensity(row: &OpRow) -> Result<f64> {
    let sizes: Vec<f64> = row
        .shape
        .split('x')
        .filter_map(|size| size.parse().ok())
        .collect();
    let [m, k, n] = sizes[..] else {
        anyhow::bail!("{}: expected a shape MxKxN, found `{}`", row.op, row.shape);
    };
    Ok(2. * m * n * k / (4. * (m * k + n * k + m * n)))
}

impl Plot {
    fn x(&self, intensity: f64) -> f64 {
        let [low, high] = INTENSITY;
        LEFT + (intensity.log10() - low) / (high - low) * (RIGHT - LEFT)
    }

    fn y(&self, rate: f64) -> f64 {
        FLOOR - (rate.log10() - self.low) / (self.high - self.low) * (FLOOR - TOP)
    }
}

fn axes(canvas: &mut Canvas, plot: &Plot) {
    canvas.line([LEFT, FLOOR], [RIGHT, FLOOR], "stroke");
    for power in -1..=2 {
        let x = plot.x(10f64.powi(power));
        canvas.line([x, TOP], [x, FLOOR + 5.], "stroke faint");
        canvas.text(
            [x, FLOOR + 20.],
            "small middle",
            format!("{}", 10f64.powi(power)),
        );
    }
    canvas.text([RIGHT, FLOOR + 38.], "small end", "FLOPs per byte");
    for power in plot.low as i32..=plot.high as i32 {
        let rate = 10f64.powi(power);
        canvas.line(
            [LEFT - 5., plot.y(rate)],
            [RIGHT, plot.y(rate)],
            "stroke faint",
        );
        canvas.text(
            [LEFT - 9., plot.y(rate) + 4.],
            "small end",
            format!("{rate}"),
        );
    }
    canvas.text([8., TOP - 20.], "small", "GFLOP/s");
}

fn roof(canvas: &mut Canvas, plot: &Plot, roofs: &Roofs) {
    let ridge = roofs.flops / roofs.bandwidth;
    let left = 10f64
        .powf(INTENSITY[0])
        .max(10f64.powf(plot.low) / roofs.bandwidth);
    let points = [
        [plot.x(left), plot.y(left * roofs.bandwidth)],
        [plot.x(ridge), plot.y(roofs.flops)],
        [RIGHT, plot.y(roofs.flops)],
    ];
    canvas.path(&points, "stroke c-line");
    let memory = format!("memory: {} GB/s", three_digits(roofs.bandwidth));
    let middle = [
        f64::midpoint(points[0][0], points[1][0]),
        f64::midpoint(points[0][1], points[1][1]),
    ];
    canvas.text([middle[0] + 14., middle[1] + 16.], "small", memory);
    let arithmetic = format!(
        "the fastest matmul in f32: {} GFLOP/s",
        three_digits(roofs.flops)
    );
    canvas.text([RIGHT, points[2][1] - 8.], "small end", arithmetic);
}

fn legend(canvas: &mut Canvas, best: &str) {
    canvas.circle([LEFT + 24., TOP - 24.], 5., "a");
    canvas.text(
        [LEFT + 36., TOP - 20.],
        "small",
        format!("{}, f32", best.replace("level", "level ")),
    );
    canvas.circle([LEFT + 190., TOP - 24.], 5., "paper stroke b-line");
    canvas.text([LEFT + 202., TOP - 20.], "small", "level 3, f32");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::{Key, Library};
    use crate::measure::recorded;

    #[test]
    fn the_slope_is_the_limit_that_chapters_quote() -> Result<()> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../benches/results");
        let mut library = Library::open(folder.as_ref(), folder.as_ref())?;
        let key = Key::parse("op.limits.memory.f32.limits.rate")?;
        let quoted = recorded(&key, "us", "h200", &mut library)?;
        let slope = roofs(library.ops.on("h200")?.recorded)?.bandwidth;
        assert_eq!(quoted, format!("{} GB/s", three_digits(slope)));
        Ok(())
    }

    #[test]
    fn the_best_level_is_no_other_system() -> Result<()> {
        let row = |level: &str| OpRow {
            op: "linear".into(),
            level: level.into(),
            dtype: "f32".into(),
            flops: Some(1),
            ..OpRow::default()
        };
        let mut results = OpResults::new(results::Machine::default());
        results.rows = ["level3", "level5", "level4", "pytorch"].map(row).into();
        assert_eq!(best_level(&results)?, "level5");
        results.rows = vec![row("pytorch")];
        assert!(best_level(&results).is_err());
        Ok(())
    }
}
