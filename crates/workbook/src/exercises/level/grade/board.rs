//! The leaderboard of a class: by milestones, and by what the simulator counted, which is the same on every machine.

use models::trace::table::{Line, aligned};

use super::{Graded, Method, is_repeated};

/// A table with its title and what its columns mean.
#[derive(Debug, PartialEq, Eq)]
pub struct Table {
    title: &'static str,
    legend: String,
    head: Vec<&'static str>,
    lines: Vec<Vec<String>>,
}

/// Launches of a level relative to level 1's steps, over all methods. A method that does not run as kernels alone counts as
/// level 1's: its process says how many tensors it makes.
fn steps(graded: &Graded) -> f64 {
    let own = |method: &Method| {
        let counts = method.counts.filter(|_| is_repeated(method));
        counts.map_or(method.level1_steps, |counts| counts.launches)
    };
    let sum: usize = graded.methods.iter().map(own).sum();
    let level1: usize = graded.methods.iter().map(|m| m.level1_steps).sum();
    if level1 == 0 {
        f64::INFINITY
    } else {
        sum as f64 / level1 as f64
    }
}

/// Bytes that the kernels moved, relative to the minimum; `None` without a kernel.
fn traffic(methods: &[&Method]) -> Option<f64> {
    let moved: u64 = methods
        .iter()
        .filter_map(|m| m.counts)
        .map(|c| c.bytes)
        .sum();
    let minimum: u64 = methods.iter().map(|m| m.minimum_bytes).sum();
    (minimum > 0).then(|| moved as f64 / minimum as f64)
}

/// Methods whose kernels do all of the work.
fn kernels(graded: &Graded) -> Vec<&Method> {
    let methods = graded.methods.iter();
    methods.filter(|method| is_repeated(method)).collect()
}

/// Both tables; the second one only if there is a kernel.
pub fn board(all: &[Graded]) -> Vec<Table> {
    let mut ranked: Vec<&Graded> = all.iter().collect();
    let cost = |graded: &Graded| traffic(&kernels(graded)).unwrap_or(f64::INFINITY);
    let by_result = |a: &Graded, b: &Graded| {
        let by_steps = steps(a).total_cmp(&steps(b));
        (b.reached.cmp(&a.reached))
            .then(by_steps)
            .then(cost(a).total_cmp(&cost(b)))
    };
    ranked.sort_by(|a, b| by_result(a, b).then(a.student.cmp(&b.student)));
    let line = |graded: &&Graded| {
        let better = ranked.iter().filter(|one| by_result(one, graded).is_lt());
        let rank = 1 + better.count();
        let right = graded
            .methods
            .iter()
            .filter(|m| m.replaced && m.wrong.is_none());
        let steps = match graded.refused {
            Some(_) => "–".into(),
            None => format!("{:.0}%", 100. * steps(graded)),
        };
        let traffic = traffic(&kernels(graded));
        vec![
            graded.student.clone(),
            rank.to_string(),
            format!("{} / {}", graded.reached, graded.of),
            graded.reported.len().to_string(),
            right.count().to_string(),
            steps,
            traffic.map_or("–".into(), |ratio| format!("{ratio:.2}×")),
        ]
    };
    let by_milestone = Table {
        title: "By milestones",
        legend: "milestones: what the grader checked, with those that the starter has. reported: milestones that rest on the word of \
                 the level's process, not checked and not in the rank: times, and steps of methods other than kernels. replaced: methods that \
                 are right and no longer level 1's. steps: launches that the grader repeated, of level 1's steps. traffic: bytes \
                 that the kernels moved in the simulator, of the minimum."
            .into(),
        head: vec![
            "student",
            "rank",
            "milestones",
            "reported",
            "replaced",
            "steps",
            "traffic",
        ],
        lines: ranked.iter().map(line).collect(),
    };
    let costs = by_cost(all);
    let mut tables = vec![by_milestone];
    if !costs.lines.is_empty() {
        tables.push(costs);
    }
    tables
}

/// Kernels of each method, the cheapest first.
fn by_cost(all: &[Graded]) -> Table {
    let mut lines = vec![];
    for name in levels::OPS {
        let of = |graded: &'_ Graded| -> Option<(super::super::child::Counts, Vec<String>)> {
            let method = kernels(graded).into_iter().find(|m| m.name == **name)?;
            let counts = method.counts?;
            Some((
                counts,
                vec![
                    (*name).to_string(),
                    graded.student.clone(),
                    counts.launches.to_string(),
                    traffic(&[method]).map_or("–".into(), |ratio| format!("{ratio:.2}×")),
                    counts.warps.to_string(),
                ],
            ))
        };
        let mut of_method: Vec<_> = all.iter().filter_map(of).collect();
        of_method.sort_by(|(a, x), (b, y)| {
            (a.bytes, a.warps, a.launches, &x[1]).cmp(&(b.bytes, b.warps, b.launches, &y[1]))
        });
        lines.extend(of_method.into_iter().map(|(_, line)| line));
    }
    Table {
        title: "By simulated cost",
        legend: "Kernels of each method in one call, the cheapest first: by bytes, then by instructions of warps. An atomic reads and \
                 writes each sector that its warp touches, whatever the number of lanes."
            .into(),
        head: vec!["method", "student", "launches", "traffic", "instructions"],
        lines,
    }
}

/// For a terminal.
pub fn text(tables: &[Table]) -> String {
    let mut text = String::new();
    for table in tables {
        let head: Vec<String> = table.head.iter().map(|cell| (*cell).into()).collect();
        let mut lines = vec![Line::of(head)];
        lines.extend(table.lines.iter().cloned().map(Line::of));
        text += &format!("{}\n{}\n", table.title, aligned(&lines));
    }
    text
}

/// As a page in Markdown.
pub fn markdown(tables: &[Table]) -> String {
    let mut text = String::from("# Leaderboard\n");
    for table in tables {
        text += &format!("\n## {}\n\n| {} |\n", table.title, table.head.join(" | "));
        text += &format!("|:--|{}\n", "--:|".repeat(table.head.len() - 1));
        for line in &table.lines {
            let cells: Vec<String> = line.iter().map(|cell| escaped(cell)).collect();
            text += &format!("| {} |\n", cells.join(" | "));
        }
        text += &format!("\n{}\n", table.legend);
    }
    text
}

/// Ends a word for programs that make links of addresses and of names after `@` or `#`.
const NO_SPACE: char = '\u{200b}';

/// A cell without tags, links and the other marks of Markdown: names are a student's text.
fn escaped(cell: &str) -> String {
    let mut text = String::new();
    for c in cell.chars() {
        match c {
            '&' => text += "&amp;",
            '<' => text += "&lt;",
            '>' => text += "&gt;",
            '\\' | '|' | '`' | '*' | '[' | ']' | '!' | '~' => text.extend(['\\', c]),
            '@' | '#' | ':' => text.extend([c, NO_SPACE]),
            '.' if text.to_lowercase().ends_with("www") => text.extend([NO_SPACE, c]),
            _ => text.push(c),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::super::child::Counts;
    use super::*;

    fn graded(student: &str, reached: usize, launches: usize, bytes: Option<u64>) -> Graded {
        let counts = Counts {
            tensors: 1,
            launches: if bytes.is_some() { launches } else { 0 },
            bytes: bytes.unwrap_or(0),
            warps: 7,
            ..Counts::default()
        };
        Graded {
            student: student.into(),
            reached,
            from_starter: 1,
            of: 4,
            reported: vec![],
            refused: None,
            methods: vec![Method {
                name: "linear".into(),
                replaced: true,
                counts: Some(counts),
                level1_steps: 4,
                minimum_bytes: 1000,
                ..Method::default()
            }],
            grades: vec![],
            seconds: 0.,
        }
    }

    #[test]
    fn equal_results_have_equal_ranks() {
        let all = [("gus", 2), ("bob", 3), ("ada", 2), ("cyd", 1)];
        let all = all.map(|(student, reached)| graded(student, reached, 2, Some(1100)));
        let lines = &board(&all)[0].lines;
        let ranks: Vec<String> = lines.iter().map(|line| line[..2].join(" ")).collect();
        assert_eq!(ranks, ["bob 1", "ada 2", "gus 2", "cyd 4"]);
    }

    #[test]
    fn milestones_rank_then_steps_then_traffic() {
        let refused = Graded {
            refused: Some("src/ops.rs:1: error".into()),
            methods: vec![],
            ..graded("eve", 0, 4, None)
        };
        let all = [
            refused,
            graded("dan", 2, 2, Some(1500)),
            graded("ada|x", 3, 4, None),
            graded("cyd", 2, 2, Some(1100)),
            graded("bob", 2, 1, Some(900)),
        ];
        let tables = board(&all);
        let [ranks, costs] = &tables[..] else {
            panic!("expected two tables, found {tables:?}");
        };
        let column = |table: &Table, i: usize| -> Vec<String> {
            table.lines.iter().map(|line| line[i].clone()).collect()
        };
        assert_eq!(column(ranks, 0), ["ada|x", "bob", "cyd", "dan", "eve"]);
        assert_eq!(column(ranks, 1), ["1", "2", "3", "4", "5"]);
        assert_eq!(column(ranks, 5), ["100%", "25%", "50%", "50%", "–"]);
        assert_eq!(column(ranks, 6), ["–", "0.90×", "1.10×", "1.50×", "–"]);
        assert_eq!(column(costs, 1), ["bob", "cyd", "dan"]);
        assert!(markdown(&tables).contains("| ada\\|x | 1 | 3 / 4 |"));
        let name = "<img src=x>[a](b)`c`";
        let escaped = "&lt;img src=x&gt;\\[a\\](b)\\`c\\`";
        assert!(markdown(&board(&[graded(name, 1, 1, None)])).contains(escaped));
        let name = "@ada #7 www.a.b Http://a.b c@d.e 1.5";
        let escaped = "@_ada #_7 www_.a.b Http:_//a.b c@_d.e 1.5".replace('_', "\u{200b}");
        assert!(markdown(&board(&[graded(name, 1, 1, None)])).contains(&escaped));
        assert_eq!(board(&all[2..3]).len(), 1, "no kernel, no costs");
        // An empty kernel next to level 1's method.
        let mut empty = graded("fay", 1, 4, Some(0));
        empty.methods[0].part = true;
        assert_eq!(board(&[empty]).len(), 1);
    }
}
