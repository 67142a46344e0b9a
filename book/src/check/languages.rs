//! Blocks of code in a language that no grammar colours.

use anyhow::{Result, ensure};
use regex::Regex;
use simt::case::files_below;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// One finding for each page and language that none of the built scripts registers with highlight.js.
pub fn findings(built: &Path) -> Result<Vec<String>> {
    let known = known(built)?;
    ensure!(
        known.contains("rust"),
        "{}: expected highlight.js, found no grammar of it",
        built.display()
    );
    let block = Regex::new(r#"<code class="[^"]*\blanguage-([\w+-]+)"#)?;
    let mut found = BTreeSet::new();
    for page in files_below(built, &["html"])? {
        let name = page.strip_prefix(built)?.display();
        // It repeats the other pages.
        if name.to_string() == "print.html" {
            continue;
        }
        let html = fs::read_to_string(&page)?;
        for language in block.captures_iter(&html).map(|block| block[1].to_owned()) {
            if !known.contains(&language) {
                found.insert(format!(
                    "{name}: expected a language with a grammar, such as cpp, ptx, sh or text, found `{language}`"
                ));
            }
        }
    }
    Ok(found.into_iter().collect())
}

/// Names and aliases of the grammars: `registerLanguage("bash", …)`, `aliases:["sh","zsh"]`, `registerAliases(["a"], …)`.
fn known(built: &Path) -> Result<BTreeSet<String>> {
    let call =
        Regex::new(r#"registerLanguage\("([^"]+)"|(?:aliases:\s*|registerAliases\()\[([^\]]*)\]"#)?;
    let mut known = BTreeSet::new();
    for script in files_below(built, &["js"])? {
        let text = fs::read_to_string(script)?;
        for call in call.captures_iter(&text) {
            let names = call
                .get(1)
                .or(call.get(2))
                .map_or("", |names| names.as_str());
            let names = names.split(',').map(|name| name.trim().trim_matches('"'));
            known.extend(names.map(str::to_owned));
        }
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_without_a_grammar_is_found() {
        let built = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(built.path().join(name), text).unwrap();
        write(
            "highlight.js",
            r#"hljs.registerLanguage("rust",e);hljs.registerLanguage("bash",{aliases:["sh","zsh"]});"#,
        );
        write(
            "own.js",
            r#"hljs.registerAliases(["cuda"], { languageName: "cpp" });"#,
        );
        let page =
            |language| format!("<pre><code class=\"language-{language} hljs\">x</code></pre>");
        for language in ["rust", "sh", "cuda"] {
            write("a.html", &page(language));
            assert_eq!(findings(built.path()).unwrap(), [""; 0], "{language}");
        }
        write("a.html", &(page("ptx") + &page("ptx") + &page("rust")));
        write("print.html", &page("ptx"));
        let found = findings(built.path()).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("a.html: ") && found[0].ends_with("found `ptx`"),
            "{found:?}"
        );
        fs::remove_file(built.path().join("highlight.js")).unwrap();
        assert!(findings(built.path()).is_err());
    }
}
