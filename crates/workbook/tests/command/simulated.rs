//! `--device sim`: goldens in the simulator, charts, and errors.

use crate::answers::agrees;
use crate::fixture::{Fixture, root, run};

/// Levels with PTX kernels.
const LEVELS: [&str; 3] = ["3", "4", "5"];

#[test]
fn goldens_agree_without_a_finding() {
    for golden in ["lm-tied-gqa", "vit-patch4", "gnn-plain"] {
        for level in LEVELS {
            let report = agrees(golden, &["--level", level, "--device", "sim"]);
            assert!(report.contains("simulated kernel  "), "{report}");
            assert!(report.contains(&format!("_level{level}")), "{report}");
            assert!(report.ends_with("\nno findings\n"), "{report}");
        }
    }
}

#[test]
fn the_answer_comes_first_and_is_that_of_the_cpu() {
    let picture = root().join("crates/cli/pictures/arrow.png");
    let picture = picture.to_str().unwrap();
    for level in LEVELS {
        let vit = |device| {
            run(&[
                "vit", "--level", level, "--image", picture, "--device", device,
            ])
        };
        let (cpu, sim) = (vit("cpu"), vit("sim"));
        assert!(sim.fine().starts_with(cpu.fine()), "{}", sim.stdout);
        let note = format!("note: {picture}: 96 × 96 pixels become 32 × 32\n");
        assert_eq!(
            notes(&sim.stderr),
            format!("{note}level {level}, tiny, f32, sim\n")
        );
    }
}

/// The lines of stderr, without the one that names CUDA files that were edited in this clone.
fn notes(stderr: &str) -> String {
    let is_of_clone = |line: &&str| line.ends_with("makes the PTX again\n");
    stderr
        .split_inclusive('\n')
        .filter(|line| !is_of_clone(line))
        .collect()
}

/// The same text token by token, from a cache that the kernels fill, without speeds.
#[test]
fn a_text_is_that_of_the_cpu() {
    for level in LEVELS {
        let lm = |device| {
            run(&[
                "lm",
                "--level",
                level,
                "--max-tokens",
                "3",
                "--device",
                device,
            ])
        };
        let (cpu, sim) = (lm("cpu"), lm("sim"));
        assert!(sim.fine().starts_with(cpu.fine()), "{}", sim.stdout);
        assert_eq!(
            notes(&sim.stderr),
            format!("level {level}, tiny, f32, sim\n")
        );
    }
}

#[test]
fn kernels_are_drawn_under_a_roof() {
    let fixture = Fixture::golden("vit-patch4");
    let chart = fixture.path("roof.svg");
    let roof = ["--bandwidth", "2", "--peak", "30", "--roofline", &chart];
    let args = [&["--level", "4", "--device", "sim"][..], &roof].concat();
    let said = format!("\nroofline  {chart}\n");
    assert!(fixture.answer(&args).fine().ends_with(&said));
    let svg = std::fs::read_to_string(&chart).unwrap();
    for expected in [
        "a GPU: 2 TB/s, 30 TFLOP/s",
        "attention_",
        "The simulator measures no time",
    ] {
        assert!(svg.contains(expected), "{expected}: {svg}");
    }
}

#[test]
fn runs_that_cannot_be_simulated_are_refused() {
    let sim = |more: &[&str]| run(&[&["vit", "--device", "sim"], more].concat());
    for level in ["1", "2"] {
        let found = format!("found level {level}");
        sim(&["--level", level]).refused(&["--device sim", "whose kernels are PTX", &found]);
    }
    sim(&["--swap", "norm_linear=2"]).refused(&["--device sim", "found level 2"]);
    sim(&["--trace"]).refused(&["--trace: expected --device cpu or cuda"]);
    for command in ["compare", "ops"] {
        run(&[command, "--device", "sim"]).refused(&["--device", "the simulator measures no time"]);
    }
}

#[test]
fn roofs_that_cannot_be_drawn() {
    run(&["gnn", "--roofline", "x.svg"]).refused(&["--roofline: expected --device sim"]);
    run(&["gnn", "--peak", "3"])
        .refused(&["--peak: expected --roofline FILE.svg|FILE.png as well"]);
    let sim = |more: &[&str]| run(&[&["gnn", "--device", "sim", "--roofline"], more].concat());
    sim(&["x.jpg"])
        .refused(&["--roofline: expected a file that ends in .svg or .png, found x.jpg"]);
    sim(&["/no/such/folder/x.svg"]).refused(&["/no/such/folder/x.svg", "no such folder"]);
    let expected = "expected a number from 0.001 to 1000000, found ";
    for (option, value) in [
        ("--peak", "0"),
        ("--peak", "1e-300"),
        ("--bandwidth", "inf"),
        ("--bandwidth", "1e-320"),
        ("--bandwidth", "1e300"),
    ] {
        sim(&["x.svg", option, value]).refused(&[option, expected]);
    }
    sim(&["x.svg", "--dtype", "bf16"]).refused(&["--peak: expected the peak of a GPU in bf16"]);
}
