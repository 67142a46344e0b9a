use std::collections::BTreeSet;
use std::fs;

use super::*;

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// The boxes of all files, as `FILE/NAME`.
fn all() -> Vec<(String, Prediction)> {
    let folder = repository().join("book/predict");
    let mut found = vec![];
    for file in fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        let file = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let boxes = read(&folder, &file).unwrap();
        let named = |b: Prediction| (format!("{file}/{}", b.name), b);
        found.extend(boxes.into_iter().map(named));
    }
    found
}

fn library() -> Library {
    let folder = repository().join("benches/results");
    Library::open(&folder, Path::new("no/such/folder")).unwrap()
}

#[test]
fn a_chapter_shows_each_box() {
    let chapters = fs::read_dir(repository().join("book/chapters")).unwrap();
    let read = |entry: fs::DirEntry| fs::read_to_string(entry.path()).ok();
    let text: String = chapters.filter_map(|entry| read(entry.unwrap())).collect();
    for (name, _) in all() {
        let shown = text.matches(&format!("{{{{predict {name}}}}}")).count();
        assert_eq!(shown, 1, "{name}");
    }
    assert!(all().len() >= 8, "{}", all().len());
}

#[test]
fn names_differ_and_each_box_has_a_value_and_says_why() {
    let names: BTreeSet<String> = all().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), all().len());
    let mut library = library();
    for (name, found) in all() {
        assert!(found.why.len() > 30, "{name}: {}", found.why);
        assert!(!found.ask.is_empty(), "{name}");
        let answer = found.from.answer(repository(), &mut library).unwrap();
        assert!(found.value(&answer).unwrap() > 0., "{name}");
    }
}

/// A question must not give away what is to be estimated.
#[test]
fn no_question_holds_its_value() {
    let mut library = library();
    for (name, found) in all() {
        let answer = found.from.answer(repository(), &mut library).unwrap();
        let value = number(found.value(&answer).unwrap());
        let mut words = found.ask.split(|c: char| !c.is_ascii_digit() && c != '.');
        assert!(!words.any(|word| word == value), "{name}: {value}");
    }
}

fn prediction(unit: &str) -> Prediction {
    let text = format!(
        r#"
name = "n"
ask = "How *many*?"
unit = '{unit}'
from = {{ measure = "op.x.y.f32.level4", on = "h200" }}
why = "Because."
"#
    );
    toml::from_str(&text).unwrap()
}

fn answer(value: &str) -> Answer {
    Answer {
        value: value.into(),
        origin: "Recorded.".into(),
    }
}

#[test]
fn the_field_comes_before_the_folded_value() {
    let text = prediction("µs").text(&answer("1.38 µs")).unwrap();
    let parts = [
        "<div class=\"predict\" data-value=\"1.38\">\n\nHow *many*?\n\n",
        "<form hidden>",
        "<input type=\"number\"",
        " µs</label>",
        "<button type=\"submit\">",
        "</form>\n\n<details><summary>",
        "**1.38 µs.** Because.\n\nRecorded.\n\n</details>\n\n</div>",
    ];
    let mut rest = &text[..];
    for part in parts {
        let found = rest.split_once(part);
        rest = found.unwrap_or_else(|| panic!("{part}: {text}")).1;
    }
    assert_eq!(rest, "");
}

#[test]
fn a_count_is_shown_in_full_and_a_ratio_in_three_digits() {
    for (value, shown) in [("1536", "1536 sectors"), ("2.34567", "2.35 sectors")] {
        let text = prediction("sectors").text(&answer(value)).unwrap();
        assert!(text.contains(&format!("**{shown}.**")), "{text}");
    }
}

#[test]
fn units_are_those_of_the_record_and_are_escaped() {
    let error = prediction("ms").text(&answer("1.38 µs")).unwrap_err();
    let expected = "expected the unit `µs` of the record, found `ms`";
    assert_eq!(error.to_string(), expected);
    let text = prediction("<b>").text(&answer("3")).unwrap();
    assert!(
        text.contains("&lt;b> <") || text.contains("&lt;b></label>"),
        "{text}"
    );
    for nothing in ["0", "none"] {
        let error = prediction("sectors").text(&answer(nothing)).unwrap_err();
        assert!(error.to_string().starts_with("expected a number above 0"));
    }
}
