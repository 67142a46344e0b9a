//! Input and output files: arrays, report and trace.

use std::fs;

use serde_json::Value;

use crate::run::{Folder, sim};
use crate::{ARGS, SAXPY};

fn json(path: &str) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// One run's dump is another's input: 2·i + 1, then twice that plus the first.
#[test]
fn arrays_are_saved_and_read_again() {
    let folder = Folder::new();
    let file = folder.write("saxpy.ptx", SAXPY);
    let y = folder.path("y.npy");
    let dump = format!("3:{y}");
    assert_eq!(
        sim(&[&[file.as_str(), "--dump", &dump], &ARGS[..]].concat()).code,
        Some(0)
    );
    let bytes = fs::read(&y).unwrap();
    let floats = |bytes: &[u8]| -> Vec<f32> {
        let (chunks, _) = bytes[128..].as_chunks();
        chunks.iter().map(|b| f32::from_le_bytes(*b)).collect()
    };
    assert_eq!(bytes[..6], *b"\x93NUMPY");
    assert_eq!(
        floats(&bytes),
        (0..30).map(|i| 2. * i as f32 + 1.).collect::<Vec<_>>()
    );
    let again = format!("f32:{y}");
    let mut args = ARGS;
    args[7] = &again;
    assert_eq!(
        sim(&[&[file.as_str(), "--dump", &dump], &args[..]].concat()).code,
        Some(0)
    );
    let twice = floats(&fs::read(&y).unwrap());
    assert_eq!(
        twice,
        (0..30).map(|i| 4. * i as f32 + 1.).collect::<Vec<_>>()
    );
    assert_eq!(folder.names(), ["saxpy.ptx", "y.npy"]);
}

#[test]
fn the_report_is_json() {
    let folder = Folder::new();
    let file = folder.write("wrong.ptx", SAXPY.replace("setp.ge.u32", "setp.gt.u32"));
    let path = folder.path("report.json");
    let run = sim(&[&[file.as_str(), "--json", &path], &ARGS[..]].concat());
    assert_eq!(run.code, Some(1));
    let report = json(&path);
    assert_eq!(report["entry"], "saxpy");
    assert_eq!(report["findings"].as_array().unwrap().len(), 3);
    assert_eq!(report["findings"][0]["class"], "out-of-bounds");
    assert_eq!(
        report["findings"][0]["thread"]["thread"],
        serde_json::json!([30, 0, 0])
    );
    assert_eq!(report["total"]["global_load_requests"], 2);
    assert!(report["lines"].as_array().unwrap().len() > 10);
}

/// The chosen warp's steps, up to the maximum, with the text of their lines.
#[test]
fn a_warp_is_traced() {
    let folder = Folder::new();
    let file = folder.write("saxpy.ptx", SAXPY);
    let path = folder.path("trace.json");
    let steps = |more: &[&str]| {
        let options = [
            &[
                file.as_str(),
                "--grid",
                "2",
                "--block",
                "64",
                "--trace",
                &path,
            ],
            more,
        ];
        assert_eq!(sim(&[&options.concat()[..], &ARGS].concat()).code, Some(0));
        json(&path)
    };
    let trace = steps(&[]);
    assert_eq!(
        trace["watched"],
        serde_json::json!({"block": [0, 0, 0], "warp": 0})
    );
    let all = trace["steps"].as_array().unwrap();
    let load = all.iter().find(|s| s["form"] == "ld.global.f32").unwrap();
    assert_eq!(load["active"], (1u64 << 30) - 1);
    assert_eq!(load["accesses"][0]["offsets"][29], 116);
    let line = load["line"].as_u64().unwrap() as usize;
    let text = trace["ptx"]
        .as_str()
        .unwrap()
        .lines()
        .nth(line - 1)
        .unwrap();
    assert!(text.contains("ld.global.f32 %xi"));
    let other = steps(&[
        "--trace-block",
        "1",
        "--trace-warp",
        "1",
        "--trace-steps",
        "3",
    ]);
    assert_eq!(other["steps"].as_array().unwrap().len(), 3);
    assert!(
        steps(&["--trace-block", "1"])["steps"]
            .as_array()
            .unwrap()
            .len()
            < all.len()
    );
}
