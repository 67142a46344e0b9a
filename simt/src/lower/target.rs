//! The oldest PTX version and the oldest GPU of instructions that cost limits are about, as `ptxas` has them.

use crate::ast::{Function, Instruction, Module};
use crate::error::Result;

use super::Lowering;
use super::modifiers::{has, mods};

/// A PTX version and the number of a target: 80 for sm_80.
type Needs = ((u32, u32), u32);

const OLDEST: Needs = ((1, 0), 0);
const AMPERE: Needs = ((7, 0), 80);
const HOPPER: Needs = ((7, 8), 90);
const HOPPER_8_0: Needs = ((8, 0), 90);

/// Returns the needs of an opcode with its first modifiers.
fn of_form(opcode: &str, mods: &[&str]) -> Needs {
    match (opcode, mods) {
        ("cp", ["async", "bulk", ..]) => HOPPER_8_0,
        ("cp", ["async", ..]) | ("mbarrier" | "redux", _) => AMPERE,
        ("st" | "red", ["async", ..]) | ("multimem", _) => ((8, 1), 90),
        ("barrier", ["cluster", ..]) | ("mapa" | "getctarank" | "griddepcontrol", _) => HOPPER,
        ("stmatrix", _) => HOPPER,
        ("fence", ["mbarrier_init", ..] | ["proxy", "async", ..]) => HOPPER_8_0,
        ("barrier", ["cta", ..]) => ((7, 8), 0),
        ("createpolicy" | "discard" | "applypriority", _) => ((7, 4), 80),
        ("ldmatrix", _) => ((6, 5), 75),
        ("mma", _) if mods.iter().any(|m| matches!(*m, "m16n8k8" | "m8n8k16")) => ((6, 5), 75),
        ("mma", _) => AMPERE,
        _ => OLDEST,
    }
}

/// Returns the needs of a modifier, wherever it stands.
fn of_modifier(opcode: &str, name: &str) -> Needs {
    match (opcode, name) {
        ("mma" | "wmma", "bf16" | "tf32") => AMPERE,
        ("barrier", "acquire" | "release" | "relaxed") => HOPPER_8_0,
        ("mbarrier", "acquire" | "release" | "relaxed") => ((8, 0), 80),
        ("mbarrier", "expect_tx" | "complete_tx" | "cluster" | "shared::cluster") => HOPPER_8_0,
        ("mbarrier", "try_wait") | (_, "cluster" | "shared::cluster") => HOPPER,
        ("mbarrier", "parity") => ((7, 1), 80),
        // A copy has always had it.
        ("cp", "shared::cta") => OLDEST,
        (_, "shared::cta") => ((7, 8), 0),
        _ => OLDEST,
    }
}

/// Joins needs: the newest version, and the newest GPU.
fn both(a: Needs, b: Needs) -> Needs {
    (a.0.max(b.0), a.1.max(b.1))
}

fn of_instruction(i: &Instruction) -> Needs {
    let mods = mods(i);
    let modifiers = mods.iter().map(|name| of_modifier(&i.opcode, name));
    let counted = mods.contains(&"arrive") && i.operands.len() > 2 && !has(i, "noComplete");
    let all = modifiers.chain(counted.then_some(HOPPER));
    all.fold(of_form(&i.opcode, &mods), both)
}

/// Returns what is missing of `needs`; `None` if nothing is, or if the text has no header.
fn missing(module: &Module, needs: Needs) -> Option<String> {
    let (version, target) = (module.version, module.target.as_str());
    let digits = target.trim_start_matches("sm_");
    let digits = digits.trim_end_matches(|c: char| c.is_ascii_lowercase());
    let number: u32 = digits.parse().unwrap_or_default();
    let has_version = version == (0, 0) || version >= needs.0;
    let has_target = target.is_empty() || number >= needs.1;
    if has_version && has_target {
        return None;
    }
    let ((major, minor), number) = needs;
    let of_target = match number {
        0 => String::new(),
        number => format!(" and `.target sm_{number}`"),
    };
    Some(format!(
        ": it needs `.version {major}.{minor}`{of_target} or newer, and the text has {}.{} and `{target:.40}`",
        version.0, version.1
    ))
}

impl Lowering<'_> {
    /// Checks that `ptxas` has the instruction for the text's version and target.
    pub fn check_target(&self, i: &Instruction) -> Result<()> {
        let why = missing(self.module, of_instruction(i));
        why.map_or(Ok(()), |why| Err(self.unsupported(&why)))
    }

    /// Checks the same for an entry's clusters.
    pub fn check_clusters(&mut self, entry: &Function) -> Result<()> {
        let clusters = entry.required_cluster.is_some() || entry.explicit_cluster;
        let needs = clusters.then_some(HOPPER);
        let Some(why) = needs.and_then(|needs| missing(self.module, needs)) else {
            return Ok(());
        };
        self.form = ".reqnctapercluster".into();
        Err(self.unsupported(&why))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Error, Module};

    /// Whether a text of this version and target has the instruction.
    fn is_there(instruction: &str, (major, minor): (u32, u32), target: u32) -> bool {
        let text = format!(
            ".version {major}.{minor}\n.target sm_{target}\n.address_size 64\n
            .visible .entry k(.param .u64 x) {{
                .reg .pred %p; .reg .b32 %r<12>; .reg .b64 %d<4>; .reg .f32 %f<4>;
                {instruction}
            }}"
        );
        match Module::parse(&text).unwrap().kernel("k") {
            Ok(_) => true,
            Err(Error::Unsupported { why, .. }) if why.contains("or newer") => false,
            Err(error) => panic!("{instruction}: {error}"),
        }
    }

    /// As ptxas 13: accepted at the version and the target, and at none before.
    #[test]
    fn instructions_are_as_old_as_ptxas_has_them() {
        let versions = [
            (6, 3),
            (6, 5),
            (7, 0),
            (7, 1),
            (7, 4),
            (7, 8),
            (8, 0),
            (8, 1),
        ];
        let sums = "{%f0, %f1, %f2, %f3}";
        let mma = |form: &str, a: &str, b: &str| {
            format!("mma.sync.aligned.{form} {sums}, {{{a}}}, {{{b}}}, {sums};")
        };
        let bulk = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%d0], %r1, [%r2];";
        let store = "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r0], %r1, [%r2];";
        let wmma = |form: &str, regs: &str| {
            format!("wmma.load.a.sync.aligned.row.{form} {{{regs}}}, [%d0], %r8;")
        };
        for (instruction, version, target) in [
            ("bar.sync 0;", (6, 3), 75),
            ("barrier.sync 0;", (6, 3), 75),
            ("barrier.cta.sync 0;", (7, 8), 75),
            ("barrier.cluster.arrive;", (7, 8), 90),
            ("barrier.cluster.wait.aligned;", (7, 8), 90),
            ("barrier.cluster.wait.acquire;", (8, 0), 90),
            ("cp.async.ca.shared.global [%r0], [%d0], 4;", (7, 0), 80),
            ("cp.async.bulk.commit_group;", (8, 0), 90),
            (bulk, (8, 0), 90),
            (store, (8, 1), 90),
            ("mapa.u64 %d0, %d1, %r0;", (7, 8), 90),
            ("ld.shared::cluster.u32 %r0, [%r1];", (7, 8), 90),
            ("ld.shared::cta.u32 %r0, [%r1];", (7, 8), 75),
            ("fence.acq_rel.cluster;", (7, 8), 90),
            ("mbarrier.init.shared.b64 [%r0], 1;", (7, 0), 80),
            ("mbarrier.arrive.shared.b64 %d0, [%r0];", (7, 0), 80),
            ("mbarrier.arrive.shared.b64 %d0, [%r0], 2;", (7, 8), 90),
            (
                "mbarrier.arrive.expect_tx.shared.b64 %d0, [%r0], 4;",
                (8, 0),
                90,
            ),
            ("mbarrier.test_wait.shared.b64 %p, [%r0], %d0;", (7, 0), 80),
            (
                "mbarrier.test_wait.parity.shared.b64 %p, [%r0], %r1;",
                (7, 1),
                80,
            ),
            ("mbarrier.try_wait.shared.b64 %p, [%r0], %d0;", (7, 8), 90),
            ("redux.sync.add.u32 %r0, %r1, -1;", (7, 0), 80),
            ("griddepcontrol.wait;", (7, 8), 90),
            (
                "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r0}, [%r1];",
                (6, 5),
                75,
            ),
            (
                "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%r0};",
                (7, 8),
                90,
            ),
            (
                &mma("m16n8k8.row.col.f32.f16.f16.f32", "%r0, %r1", "%r2"),
                (6, 5),
                75,
            ),
            (
                &mma("m16n8k8.row.col.f32.bf16.bf16.f32", "%r0, %r1", "%r2"),
                (7, 0),
                80,
            ),
            (
                &mma("m16n8k4.row.col.f32.tf32.tf32.f32", "%r0, %r1", "%r2"),
                (7, 0),
                80,
            ),
            (
                &mma(
                    "m16n8k16.row.col.f32.f16.f16.f32",
                    "%r0, %r1, %r2, %r3",
                    "%r4, %r5",
                ),
                (7, 0),
                80,
            ),
            (&wmma("m16n16k16.global.u8", "%r0, %r1"), (6, 3), 75),
            (
                &wmma("m16n16k16.global.bf16", "%r0, %r1, %r2, %r3"),
                (7, 0),
                80,
            ),
        ] {
            for found in versions {
                for number in [75, 80, 90] {
                    let expected = found >= version && number >= target;
                    let is_there = is_there(instruction, found, number);
                    assert_eq!(is_there, expected, "{instruction} {found:?} sm_{number}");
                }
            }
        }
    }

    #[test]
    fn clusters_need_hopper() {
        let error = |header: &str| {
            let text = format!("{header}\n.entry k() .reqnctapercluster 2 {{ ret; }}");
            Module::parse(&text).unwrap().kernel("k").err()
        };
        let why = "line 3: `.reqnctapercluster` is not supported: it needs `.version 7.8` and `.target sm_90` or newer, \
                   and the text has 7.0 and `sm_80`";
        let old = error(".version 7.0\n.target sm_80");
        assert_eq!(old.map(|e| e.to_string()).as_deref(), Some(why));
        assert_eq!(error(".version 7.8\n.target sm_90a"), None);
        assert_eq!(
            error(""),
            None,
            "without a header there is nothing to compare"
        );
    }
}
