//! The preprocessor on a small book with made-up results, and the real book into a folder of its
//! own.

mod exercises;
mod ops;
mod reference;
mod replaced;

use crate::{check, render};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

fn results(device: &str, median: f64) -> Value {
    let row = |level: u8, median: f64| {
        json!({
            "model": "lm", "preset": "tiny", "workload": "decode", "level": level, "dtype": "f32",
            "median_ms": median, "low_ms": median.min(1.0), "high_ms": median.max(3.0), "speedup": 1.25, "tensors": 321,
            "peak_bytes": 1_234_567, "max_difference": 0.0, "samples": 20,
        })
    };
    json!({
        "schema": 1, "kind": "models",
        "machine": {
            "device": device, "name": "A CPU", "threads": 2, "os": "linux x86_64",
            "rustc": "1.95.0", "candle": "0.11.1", "commit": "abc", "date": "2026-11-21",
        },
        "rows": [row(1, median), row(2, median / 2.0)],
    })
}

fn op_results() -> Value {
    let row = |level: &str, us: f64| {
        json!({
            "op": "linear", "shape": "1x2x3", "level": level, "dtype": "f32",
            "host_us": 9.0, "device_us": us, "flops": 12_000,
        })
    };
    let mut all = results("cpu", 1.0);
    let copy = json!({
        "op": "linear", "shape": "1x2x3", "level": "copy", "dtype": "f32",
        "host_us": 9.0, "device_us": 1.0, "bytes": 12_000,
    });
    all["kind"] = json!("ops");
    let memory = json!({
        "op": "limits", "shape": "memory", "level": "limits", "dtype": "f32",
        "host_us": 1e6, "bytes": 12_000_000_000_u64,
    });
    all["rows"] = json!([row("level2", 4.0), row("level3", 2.0), copy, memory]);
    all
}

/// A book of one chapter, with `cpu.json` recorded next to it.
fn book(chapter: &str) -> TempDir {
    let root = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| fs::write(root.path().join(file), text).unwrap();
    fs::create_dir(root.path().join("src")).unwrap();
    let config = "[book]\ntitle = 't'\n[preprocessor.measure]\ncommand = 'none'\n\
                  after = ['links']\nresults = '.'\ntarget = 'target'\nrepository = '.'\n";
    write("book.toml", config);
    fs::create_dir(root.path().join("ops")).unwrap();
    write("ops/cpu.json", &op_results().to_string());
    fs::create_dir(root.path().join("small")).unwrap();
    let small = op_results().to_string().replace("linear", "matmul");
    write("small/cpu.json", &small);
    write("src/SUMMARY.md", "- [One](one.md)\n");
    write("src/one.md", chapter);
    write("cpu.json", &results("cpu", 2.0).to_string());
    root
}

fn page(root: &Path) -> String {
    let built = render::build(root).unwrap();
    fs::read_to_string(built.join("one.html")).unwrap()
}

fn error(chapter: &str) -> String {
    format!("{:#}", render::build(book(chapter).path()).unwrap_err())
}

#[test]
fn a_figure_and_its_fields() {
    let chapter = "{{measure lm.tiny.decode.f32.level1 on=cpu}}, \
                   {{measure lm.tiny.decode.f32.level2 on=cpu unit=us}}, \
                   {{measure lm.tiny.decode.f32.level1.tensors on=cpu}}, \
                   {{measure lm.tiny.decode.f32.level1.speedup on=cpu}}, \
                   {{measure lm.tiny.decode.f32.level1.peak on=cpu}}, \\{{measure x on=y}}";
    let page = page(book(chapter).path());
    assert!(
        page.contains("2.00 ms, 1000 µs, 321, 1.25×, 1.18 MiB, {{measure x on=y}}"),
        "{page}"
    );
}

#[test]
fn a_figure_of_an_ablation() {
    let book = book(
        "{{measure ablation.lm.tiny.decode.f32.without_overlap on=gpu}}, \
                     {{measure ablation.lm.tiny.decode.f32.level5.graph on=gpu unit=us}}",
    );
    let mut ablation = results("cuda", 2.0);
    ablation["kind"] = json!("ablations");
    ablation["rows"][0]["system"] = json!("without_overlap");
    ablation["rows"][0]["level"] = json!(0);
    ablation["rows"][1]["level"] = json!(5);
    ablation["rows"][1]["graph"] = json!(true);
    fs::create_dir(book.path().join("ablations")).unwrap();
    fs::write(book.path().join("ablations/gpu.json"), ablation.to_string()).unwrap();
    let page = page(book.path());
    assert!(page.contains("2.00 ms, 1000 µs"), "{page}");
}

/// Puts what `workbook` writes of the reader's own into the book's folder.
fn own(book: &TempDir, file: &str, results: &Value) {
    let folder = book.path().join("target/workbook");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(file), results.to_string()).unwrap();
}

#[test]
fn the_readers_own_run_stands_beside() {
    let book = book("{{measure lm.tiny.decode.f32.level1 on=cpu}}\n\n{{table lm on=cpu}}");
    own(&book, "compare.json", &results("cpu", 4.0));
    let with_own = page(book.path());
    assert!(with_own.contains("2.00 ms (here: 4.00 ms)"), "{with_own}");
    assert!(with_own.contains("here, ms</th>"), "{with_own}");
    assert!(with_own.contains("here: A CPU, 2 threads"), "{with_own}");
    assert!(
        with_own.contains("All other columns: A CPU, 2 threads"),
        "{with_own}"
    );

    own(&book, "compare.json", &results("cuda", 4.0));
    assert!(
        !page(book.path()).contains("here:"),
        "a run on another device was compared"
    );
}

/// A book of one table of `cpu.json`, once `change` has changed that.
fn table_of(table: &str, change: impl FnOnce(&mut Value)) -> String {
    let book = book(table);
    let mut results = results("cpu", 2.0);
    change(&mut results);
    fs::write(book.path().join("cpu.json"), results.to_string()).unwrap();
    page(book.path())
}

#[test]
fn a_few_samples_have_no_tenths() {
    let page = table_of("{{table lm on=cpu}}", |all| {
        all["rows"][1]["samples"] = 4.into()
    });
    assert_eq!(page.matches("1.00–3.00</td>").count(), 1, "{page}");
    assert_eq!(page.matches(">–</td>").count(), 1, "{page}");
}

/// A CPU runs no PTX and no CUDA: tables and charts of one say what ran instead.
#[test]
fn levels_of_kernels_are_rust_twins_on_a_cpu() {
    let third = |all: &mut Value| all["rows"][1]["level"] = 3.into();
    let table = table_of("{{table lm on=cpu}}", third);
    assert!(table.contains("3 (Rust twin)</td>"), "{table}");
    let chart = table_of("{{chart lm on=cpu}}", third);
    assert!(chart.contains("level 3 (Rust twin)"), "{chart}");
    let gpu = table_of("{{table lm on=cpu}}", |all| {
        third(all);
        all["machine"]["device"] = "cuda".into();
    });
    assert!(gpu.contains("3 (PTX)</td>"), "{gpu}");
    let ops = page(book("{{ops linear on=cpu}}").path());
    assert!(ops.contains("level 3 (Rust twin)</th>"), "{ops}");
}

#[test]
fn a_table_may_end_at_a_level() {
    let table = table_of("{{table lm on=cpu to=1}}", |_| ());
    assert!(
        table.contains("2.00</td>") && !table.contains("1.00</td>"),
        "{table}"
    );
    let page_of = |chapter: &str| page(book(chapter).path());
    let ops = page_of("{{ops linear on=cpu to=2}}");
    assert!(
        ops.contains("level 2</th>") && ops.contains("copy</th>"),
        "{ops}"
    );
    assert!(!ops.contains("level 3"), "{ops}");
    assert!(!page_of("{{chart lm on=cpu to=1}}").contains("level 2"));
    assert!(
        error("{{table lm on=cpu to=all}}").contains("to= and the number of a level, found `all`")
    );
}

#[test]
fn other_frameworks_have_their_versions_below() {
    let peers = |all: &mut Value| {
        let mut row = all["rows"][0].clone();
        (row["level"], row["system"]) = (0.into(), "pytorch_eager".into());
        row["device_ms"] = 0.123.into();
        all["rows"].as_array_mut().unwrap().push(row);
        all["notes"] = json!([
            "PyTorch 2, f32 without TF32",
            "lm tiny decode f32 pytorch_graph failed: no",
            "vit tiny batch10 f32 pytorch_graph failed: no",
            "PyTorch's prefill is slow",
        ]);
        let mut prefill = all["rows"][0].clone();
        (prefill["workload"], prefill["preset"]) = ("prefill".into(), "readme".into());
        all["rows"].as_array_mut().unwrap().push(prefill);
    };
    let page = table_of("{{table lm on=cpu preset=tiny}}", peers);
    let notes = "<p>PyTorch 2, f32 without TF32. lm tiny decode f32 pytorch_graph failed: no.</p>";
    assert!(page.contains(notes), "{page}");
    assert!(
        page.contains("device, ms</th>") && page.contains("0.123</td>"),
        "{page}"
    );
    let page = table_of("{{table lm on=cpu}}", peers);
    assert!(page.contains(" PyTorch's prefill is slow.</p>"), "{page}");
    assert_eq!(page.matches("tiny decode, f32</td>").count(), 1, "{page}");
    let page = table_of("{{table lm on=cpu to=5}}", peers);
    assert!(
        !page.contains("PyTorch") && !page.contains("device, ms"),
        "{page}"
    );
}

#[test]
fn a_table_and_the_machine() {
    let page = page(book("{{machine on=cpu}}\n\n{{table lm on=cpu preset=tiny}}").path());
    let machine = "A CPU, 2 threads, linux x86_64; rustc 1.95.0, candle 0.11.1, commit abc";
    assert!(page.contains(machine), "{page}");
    // Rows of one workload need no column for its name.
    let first = page.split("</th>").next().unwrap_or_default();
    assert!(first.ends_with("level"), "{first}");
    assert!(!page.contains("tiny decode, f32"), "{page}");
    assert!(!page.contains("here, ms</th>"), "{page}");
}

#[test]
fn a_row_of_an_earlier_commit_is_named_below_its_table() {
    let book = book(
        "{{machine on=cpu}}\n\n{{table lm on=cpu preset=tiny}}\n\n{{table lm on=cpu preset=readme}}",
    );
    let mut recorded = results("cpu", 2.0);
    recorded["rows"][1]["preset"] = "readme".into();
    recorded["rows"][1]["origin"] = json!({"commit": "old", "date": "2026-11-20"});
    fs::write(book.path().join("cpu.json"), recorded.to_string()).unwrap();
    let page = page(book.path());
    let note = "Measured at commit old, 2026-11-20: lm readme f32.";
    assert_eq!(page.matches(note).count(), 1, "{page}");
    let both = "candle 0.11.1, several commits; 2026-11-20 to 2026-11-21";
    assert!(page.contains(both), "{page}");
}

#[test]
fn a_chart_stands_in_the_page() {
    let page = page(book("{{chart lm on=cpu}}\n\nAfter.").path());
    assert!(
        page.contains("<svg") && page.contains("2.00× (1.00 ms)"),
        "{page}"
    );
    assert!(page.contains("<p>After.</p>"), "{page}");
    assert!(error("{{chart rnn on=cpu}}").contains("found none"));
}

#[test]
fn a_picture_stands_in_the_page() {
    let page = page(book("{{picture coalescing}}\n\nAfter.\n\n{{picture roofline on=cpu}}").path());
    assert!(page.contains("memory: 12.0 GB/s"), "{page}");
    assert!(page.contains("<title id=\"coalescing-title\">"), "{page}");
    assert!(
        page.contains("32 sectors, 12.5 % of their bytes used"),
        "{page}"
    );
    assert!(page.contains("<p>After.</p>"), "{page}");
    assert!(error("{{picture sunset}}").contains("found `sunset`"));
    assert!(error("{{picture replay}}").contains("expected `on=`"));
    let missing = "expected a recorded row `lm.readme.decode.bf16.level5`, found none";
    assert!(error("{{picture replay on=cpu}}").contains(missing));
}

#[test]
fn a_chart_that_is_drawn_stands_in_the_page() {
    let book = book("{{figure cpu-small}}\n\nAfter.");
    fs::create_dir(book.path().join("charts")).unwrap();
    let svg = "<svg>\n\n<text>a map</text></svg>";
    fs::write(book.path().join("charts/cpu-small.svg"), svg).unwrap();
    let page = page(book.path());
    assert!(page.contains("<svg>\n<text>a map</text></svg>"), "{page}");
    assert!(page.contains("<p>After.</p>"), "{page}");
    let missing = "{{figure sunset}}: expected a chart, found no sunset.svg";
    assert!(error("{{figure sunset}}").contains(missing));
}

#[test]
fn figures_that_are_not_recorded_fail_the_build_by_name() {
    let key = "{{measure lm.tiny.prefill.f32.level1 on=cpu}}";
    let expected = "expected a recorded row, found none of that key";
    let found = error(&format!("# One\n\nIn `code`: {key}"));
    assert!(
        found.ends_with(&format!("/src/one.md:3: {key}: {expected}")),
        "{found}"
    );
    assert!(error("{{measure lm.tiny on=cpu}}").contains("found `lm.tiny`"));
    assert!(error("{{table lm on=gpu}}").contains("gpu.json`: no such file"));
    assert!(error("{{table rnn on=cpu}}").contains("found none"));
    assert!(error("{{measure lm.tiny.decode.f32.level1.colour on=cpu}}").contains("`colour`"));
    assert!(error("{{measure lm.tiny.decode.f32.level1.launches on=cpu}}").contains("null"));
    assert!(error("{{machine cpu}}").contains("expected `on=`"));
    let filter = "{{table lm on=cpu preset=s17 to=3}}";
    assert!(error(filter).contains("recorded rows of `lm preset=s17 to=3`, found none"));
}

#[test]
fn a_directive_that_nothing_replaces_fails_the_build_by_its_line() {
    let expected = "expected a directive that is known and closed";
    let found = error("One.\n\n{{opz softmax on=cpu}}");
    assert!(
        found.ends_with(&format!(
            "/src/one.md:3: {{{{opz softmax on=cpu}}}}: {expected}"
        )),
        "{found}"
    );
    let found = error("One {{measure op.x.y\n\nTwo.");
    assert!(
        found.ends_with(&format!("/src/one.md:1: {{{{measure op.x.y: {expected}")),
        "{found}"
    );
}

#[test]
fn a_function_stands_in_the_page() {
    let book = book("```rust\n{{fn ops.rs Level1::sum}}\n```\n\nAfter.");
    let source = "impl Level1 {\n    fn sum() -> &'static str {\n        \"}\"\n    }\n}\n";
    fs::write(book.path().join("ops.rs"), source).unwrap();
    let page = page(book.path());
    let shown = "fn sum() -&gt; &amp;'static str {\n    \"}\"\n}\n";
    assert!(page.contains(shown), "{page}");

    fs::write(book.path().join("ops.rs"), "fn other() {}").unwrap();
    let error = format!("{:#}", render::build(book.path()).unwrap_err());
    let directive = "/src/one.md:2: {{fn ops.rs Level1::sum}}";
    let missing = "in ops.rs: expected a function `Level1::sum`, found none";
    assert!(
        error.ends_with(&format!("{directive}: {missing}")),
        "{error}"
    );
}

/// *Reading PTX* quotes a line of a generated file, which has no anchors.
#[test]
fn the_quoted_line_of_ptx_stands_in_it() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let read = |path: &str| std::fs::read_to_string(format!("{root}/{path}")).unwrap();
    let chapter = read("book/chapters/ptx.md");
    let (_, quoted) = chapter.split_once("`.loc ").expect("a quotation");
    let (quoted, _) = quoted.split_once('`').expect("its end");
    let ptx = read("kernels/generated/rms_norm/level4.sm_80.ptx");
    let is_it = |line: &str| line.strip_prefix(".loc\t") == Some(quoted);
    assert!(ptx.lines().any(is_it), ".loc {quoted}");
    let (_, after) = chapter.split_once(quoted).expect("the quotation");
    for number in quoted.split(' ') {
        assert!(
            after.contains(&format!(" {number}")),
            "{number} is explained"
        );
    }
}

#[test]
fn the_book_builds_and_has_no_findings() {
    let root = crate::root();
    let pages = tempfile::tempdir().unwrap();
    let mut book = render::load(root).unwrap();
    book.config.build.build_dir = pages.path().to_path_buf();
    book.build().unwrap();
    let page = |name: &str| fs::read_to_string(pages.path().join(name)).unwrap();
    assert!(page("level3.html").contains("href=\"exercises/transpose.html\""));
    assert!(page("exercises/transpose.html").contains("href=\"../level3.html\""));
    for pass in ["decoder_pass", "encoder_pass", "graph_pass"] {
        let times = page(&format!("reference/{pass}.html"));
        let is_shown = times.contains("<svg") && times.contains(">with the pass</th>");
        assert!(is_shown, "{pass}: expected a chart and a table");
    }
    let found = check::findings(root, pages.path()).unwrap();
    assert!(found.is_empty(), "{}", found.join("\n"));
}
