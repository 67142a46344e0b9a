use std::fs;

use results::criterion::{Case, Throughput};
use results::{BenchResults, Machine, OpResults, Results};

use super::*;

/// Markers of the README's tables.
const EMPTY: &str = "<!-- levels:begin -->\n<!-- levels:end -->\n\
                     <!-- results:begin -->\n<!-- results:end -->\n";

fn repository() -> Result<tempfile::TempDir> {
    let root = tempfile::tempdir()?;
    fs::write(root.path().join("README.md"), EMPTY)?;
    Ok(root)
}

fn machine() -> Machine {
    Machine {
        device: "cpu".into(),
        name: "A CPU".into(),
        threads: 2,
        commit: "abc".into(),
        date: "2026-11-21".into(),
        ..Machine::default()
    }
}

fn op(dtype: &str, us: f64) -> OpRow {
    OpRow {
        op: "linear".into(),
        shape: "1x512x512".into(),
        level: "level2".into(),
        dtype: dtype.into(),
        host_us: us,
        flops: Some(524_288),
        ..OpRow::default()
    }
}

fn ops(dtype: &str, us: f64) -> OpResults {
    let mut run = OpResults::new(machine());
    run.rows.push(op(dtype, us));
    run
}

fn put(root: &Path, run: Run) -> Result<()> {
    let mut records = Records::open(root, "cpu")?;
    records.put(run, "part.json")?;
    records.write()
}

fn model(preset: &str, dtype: &str) -> Results {
    let mut run = Results::new(machine());
    run.rows.push(Row {
        model: "lm".into(),
        preset: preset.into(),
        workload: "decode".into(),
        level: 1,
        dtype: dtype.into(),
        median_ms: 1.,
        low_ms: 1.,
        high_ms: 1.,
        speedup: 1.,
        samples: 1,
        ..Row::default()
    });
    run
}

fn benches() -> BenchResults {
    let mut run = BenchResults::new(machine());
    run.rows.push(Case {
        group: "linear".into(),
        function: "level2".into(),
        parameter: "1x512x512".into(),
        throughput: Throughput::Elements(1),
        median_ns: 1.,
        low_ns: 1.,
        high_ns: 1.,
        seconds: None,
        origin: None,
    });
    run
}

#[test]
fn each_kind_has_its_place() -> Result<()> {
    let root = repository()?;
    put(root.path(), Run::Ops(ops("f32", 1.)))?;
    put(root.path(), Run::Ops(ops("bf16", 2.)))?;
    put(root.path(), Run::Ops(ops("f32", 3.).of_kind(Kind::Small)))?;
    put(root.path(), Run::Benches(benches()))?;
    put(root.path(), Run::Models(model("tiny", "f32")))?;
    let at = |path: &str| root.path().join("benches/results").join(path);
    let times = |path: &str| -> Result<Vec<f64>> {
        let rows = OpResults::load(&at(path))?.rows;
        Ok(rows.iter().map(|row| row.host_us).collect())
    };
    assert_eq!(times("ops/cpu.json")?, [1., 2.]);
    assert_eq!(times("small/cpu.json")?, [3.]);
    assert!(at("benches/cpu.json").exists() && at("charts/cpu-lm-f32.svg").exists());
    assert_eq!(OpResults::load(&at("small/cpu.json"))?.kind, Kind::Small);
    let page = fs::read_to_string(at("README.md"))?;
    for expected in [
        "| lm tiny decode | 1.00 ms |",
        "- Whole models: [cpu.json](cpu.json); A CPU, commit abc, 2026-11-21\n  \
         - [Language model in f32 on A CPU](charts/cpu-lm-f32.svg)\n",
        "- Single ops: [ops/cpu.json](ops/cpu.json); A CPU, commit abc, 2026-11-21\n",
        "- `cargo bench`: [benches/cpu.json](benches/cpu.json); A CPU, commit abc, 2026-11-21\n",
    ] {
        assert!(page.contains(expected), "{expected}: {page}");
    }
    Ok(())
}

/// Each run is checked before the other is written, as two measurements at the same time are.
#[test]
fn runs_at_the_same_time_are_all_kept() -> Result<()> {
    let root = repository()?;
    let before = |dtype: &str| {
        let run = Run::Ops(ops(dtype, 1.));
        let records = Records::named(root.path(), Some("cpu"), &run);
        Ok::<_, anyhow::Error>((records?, run))
    };
    let both = [before("f32")?, before("bf16")?];
    std::thread::scope(|scope| {
        let threads = both.map(|(records, run)| scope.spawn(|| written(records, run)));
        threads.into_iter().try_for_each(|t| t.join().unwrap())
    })?;
    let kept = OpResults::load(&root.path().join("benches/results/ops/cpu.json"))?;
    assert_eq!(kept.rows.len(), 2);
    Ok(())
}

#[test]
fn models_are_in_the_order_of_one_run() -> Result<()> {
    let root = repository()?;
    for (preset, dtype) in [("base", "f32"), ("tiny", "bf16"), ("tiny", "f32")] {
        put(root.path(), Run::Models(model(preset, dtype)))?;
    }
    let all = Results::load(&root.path().join("benches/results/cpu.json"))?;
    let order: Vec<String> = all.rows.iter().map(Figures::part).collect();
    assert_eq!(order, ["lm tiny f32", "lm base f32", "lm tiny bf16"]);
    Ok(())
}

#[test]
fn a_readme_without_markers_is_an_error_before_the_measurement() -> Result<()> {
    let root = repository()?;
    let run = Run::Models(model("tiny", "f32"));
    for bad in ["", "../cpu", ".cpu", "a b"] {
        assert!(
            Records::named(root.path(), Some(bad), &run).is_err(),
            "{bad:?}"
        );
    }
    put(root.path(), run)?;
    let mut other = model("tiny", "f32");
    other.machine.threads = 4;
    let error = Records::named(root.path(), Some("cpu"), &Run::Models(other));
    let error = error.err().map(|e| e.to_string()).unwrap_or_default();
    assert!(
        error.contains("cpu.json: expected figures of A CPU, 4 threads"),
        "{error}"
    );
    fs::write(root.path().join("README.md"), "# Title\n")?;
    let error = Records::open(root.path(), "cpu")
        .err()
        .map(|e| e.to_string());
    assert!(error.is_some_and(|e| e.contains("README.md: expected")));
    Ok(())
}

#[test]
fn without_files_it_takes_the_results_of_local_runs() -> Result<()> {
    let root = repository()?;
    let error = left_by_runs(root.path()).unwrap_err().to_string();
    assert!(
        error.contains("workbook: expected figures of a run"),
        "{error}"
    );
    let path = left_by_a_run(root.path(), Kind::Ops);
    folder::save(&path, &ops("f32", 1.))?;
    assert_eq!(left_by_runs(root.path())?, [path]);
    Ok(())
}

/// The pages that link to charts: the README and the chapters.
fn pages(root: &Path) -> Result<String> {
    let mut text = String::new();
    for page in ["README.md", "benches/results/README.md"] {
        text += &fs::read_to_string(root.join(page))?;
    }
    for chapter in fs::read_dir(root.join("book/chapters"))? {
        let path = chapter?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            text += &fs::read_to_string(path)?;
        }
    }
    Ok(text)
}

#[test]
fn every_chart_is_drawn_from_a_record_and_linked() -> Result<()> {
    let repository = compare::root()?;
    let empty = tempfile::tempdir()?;
    All::read(&repository)?.draw(empty.path())?;
    let names = |root: &Path| -> Result<BTreeSet<String>> {
        let entries = fs::read_dir(root.join("benches/results/charts"))?;
        let name = |entry: std::io::Result<fs::DirEntry>| {
            Ok(entry?.file_name().to_string_lossy().into_owned())
        };
        entries.map(name).collect()
    };
    let found = names(&repository)?;
    assert_eq!(
        found,
        names(empty.path())?,
        "what a redraw draws, and no other file"
    );
    let pages = pages(&repository)?;
    for name in &found {
        let directive = format!("{{{{figure {}}}}}", name.replace(".svg", ""));
        let [link, image] = [")", "\""].map(|end| pages.contains(&format!("charts/{name}{end}")));
        let is_linked = link || image || pages.contains(&directive);
        assert!(is_linked, "no page links or shows {name}");
    }
    Ok(())
}
