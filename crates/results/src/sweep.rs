//! Results of whole models over the size of their input.

use serde::{Deserialize, Serialize};

use crate::figures::{self, Figures, Wrong};
use crate::{Kind, Origin};

/// A size of a model's input at one level.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepRow {
    /// `lm`, `vit` or `gnn`.
    pub model: String,
    /// `tiny`, or the name of a preset.
    pub preset: String,
    /// The varied size: `tokens`, `batch`, `nodes` or `edges`.
    pub axis: String,
    /// Description with the fixed sizes: `edges, of 1024 nodes`.
    pub what: String,
    /// Value of the varied size.
    pub size: usize,
    /// Level, from 1 for naive candle ops.
    pub level: u8,
    /// Whether the forward pass was one CUDA graph.
    #[serde(rename = "graph", default, skip_serializing_if = "std::ops::Not::not")]
    pub cuda_graph: bool,
    /// `f32` or `bf16`.
    pub dtype: String,
    /// Median time of a forward pass in milliseconds.
    pub median_ms: f64,
    /// 10% quantile in milliseconds.
    pub low_ms: f64,
    /// 90% quantile in milliseconds.
    pub high_ms: f64,
    /// Number of timed runs.
    pub samples: usize,
    /// The commit of the measurement, if it differs from the file's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

impl SweepRow {
    /// The row's key: `lm.tiny.tokens128.f32.level4`.
    pub fn key(&self) -> String {
        let Self {
            model,
            preset,
            axis,
            size,
            dtype,
            level,
            cuda_graph,
            ..
        } = self;
        let graph = if *cuda_graph { ".graph" } else { "" };
        format!("{model}.{preset}.{axis}{size}.{dtype}.level{level}{graph}")
    }

    /// `level 5`, `level 5 in a graph`
    pub fn variant(&self) -> String {
        let graph = if self.cuda_graph { " in a graph" } else { "" };
        format!("level {}{graph}", self.level)
    }
}

impl Figures for SweepRow {
    const KIND: Kind = Kind::Sweep;

    fn address(&self) -> String {
        self.key()
    }

    fn part(&self) -> String {
        [&*self.model, &self.preset, &self.dtype].join(" ")
    }

    fn subject(&self) -> String {
        self.axis.clone()
    }

    fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    fn origin_mut(&mut self) -> &mut Option<Origin> {
        &mut self.origin
    }

    fn check(&self) -> Result<(), Wrong> {
        figures::names([
            ("model", &self.model),
            ("preset", &self.preset),
            ("axis", &self.axis),
            ("dtype", &self.dtype),
        ])?;
        figures::text("what", &self.what)?;
        figures::level(self.level)?;
        figures::counts([
            ("size", Some(self.size as u64)),
            ("samples", Some(self.samples as u64)),
        ])?;
        figures::times([
            ("median_ms", Some(self.median_ms)),
            ("low_ms", Some(self.low_ms)),
            ("high_ms", Some(self.high_ms)),
        ])?;
        figures::ordered([
            ("low_ms", self.low_ms),
            ("median_ms", self.median_ms),
            ("high_ms", self.high_ms),
        ])
    }
}

/// Returns the exponent p of time ∝ sizeᵖ: the slope of the least-squares line through (ln size, ln time);
/// NaN for fewer than two sizes.
pub fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let products = logs.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>();
    let squares = logs.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>();
    products / squares
}

/// Returns the upper half of the points, at least two; fixed costs such as launches affect the smaller sizes.
pub fn upper_half(points: &[(f64, f64)]) -> &[(f64, f64)] {
    let middle = points.len() / 2;
    &points[middle.min(points.len().saturating_sub(2))..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_law_has_its_exponent_as_slope() {
        for power in [0., 0.5, 1., 2.] {
            let law = |x: f64| (x, 3. * x.powf(power));
            let points = [16., 32., 64., 200.].map(law);
            assert!((slope(&points) - power).abs() < 1e-12, "{power}");
        }
        assert!(slope(&[(1., 2.)]).is_nan() && slope(&[]).is_nan());
    }

    #[test]
    fn fixed_costs_bend_only_the_lower_half() {
        let points: Vec<(f64, f64)> = [1., 2., 4., 64., 128., 256.]
            .map(|x| (x, f64::max(x, 8.)))
            .into();
        assert_eq!(upper_half(&points).len(), 3);
        assert!((slope(upper_half(&points)) - 1.).abs() < 1e-12);
        assert!(slope(&points) < 0.8);
        for n in 0..4 {
            assert_eq!(upper_half(&points[..n]).len(), n.min(2));
        }
    }

    #[test]
    fn a_row_has_a_key() {
        let row = SweepRow {
            model: "lm".into(),
            preset: "tiny".into(),
            axis: "tokens".into(),
            size: 128,
            level: 4,
            dtype: "f32".into(),
            ..SweepRow::default()
        };
        assert_eq!(row.key(), "lm.tiny.tokens128.f32.level4");
        let row = SweepRow {
            cuda_graph: true,
            ..row
        };
        assert_eq!(row.key(), "lm.tiny.tokens128.f32.level4.graph");
        assert_eq!(row.variant(), "level 4 in a graph");
    }
}
