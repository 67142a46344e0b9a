//! The package that `start` writes for an editor.

use crate::run::Folder;

/// An editor finds the crates that a learner's file uses. cargo resolves the package as rust-analyzer asks it to.
#[test]
fn a_package_for_the_editor_has_the_files_in_rust() {
    let folder = Folder::new();
    folder.run(&["start", "guard"]).ended(0);
    assert!(!folder.path("my-exercises/Cargo.toml").exists());
    folder.run(&["start", "swiglu"]).ended(0);
    folder.run(&["start", "online-softmax"]).ended(0);
    let output = std::process::Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--format-version", "1"])
        .current_dir(folder.path("my-exercises"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = all["packages"].as_array().unwrap();
    let named = |name: &str| packages.iter().find(|p| p["name"] == name);
    let source = named("my-exercises").unwrap()["targets"][0]["src_path"].clone();
    assert!(source.as_str().unwrap().ends_with(".lib.rs"), "{source}");
    assert!(named("exercise").is_some() && named("candle-core").is_some());
    let library = folder.read("my-exercises/.lib.rs");
    let modules = "#[path = \"02-swiglu.rs\"]\npub mod e02_swiglu;\n#[path = \"25-online-softmax.rs\"]\npub mod e25_online_softmax;\n";
    assert_eq!(library, format!("#![forbid(unsafe_code)]\n{modules}"));
    // It is no submission.
    let run = folder.run(&["grade", "my-exercises", "--only", "guard"]);
    assert!(!run.ended(1).contains("not graded"), "{}", run.stdout);
    // A manifest of the learner's own stays.
    folder.write("my-exercises/Cargo.toml", "[package]\n");
    let run = folder.run(&["start", "fused-softmax"]);
    assert!(
        run.ended(0).contains("has a Cargo package of your own"),
        "{}",
        run.stdout
    );
    assert_eq!(folder.read("my-exercises/Cargo.toml"), "[package]\n");
    let folder = Folder::new();
    folder.write("my-exercises/Cargo.lock", "mine");
    folder.run(&["start", "swiglu"]).ended(0);
    assert_eq!(folder.read("my-exercises/Cargo.lock"), "mine");
}
