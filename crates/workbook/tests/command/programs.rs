//! Each program without options.

use crate::fixture::{levels, run};

#[test]
fn a_text() {
    for level in &levels() {
        let run = run(&["lm", "--level", level]);
        assert!(run.fine().split_whitespace().count() > 20, "{}", run.stdout);
        assert!(run.stderr.contains("tokens/s"), "{}", run.stderr);
    }
}

#[test]
fn the_sample_pictures() {
    for level in &levels() {
        let run = run(&["vit", "--level", level]);
        let lines: Vec<&str> = run.fine().lines().collect();
        assert_eq!(lines.len(), 10 * 6);
        let right = |block: &&[&str]| {
            let (_, name) = block[0].rsplit_once(['/', '\\']).unwrap();
            block[1].ends_with(name.strip_suffix(".png").unwrap())
        };
        let right = lines.chunks(6).filter(right).count();
        assert!(right >= 9, "{}", run.stdout);
    }
}

#[test]
fn drawn_graphs() {
    for level in &levels() {
        let run = run(&["gnn", "--level", level]);
        let lines: Vec<&str> = run.fine().lines().collect();
        assert_eq!(lines.len(), 10 * 4);
        let right = |block: &&[&str]| {
            let (_, truth) = block[0].rsplit_once("true class ").unwrap();
            block[1].ends_with(&format!("  {truth}"))
        };
        let right = lines.chunks(4).filter(right).count();
        assert!(right >= 9, "{}", run.stdout);
    }
}
