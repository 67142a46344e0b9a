//! The arithmetic against NVIDIA's `cuda_occupancy.h`: `nvidia.json` is what `nvidia.cpp` prints with the header of a
//! CUDA toolkit. `CANDLEPOWER_UPDATE=1` writes it again.

#[path = "../../../tests/src/skip.rs"]
mod skip;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use occupancy::{Block, Limit, SMS, Sm};
use serde_json::Value;

const PRINTED: &str = include_str!("nvidia.json");

fn cases() -> Vec<Vec<Option<u32>>> {
    let printed: Value = serde_json::from_str(PRINTED).unwrap();
    serde_json::from_value(printed["cases"].clone()).unwrap()
}

#[test]
fn blocks_are_those_of_nvidias_header() {
    let cases = cases();
    assert!(cases.len() > 800, "{}", cases.len());
    for case in &cases {
        let [capability, threads, registers, shared, blocks] =
            [0, 1, 2, 3, 4].map(|i| case[i].unwrap());
        let sm = Sm::of(capability / 10, capability % 10).unwrap();
        let block = Block {
            threads,
            registers,
            shared,
        };
        let by = Limit::ALL.map(|limit| sm.blocks_by(limit, &block));
        assert_eq!(by, case[5..9], "{case:?}");
        assert_eq!(sm.resident_blocks(&block), blocks, "{case:?}");
    }
}

/// Each limit decides alone in some case of each GPU, and some launches fail.
#[test]
fn the_cases_reach_every_limit() {
    for sm in SMS {
        let (major, minor) = sm.capability;
        let of_gpu = |case: &&Vec<Option<u32>>| case[0] == Some(10 * major + minor);
        let cases: Vec<_> = cases().iter().filter(of_gpu).cloned().collect();
        assert!(cases.iter().any(|case| case[4] == Some(0)), "{sm:?}");
        for limit in 5..9 {
            let decides = |case: &Vec<Option<u32>>| {
                let others = (5..9).filter(|i| *i != limit);
                case[limit] == case[4] && others.clone().all(|i| case[i] != case[4])
            };
            assert!(cases.iter().any(decides), "{sm:?}: limit {limit}");
        }
    }
}

#[test]
fn the_cases_are_what_the_header_says_here() {
    let skip = |why: &str| skip::skip("cuda_occupancy.h compared with nvidia.json", why);
    let Some(include) = include() else {
        return skip("no CUDA toolkit");
    };
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("nvidia");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/nvidia.cpp");
    let mut compiler = Command::new("c++");
    compiler.arg(&source).arg("-o").arg(&program);
    compiler.arg("-I").arg(&include);
    match compiler.output() {
        Err(e) => return skip(&format!("cannot run c++: {e}")),
        Ok(output) => assert!(output.status.success(), "{output:?}"),
    }
    let output = Command::new(&program).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    if env::var_os("CANDLEPOWER_UPDATE").is_some() {
        return fs::write(source.with_extension("json"), printed).unwrap();
    }
    // A newer toolkit may say the same.
    let cases = |text: &str| text.split_once('\n').unwrap().1.to_owned();
    assert_eq!(cases(&printed), cases(PRINTED));
}

/// The folder of the header: that of the toolkit which the user names, of `scripts/cuda-toolkit.sh` or of the system.
fn include() -> Option<PathBuf> {
    let named = ["CUDA_HOME", "CUDA_PATH"].into_iter().find_map(env::var_os);
    let lib = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cuda/venv/lib");
    let pythons = fs::read_dir(lib).into_iter().flatten().flatten();
    let own = pythons.map(|python| python.path().join("site-packages/nvidia/cu13"));
    let roots = named.map(PathBuf::from).into_iter().chain(own);
    roots
        .chain([PathBuf::from("/usr/local/cuda")])
        .map(|root| root.join("include"))
        .find(|include| include.join("cuda_occupancy.h").is_file())
}
