//! Tolerances of the comparison of outputs.

use std::path::Path;

use crate::Case;
use crate::case::Operands;
use crate::mutate::outputs::difference;

fn operands(arg: &str) -> Operands {
    let case: Case = format!("--arg {arg}").parse().unwrap();
    case.operands(1, Path::new("")).unwrap()
}

/// Index of the first number that differs.
fn differs(expected: &str, found: &str) -> Option<usize> {
    Some(difference(&operands(expected), &operands(found))?.index)
}

#[test]
fn numbers_differ_beyond_the_tolerance_of_their_type() {
    for (expected, found, differs_at) in [
        ("f32:[1,2]", "f32:[1.000001,2]", None),
        ("f32:[1,2]", "f32:[1,2.0001]", Some(1)),
        // Next to large numbers, a small one may be off by a share of their mean.
        ("f32:[0.000001,100]", "f32:[0.000002,100]", None),
        (
            "f32:[0.000001,0.000001]",
            "f32:[0.000001,0.000002]",
            Some(1),
        ),
        ("bf16:[1,1]", "bf16:[1,1.0078125]", Some(1)),
        ("u32:[7,8]", "u32:[7,9]", Some(1)),
        ("f32:[1,inf]", "f32:[1,inf]", None),
        ("f32:[1,2]", "f32:[1,nan]", Some(1)),
    ] {
        assert_eq!(differs(expected, found), differs_at, "{expected} {found}");
    }
}

#[test]
fn a_written_nan_differs_from_poison() {
    assert_eq!(differs("f32:[nan,nan]", "f32:2:poison"), Some(0));
    assert_eq!(differs("f32:2:poison", "f32:2:poison"), None);
    let mut other_nan = operands("f32:[nan,nan]");
    other_nan.buffers[0].bytes[0] ^= 1;
    assert_eq!(difference(&operands("f32:[nan,nan]"), &other_nan), None);
}
