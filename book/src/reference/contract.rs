//! An op's contract, as the documentation of its module states it.

use super::escape;
use crate::includes::text_of;
use anyhow::{Context, Result, ensure};
use regex::Regex;
use std::path::Path;

/// The contract of the op in `folder`: its module's documentation, what it costs, and when it fails.
pub fn contract(folder: &Path) -> Result<String> {
    let source = source(&folder.join("mod.rs"))?;
    let mut text = format!("## Contract\n\n{}\n", module_doc(&source)?);
    text += &labelled("Cost", &costs(&source)?);
    text += &labelled("Errors", &errors(folder)?);
    Ok(text)
}

/// The first paragraph of a module's documentation in one line: its formula.
pub fn formula(folder: &Path) -> Result<String> {
    let doc = module_doc(&source(&folder.join("mod.rs"))?)?;
    let first = doc.split("\n\n").next().unwrap_or_default();
    Ok(first.trim().replace('\n', " "))
}

fn source(file: &Path) -> Result<String> {
    let text = text_of(file)
        .with_context(|| format!("expected the file {}, found none", file.display()))?;
    Ok(text.replace("\r\n", "\n"))
}

fn module_doc(source: &str) -> Result<String> {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    let lines: Vec<&str> = lines
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect();
    ensure!(!lines.is_empty(), "expected a module with documentation");
    Ok(escape::doc(&lines.join("\n")))
}

/// A function's name, and what its documentation says.
type Said = (String, String);

/// Doc comments of the cost functions.
fn costs(source: &str) -> Result<Vec<Said>> {
    let cost = Regex::new(r"((?m:^///.*\n)+)(?m:^#\[.*\n)*pub fn (\w*cost)\b")?;
    let said = cost.captures_iter(source);
    Ok(said
        .map(|found| (found[2].to_string(), comment(&found[1])))
        .collect())
}

/// The section `Errors` of each public function, at the first of levels 4, 5 and 3 that exists.
fn errors(folder: &Path) -> Result<Vec<Said>> {
    let error =
        Regex::new(r"(?m:^/// # Errors\n)((?:(?m:^///.*\n))+)(?m:^#\[.*\n)*pub fn (\w+)\b")?;
    let Some(source) = lowest_level(folder)? else {
        return Ok(vec![]);
    };
    let mut said: Vec<Said> = vec![];
    for found in error.captures_iter(&source) {
        said.push((found[2].to_string(), comment(&found[1])));
    }
    Ok(said)
}

/// The source of the lowest of levels 4, 5 and 3 that there is: a module in `mod.rs`, or a file.
fn lowest_level(folder: &Path) -> Result<Option<String>> {
    let all = source(&folder.join("mod.rs"))?;
    for number in [4, 5, 3] {
        let start = format!("\npub mod level{number} {{\n");
        if let Some((_, rest)) = all.split_once(&start) {
            let body = rest.split("\n}\n").next().unwrap_or_default();
            let lines = body.lines().map(|x| x.strip_prefix("    ").unwrap_or(x));
            return Ok(Some(lines.collect::<Vec<_>>().join("\n")));
        }
        for file in [format!("level{number}.rs"), format!("level{number}/mod.rs")] {
            let file = folder.join(file);
            if file.is_file() {
                return source(&file).map(Some);
            }
        }
    }
    Ok(None)
}

/// The text of a `///` comment in one line.
fn comment(lines: &str) -> String {
    let lines = lines
        .lines()
        .map(|line| line.trim_start_matches('/').trim());
    let text: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    escape::doc(&text.join(" "))
}

/// One sentence where all functions say the same, otherwise a list.
fn labelled(label: &str, said: &[Said]) -> String {
    match said {
        [] => String::new(),
        [(_, first), rest @ ..] if rest.iter().all(|(_, other)| other == first) => {
            format!("\n**{label}.** {first}\n")
        }
        _ => {
            let items = said
                .iter()
                .map(|(name, text)| format!("- `{name}`: {text}\n"));
            format!("\n**{label}**\n\n{}", items.collect::<String>())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const MODULE: &str = "//! y = x\\[0\\],\n//! of [`Cache`].\n//!\n//! Tolerance: 0.\n\nmod a;\n\n\
        /// x in,\n/// y out.\n#[inline]\npub fn cost(n: usize) {}\n\n/// Twice that.\npub fn big_cost() {}\n";

    #[test]
    fn the_page_states_the_contract_of_the_code() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("mod.rs"), MODULE).unwrap();
        let level = "/// y.\n///\n/// # Errors\n/// When it\n/// fails.\npub fn copy() {}\n";
        fs::write(folder.path().join("level4.rs"), level).unwrap();
        let expected = "## Contract\n\ny = x\\[0\\],\nof `Cache`.\n\nTolerance: 0.\n\n**Cost**\n\n\
            - `cost`: x in, y out.\n- `big_cost`: Twice that.\n\n**Errors.** When it fails.\n";
        assert_eq!(contract(folder.path()).unwrap(), expected);
        fs::remove_file(folder.path().join("level4.rs")).unwrap();
        let body: String = level.lines().map(|line| format!("    {line}\n")).collect();
        let inline =
            format!("{MODULE}\n/// Four.\npub mod level4 {{\n    use super::*;\n\n{body}}}\n");
        fs::write(folder.path().join("mod.rs"), inline).unwrap();
        assert_eq!(contract(folder.path()).unwrap(), expected);
        assert_eq!(formula(folder.path()).unwrap(), "y = x\\[0\\], of `Cache`.");
    }
}
