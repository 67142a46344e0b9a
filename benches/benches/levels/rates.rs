//! The wall clock, with rates in the units that the ops and the models have.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use benches::ops::Work;
use criterion::Throughput;
use criterion::measurement::{Measurement, ValueFormatter, WallTime};

/// Unit of a case's rate, set before each case. Criterion itself knows bytes, in powers of 1024, and elements.
pub type Unit = Rc<Cell<&'static str>>;

/// The wall clock, for cases whose [`Unit`] may change.
pub struct Rates {
    clock: WallTime,
    unit: Unit,
}

impl Rates {
    /// With rates in what `unit` says at the time.
    pub fn new(unit: Unit) -> Self {
        Self {
            clock: WallTime,
            unit,
        }
    }

    /// The unit of the rates of `work`, a workload of `group` or a call of an op.
    pub fn unit(group: &str, work: Work) -> &'static str {
        match (work, group) {
            (Work::Bytes(_), _) => "GB/s",
            (Work::Flops(_), _) => "GFLOP/s",
            (Work::Items(_), "lm") => "tokens/s",
            (Work::Items(_), "vit") => "pictures/s",
            (Work::Items(_), "gnn") => "graphs/s",
            (Work::Items(_), _) => "calls/s",
        }
    }
}

/// The clock itself is Criterion's.
impl Measurement for Rates {
    type Intermediate = Instant;
    type Value = Duration;

    fn start(&self) -> Instant {
        self.clock.start()
    }

    fn end(&self, start: Instant) -> Duration {
        self.clock.end(start)
    }

    fn add(&self, a: &Duration, b: &Duration) -> Duration {
        self.clock.add(a, b)
    }

    fn zero(&self) -> Duration {
        self.clock.zero()
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        self.clock.to_f64(value)
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        self
    }
}

impl ValueFormatter for Rates {
    fn scale_values(&self, typical: f64, values: &mut [f64]) -> &'static str {
        self.clock.formatter().scale_values(typical, values)
    }

    /// From nanoseconds: amounts a nanosecond are 10⁹ of them a second.
    fn scale_throughputs(&self, _: f64, work: &Throughput, values: &mut [f64]) -> &'static str {
        let unit = self.unit.get();
        let amount = match *work {
            Throughput::Bytes(n) | Throughput::Elements(n) => n as f64,
            ref other => unreachable!("expected bytes or elements, found {other:?}"),
        };
        let scale = if unit.starts_with('G') { 1. } else { 1e9 };
        values.iter_mut().for_each(|ns| *ns = scale * amount / *ns);
        unit
    }

    fn scale_for_machines(&self, values: &mut [f64]) -> &'static str {
        self.clock.formatter().scale_for_machines(values)
    }
}
