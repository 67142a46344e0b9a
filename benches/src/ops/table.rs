//! The table of a group of ops.

/// Lists the ops of a group, one line each: its name, its chart, its shape in the roofline, and the function that times it.
macro_rules! timed {
    ($($op:ident: $chart:ident, $in_roofline:expr, $times:ident;)*) => {
        pub const OPS: &[super::Op] = &[$(super::Op {
            name: stringify!($op),
            chart: super::Chart::$chart,
            in_roofline: $in_roofline,
        }),*];

        pub fn all(bench: &mut impl super::Bench) -> candle_core::Result<()> {
            $($times(bench)?;)*
            Ok(())
        }
    };
}
