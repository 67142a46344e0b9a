//! The narrow functions of a level as values.

use candle_core::{Result, Tensor};
use operands::{Csr, Linear, Segments, Weight};

use crate::for_each_function;

macro_rules! functions {
    ($(
        $(#[$doc:meta])*
        $folder:ident: $name:ident($($argument:ident: $of:ty),*) in $level3:ident $level4:ident $level5:ident;
    )*) => {
        /// The narrow functions of one level: benches time them, and tests compare the levels.
        #[derive(Clone, Copy)]
        #[allow(clippy::type_complexity)]
        pub struct Functions {
            /// The level that lists these functions. Some are a lower level's.
            pub level: u8,
            $($(#[$doc])* pub $name: fn($($of),*) -> Result<Tensor>,)*
        }

        impl Functions {
            /// The name of each function.
            pub const NAMES: &[&str] = &[$(stringify!($name)),*];
        }

        /// The functions of levels 3, 4 and 5.
        pub fn functions() -> [Functions; 3] {
            [
                Functions { level: 3, $($name: crate::$folder::$level3::$name),* },
                Functions { level: 4, $($name: crate::$folder::$level4::$name),* },
                Functions { level: 5, $($name: crate::$folder::$level5::$name),* },
            ]
        }
    };
}
for_each_function!(functions);
