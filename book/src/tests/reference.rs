//! A page of the reference in a small book.

use super::{book, op_results, results};
use crate::library::Library;
use crate::reference::{Reference, findings};
use crate::render;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const REASON: &str = "[[slower]]\nlevel = 'level3'\nops = ['linear']\nreason = 'No GEMV.'\n";

/// The small book with a page of the reference and the folder of its op.
fn with_page(page: &str) -> TempDir {
    let book = book("{{reference}}");
    let write = |file: &str, text: &str| {
        let file = book.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    write(
        "src/SUMMARY.md",
        "- [One](one.md)\n  - [Linear](reference/linear.md)\n",
    );
    write("src/reference/linear.md", page);
    write("kernels/src/linear/mod.rs", "//! y = x·w\n");
    write(
        "kernels/src/linear/level4.cu",
        "// Level 4 of linear: tiles.\n",
    );
    write("kernels/src/linear/level4.rs", "//! Level 4: tiles.\n");
    book
}

fn found(book: &Path) -> Vec<String> {
    let reference = Reference::open(book, &book.join("src"), book).unwrap();
    let mut library = Library::open(book, &book.join("target")).unwrap();
    findings(book, &reference, &mut library).unwrap()
}

#[test]
fn a_page_is_made_of_the_code_and_the_record() {
    let book = with_page("# Linear\n\n{{op linear}}\n");
    let built = render::build(book.path()).unwrap();
    let page = |name: &str| fs::read_to_string(built.join(name)).unwrap();
    let linear = page("reference/linear.html");
    assert!(linear.contains("<p>y = x·w</p>"), "{linear}");
    assert!(linear.contains("<strong>2.00</strong>"), "{linear}");
    let link = "<a href=\"source/linear.html#level4-cu\"><code>level4.cu</code></a>: tiles.";
    assert!(linear.contains(link), "{linear}");
    assert!(page("reference/source/linear.html").contains("id=\"level4-cu\""));
    assert!(page("one.html").contains("<a href=\"reference/linear.html\">Linear</a>"));
    assert_eq!(found(book.path()), [""; 0]);
}

#[test]
fn the_first_chart_and_table_are_open_and_the_others_folded() {
    let book = with_page("# Linear\n\n{{op linear}}\n");
    let page = || {
        let built = render::build(book.path()).unwrap();
        fs::read_to_string(built.join("reference/linear.html")).unwrap()
    };
    assert!(!page().contains("<details"), "{}", page());
    let record = fs::read_to_string(book.path().join("ops/cpu.json")).unwrap();
    let other = record.replace("A CPU", "Another CPU");
    fs::write(book.path().join("ops/other.json"), other).unwrap();
    let page = page();
    let (open, folded) = page.split_once("<details class=\"more\">").unwrap();
    assert_eq!(open.matches("<table>").count(), 1, "{page}");
    let start = "<summary>Table: linear on Another CPU</summary>";
    assert!(folded.starts_with(start), "{folded}");
    let (folded, _) = folded.split_once("</details>").unwrap();
    assert_eq!(folded.matches("<table>").count(), 1, "{page}");
}

#[test]
fn an_error_in_the_subfolder_has_its_line() {
    let book = with_page("# Linear\n\n{{op linear linear gelu}}\n");
    let error = format!("{:#}", render::build(book.path()).unwrap_err());
    let expected = "/src/reference/linear.md:3: {{op linear linear gelu}}: \
                    expected recorded rows of `gelu`, found none";
    assert!(error.ends_with(expected), "{error}");
}

#[test]
fn a_missing_page_and_a_reason_without_a_case_are_found() {
    let book = with_page("# Linear\n");
    let missing = found(book.path());
    assert!(
        missing[0].ends_with("expected a page with {{op linear}}, found none"),
        "{missing:?}"
    );
    assert!(
        missing[1].ends_with("the recorded op `linear`, found 0"),
        "{missing:?}"
    );

    let book = with_page("# Linear\n\n{{op linear}}\n");
    fs::write(book.path().join("reference.toml"), REASON).unwrap();
    let stale = found(book.path());
    let end = "level3 is slower than the level below, found none for: No GEMV.";
    assert!(stale.len() == 1 && stale[0].ends_with(end), "{stale:?}");
    let record = book.path().join("ops/cpu.json");
    let slower = fs::read_to_string(&record).unwrap().replace("2.0", "20.0");
    fs::write(record, slower).unwrap();
    assert_eq!(found(book.path()), [""; 0]);
}

/// Level 5 on two workloads of `A CPU` as a GPU, with the pass `whole` and without it: `decode` runs it, `prefill` does not.
fn ablation(without: f64) -> Value {
    let mut all = results("cuda", 1.);
    let row = |workload: &str, system: Option<&str>, median: f64, difference: f64| {
        let mut row = all["rows"][0].clone();
        row["workload"] = workload.into();
        row["level"] = if system.is_none() { 5 } else { 0 }.into();
        row["graph"] = system.is_none().into();
        row["system"] = system.into();
        row["median_ms"] = median.into();
        row["low_ms"] = median.into();
        row["high_ms"] = median.into();
        row["device_ms"] = (median / 4.).into();
        row["max_difference"] = difference.into();
        row
    };
    all["rows"] = json!([
        row("prefill", None, 7., 0.),
        row("prefill", Some("without_whole"), 7., 0.),
        row("decode", None, 2., 0.),
        row("decode", Some("without_overlap"), 5., 0.),
        row("decode", Some("without_whole"), without, 1e-3),
    ]);
    all["kind"] = json!("ablations");
    all
}

/// Puts an ablation on a GPU and a record of whole models next to the page of the pass `whole`.
fn with_pass(ablation: &Value, models: &Value) -> (TempDir, String) {
    let book = with_page("# Linear\n\n{{op whole}}\n");
    let write = |file: &str, text: &str| {
        let file = book.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    write("kernels/src/whole/mod.rs", "//! y = model(x)\n");
    write("ablations/gpu.json", &ablation.to_string());
    write("gpu.json", &models.to_string());
    let built = render::build(book.path()).unwrap();
    let page = fs::read_to_string(built.join("reference/linear.html")).unwrap();
    (book, page)
}

/// Level 4 on `decode`, launch by launch, at an earlier commit.
fn level4() -> Value {
    let mut models = results("cuda", 8.);
    models["rows"][0]["level"] = 4.into();
    models["rows"][0]["origin"] = json!({"commit": "old", "date": "2026-11-20"});
    models
}

#[test]
fn a_pass_has_the_models_with_it_and_without_it() {
    let (_book, page) = with_pass(&ablation(3.), &level4());
    let (_, table) = page.split_once("<table>").unwrap();
    let (table, below) = table.split_once("</table>").unwrap();
    assert!(!page.contains("prefill"), "{page}");
    let device = ["–", "750", "<strong>500</strong>", "1.50×"];
    let host = ["8000*", "3000", "<strong>2000</strong>", "1.50×"];
    let cells = |row: &str| -> Vec<String> {
        let cell = |cell: &str| cell.split("</td>").next().unwrap_or_default().to_string();
        row.split("\">").skip(1).map(cell).collect()
    };
    let rows = table.split("tiny decode, f32</td>").skip(1);
    let rows: Vec<Vec<String>> =
        (rows.map(|row| cells(row.split("</tr>").next().unwrap()))).collect();
    assert_eq!(rows, [device, host], "{table}");
    assert!(
        below.contains("Level 4 was measured at commit old, 2026-11-20"),
        "{below}"
    );
    assert!(below.contains("* Launched one by one"), "{below}");
    assert!(page.contains("commit abc; 2026-11-21"), "{page}");
    let bars = page
        .matches(
            "
1.50×
",
        )
        .count();
    assert_eq!(bars, 2, "{page}");
    assert!(!page.contains("Slower with the pass"), "{page}");
}

#[test]
fn level_4_is_in_a_graph_where_it_has_one() {
    let mut models = level4();
    let mut graph = models["rows"][0].clone();
    graph["graph"] = true.into();
    graph["median_ms"] = 6.into();
    graph["high_ms"] = 6.into();
    models["rows"].as_array_mut().unwrap().push(graph);
    let (_book, page) = with_pass(&ablation(3.), &models);
    assert!(
        page.contains(">6000</td>") && !page.contains("8000"),
        "{page}"
    );
    assert!(!page.contains("Launched one by one"), "{page}");
}

#[test]
fn level_4_of_another_machine_is_not_compared() {
    let mut other = level4();
    other["machine"]["candle"] = "0.10.0".into();
    let (_book, page) = with_pass(&ablation(3.), &other);
    assert!(
        page.contains(">3000</td>") && !page.contains("8000"),
        "{page}"
    );
    assert!(!page.contains("Launched one by one"), "{page}");
}

#[test]
fn a_pass_that_is_slower_is_named() {
    let (_book, page) = with_pass(&ablation(1.), &level4());
    for clock in ["device", "host"] {
        let line = format!(
            "<li>Level 5 with the pass takes 2.0 times as long as level 5 without the pass on the {clock}’s clock: \
             tiny decode, f32.</li>"
        );
        assert!(page.contains(&line), "{page}");
    }
    assert!(page.contains("0.500×"), "{page}");
}

#[test]
fn a_record_from_before_an_op_was_timed_is_named() {
    let book = with_page("# Linear\n\n{{op linear}}\n");
    let about = "[[about]]\nop = 'linear'\ntext = 'T × C.'\ntimed = true\n";
    fs::write(book.path().join("reference.toml"), about).unwrap();
    let page = || {
        let built = render::build(book.path()).unwrap();
        fs::read_to_string(built.join("reference/linear.html")).unwrap()
    };
    let older =
        "made before <code>workbook ops</code> timed this op: A CPU, commit abc, 2026-11-21.";
    assert!(
        page().contains("<table>") && !page().contains("made before"),
        "{}",
        page()
    );
    let record = op_results().to_string().replace("linear", "gelu");
    fs::write(book.path().join("ops/cpu.json"), &record).unwrap();
    assert!(
        !page().contains("<table>") && page().contains(older),
        "{}",
        page()
    );
}
