//! The loss over the steps, as a chart.

use std::path::{Path, PathBuf};

use charts::{Axis, LineChart, Series};

/// Points of the line: each is the mean of the steps it stands for.
const POINTS: usize = 200;

/// Draws the losses of a training into `stem`.svg and `stem`.png.
pub fn draw(stem: &Path, title: &str, losses: &[f32]) -> anyhow::Result<[PathBuf; 2]> {
    let chart = LineChart {
        title: title.to_string(),
        x: Axis::linear("step"),
        y: Axis::log("cross-entropy (nats)"),
        series: vec![Series {
            name: "training".to_string(),
            points: points(losses),
        }],
        note: String::new(),
    };
    if let Some(folder) = stem.parent() {
        std::fs::create_dir_all(folder)?;
    }
    Ok(charts::line_chart(stem, &chart)?)
}

/// (last step, mean loss) of runs of equal length.
fn points(losses: &[f32]) -> Vec<(f64, f64)> {
    let run = losses.len().div_ceil(POINTS).max(1);
    let point = |(i, losses): (usize, &[f32])| {
        let mean = losses.iter().map(|&x| f64::from(x)).sum::<f64>() / losses.len() as f64;
        ((i * run + losses.len()) as f64, mean)
    };
    losses.chunks(run).enumerate().map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_means_of_all_steps() {
        assert_eq!(points(&[3., 1.]), [(1., 3.), (2., 1.)]);
        let losses: Vec<f32> = (1..=401).map(|i| i as f32).collect();
        let points = points(&losses);
        assert_eq!(points.len(), 134);
        assert_eq!(points[0], (3., 2.));
        assert_eq!(points[133], (401., 400.5));
    }
}
