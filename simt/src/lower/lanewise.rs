//! Lane functions that only lowering needs, in addition to those of [`alu`](crate::alu).

use crate::alu::{D, W};
use crate::code::{RANK_SHIFT, WINDOW};

/// `mov.b32`.
pub(super) fn same_word(a: &W) -> W {
    *a
}

/// `mov.b64`.
pub(super) fn same_double(a: &D) -> D {
    *a
}

/// Zero-extends a word to a double.
pub(super) fn widen(a: &W) -> D {
    std::array::from_fn(|i| u64::from(a[i]))
}

/// Sign-extends a word to a double.
pub(super) fn widen_signed(a: &W) -> D {
    std::array::from_fn(|i| i64::from(a[i] as i32) as u64)
}

/// Sign-extends the low half of a word.
pub(super) fn extend16(a: &W) -> W {
    std::array::from_fn(|i| i32::from(a[i] as i16) as u32)
}

/// `cvta`: adds or subtracts the base of a window.
pub(super) fn add(a: &D, b: &D) -> D {
    std::array::from_fn(|i| a[i].wrapping_add(b[i]))
}

/// A comparison that always holds.
pub(super) fn always(_: &W, _: &W) -> u32 {
    u32::MAX
}

/// `isspacep`: whether a generic address is in the window with base `b`.
pub(super) fn in_window(a: &D, b: &D) -> u32 {
    lanes(|i| a[i] / WINDOW == b[i] / WINDOW)
}

/// `isspacep.shared::cta`: whether it is besides an address of the block itself.
pub(super) fn in_own_window(a: &D, b: &D) -> u32 {
    lanes(|i| a[i] / WINDOW == b[i] / WINDOW && (a[i] % WINDOW) >> RANK_SHIFT == 0)
}

/// `isspacep.global`: whether a generic address `a` is above all windows; the last one begins at `b`.
pub(super) fn behind_window(a: &D, b: &D) -> u32 {
    lanes(|i| a[i] / WINDOW > b[i] / WINDOW)
}

fn lanes(holds: impl Fn(usize) -> bool) -> u32 {
    (0..32).map(|i| u32::from(holds(i)) << i).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{PARAM_WINDOW, SHARED_WINDOW};

    #[test]
    fn addresses_are_in_one_window() {
        let mut addresses = [SHARED_WINDOW + 4; 32];
        addresses[1] = 5 * WINDOW;
        addresses[2] = 0;
        assert_eq!(in_window(&addresses, &[SHARED_WINDOW; 32]), !0b110);
        assert_eq!(behind_window(&addresses, &[PARAM_WINDOW; 32]), 0b10);
    }
}
