//! The files `ops.rs` of the levels: one list of methods, and a `diff` of two neighbours that shows ideas alone.

use std::collections::HashSet;

use tests::{levels, root};

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

fn ops_file(level: u8) -> String {
    read(&format!("levels/level{level}/src/ops.rs"))
}

/// The functions of a level's `impl Ops`, or of the trait, in the order of the file.
fn methods(source: &str) -> Vec<&str> {
    let declarations = source
        .lines()
        .filter_map(|line| line.strip_prefix("    fn "));
    declarations
        .filter_map(|line| line.split('(').next())
        .collect()
}

#[test]
fn every_level_lists_the_methods_of_the_trait_in_its_order() {
    let ops = read("models/src/ops.rs");
    let wanted = methods(&ops[ops.find("pub trait Ops").unwrap()..]);
    assert!(wanted.len() > 12, "{wanted:?}");
    for ops in levels() {
        let level = ops.level();
        assert_eq!(methods(&ops_file(level)), wanted, "level {level}");
    }
}

/// The fault of a method's doc comment: it is one line, a count of launches and a sentence, as in `2 launches: the norm, then
/// the matmul.` A cache launches nothing.
fn fault(method: &str, doc: &[&str]) -> Option<&'static str> {
    let [line] = doc else {
        return Some("expected one line of `///`");
    };
    if !line.ends_with('.') || line.matches(". ").count() > 1 {
        return Some("expected one sentence after the count");
    }
    if method == "new_caches" {
        return None;
    }
    let (count, rest) = line.split_once(' ').unwrap_or((line, ""));
    let unit = match count.parse::<u8>() {
        Ok(1) => "launch",
        Ok(2..) => "launches",
        _ => return Some("expected a count of launches first"),
    };
    let rest = rest.strip_prefix(unit).unwrap_or("no unit");
    (!rest.starts_with([' ', ',', ';', ':', '.'])).then_some("expected `1 launch` or `2 launches`")
}

#[test]
fn every_method_says_how_many_launches_it_makes_and_the_idea() {
    for ops in levels() {
        let source = ops_file(ops.level());
        let lines: Vec<&str> = source.lines().collect();
        let begin = lines.iter().position(|l| l.starts_with("impl Ops for"));
        let mut doc = vec![];
        let mut checked = 0;
        for line in &lines[begin.unwrap()..] {
            if let Some(comment) = line.strip_prefix("    /// ") {
                doc.push(comment);
            } else if let Some(method) = methods(line).first().filter(|m| **m != "level") {
                let fault = fault(method, &doc);
                assert_eq!(fault, None, "level {}: {method}: {doc:?}", ops.level());
                checked += 1;
            }
            if !line.starts_with("    /// ") {
                doc.clear();
            }
        }
        assert!(checked > 12, "level {}: {checked}", ops.level());
    }
}

#[test]
fn a_count_that_is_missing_or_long_is_a_fault() {
    for good in [
        "1 launch. A block copies a row.",
        "2 launches: the norm, then the matmul.",
        "1 launch, of the fastest kernel.",
        "1 launch where x; else 2.",
    ] {
        assert_eq!(fault("linear", &[good]), None, "{good}");
    }
    for bad in [
        "As `norm_linear`.",
        "1 launches. A block copies a row.",
        "2 launch: the norm.",
        "3launches: x.",
        "0 launches: x.",
        "1 launch. One. Two.",
        "1 launch: without an end",
        "1 launcher: x.",
    ] {
        assert!(fault("linear", &[bad]).is_some(), "{bad}");
    }
    assert!(fault("linear", &["1 launch. A", "block."]).is_some());
    assert!(fault("linear", &[]).is_some());
    assert_eq!(fault("new_caches", &["Memory is set aside."]), None);
}

/// Outside of `use`, `struct`, `impl` and `level()`, no line carries the number of the level.
#[test]
fn a_level_carries_its_number_in_its_name_alone() {
    for ops in levels() {
        let level = ops.level();
        let source = ops_file(level);
        let code = source
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        let named = [format!("level{level}"), format!("Level{level}")];
        for line in code {
            let stated = ["use ", "pub use ", "pub struct ", "impl "];
            let stated = stated.iter().any(|word| line.starts_with(word));
            let found = named.iter().any(|name| line.contains(name));
            assert!(stated || !found, "level {level}: {line}");
        }
    }
}

/// Lines that only one of two neighbours has, and that are the same in the other but for a digit: the noise of a `diff`.
#[test]
fn no_line_of_a_diff_differs_in_a_digit_alone() {
    let without_digits =
        |line: &str| -> String { line.chars().filter(|c| !c.is_ascii_digit()).collect() };
    // Lines that have to: imports, the level's struct, its `impl`, and the number in `level()`.
    let allowed = |line: &str| {
        let word = line.trim_start();
        let is_import = word.starts_with("use ") || word.starts_with("pub use ");
        let is_name = ["pub struct ", "impl "].iter().any(|w| word.starts_with(w));
        is_import || is_name || word.parse::<u8>().is_ok()
    };
    for level in 1..levels::highest() {
        let (low, high) = (ops_file(level), ops_file(level + 1));
        let lines_of_low: HashSet<&str> = low.lines().collect();
        let lines_of_high: HashSet<&str> = high.lines().collect();
        let only_low = lines_of_low
            .difference(&lines_of_high)
            .filter(|l| !allowed(l));
        let only_low: HashSet<String> = only_low.map(|line| without_digits(line)).collect();
        for line in lines_of_high
            .difference(&lines_of_low)
            .filter(|l| !allowed(l))
        {
            let noise = only_low.contains(&without_digits(line));
            assert!(!noise, "levels {level} and {}: {line}", level + 1);
        }
    }
}
