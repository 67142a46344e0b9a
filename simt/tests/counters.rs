//! Counters compared with an H200's: `hardware/counters.json` has what `ncu` measured for each launch.

use serde_json::Value;
use simt::{Arg, Buffer, Dim, Module, Options};

const PTX: &str = include_str!("hardware/counters.ptx");
const READ: &str = include_str!("hardware/counters.json");

/// Kernels whose accesses ptxas rewrites: it merges the scalar loads of `matmul_tiled`, sixteen per row, into
/// 128-bit loads.
const REWRITTEN: [&str; 1] = ["matmul_tiled"];

fn dim(value: &Value) -> [u32; 3] {
    std::array::from_fn(|i| value[i].as_u64().expect("three numbers") as u32)
}

/// Buffers and arguments of a recorded launch.
fn operands(args: &Value) -> (Vec<Buffer>, Vec<Arg>) {
    let (mut buffers, mut operands) = (vec![], vec![]);
    for (i, arg) in args.as_array().expect("a list").iter().enumerate() {
        let name = format!("argument {i}");
        if let Some(bytes) = arg["zeros"].as_u64() {
            operands.push(Arg::Buffer(buffers.len()));
            buffers.push(Buffer::new(name, vec![0; bytes as usize]));
        } else if let Some(values) = arg["i32s"].as_array() {
            let values: Vec<u32> = values
                .iter()
                .map(|v| v.as_i64().expect("i32") as u32)
                .collect();
            operands.push(Arg::Buffer(buffers.len()));
            buffers.push(Buffer::u32s(name, &values));
        } else if let Some(x) = arg["i32"].as_i64() {
            operands.push(Arg::I32(x as i32));
        } else {
            operands.push(Arg::U32(
                arg["u32"].as_u64().expect("a known argument") as u32
            ));
        }
    }
    (buffers, operands)
}

#[test]
fn counters_equal_an_h200s() {
    let module = Module::parse(PTX).unwrap();
    let launches: Vec<Value> = serde_json::from_str(READ).unwrap();
    let (mut compared, mut wrong) = (0, vec![]);
    for launch in &launches {
        let entry = launch["entry"].as_str().unwrap();
        let kernel = module.kernel(entry).unwrap();
        let (mut buffers, args) = operands(&launch["args"]);
        let dim = Dim {
            grid: dim(&launch["grid"]),
            block: dim(&launch["block"]),
            smem: launch["smem"].as_u64().unwrap() as u32,
        };
        let report = kernel
            .launch(dim, &mut buffers, &args, &Options::default())
            .unwrap();
        let counts = report.total;
        let read = |name: &str| launch["h200"][name].as_u64();
        let global =
            |what: &str, op: &str| read(&format!("l1tex__t_{what}_pipe_lsu_mem_global_op_{op}"));
        let shared = |op: &str| {
            read(&format!(
                "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{op}"
            ))
        };
        for (what, found, expected) in [
            (
                "global load requests",
                counts.global_load_requests,
                global("requests", "ld"),
            ),
            (
                "global load sectors",
                counts.global_load_sectors,
                global("sectors", "ld"),
            ),
            (
                "global store requests",
                counts.global_store_requests,
                global("requests", "st"),
            ),
            (
                "global store sectors",
                counts.global_store_sectors,
                global("sectors", "st"),
            ),
            (
                "shared load wavefronts",
                counts.shared_load_wavefronts,
                shared("ld"),
            ),
            (
                "shared store wavefronts",
                counts.shared_store_wavefronts,
                shared("st"),
            ),
        ] {
            let Some(expected) = expected else { continue };
            if what.starts_with("shared load") && REWRITTEN.contains(&entry) {
                continue;
            }
            compared += 1;
            if found != expected {
                wrong.push(format!(
                    "{entry} {dim:?}: {what}: expected {expected}, found {found}"
                ));
            }
        }
    }
    assert!(compared > 900, "{compared}");
    assert!(
        wrong.is_empty(),
        "{} of {compared}:\n{}",
        wrong.len(),
        wrong[..wrong.len().min(40)].join("\n")
    );
}
