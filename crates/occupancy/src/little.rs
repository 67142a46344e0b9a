//! Little's law for a GPU's memory.

/// Returns how many bytes each of `sms` SMs must have in flight to keep the memory busy: bandwidth × latency / SMs.
///
/// `bandwidth` is in bytes per second, `latency` in seconds. Source: Little, "A Proof for the Queuing Formula
/// L = λW", 1961.
///
/// ```
/// assert_eq!(occupancy::bytes_in_flight(1e12, 1e-6, 100).round(), 10_000.);
/// ```
pub fn bytes_in_flight(bandwidth: f64, latency: f64, sms: u32) -> f64 {
    bandwidth * latency / f64::from(sms)
}
