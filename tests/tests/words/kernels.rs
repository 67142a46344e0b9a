//! The names of kernels: in PTX for the sanitizer, and of files for a reader.

use regex::Regex;

use crate::{read, root, rust_files};

/// `run.sh sanitize` watches the kernels whose names have one of these parts.
#[test]
fn the_sanitizer_selects_every_entry() {
    let script = read(&root().join("scripts/gpu-run.sh"));
    let part = Regex::new(r"kns=(\w+)").unwrap();
    let parts: Vec<&str> = (part.captures_iter(&script))
        .map(|found| found.extract::<1>().1[0])
        .collect();
    assert_eq!(parts, ["_level", "_step"]);
    let mut files = vec![];
    for folder in ["kernels/src", "kernels/generated"] {
        crate::files(&root().join(folder), &["ptx"], &mut files);
    }
    let entry = Regex::new(r"(?m)^\s*(?:\.visible )?\.entry (\w+)").unwrap();
    let mut checked = 0;
    for file in files {
        let text = read(&file);
        let before = checked;
        for found in entry.captures_iter(&text) {
            let name = &found[1];
            let selected = parts.iter().any(|part| name.contains(part));
            assert!(selected, "{}: {name}: {parts:?}", file.display());
            checked += 1;
        }
        assert!(checked > before, "{}: no entry", file.display());
    }
    assert!(checked > 300, "{checked} entries");
}

/// `linear/level4/mma.rs` launches `mma.cu`. With a level's file are its bf16 version and its fallback.
#[test]
fn a_kernel_and_its_launch_have_one_name() {
    let src = root().join("kernels/src");
    let mut files = vec![];
    rust_files(&src, &mut files);
    let module = Regex::new(r#"module!\("([\w/]+)""#).unwrap();
    let mut checked = 0;
    for file in files {
        let own = file.strip_prefix(&src).unwrap().with_extension("");
        let own = own.to_str().unwrap().replace('\\', "/");
        if own.starts_with("worklogs/") || own == "launch/module" || own.ends_with("tests") {
            continue; // a worklog has a file per step, and its launches in one
        }
        for found in module.captures_iter(&read(&file)) {
            let kernel = found[1].trim_end_matches("_bf16");
            let kernel = kernel.replace("/fallback", "/level4");
            assert_eq!(kernel, own, "{}", file.display());
            checked += 1;
        }
    }
    assert!(checked > 50, "{checked} modules");
}
