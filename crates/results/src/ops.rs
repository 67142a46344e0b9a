//! Results of single ops.

use serde::{Deserialize, Serialize};

use crate::figures::{self, Figures, Wrong};
use crate::{Kind, OpResults, Origin};

/// One op on one shape at one level.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpRow {
    /// `linear`
    pub op: String,
    /// Shape as in the benches: `128x512x512`.
    pub shape: String,
    /// `level4`, `pytorch`, or the name of a [limit](is_limit).
    pub level: String,
    /// `f32` or `bf16`.
    pub dtype: String,
    /// Median host time of one call in microseconds, measured over many calls until the device is done.
    pub host_us: f64,
    /// Median device time of one call in microseconds, on a GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_us: Option<f64>,
    /// Median device time of one call in a CUDA graph, in microseconds, if it was recorded on a GPU.
    #[serde(rename = "graph_us", default, skip_serializing_if = "Option::is_none")]
    pub cuda_graph_us: Option<f64>,
    /// Median device time in microseconds of one call whose operands are not in the L2 cache, for
    /// memory-bound ops on a GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold_us: Option<f64>,
    /// 10% quantile in microseconds, by the clock of [`us`](Self::us).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_us: Option<f64>,
    /// 90% quantile in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_us: Option<f64>,
    /// Number of samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<usize>,
    /// Minimum bytes of memory traffic, if the op is memory-bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// FLOPs, if the op is compute-bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flops: Option<u64>,
    /// Minimum bytes of memory traffic, whatever the bound, if the op gives them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_bytes: Option<u64>,
    /// Minimum FLOPs, whatever the bound, if the op gives them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_flops: Option<u64>,
    /// This project's kernels that the call launched on a GPU, each once; without a library's kernels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<String>,
    /// The commit of the measurement, if it differs from the file's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// Whether `level` is a limit next to an op that does more: `copy` of as many bytes; `cusparse_spmm`,
/// cuSPARSE's sum over each node's neighbours with given weights; or `limits` of the device.
pub fn is_limit(level: &str) -> bool {
    ["copy", "cusparse_spmm", "limits"].contains(&level)
}

impl OpRow {
    /// The row's key: `linear.128x512x512.f32.level4`.
    pub fn key(&self) -> String {
        format!("{}.{}.{}.{}", self.op, self.shape, self.dtype, self.level)
    }

    /// Microseconds in a CUDA graph if available, otherwise on the device, otherwise on the host.
    pub fn us(&self) -> f64 {
        self.in_graph().or(self.device_us).unwrap_or(self.host_us)
    }

    /// Microseconds in a CUDA graph. For a copy, which is a limit, the faster of graph and device time
    /// counts: on an H200, large copies are slower in a graph, by half.
    fn in_graph(&self) -> Option<f64> {
        match (self.level.as_str(), self.device_us) {
            ("copy", Some(device)) => self.cuda_graph_us.map(|graph| graph.min(device)),
            _ => self.cuda_graph_us,
        }
    }

    /// Microseconds of both rows, by the first of the three clocks that both have.
    pub fn beside(&self, other: &Self) -> (f64, f64) {
        let both = |clock: fn(&Self) -> Option<f64>| clock(self).zip(clock(other));
        both(Self::in_graph)
            .or_else(|| both(|row| row.device_us))
            .unwrap_or((self.host_us, other.host_us))
    }

    /// The 10% and 90% quantiles; both are the median if they were not recorded.
    pub fn spread(&self) -> (f64, f64) {
        let us = self.us();
        if self.cuda_graph_us.is_some_and(|graph| us < graph) {
            return (us, us); // a copy's that was not in the graph: the samples of that clock are not kept
        }
        (self.low_us.unwrap_or(us), self.high_us.unwrap_or(us))
    }

    /// Whether the row is a library's or another framework's.
    pub fn is_other(&self) -> bool {
        let names = ["pytorch", "candle", "gemm"];
        names.iter().any(|name| self.level.starts_with(name))
    }

    /// Whether the row is a level that runs candle's ops without this project's kernels.
    fn is_candle(&self) -> bool {
        ["level1", "level2"].contains(&self.level.as_str())
    }

    /// Whether the row is a level's, not a limit.
    fn is_own(&self) -> bool {
        !self.is_other() && !is_limit(&self.level)
    }
}

impl Figures for OpRow {
    const KIND: Kind = Kind::Ops;

    fn address(&self) -> String {
        self.key()
    }

    fn part(&self) -> String {
        format!("{} {}", self.op, self.dtype)
    }

    fn subject(&self) -> String {
        self.shape.clone()
    }

    fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    fn origin_mut(&mut self) -> &mut Option<Origin> {
        &mut self.origin
    }

    fn check(&self) -> Result<(), Wrong> {
        figures::names([
            ("op", &self.op),
            ("shape", &self.shape),
            ("dtype", &self.dtype),
        ])?;
        figures::level_name(&self.level)?;
        (self.kernels.iter()).try_for_each(|name| figures::text("kernels", name))?;
        figures::times([
            ("host_us", Some(self.host_us)),
            ("device_us", self.device_us),
            ("graph_us", self.cuda_graph_us),
            ("cold_us", self.cold_us),
            ("low_us", self.low_us),
            ("high_us", self.high_us),
        ])?;
        if let (Some(low), Some(high)) = (self.low_us, self.high_us) {
            figures::ordered([("low_us", low), ("high_us", high)])?;
        }
        figures::counts([
            ("bytes", self.bytes),
            ("flops", self.flops),
            ("samples", self.samples.map(|n| n as u64)),
        ])
    }
}

impl OpResults {
    /// Iterates over the cases: rows of one op, shape and dtype.
    pub fn cases(&self) -> impl Iterator<Item = &[OpRow]> {
        let case = |row: &OpRow| [&row.op, &row.shape, &row.dtype].map(String::clone);
        self.rows.chunk_by(move |a, b| case(a) == case(b))
    }

    /// Cases where a library or another framework is faster than every level: the fastest level, and the
    /// fastest other system.
    pub fn behind(&self) -> Vec<(&OpRow, &OpRow)> {
        let pair = |rows| {
            Some((
                fastest(rows, OpRow::is_own)?,
                fastest(rows, OpRow::is_other)?,
            ))
        };
        let ahead = |(own, other): &(&OpRow, &OpRow)| {
            let (own, other) = own.beside(other);
            other < own
        };
        self.cases().filter_map(pair).filter(ahead).collect()
    }
}

/// The clock of the times in one line of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpClock {
    /// Device time of calls in a CUDA graph.
    CudaGraph,
    /// Device time of single calls.
    Device,
    /// Host time of single calls.
    Host,
}

impl OpClock {
    /// Returns the first clock that all rows of a case have, except for levels 1 and 2. Some of candle's ops
    /// cannot be recorded, and their kernels take long enough that gaps between launches matter little.
    pub fn of<'a>(case: impl IntoIterator<Item = &'a OpRow> + Clone) -> Self {
        let all = |clock: Self| {
            let mut rows = case.clone().into_iter();
            rows.all(|row| clock.has(row) || row.is_candle() && row.device_us.is_some())
        };
        [Self::CudaGraph, Self::Device]
            .into_iter()
            .find(|clock| all(*clock))
            .unwrap_or(Self::Host)
    }

    /// Whether the row was timed by this clock.
    pub fn has(self, row: &OpRow) -> bool {
        match self {
            Self::CudaGraph => row.cuda_graph_us.is_some(),
            Self::Device => row.device_us.is_some(),
            Self::Host => true,
        }
    }

    /// The row's microseconds by this clock, or by the next one it has.
    pub fn us(self, row: &OpRow) -> f64 {
        match self {
            Self::CudaGraph => row.us(),
            Self::Device => row.device_us.unwrap_or(row.host_us),
            Self::Host => row.host_us,
        }
    }
}

fn fastest(rows: &[OpRow], of: fn(&OpRow) -> bool) -> Option<&OpRow> {
    let faster = |a: &&OpRow, b: &&OpRow| {
        let (a, b) = a.beside(b);
        a.total_cmp(&b)
    };
    rows.iter().filter(|row| of(row)).min_by(faster)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Machine;

    fn row(shape: &str, level: &str, host_us: f64, device_us: Option<f64>) -> OpRow {
        OpRow {
            op: "linear".into(),
            shape: shape.into(),
            level: level.into(),
            dtype: "f32".into(),
            host_us,
            device_us,
            ..OpRow::default()
        }
    }

    #[test]
    fn two_rows_are_compared_by_one_clock() {
        let both = row("1x2", "level5", 9., Some(2.));
        let host = row("1x2", "pytorch", 5., None);
        assert_eq!(both.beside(&host), (9., 5.));
        let graph = OpRow {
            cuda_graph_us: Some(1.),
            ..both.clone()
        };
        assert_eq!((graph.us(), graph.beside(&both)), (1., (2., 2.)));
        assert_eq!(both.spread(), (2., 2.));
        let clock = |case: &[&OpRow]| OpClock::of(case.iter().copied());
        assert_eq!(clock(&[&graph, &graph]), OpClock::CudaGraph);
        assert_eq!(clock(&[&graph, &both]), OpClock::Device);
        assert_eq!(clock(&[&graph, &both, &host]), OpClock::Host);
        let naive = OpRow {
            level: "level1".into(),
            ..both.clone()
        };
        assert_eq!(clock(&[&graph, &naive]), OpClock::CudaGraph);
        assert_eq!(OpClock::CudaGraph.us(&naive), 2.);
        assert!(!OpClock::CudaGraph.has(&naive) && OpClock::Device.has(&naive));

        let slow = OpRow {
            cuda_graph_us: Some(3.),
            low_us: Some(3.),
            ..both.clone()
        };
        let copy = OpRow {
            level: "copy".into(),
            ..slow.clone()
        };
        assert_eq!((slow.us(), slow.spread()), (3., (3., 3.)));
        assert_eq!((copy.us(), copy.spread()), (2., (2., 2.)));
        assert_eq!(OpClock::CudaGraph.us(&copy), 2.);
    }

    #[test]
    fn a_case_is_lost_if_another_is_faster_than_every_level() {
        let mut results = OpResults::new(Machine::default());
        results.rows = vec![
            row("1x2", "level2", 8., Some(3.)),
            row("1x2", "level5", 9., Some(2.)),
            row("1x2", "copy", 1., Some(1.)),
            row("1x2", "cusparse_spmm", 1., Some(1.)),
            row("1x2", "pytorch", 20., Some(1.5)),
            row("3x4", "level5", 9., Some(2.)),
            row("3x4", "pytorch", 2., Some(2.5)),
            row("5x6", "level5", 9., None),
        ];
        let behind = results.behind();
        let names: Vec<(String, String)> = (behind.iter())
            .map(|(own, other)| (own.key(), other.key()))
            .collect();
        let expected = ("linear.1x2.f32.level5", "linear.1x2.f32.pytorch");
        assert_eq!(names, [(expected.0.into(), expected.1.into())]);
    }
}
