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

#[test]
fn every_method_says_what_it_launches_or_does() {
    for ops in levels() {
        let source = ops_file(ops.level());
        let lines: Vec<&str> = source.lines().collect();
        for (i, line) in lines.iter().enumerate().skip(1) {
            let documented = lines[i - 1].trim_start().starts_with("///");
            let is_method = line.starts_with("    fn ") && !line.starts_with("    fn level(");
            assert!(!is_method || documented, "level {}: {line}", ops.level());
        }
    }
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
    // The two lines that have to: the import of the kernels, and the number itself.
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
