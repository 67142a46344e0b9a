//! Answers that a learner writes in the file: lines `// name = value` in a region.

use std::collections::BTreeMap;

use data::BadInput;

use crate::source::regions;

/// Answers by name, with their lines.
#[derive(Debug, Clone, Default)]
pub struct Answers(BTreeMap<String, (usize, String)>);

impl Answers {
    /// Reads the answers in the regions of a text; text after a second `//` is ignored.
    pub fn read(text: &str) -> Self {
        let mut answers = BTreeMap::new();
        for region in regions(text) {
            for (number, line) in (region.line..).zip(&region.lines) {
                if let Some((name, value)) = answer(line) {
                    answers.insert(name.to_owned(), (number, value.to_owned()));
                }
            }
        }
        Self(answers)
    }

    /// Returns the answer to a question, and its line.
    pub fn get(&self, name: &str) -> Option<(usize, &str)> {
        self.0
            .get(name)
            .map(|(line, value)| (*line, value.as_str()))
    }

    /// Returns `launch` with the learner's launch in place of `{launch}`.
    ///
    /// # Errors
    /// The answer is missing, or has more than grid, block and shared memory.
    pub fn in_launch(&self, launch: &str) -> Result<String, BadInput> {
        if !launch.contains("{launch}") {
            return Ok(launch.to_owned());
        }
        let expected = "a line `// launch = --grid … --block …` in a region";
        let (_, own) = self
            .get("launch")
            .filter(|(_, own)| !own.is_empty())
            .ok_or_else(|| BadInput::new("the launch", expected, "none"))?;
        let flags = own.split_whitespace().filter(|word| word.starts_with("--"));
        match flags
            .map(|flag| flag.split('=').next())
            .find(|flag| !matches!(flag, Some("--grid" | "--block" | "--smem")))
        {
            Some(other) => Err(BadInput::new(
                "the launch",
                expected,
                other.unwrap_or_default(),
            )),
            None => Ok(launch.replace("{launch}", own)),
        }
    }
}

/// `// sectors = 4   // of 32 bytes` → (sectors, 4)
fn answer(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.trim().strip_prefix("//")?.split_once('=')?;
    let name = name.trim();
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let value = value.split("//").next().unwrap_or_default().trim();
    is_name.then_some((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_from_regions() {
        let text = "// a = 1\n// REGION: r\n//  b_2 = x y // why\n// no answer = 2\n// END\n";
        let answers = Answers::read(text);
        assert_eq!(answers.get("b_2"), Some((3, "x y")));
        assert_eq!(answers.get("a"), None);
        assert_eq!(answers.get("no answer"), None);
    }

    #[test]
    fn a_learners_launch_has_only_grid_block_and_shared_memory() {
        let launch = |own: &str| {
            let text = format!("// REGION: r\n// launch = {own}\n// END\n");
            Answers::read(&text).in_launch("{launch}")
        };
        assert_eq!(launch("--grid 3").unwrap(), "--grid 3");
        assert!(launch("--grid 3 --arg i32:1").is_err());
        assert!(launch("").is_err());
        assert!(Answers::default().in_launch("{launch}").is_err());
    }
}
