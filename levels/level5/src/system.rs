//! Facts that level 5 has about a device, and the kernels that it picks there.

use std::fmt::Write;

use candle_core::DType;
use kernels::dispatch::{Architecture, Facts, Layout, Op, Problem, Table};
use kernels::{linear, matmul};

/// The device, its features, the tables that speak of it, and the kernel of some problems with the reason.
pub fn describe(facts: &Facts, tables: &[Table]) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        // A string takes whatever is written.
        let _ = writeln!(text, "{name:<13} {value}");
    };
    line("device", facts.name.clone());
    if let Some(driver) = &facts.driver {
        line("driver", driver.clone());
    }
    match facts.capability {
        Some((major, minor)) => {
            line("capability", format!("{major}.{minor}"));
            let architecture = Architecture::of((major, minor));
            let name = architecture.map_or("unknown".into(), |a| a.to_string());
            line("architecture", name);
            let features = architecture.map_or(&[][..], Architecture::features);
            let features: Vec<String> = features.iter().map(|f| format!("{f:?}")).collect();
            line("features", features.join(", "));
            line("SMs", facts.units.to_string());
        }
        None => line("threads", facts.units.to_string()),
    }
    for table in tables {
        let (origin, rules) = (table.origin(), table.rules.len());
        line("table", format!("{origin}, {rules} rules"));
    }
    if !tables.is_empty() {
        let at = "measured at the largest size of each rule; a kernel replaces the default only if it is at least 5% faster";
        line("times", at.into());
    }
    for problem in problems() {
        line("", format!("{problem}"));
        line("", format!("  {}", picked(&problem, facts, tables)));
    }
    text
}

/// `linear_level4: no measurement; the first that can`
fn picked(problem: &Problem, facts: &Facts, tables: &[Table]) -> String {
    let none = || "no kernel on this device".to_string();
    match problem.op {
        Op::Matmul => {
            let picked = matmul::level5::REGISTRY.pick_from(problem, facts, tables);
            picked.map_or_else(none, |p| p.to_string())
        }
        _ => {
            let picked = linear::level5::REGISTRY.pick_from(problem, facts, tables);
            picked.map_or_else(none, |p| p.to_string())
        }
    }
}

/// Small squares, a batch, a token, an image's patches and a prompt.
fn problems() -> Vec<Problem> {
    let problem = |op, dtype, [batch, m, n, k]: [usize; 4]| Problem {
        op,
        batch,
        m,
        n,
        k,
        dtype,
        layout: [Layout::Rows; 2],
    };
    let small = [
        [1, 16, 16, 16],
        [1, 64, 64, 64],
        [1, 256, 256, 256],
        [1, 1024, 1024, 1024],
        [64, 32, 32, 32],
    ];
    let products = [[1, 1, 512, 512], [1, 197, 1536, 384], [1, 512, 1536, 512]];
    let of = |op, dtype| move |sizes| problem(op, dtype, sizes);
    let matmuls = small.map(of(Op::Matmul, DType::F32));
    let linears = [DType::F32, DType::BF16].map(|dtype| products.map(of(Op::Linear, dtype)));
    [&matmuls[..], linears.as_flattened()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gpu_has_a_name_its_features_and_kernels() {
        for (capability, name, feature, lacks) in [
            ((7, 0), "Volta", "TensorCores", "Bf16"),
            ((7, 5), "Turing", "MatrixLoads", "Bf16"),
            ((8, 0), "Ampere", "AsyncCopies", "Fp8"),
            ((8, 6), "Ampere", "Bf16", "Fp8"),
            ((8, 9), "Ada", "Fp8", "Clusters"),
            ((9, 0), "Hopper", "Wgmma", "Fp4"),
            ((10, 0), "Blackwell", "Fp4", "Wgmma"),
            ((12, 0), "Blackwell", "Clusters", "Wgmma"),
        ] {
            let text = describe(&Facts::any_gpu(capability, 40), &[]);
            let has = |part: &str| text.contains(part);
            assert!(has(name) && has(feature) && !has(lacks), "{text}");
            assert!(!has("no kernel"), "{text}");
            assert!(!has("level5_threads"), "a CPU's kernel on a GPU:\n{text}");
        }
    }

    #[test]
    fn a_cpu_has_threads_and_the_committed_table() {
        let facts = Facts::cpu("a CPU", 2);
        let tables = kernels::dispatch::tables(&facts);
        let text = describe(&facts, tables);
        assert!(
            text.contains("threads       2") && text.contains("table         any CPU"),
            "{text}"
        );
        let origin = format!("table         {}", tables[0].origin());
        assert!(text.contains(&origin), "{origin} in {text}");
        let measured = format!("measured on {}: ", tables[0].measured_on());
        assert!(text.contains(&measured), "{measured} in {text}");
    }
}
