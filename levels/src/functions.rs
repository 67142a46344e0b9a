//! The narrow functions that the methods of a level are made of.

use kernels::for_each_function;
pub use kernels::functions::Functions;

macro_rules! functions {
    ($($(#[$doc:meta])* $folder:ident: $name:ident($($argument:tt)*) in $($level:ident)*;)*) => {
        /// The functions of all levels, in order.
        pub fn functions() -> Vec<Functions> {
            let of_candle = [
                Functions { level: 1, $($name: level1::ops::$name),* },
                Functions { level: 2, $($name: level2::ops::$name),* },
            ];
            of_candle.into_iter().chain(kernels::functions::functions()).collect()
        }
    };
}
for_each_function!(functions);
