use super::*;

fn table(rules: Vec<Rule>) -> Table {
    Table {
        schema: kernels::dispatch::SCHEMA,
        device: "a CPU".into(),
        measured_on: None,
        driver: None,
        version: "1.2".into(),
        date: "2026-11-21".into(),
        rules,
    }
}

fn rule(kernel: &str, us: f64) -> Rule {
    let any = kernels::dispatch::Range(0, 9);
    Rule {
        op: Op::Matmul,
        dtype: "f32".into(),
        batch: any,
        m: any,
        n: any,
        k: any,
        kernel: kernel.into(),
        us,
        next: String::new(),
        next_us: 0.,
        untuned: "candle".into(),
        untuned_us: 6.,
    }
}

#[test]
fn a_summary_counts_what_won() -> std::io::Result<()> {
    let table = table(vec![
        rule("small", 2.),
        rule("candle", 6.),
        rule("small", 3.),
    ]);
    let mut text = vec![];
    summary(&table, Duration::from_secs(7), &mut text)?;
    let text = String::from_utf8(text).expect("text");
    let line = |words: &str| {
        let same = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ") == words;
        assert!(text.lines().any(same), "{words} in\n{text}");
    };
    line("a CPU, 2026-11-21: 3 rules in 7 s");
    line("matmul f32 small 2 3.00× 3.00×");
    line("matmul f32 candle 1 1.00× 1.00×");
    Ok(())
}

#[test]
fn a_date_has_four_digits_of_a_year() {
    let at = |seconds| date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
    assert_eq!(at(0).expect("a date"), "1970-01-01");
    assert_eq!(at(253_402_300_799).expect("a date"), "9999-12-31");
    let early = date(SystemTime::UNIX_EPOCH - Duration::from_secs(1));
    for error in [early, at(253_402_300_800)] {
        let error = error.expect_err("no date").to_string();
        assert!(error.contains("the system's clock: expected"), "{error}");
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_found_before_the_measurements() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let path = file.path().join("table.json");
    let seen = |_: &Measured| panic!("measured before");
    let error = run(&Device::Cpu, Some(path), false, &[], seen, &mut vec![]);
    let error = error.expect_err("no folder").to_string();
    assert!(error.contains("expected a folder that can be"), "{error}");
}

#[test]
fn rules_of_one_operation_take_the_place_of_its_own() {
    let linear = Rule {
        op: Op::Linear,
        ..rule("tile", 5.)
    };
    let earlier = table(vec![rule("candle", 6.), linear.clone()]);
    let newer = Table {
        date: "2026-11-23".into(),
        ..table(vec![rule("small", 2.)])
    };
    let both = with_rules_of(earlier, newer, &[Op::Matmul]);
    assert_eq!(both.rules, [linear, rule("small", 2.)]);
    assert_eq!(both.date, "2026-11-23");
}

#[test]
fn two_programs_at_the_same_time_keep_the_rules_of_both() -> std::io::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("table.json");
    let ops = [Op::Matmul, Op::Linear, Op::RmsNorm, Op::LayerNorm];
    save(&table(vec![]), &path)?;
    std::thread::scope(|scope| {
        for op in ops {
            let measured = table(vec![Rule {
                op,
                ..rule("small", 2.)
            }]);
            let path = &path;
            scope.spawn(move || keep(measured, path, &[op]).expect("kept"));
        }
    });
    let kept = Table::load(&path).expect("a table").expect("a file");
    assert_eq!(kept.rules.len(), ops.len());
    Ok(())
}

/// A reader that has closed the pipe.
#[test]
fn the_table_is_saved_before_the_summary() -> std::io::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("table.json");
    let device = &Device::Cpu;
    let facts = Facts::of(device).expect("a CPU");
    save(&empty(facts).expect("a table"), &path)?;
    let (reader, mut closed) = std::io::pipe()?;
    drop(reader);
    run(
        device,
        Some(path.clone()),
        false,
        &[Op::RmsNorm],
        |_| {},
        &mut closed,
    )
    .expect_err("closed");
    let kept = Table::load(&path).expect("a table").expect("a file");
    assert!(!kept.rules.is_empty());
    Ok(())
}

#[test]
fn rules_go_into_a_table_of_the_same_device() -> std::io::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("table.json");
    let of = |device: &str, measured_on: Option<&str>| Table {
        device: device.into(),
        measured_on: measured_on.map(str::to_string),
        ..table(vec![])
    };
    let refused = |of: Table, expected: &str| {
        let said = earlier(&path, &of).expect_err("no such table").to_string();
        assert!(said.contains(expected), "{said}");
    };
    refused(of("a CPU", None), "expected a table to put");
    let any = of("any CPU", Some("a CPU, 2 threads"));
    save(&any, &path)?;
    assert_eq!(earlier(&path, &any).expect("a table"), any);
    let expected = "expected a table of any GPU, found one of any CPU";
    refused(of("any GPU", Some("a GPU")), expected);
    let expected = "expected a table measured on another, found one measured on a CPU, 2 threads";
    refused(of("any CPU", Some("another")), expected);
    Ok(())
}

#[test]
fn a_table_is_written_whole_where_it_is_looked_for() -> std::io::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("a folder/a-cpu.json");
    let table = table(vec![rule("small", 2.)]);
    save(&table, &path)?;
    assert_eq!(Table::load(&path), Ok(Some(table)));
    let files = std::fs::read_dir(path.parent().expect("a folder"))?;
    assert_eq!(files.count(), 1, "nothing beside it");
    Ok(())
}
