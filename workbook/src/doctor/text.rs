//! The report, as it is printed.

use super::diagnose::{Finding, Part, dotted};
use super::machine::{Driver, Machine, Nvcc, Nvrtc, Simd};

/// What there is, what is found with its fix, and what works; `failed` are the parts that were asked for and do not.
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
    text + &format!("\n{}\n", verdict(findings, failed))
}

fn title(part: Part) -> &'static str {
    match part {
        Part::Cpu => "On this CPU:",
        Part::Cuda => "For --features cuda:",
        Part::CudaFiles => "For .cu files in the simulator, and the exercises in CUDA C:",
    }
}

/// One sentence: what works here, and what was asked for and does not.
fn verdict(findings: &[Finding], failed: &[Part]) -> String {
    let blocked = |part: Part| findings.iter().any(|f| f.part == part && f.blocks);
    let names = [
        (Part::Cuda, "--features cuda"),
        (Part::CudaFiles, ".cu files in the simulator"),
    ];
    let of = |wanted: &dyn Fn(Part) -> bool| -> String {
        let names: Vec<&str> = names
            .iter()
            .filter(|(part, _)| wanted(*part))
            .map(|(_, name)| *name)
            .collect();
        names.join(" and ")
    };
    let works = match of(&blocked) {
        none if none.is_empty() => "Everything works here.".to_string(),
        but => format!("Everything but {but} works here."),
    };
    match of(&|part| failed.contains(&part)) {
        none if none.is_empty() => works,
        asked => format!("{works} You asked for {asked}: see the fixes above."),
    }
}

fn facts(machine: &Machine) -> Vec<(&'static str, String)> {
    let cpu = &machine.cpu;
    let simd = match cpu.simd {
        Some(Simd::Avx512) => ", AVX-512",
        Some(Simd::Avx2) => ", AVX2",
        Some(Simd::Sse) => ", SSE",
        None => "",
    };
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
        Driver::Missing if machine.card => "none, beside an NVIDIA GPU".into(),
        Driver::Missing => "none, and no NVIDIA GPU".into(),
        Driver::Refuses(code) => format!("cuInit answers {code}"),
        Driver::Works { cuda, .. } => format!("for CUDA {}", dotted(*cuda)),
    }
}

fn nvcc(nvcc: &Nvcc) -> String {
    match nvcc {
        Nvcc::Missing => "none".into(),
        Nvcc::Aside(path) => format!("{}, which no build looks for", path.display()),
        Nvcc::Found { path, cuda } => {
            let cuda = cuda.map_or("of a version that it does not say".into(), |v| {
                format!("CUDA {}", dotted(v))
            });
            format!("{}, {cuda}", path.display())
        }
    }
}

/// `libcudart, libcublas`: those that load.
fn libraries(machine: &Machine) -> String {
    let loaded = machine.libraries.iter().filter(|library| library.loads);
    let names: Vec<&str> = loaded.map(|library| library.name).collect();
    match names.is_empty() {
        true => "none on the loader's path".into(),
        false => names.join(", "),
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
