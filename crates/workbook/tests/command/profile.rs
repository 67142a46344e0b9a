//! `workbook profile`: table, files, and errors.

use crate::fixture::{Run, root, run};

/// Profiles the trained language model's decode twice, at level 2.
fn profile(more: &[&str]) -> Run {
    let args = [
        "profile",
        "--model",
        "lm",
        "--level",
        "2",
        "--device",
        "cpu",
        "--samples",
        "2",
    ];
    run(&[&args[..], more].concat())
}

#[test]
fn every_op_of_a_pass_has_a_line() {
    let run = profile(&["--workload", "decode"]);
    let text = run.fine();
    for part in [
        "limits, measured in this run: memory ",
        "lm tiny, level 2 (candle, fused), decode: a token at a time",
        "in cache: faster than memory",
        "peak memory ",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap();
    // Four layers of two halves, each with a norm and a residual; one norm before the head.
    let calls = |name: &str| line(name).split_whitespace().nth(1).unwrap();
    for (op, expected) in [
        ("norm_qkv ", "4"),
        ("causal_attention ", "4"),
        ("linear_residual ", "8"),
        ("norm_swiglu ", "4"),
        ("norm_linear ", "1"),
    ] {
        assert_eq!(calls(op), expected, "{op}: {text}");
    }
    let qkv = line("norm_qkv ");
    assert!(qkv.ends_with("  rms_norm_level2 + linear_level1"), "{qkv}");
    assert!(
        text.contains("ops together ") && text.contains(" ms, unrecorded: "),
        "{text}"
    );
    assert!(!text.contains("prefill"), "{text}");
}

#[test]
fn the_csv_has_a_row_a_workload_and_op() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lm.csv").display().to_string();
    profile(&["--csv", &path]).fine();
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let titles: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!(
        titles[..9],
        [
            "model",
            "name",
            "level",
            "dtype",
            "workload",
            "op",
            "kernels",
            "calls",
            "ms_median"
        ]
    );
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let column = |title: &str| titles.iter().position(|t| *t == title).unwrap();
    for workload in ["prefill", "decode"] {
        let of_workload: Vec<_> = rows.iter().filter(|row| row[4] == workload).collect();
        assert_eq!(of_workload.len(), 6, "{text}");
        let shares = of_workload
            .iter()
            .map(|row| row[column("share")].parse::<f64>().unwrap());
        assert!((shares.sum::<f64>() - 1.).abs() < 1e-9, "{text}");
        for row in of_workload {
            assert!(
                row[column("flops")].parse::<f64>().unwrap() >= 0.,
                "{row:?}"
            );
            assert!(row[column("bytes")].parse::<f64>().unwrap() > 0., "{row:?}");
            assert!(
                row[column("fraction_of_limit")].parse::<f64>().unwrap() > 0.,
                "{row:?}"
            );
        }
    }
}

#[test]
fn the_chart_names_every_op() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lm.svg").display().to_string();
    profile(&["--svg", &path]).fine();
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.starts_with("<svg") && text.contains("share of the time of all ops (%)"));
    for name in ["linear_residual", "causal_attention", "prefill", "decode"] {
        assert!(text.contains(name), "{name}");
    }
}

#[test]
fn a_folder_is_a_model_too() {
    let folder = root().join("tests/goldens/gnn-plain").display().to_string();
    let run = run(&[
        "profile",
        "--model",
        &folder,
        "--level",
        "1",
        "--device",
        "cpu",
        "--samples",
        "1",
    ]);
    assert!(
        run.fine().contains("edge_attention_level1"),
        "{}",
        run.stdout
    );
}

#[test]
fn programs_that_cannot_be_profiled_are_refused_before_any_work() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    profile(&["--model", "nothing"]).refused(&["--model: expected it once"]);
    run(&["profile", "--model", "nothing"]).refused(&["--model", "lm, vit, gnn, a folder"]);
    run(&["profile", "--level", "9"]).refused(&["--level", "9", "expected level 1, 2, 3, 4, 5"]);
    profile(&["--workload", "train"]).refused(&[
        "--workload",
        "one of prefill, decode",
        "\"train\"",
    ]);
    profile(&["--csv", &path("lm.txt")]).refused(&["--csv", "a file that ends in .csv"]);
    profile(&["--svg", &path("lm.pdf")]).refused(&["--svg", "a file that ends in .svg or .png"]);
    profile(&["--csv", &path("none/lm.csv")]).refused(&["a file in an existing folder"]);
    run(&["profile", "--device", "sim"]).refused(&["--device", "the simulator measures no time"]);
    profile(&["--samples", "0"]).refused(&["--samples"]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
