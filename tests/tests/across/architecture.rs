//! ARCHITECTURE.md lists what each crate depends on; the manifests decide.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use tests::root;

/// A crate, and the crates of this repository that its code uses.
type Crates = BTreeMap<String, BTreeSet<String>>;

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The quoted paths of `members` in the root manifest.
fn members() -> Vec<PathBuf> {
    let manifest = read(&root().join("Cargo.toml"));
    let (_, after) = manifest.split_once("members = [").unwrap();
    let (list, _) = after.split_once(']').unwrap();
    list.split('"')
        .skip(1)
        .step_by(2)
        .map(|member| root().join(member).join("Cargo.toml"))
        .collect()
}

fn by_manifests() -> Crates {
    let manifests: Vec<String> = members().iter().map(|path| read(path)).collect();
    let name = |manifest: &String| {
        manifest
            .split("name = \"")
            .nth(1)?
            .split('"')
            .next()
            .map(str::to_string)
    };
    let names: BTreeSet<String> = manifests.iter().filter_map(name).collect();
    let of = |manifest: &String| {
        let (_, after) = manifest.split_once("\n[dependencies]\n")?;
        let table = after.split("\n[").next()?;
        let uses = table
            .lines()
            .filter_map(|line| line.split(['.', ' ', '=']).next());
        let uses = uses.filter(|used| names.contains(*used) && *used != "workspace-hack");
        Some((name(manifest)?, uses.map(str::to_string).collect()))
    };
    let mut crates: Crates = manifests.iter().filter_map(of).collect();
    crates.remove("workspace-hack");
    crates
}

fn by_page() -> Crates {
    let page = read(&root().join("ARCHITECTURE.md"));
    let (_, after) = page.split_once("\n## Dependencies\n").unwrap();
    let section = after.split("\n## ").next().unwrap();
    let lines = section.lines().filter_map(|line| line.strip_prefix("    "));
    lines
        .map(|line| {
            let mut words = line.split_whitespace().map(str::to_string);
            (words.next().unwrap(), words.collect())
        })
        .collect()
}

#[test]
fn the_page_has_the_dependencies_of_the_manifests() {
    let (page, manifests) = (by_page(), by_manifests());
    assert!(manifests.len() > 15, "{manifests:?}");
    let crates: BTreeSet<&String> = page.keys().chain(manifests.keys()).collect();
    for name in crates {
        let found = page.get(name);
        assert_eq!(
            found,
            manifests.get(name),
            "{name}: ARCHITECTURE.md, Dependencies"
        );
    }
}
