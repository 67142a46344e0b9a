//! Pages of single ops, small matmuls, copies and Criterion's cases.

use super::{book, error, op_results, own, page, results};
use serde_json::json;
use std::fs;

#[test]
fn the_readers_own_ops_and_copies_stand_beside() {
    let book = book("{{ops linear on=cpu}}\n\n{{copies on=cpu}}\n\n{{small matmul on=cpu}}");
    let faster = op_results().to_string().replace("4.0", "3.0");
    own(&book, "ops.json", &faster.parse().unwrap());
    let page_with = page(book.path());
    assert_eq!(page_with.matches("<em>here</em>").count(), 1, "{page_with}");
    assert!(page_with.contains("2.00 (1.50×)"), "{page_with}");
    assert!(page_with.contains("here, GB/s</th>"), "{page_with}");
    assert_eq!(page_with.matches("here: A CPU").count(), 2, "{page_with}");

    own(
        &book,
        "small.json",
        &faster.replace("linear", "matmul").parse().unwrap(),
    );
    let page_with = page(book.path());
    assert_eq!(page_with.matches("<em>here</em>").count(), 2, "{page_with}");
}

#[test]
fn the_readers_own_benches_stand_beside() {
    let book = book("{{ops linear on=cpu}}\n\n{{table lm on=cpu}}");
    let case = |group: &str, value: &str| {
        let folder =
            (book.path().join("target/criterion")).join(format!("{group}/level2/{value}/new"));
        fs::create_dir_all(&folder).unwrap();
        let benchmark = json!({
            "group_id": group, "function_id": "level2", "value_str": value,
            "throughput": {"Bytes": 8},
        });
        fs::write(folder.join("benchmark.json"), benchmark.to_string()).unwrap();
        let interval = json!({"lower_bound": 6e6, "upper_bound": 8e6});
        let median = json!({"point_estimate": 7e6, "confidence_interval": interval});
        let estimates = json!({"median": median});
        fs::write(folder.join("estimates.json"), estimates.to_string()).unwrap();
    };
    case("linear", "1x2x3");
    case("lm", "tiny.decode");
    let page = page(book.path());
    assert!(page.contains("<em>here (cargo bench)</em>"), "{page}");
    assert!(page.contains("7000</td>"), "{page}");
    assert!(page.contains("here (cargo bench), ms</th>"), "{page}");
    assert!(page.contains("7.00</td>"), "{page}");
}

#[test]
fn an_op_at_all_levels() {
    let chapter = "{{ops linear on=cpu}}\n\n{{measure op.linear.1x2x3.f32.level3 on=cpu unit=us}}, \
                   {{measure op.linear.1x2x3.f32.level3.host on=cpu unit=us}}, \
                   {{measure op.linear.1x2x3.f32.level3.rate on=cpu}}, \
                   {{measure op.linear.1x2x3.f32.level3.rate on=cpu unit=TFLOP/s}}";
    let page = page(book(chapter).path());
    let figures = "2.00 µs, 9.00 µs, 6.00 GFLOP/s, 0.00600 TFLOP/s";
    assert!(page.contains(figures), "{page}");
    assert!(
        page.contains("1 × 2 × 3, f32") && page.contains("2.00 (2.00×)"),
        "{page}"
    );
    assert!(error("{{ops softmax on=cpu}}").contains("found none"));
}

#[test]
fn a_note_that_begins_with_an_op_is_below_that_op_alone() {
    let mut recorded = op_results();
    let rows = recorded["rows"].as_array_mut().unwrap();
    let of = |row: &serde_json::Value, name: &str, value: &str| {
        let mut row = row.clone();
        row[name] = value.into();
        row
    };
    rows.push(of(&rows[0], "level", "pytorch"));
    let softmax: Vec<_> = rows.iter().map(|row| of(row, "op", "softmax")).collect();
    rows.extend(softmax);
    recorded["notes"] = json!([
        "PyTorch 2, f32 without TF32",
        "PyTorch's softmax is slow",
        "linear.1x2x3.f32.pytorch_compile failed: no",
    ]);
    let page_of = |op: &str| {
        let book = book(&format!("{{{{ops {op} on=cpu}}}}"));
        fs::write(book.path().join("ops/cpu.json"), recorded.to_string()).unwrap();
        page(book.path())
    };
    let version = "<p>PyTorch 2, f32 without TF32. ";
    let (linear, softmax) = (page_of("linear"), page_of("softmax"));
    let below = format!("{version}linear.1x2x3.f32.pytorch_compile failed: no.</p>");
    assert!(linear.contains(&below), "{linear}");
    let below = format!("{version}PyTorch's softmax is slow.</p>");
    assert!(softmax.contains(&below), "{softmax}");
}

#[test]
fn small_products_have_records_of_their_own() {
    let page = page(book("{{small matmul on=cpu}}\n\n{{machine small on=cpu}}").path());
    assert!(
        page.contains("1 × 2 × 3, f32") && page.contains("A CPU"),
        "{page}"
    );
    assert!(error("{{small linear on=cpu}}").contains("found none"));
}

#[test]
fn copies_stand_by_size() {
    let page = page(book("{{copies on=cpu}}").path());
    assert!(page.contains("11.7 KiB") && page.contains("12.0"), "{page}");
}

#[test]
fn the_cost_of_the_benches_stands_by_group() {
    let book = book("{{benches on=cpu}}\n\nAn empty loop: {{benches launch/loop/empty on=cpu}}.");
    let case = |group: &str, function: &str, seconds: f64| {
        json!({
            "group": group, "function": function, "parameter": "empty", "throughput": {"Elements": 1},
            "median_ns": 1500.0, "low_ns": 1400.0, "high_ns": 1600.0, "seconds": seconds,
        })
    };
    let mut recorded = results("cpu", 1.0);
    recorded["kind"] = json!("benches");
    recorded["rows"] = json!([
        case("launch", "loop", 30.0),
        case("lm", "level1", 60.0),
        case("lm", "level2", 84.0)
    ]);
    fs::create_dir(book.path().join("benches")).unwrap();
    fs::write(book.path().join("benches/cpu.json"), recorded.to_string()).unwrap();
    let page = page(book.path());
    let row = |cells: [&str; 3]| {
        let cells = cells.map(|cell| format!(">{cell}</td>"));
        let at = cells.map(|cell| {
            page.find(&cell)
                .unwrap_or_else(|| panic!("{cell} in {page}"))
        });
        assert!(at[0] < at[1], "{page}");
        at[0]
    };
    assert!(row(["lm", "2", "2.4"]) < row(["launch", "1", "0.5"]));
    assert!(row(["launch", "1", "0.5"]) < row(["all", "3", "2.9"]));
    assert!(page.contains("An empty loop: 1.50 µs."), "{page}");
    let missing = "{{benches launch/kernel/empty on=h200}}";
    assert!(error(missing).contains("h200.json`: no such file"));
}
