//! Whole passes: what one launch, or a few, compute beyond a method of [`Ops`](models::Ops).

use models::WholePass;

use crate::Level5;

impl WholePass for Level5 {}
