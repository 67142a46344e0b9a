//! Every exercise has the same parts, and its page shows them in the same order.

use std::fs;

use classroom::Exercise;
use classroom::page::{Solutions, page};
use classroom::source::regions;
use classroom::spec::Debrief;

use crate::desk::{all, repository, solution};

/// Words of an explanation.
const WORDS: std::ops::RangeInclusive<usize> = 60..=200;
/// Maximum columns of a figure.
const COLUMNS: usize = 72;
/// Begins a figure.
const FIGURE: &str = "```text,figure";

#[test]
fn every_exercise_has_a_figure_an_explanation_and_a_debrief() {
    let missing: Vec<String> = all().iter().flat_map(missing).collect();
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

fn missing(exercise: &Exercise) -> Vec<String> {
    let words = exercise.explanation.as_deref().unwrap_or_default();
    let is_word = |word: &&str| word.contains(char::is_alphabetic);
    let words = words.split_whitespace().filter(is_word).count();
    let explanation = format!("solution.md: expected 60 to 200 words, found {words}");
    let explanation = (!WORDS.contains(&words)).then_some(explanation);
    let debrief = match &exercise.spec.debrief {
        Some(debrief) => of_debrief(debrief),
        None => vec!["exercise.toml: expected [debrief], found none".into()],
    };
    let found = of_figure(&exercise.task).into_iter().chain(explanation);
    let found = found.chain(debrief);
    found
        .map(|what| format!("{}/{what}", exercise.id))
        .collect()
}

/// Faults of a task, which has one figure that is as wide as a terminal at most.
fn of_figure(task: &str) -> Option<String> {
    let lines: Vec<&str> = task.lines().collect();
    let begins = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| **line == FIGURE);
    let begins: Vec<usize> = begins.map(|(number, _)| number).collect();
    let [begin] = begins[..] else {
        let found = begins.len();
        return Some(format!("page.md: expected one `{FIGURE}`, found {found}"));
    };
    let figure = lines[begin + 1..].iter();
    let figure = figure.take_while(|line| !line.starts_with("```"));
    let widest = figure.map(|line| line.chars().count()).max().unwrap_or(0);
    let what = format!("page.md: expected a figure of 1 to {COLUMNS} columns, found {widest}");
    (!(1..=COLUMNS).contains(&widest)).then_some(what)
}

/// Faults of a debrief. The book's test follows its link to a heading.
fn of_debrief(debrief: &Debrief) -> Vec<String> {
    let Debrief {
        idea,
        file,
        line,
        next,
    } = debrief;
    let mut found = vec![];
    if idea.trim().is_empty() {
        found.push("exercise.toml: expected an idea, found none".into());
    }
    let text = fs::read_to_string(repository().join(file)).unwrap_or_default();
    if debrief.number(&text).is_none() {
        found.push(format!(
            "exercise.toml: expected `{line}` once as a line of {file}"
        ));
    }
    let chapters = next
        .split("](")
        .skip(1)
        .filter_map(|to| to.split([')', '#']).next());
    let chapters: Vec<&str> = chapters.collect();
    let is_one = |to: &&str| repository().join("book/chapters").join(to).is_file();
    if chapters.is_empty() || !chapters.iter().all(is_one) {
        found.push(format!(
            "exercise.toml: expected links to chapters, found {next}"
        ));
    }
    found
}

/// Overview, starter, checks, their output, hints, solution, wrong answers.
#[test]
fn pages_have_one_order() {
    for exercise in all() {
        let page = page(&exercise, Solutions::Shown);
        let task = exercise.task.lines().next().unwrap();
        let parts = [
            "# ",
            "\nAfter it you can ",
            task,
            "\n## The starter\n",
            "\n## What is checked\n",
            "\n## Output of the check\n",
            "<summary>The output when it is solved</summary>",
            "\n## Hints\n",
            "<summary>Hint 3</summary>",
            "\n## Solution\n",
            "<summary>The solution, explained</summary>",
            "<summary>Wrong answers that the check rejects</summary>",
        ];
        let places: Vec<_> = parts.iter().map(|part| page.find(part)).collect();
        let all_there = places.iter().all(Option::is_some);
        assert!(
            all_there && places.is_sorted(),
            "{}: {places:?}",
            exercise.id
        );
    }
}

/// With solutions, a page has every region, the explanation, the wrong answers and the debrief.
#[test]
fn a_page_may_have_the_solution() {
    for exercise in all() {
        let page = page(&exercise, Solutions::Shown);
        for region in regions(solution(&exercise)) {
            assert!(page.contains(&region.lines.join("\n")), "{}", exercise.id);
        }
        let explanation = exercise.explanation.as_deref().unwrap_or_default();
        assert!(page.contains(explanation.trim()), "{}", exercise.id);
        for wrong in exercise.bank().unwrap().wrong {
            let what = wrong.what.trim().split(['<', '`']).next().unwrap();
            assert!(
                page.contains(&format!("\n- {what}")),
                "{}: {what}",
                exercise.id
            );
        }
        if let Some(debrief) = &exercise.spec.debrief {
            assert!(page.contains(debrief.idea.trim()), "{}", exercise.id);
            assert!(page.contains(", line "), "{}", exercise.id);
        }
    }
}

/// A page without solutions has nothing of them.
#[test]
fn a_page_may_lack_the_solution() {
    for exercise in all() {
        let page = page(&exercise, Solutions::Hidden);
        for region in regions(solution(&exercise)) {
            assert!(!page.contains(&region.lines.join("\n")), "{}", exercise.id);
        }
        for part in [
            "## Solution",
            "Wrong answers that the check rejects",
            "in a real kernel",
        ] {
            assert!(!page.contains(part), "{}: {part}", exercise.id);
        }
    }
}

/// The archive for a class leaves out the folders of exercises by their first character.
#[test]
fn an_archive_for_a_class_has_no_exercise() {
    let chapter = repository().join("book/chapters/syllabus.md");
    let chapter = fs::read_to_string(chapter).unwrap();
    assert!(chapter.contains("HEAD ':!exercises/[0-9]-*' "));
    for exercise in all() {
        let topic = exercise.folder.parent().unwrap();
        let topic = topic.file_name().unwrap().to_str().unwrap();
        let (number, _) = topic.split_once('-').unwrap();
        assert!(number.len() == 1 && number.parse::<u8>().is_ok(), "{topic}");
    }
}
