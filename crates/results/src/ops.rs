//! Single ops.

use serde::{Deserialize, Serialize};

use crate::figures::{self, Figures, Wrong};
use crate::{Kind, OpResults, Origin};

/// One op on one shape at one level.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct OpRow {
    /// `linear`
    pub op: String,
    /// `128x512x512`, as the benches name it.
    pub shape: String,
    /// `level4`; `pytorch`; or of a [limit](is_limit).
    pub level: String,
    /// `f32` or `bf16`.
    pub dtype: String,
    /// One call of many, until the device has done them all: median, microseconds.
    pub host_us: f64,
    /// One call on the device alone: median, microseconds. On a GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_us: Option<f64>,
    /// One call of those of a CUDA graph, on the device alone: median, microseconds. On a GPU, where it was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph_us: Option<f64>,
    /// One call on the device alone that finds the L2 full of something else: median, microseconds. On a GPU, where memory is the
    /// limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cold_us: Option<f64>,
    /// By the clock of [`us`](Self::us), a tenth of the samples is below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_us: Option<f64>,
    /// A tenth of them is above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_us: Option<f64>,
    /// How many they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<usize>,
    /// Read and written at least, where memory is the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Where arithmetic is the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flops: Option<u64>,
    /// What the call needs at the least, whichever is the limit, where the op says so: bytes of memory traffic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_bytes: Option<u64>,
    /// The same, floating-point operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs_flops: Option<u64>,
    /// This project's kernels that it started on a GPU, each once; those of a library are not among them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<String>,
    /// Where it is of another commit than the file says: one that was measured before, and not since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// Whether `level` stands beside an op that does more: `copy`, of as many bytes; `cusparse_spmm`, the sum over each node's
/// neighbours with weights that are given, by cuSPARSE; `limits` of the device.
pub fn is_limit(level: &str) -> bool {
    ["copy", "cusparse_spmm", "limits"].contains(&level)
}

impl OpRow {
    /// The row's address: `linear.128x512x512.f32.level4`.
    pub fn key(&self) -> String {
        format!("{}.{}.{}.{}", self.op, self.shape, self.dtype, self.level)
    }

    /// In a CUDA graph where it was timed in one, else on the device, else by the host's clock; microseconds.
    pub fn us(&self) -> f64 {
        self.in_graph().or(self.device_us).unwrap_or(self.host_us)
    }

    /// In a CUDA graph. A copy stands for the limit, and much memory is copied in another way in a graph, by half slower
    /// on an H200: of a copy the faster time counts.
    fn in_graph(&self) -> Option<f64> {
        match (self.level.as_str(), self.device_us) {
            ("copy", Some(device)) => self.graph_us.map(|graph| graph.min(device)),
            _ => self.graph_us,
        }
    }

    /// This row's microseconds and the other's, by the first of the three clocks that both have.
    pub fn beside(&self, other: &Self) -> (f64, f64) {
        let both = |clock: fn(&Self) -> Option<f64>| clock(self).zip(clock(other));
        both(Self::in_graph)
            .or_else(|| both(|row| row.device_us))
            .unwrap_or((self.host_us, other.host_us))
    }

    /// Where a tenth of the samples begins and ends; both are the median where that was not recorded.
    pub fn spread(&self) -> (f64, f64) {
        let us = self.us();
        if self.graph_us.is_some_and(|graph| us < graph) {
            return (us, us); // a copy's that was not in the graph: the samples of that clock are not kept
        }
        (self.low_us.unwrap_or(us), self.high_us.unwrap_or(us))
    }

    /// Whether a library's or another framework's, not a level's.
    pub fn is_other(&self) -> bool {
        let names = ["pytorch", "candle", "gemm"];
        names.iter().any(|name| self.level.starts_with(name))
    }

    /// Whether a level's that is candle's ops, and none of this project's kernels.
    fn is_candle(&self) -> bool {
        ["level1", "level2"].contains(&self.level.as_str())
    }

    /// Whether a level's, not a limit.
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
        figures::times([
            ("host_us", Some(self.host_us)),
            ("device_us", self.device_us),
            ("graph_us", self.graph_us),
            ("cold_us", self.cold_us),
            ("low_us", self.low_us),
            ("high_us", self.high_us),
        ])?;
        figures::counts([("bytes", self.bytes), ("flops", self.flops)])
    }
}

impl OpResults {
    /// The rows of one op, shape and number format each.
    pub fn cases(&self) -> impl Iterator<Item = &[OpRow]> {
        let case = |row: &OpRow| [&row.op, &row.shape, &row.dtype].map(String::clone);
        self.rows.chunk_by(move |a, b| case(a) == case(b))
    }

    /// The cases in which a library or another framework is ahead of every level: the fastest level, and the fastest
    /// other.
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

/// What times in one line of a table are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpClock {
    /// Calls of a CUDA graph, on the device.
    Graph,
    /// Calls one by one, on the device.
    Device,
    /// Calls one by one, by the host's clock.
    Host,
}

impl OpClock {
    /// The first that all rows of a case have, but for levels 1 and 2: not all of candle's ops can be recorded, and
    /// their kernels take long enough for the gaps between launches to be little.
    pub fn of<'a>(case: impl IntoIterator<Item = &'a OpRow> + Clone) -> Self {
        let all = |clock: Self| {
            let mut rows = case.clone().into_iter();
            rows.all(|row| clock.has(row) || row.is_candle() && row.device_us.is_some())
        };
        [Self::Graph, Self::Device]
            .into_iter()
            .find(|clock| all(*clock))
            .unwrap_or(Self::Host)
    }

    /// Whether the row was timed by it.
    pub fn has(self, row: &OpRow) -> bool {
        match self {
            Self::Graph => row.graph_us.is_some(),
            Self::Device => row.device_us.is_some(),
            Self::Host => true,
        }
    }

    /// The row's time by it, or by the next that it has; microseconds.
    pub fn us(self, row: &OpRow) -> f64 {
        match self {
            Self::Graph => row.us(),
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
    fn two_rows_are_held_to_each_other_by_one_clock() {
        let both = row("1x2", "level5", 9., Some(2.));
        let host = row("1x2", "pytorch", 5., None);
        assert_eq!(both.beside(&host), (9., 5.));
        let graph = OpRow {
            graph_us: Some(1.),
            ..both.clone()
        };
        assert_eq!((graph.us(), graph.beside(&both)), (1., (2., 2.)));
        assert_eq!(both.spread(), (2., 2.));
        let clock = |case: &[&OpRow]| OpClock::of(case.iter().copied());
        assert_eq!(clock(&[&graph, &graph]), OpClock::Graph);
        assert_eq!(clock(&[&graph, &both]), OpClock::Device);
        assert_eq!(clock(&[&graph, &both, &host]), OpClock::Host);
        let naive = OpRow {
            level: "level1".into(),
            ..both.clone()
        };
        assert_eq!(clock(&[&graph, &naive]), OpClock::Graph);
        assert_eq!(OpClock::Graph.us(&naive), 2.);
        assert!(!OpClock::Graph.has(&naive) && OpClock::Device.has(&naive));

        let slow = OpRow {
            graph_us: Some(3.),
            low_us: Some(3.),
            ..both.clone()
        };
        let copy = OpRow {
            level: "copy".into(),
            ..slow.clone()
        };
        assert_eq!((slow.us(), slow.spread()), (3., (3., 3.)));
        assert_eq!((copy.us(), copy.spread()), (2., (2., 2.)));
        assert_eq!(OpClock::Graph.us(&copy), 2.);
    }

    #[test]
    fn a_loss_is_a_case_in_which_an_other_is_ahead_of_every_level() {
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
