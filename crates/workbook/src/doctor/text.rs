//! The printed report.

use candle_core::DType;

use super::diagnose::{Finding, Part, dotted};
use super::machine::{Driver, Gpu, Machine, Nvcc, Nvrtc};

/// Formats the report: the machine, each problem with its fix, and what works. `failed` are the requested
/// parts that do not work.
pub fn report(machine: &Machine, findings: &[Finding], failed: &[Part]) -> String {
    let mut text = String::new();
    for (name, value) in facts(machine) {
        text += &format!("{name:<10} {value}\n");
    }
    for part in [Part::Cpu, Part::Cuda, Part::CudaFiles] {
        let mut of_part = findings.iter().filter(|f| f.part == part).peekable();
        if of_part.peek().is_some() {
            text += &format!("\n{}\n", title(part));
        }
        for finding in of_part {
            text += &format!("- {}\n  fix: {}\n", finding.found, finding.fix);
        }
    }
    format!(
        "{text}{}\n{}\n",
        refusal(failed),
        summary(machine, findings)
    )
}

fn title(part: Part) -> &'static str {
    match part {
        Part::Cpu => "On this CPU:",
        Part::Cuda => "For --features cuda:",
        Part::CudaFiles => "For .cu files in the simulator, and the exercises in CUDA C:",
    }
}

/// Lists requested parts that do not work.
fn refusal(failed: &[Part]) -> String {
    let names: Vec<&str> = [
        (Part::Cuda, "--features cuda"),
        (Part::CudaFiles, ".cu files in the simulator"),
    ]
    .into_iter()
    .filter(|(part, _)| failed.contains(part))
    .map(|(_, name)| name)
    .collect();
    if names.is_empty() {
        String::new()
    } else {
        format!(
            "\nyou asked for {}: see the fixes above\n",
            names.join(" and ")
        )
    }
}

/// `works here: levels 1–5 on the CPU (AVX-512), simulator; no GPU, no NVRTC`
fn summary(machine: &Machine, findings: &[Finding]) -> String {
    let blocked = |part: Part| findings.iter().any(|f| f.part == part && f.blocks);
    let simd = machine.cpu.simd;
    let simd = simd.map_or(String::new(), |simd| format!(" ({})", simd.name()));
    let on_cpu = format!("{} on the CPU{simd}", levels_named(&levels::numbers()));
    let (mut works, mut lacks) = (vec![on_cpu, "simulator".into()], vec![]);
    if blocked(Part::CudaFiles) {
        lacks.push("no NVRTC")
    } else {
        works.push("NVRTC".into())
    }
    match machine.driver.gpus().first() {
        Some(gpu) if !blocked(Part::Cuda) => works.push(on_gpu(machine, gpu)),
        Some(_) => lacks.push("no build with --features cuda"),
        None if machine.card => lacks.push("no working GPU driver"),
        None => lacks.push("no GPU"),
    }
    let lacks = if lacks.is_empty() {
        String::new()
    } else {
        format!("; {}", lacks.join(", "))
    };
    format!("works here: {}{lacks}", works.join(", "))
}

/// Lists the levels that run on `gpu` in f32, and the required build.
fn on_gpu(machine: &Machine, gpu: &Gpu) -> String {
    let mut able = levels::numbers();
    able.retain(|level| {
        levels::minimum(*level, DType::F32).is_none_or(|needed| needed <= gpu.capability)
    });
    let build = if machine.cuda_build {
        ""
    } else {
        " with --features cuda"
    };
    format!("{} on the GPU{build}", levels_named(&able))
}

/// `levels 1–5` for consecutive numbers.
fn levels_named(numbers: &[u8]) -> String {
    match numbers {
        [first, .., last] => format!("levels {first}–{last}"),
        [one] => format!("level {one}"),
        [] => "no level".into(),
    }
}

fn facts(machine: &Machine) -> Vec<(&'static str, String)> {
    let cpu = &machine.cpu;
    let simd = cpu.simd;
    let simd = simd.map_or(String::new(), |simd| format!(", {}", simd.name()));
    let build = if machine.cuda_build {
        "with"
    } else {
        "without"
    };
    let mut facts = vec![
        (
            "CPU",
            format!("{}, {} threads{simd}", cpu.name, cpu.threads),
        ),
        ("driver", driver(machine)),
    ];
    for gpu in machine.driver.gpus() {
        facts.push((
            "GPU",
            format!(
                "{}, compute capability {}",
                gpu.name,
                dotted(gpu.capability)
            ),
        ));
    }
    facts.extend([
        ("nvcc", nvcc(&machine.nvcc)),
        ("libraries", libraries(machine)),
        ("NVRTC", nvrtc(&machine.nvrtc)),
        ("this build", format!("{build} --features cuda")),
    ]);
    facts
}

fn driver(machine: &Machine) -> String {
    match &machine.driver {
        Driver::Missing if machine.card => "none, but there is an NVIDIA GPU".into(),
        Driver::Missing => "none, and no NVIDIA GPU".into(),
        Driver::Refuses(code) => format!("cuInit returns error {code}"),
        Driver::Works { cuda, .. } => format!("for CUDA {}", dotted(*cuda)),
    }
}

fn nvcc(nvcc: &Nvcc) -> String {
    match nvcc {
        Nvcc::Missing => "none".into(),
        Nvcc::Aside(path) => format!("{}, which builds do not search", path.display()),
        Nvcc::Found { path, cuda } => {
            let cuda = cuda.map_or("of unknown version".into(), |v| {
                format!("CUDA {}", dotted(v))
            });
            format!("{}, {cuda}", path.display())
        }
    }
}

/// Lists the libraries that load: `libcudart, libcublas`.
fn libraries(machine: &Machine) -> String {
    let loaded = machine.libraries.iter().filter(|library| library.loads);
    let names: Vec<&str> = loaded.map(|library| library.name).collect();
    if names.is_empty() {
        "none on the library path".into()
    } else {
        names.join(", ")
    }
}

fn nvrtc(nvrtc: &Nvrtc) -> String {
    match nvrtc {
        Nvrtc::Works => "works".into(),
        Nvrtc::Missing(_) => "none".into(),
        Nvrtc::NoBuiltins => "without its built-in functions".into(),
        Nvrtc::Broken(_) => "does not compile".into(),
    }
}
