//! Every kernel's counters against a GPU's: `counters/h200.json` holds what `scripts/ncu.py` read there.

#[path = "../examples/counters/cases/mod.rs"]
mod cases;

use candle_core::Device;
use kernels::launch::simulated;
use serde_json::Value;

const READ: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/counters/h200.json");

#[test]
fn counters_are_those_of_an_h200() {
    let Ok(read) = std::fs::read_to_string(READ) else {
        eprintln!("skipped: {READ}: no such file");
        return;
    };
    let read: Value = serde_json::from_str(&read).unwrap();
    let launches = read["launches"].as_array().unwrap();
    let mut readings = launches.iter();
    for case in cases::all() {
        let (ran, reports) = simulated(Default::default(), || case.run(&Device::Cpu));
        ran.unwrap();
        for report in reports {
            assert!(report.is_clean(), "{}: {:?}", case.name, report.findings);
            let reading = readings.next().expect("a reading for each launch");
            assert_eq!(reading["case"], case.name);
            assert_eq!(reading["entry"], report.entry);
        }
    }
}
