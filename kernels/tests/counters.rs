//! The counters of the calls in `src/OP/calls.rs` against a GPU's: `counters/h200.json` holds what `scripts/ncu.py` read.
//!
//! The GPU runs what ptxas made of the PTX, the simulator runs the PTX. Where the two differ, [`OTHERWISE`] says
//! why; what ptxas does was read in nvdisasm's print of its output.

#[path = "../../tests/src/skip.rs"]
mod skip;

use std::collections::BTreeMap;

use candle_core::Device;
use kernels::launch::simulated;
use serde_json::Value;
use simt::Report;
use skip::skip;

const READ: &str = include_str!("../counters/h200.json");

const LOAD_REQUESTS: &str = "global_load_requests";
const LOAD_SECTORS: &str = "global_load_sectors";
const STORE_REQUESTS: &str = "global_store_requests";
const STORE_SECTORS: &str = "global_store_sectors";
const SHARED_LOADS: &str = "shared_load_wavefronts";
const SHARED_STORES: &str = "shared_store_wavefronts";

/// The counters that are compared.
const COUNTERS: [&str; 6] = [
    LOAD_REQUESTS,
    LOAD_SECTORS,
    STORE_REQUESTS,
    STORE_SECTORS,
    SHARED_LOADS,
    SHARED_STORES,
];

/// Why a counter is not the GPU's.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Why {
    /// ptxas makes one load, or store, of 8 or 16 bytes of those of neighbouring words.
    Joined,
    /// ptxas moves the loads of the bias out of the loop over the rows of a tile.
    Hoisted,
    /// Atomics hand out the places of a list: which lane gets which depends on the order of the warps.
    Order,
    /// The GPU does not count accesses to the shared memory of other blocks of a cluster.
    Distributed,
    /// In the last round of a loop, the GPU counts a few loads more; why was not looked into.
    Repeated,
    /// The GPU counts some sectors more than once for a copy to shared memory that reads the same bytes for two rows,
    /// or none for some lanes. We know no rule for how many.
    Copied,
}

/// Kernels whose names hold all of these parts, and what is counted otherwise there.
const OTHERWISE: [(&[&str], &str, Why); 40] = [
    (&["level5_row_chunks", "_by"], SHARED_LOADS, Why::Joined),
    (&["attention_", "level3"], SHARED_LOADS, Why::Joined),
    (&["attention_decode_"], SHARED_LOADS, Why::Joined),
    (&["attention_combine_"], SHARED_LOADS, Why::Joined),
    (&["attention_decode_d128x4_f32"], SHARED_STORES, Why::Joined),
    (&["attention_decode_d128x1_f32"], SHARED_STORES, Why::Joined),
    (&["_level4_32x32"], SHARED_STORES, Why::Joined),
    (&["_level4_32x64"], SHARED_STORES, Why::Joined),
    (&["_level4_64x64"], SHARED_STORES, Why::Joined),
    (&["matmul_f32_level5_16x16_k"], SHARED_STORES, Why::Joined),
    (
        &["matmul_f32_level5_32x16_k128"],
        SHARED_STORES,
        Why::Joined,
    ),
    (&["matmul_f32_level5_32x32_k64"], SHARED_STORES, Why::Joined),
    (
        &["linear_gelu_bf16_level4_32x64"],
        LOAD_REQUESTS,
        Why::Hoisted,
    ),
    (
        &["linear_gelu_bf16_level4_32x64"],
        LOAD_SECTORS,
        Why::Hoisted,
    ),
    (
        &["linear_gelu_f32_level4_32x32"],
        LOAD_REQUESTS,
        Why::Hoisted,
    ),
    (
        &["linear_gelu_f32_level4_32x32"],
        LOAD_SECTORS,
        Why::Hoisted,
    ),
    (&["linear_f32_level4_32x32"], LOAD_REQUESTS, Why::Hoisted),
    (&["linear_f32_level4_32x32"], LOAD_SECTORS, Why::Hoisted),
    (&["bf16_level4_32x64"], LOAD_SECTORS, Why::Copied),
    (
        &["attention_d", "x64_bf16_level4"],
        LOAD_SECTORS,
        Why::Copied,
    ),
    (
        &["attention_d", "x64_tf32x3_level5"],
        LOAD_SECTORS,
        Why::Copied,
    ),
    (&["matmul_step3"], SHARED_LOADS, Why::Joined),
    (&["matmul_step4"], SHARED_LOADS, Why::Joined),
    (&["matmul_step5"], SHARED_LOADS, Why::Joined),
    (&["softmax_step3"], SHARED_LOADS, Why::Joined),
    (&["softmax_step3"], SHARED_STORES, Why::Joined),
    (&["attention_step2"], SHARED_LOADS, Why::Joined),
    (&["attention_step3"], SHARED_LOADS, Why::Joined),
    (&["attention_step4"], SHARED_LOADS, Why::Joined),
    (&["attention_step6"], SHARED_LOADS, Why::Joined),
    (&["attention_step6"], SHARED_STORES, Why::Joined),
    (&["attention_step1_softmax"], LOAD_REQUESTS, Why::Repeated),
    (&["attention_step1_softmax"], LOAD_SECTORS, Why::Repeated),
    (&["attention_step_d"], SHARED_LOADS, Why::Distributed),
    (&["attention_step_d"], SHARED_STORES, Why::Distributed),
    (&["attention_step_split_"], STORE_REQUESTS, Why::Joined),
    (&["attention_step_split_"], STORE_SECTORS, Why::Joined),
    (&["head_pass"], SHARED_LOADS, Why::Joined),
    (&["top_k_"], SHARED_LOADS, Why::Order),
    (&["top_k_"], SHARED_STORES, Why::Order),
];

/// A counter of a launch that is not the GPU's.
struct Difference {
    launch: String,
    counter: &'static str,
    simulated: u64,
    gpu: u64,
}

impl Difference {
    fn is(&self, (parts, counter, why): &(&[&str], &str, Why)) -> bool {
        let fits = match why {
            Why::Joined | Why::Hoisted | Why::Distributed => self.gpu < self.simulated,
            Why::Copied | Why::Repeated => self.gpu > self.simulated,
            Why::Order => true,
        };
        let named = parts.iter().all(|part| self.launch.contains(part));
        named && *counter == self.counter && fits
    }
}

/// A case that no GPU has run yet is skipped by name, so that a new op passes without a GPU.
#[test]
fn counters_are_those_of_an_h200() {
    let read: Value = serde_json::from_str(READ).unwrap();
    for counter in COUNTERS {
        assert!(
            read["metrics"][counter].is_string(),
            "{counter} was not read"
        );
    }
    let mut readings: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    for reading in read["launches"].as_array().unwrap() {
        let case = reading["case"].as_str().unwrap();
        readings.entry(case).or_default().push(reading);
    }
    let (mut compared, mut differences) = (0, vec![]);
    for case in kernels::calls().cases {
        let (ran, reports) = simulated(Default::default(), || case.run(&Device::Cpu));
        ran.unwrap_or_else(|e| panic!("{}: {e}", case.name));
        for report in &reports {
            let launch = format!("{}: {}", case.name, report.entry);
            assert!(report.is_clean(), "{launch}: {:?}", report.findings);
        }
        let Some(readings) = readings.remove(&*case.name) else {
            skip(
                &case.name,
                "not in kernels/counters/h200.json; read it with `run.sh counters`",
            );
            continue;
        };
        assert_eq!(
            readings.len(),
            reports.len(),
            "{}: launches read and simulated",
            case.name
        );
        for (reading, report) in readings.into_iter().zip(reports) {
            let launch = format!("{}: {}", case.name, report.entry);
            same_launch(&launch, reading, &report);
            for counter in COUNTERS {
                let (simulated, gpu) = (counted(&report, counter), of_gpu(reading, counter));
                compared += 1;
                if simulated != gpu {
                    differences.push(Difference {
                        launch: launch.clone(),
                        counter,
                        simulated,
                        gpu,
                    });
                }
            }
        }
    }
    let left: Vec<&str> = readings.into_keys().collect();
    assert!(
        left.is_empty(),
        "counters/h200.json: readings of cases that no src/OP/calls.rs lists: {left:?}"
    );
    let unknown = differences
        .iter()
        .filter(|d| !OTHERWISE.iter().any(|o| d.is(o)));
    let line =
        |d: &Difference| format!("{}: {}: {} for {}", d.launch, d.counter, d.simulated, d.gpu);
    let unknown: Vec<String> = unknown.map(line).collect();
    let again = "after a change to a kernel, read them again: run.sh counters of the bundle";
    assert!(unknown.is_empty(), "{}\n{again}", unknown.join("\n"));
    for otherwise in &OTHERWISE {
        assert!(
            differences.iter().any(|d| d.is(otherwise)),
            "not found: {otherwise:?}"
        );
    }
    let equal = compared - differences.len();
    eprintln!("{equal} of {compared} equal");
    assert!(compared > 2000 && differences.len() < compared / 16);
}

/// The launch that was read is the one that was simulated.
fn same_launch(launch: &str, reading: &Value, report: &Report) {
    assert_eq!(reading["entry"], report.entry, "{launch}");
    let dim = |key: &str| -> Vec<u64> {
        let values = reading[key].as_array().unwrap().iter();
        values.map(|n| n.as_u64().unwrap()).collect()
    };
    assert_eq!(dim("grid"), report.grid.map(u64::from), "{launch}");
    assert_eq!(dim("block"), report.block.map(u64::from), "{launch}");
}

/// Returns the simulator's count, without the stores of copies to shared memory, which ncu's counter leaves out.
fn counted(report: &Report, counter: &str) -> u64 {
    let value = serde_json::to_value(report.total).unwrap();
    let copies = report
        .lines
        .iter()
        .filter(|l| l.form.starts_with("cp.async"));
    let copied = copies.map(|line| line.counts.shared_store_wavefronts).sum();
    let all = value[counter].as_u64().unwrap();
    all - if counter == SHARED_STORES { copied } else { 0 }
}

/// Returns ncu's count, where loads by `ldmatrix` have a counter of their own. The file leaves out readings of zero.
fn of_gpu(reading: &Value, counter: &str) -> u64 {
    let readings = reading["read"].as_object().unwrap();
    let read = |name: &str| readings.get(name).map_or(0, |n| n.as_u64().unwrap());
    match counter {
        SHARED_LOADS => read(counter) + read("matrix_load_wavefronts"),
        _ => read(counter),
    }
}

/// The comparison of all levels in `tests/tests/across/functions.rs` runs these calls.
#[test]
fn every_function_has_a_call() {
    let calls = kernels::calls().calls;
    for function in kernels::functions::Functions::NAMES {
        let found = calls.iter().any(|call| call.function == *function);
        assert!(
            found,
            "{function}: add a call to `calls.rs` in its folder of kernels/src"
        );
    }
}

/// Tensor cores do 2·M·N·K operations as other kernels do, at most twice that where a tile is not full.
#[test]
fn tensor_cores_count_their_operations() {
    let name = "linear, level 4, bf16: 64×64×64";
    let case = kernels::calls()
        .cases
        .into_iter()
        .find(|case| case.name == name);
    let (ran, reports) = simulated(Default::default(), || case.unwrap().run(&Device::Cpu));
    ran.unwrap();
    let flops: u64 = reports.iter().map(|report| report.total.flops).sum();
    let least = 2 * 64 * 64 * 64;
    assert!((least..=2 * least + 64 * 64).contains(&flops), "{flops}");
}
