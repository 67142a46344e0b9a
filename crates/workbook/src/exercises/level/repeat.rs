//! Repeats the launches of a learner's method on operands that it has not seen, and counts them, in a process of its own:
//! `exercises level repeat`.

use std::path::Path;

use anyhow::{Context, Result};
use candle_core::DType;
use kernels::launch::Sequence;
use serde::{Deserialize, Serialize};

use super::calls::{left, tensors, uncomputed};
use super::child::{self, Counts, Found, Ran, first_line};
use super::oracle::expected;
use super::traffic::{most, uncounted};

/// The counts of a method with the right results.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Counted {
    /// Its tensors, as its process says, and the counters of the launches that were repeated.
    pub counts: Counts,
    /// Work that its kernels leave to other code.
    pub left: Option<String>,
    /// The line of its kernels that moves the most bytes.
    pub most: Option<Found>,
}

impl Counted {
    /// The counts of a call whose launches cannot be repeated. Its process may write anything: of its counters, the tensors
    /// are taken as they are, and the others are not.
    pub fn unrepeated(last: &Ran, found: &str) -> Self {
        let mut counted = Self {
            left: Some(format!("launches that can be repeated, found {found}")),
            ..Self::default()
        };
        counted.counts.tensors = last.counts.tensors;
        counted
    }
}

/// The first call whose launches have a fault, or do not compute its results from operands that the method has not seen. A
/// process of a learner can leave out a launch of what it wrote, but then the others do not have its results. In bf16, a call
/// may be without launches.
fn fault(method: &str, ran: &[Ran], seed: u64) -> Result<Option<String>> {
    let none = Sequence::default();
    for (i, (dtype, ..)) in child::all().into_iter().enumerate() {
        let sequence = ran.get(i).and_then(|ran| ran.sequence.as_ref());
        let sequence = sequence.unwrap_or(&none);
        if dtype == DType::BF16 && sequence.is_empty() {
            continue;
        }
        let call = child::unseen(method, seed, i)?;
        let fault = match sequence.repeat(&tensors(&call), options()) {
            Ok(repeated) => {
                let mut findings = repeated.reports.iter().flat_map(|r| &r.findings);
                match findings.next() {
                    Some(finding) => Some(finding.to_string()),
                    None => uncomputed(&call, &expected(&call)?, &repeated, dtype),
                }
            }
            Err(error) => Some(first_line(&error)),
        };
        if let Some(fault) = fault {
            return Ok(Some(format!(
                "kernels that compute all calls without a fault, found one in a repeat of call {i} ({fault})"
            )));
        }
    }
    Ok(None)
}

/// Options of the simulator: a learner's process may make the memory of the launches large.
fn options() -> simt::Options {
    simt::Options {
        memory: 1 << 30,
        ..child::options()
    }
}

/// Counts the last call of `method`.
fn counted(method: &str, last: &Ran) -> Result<Counted> {
    let none = Counted::unrepeated(last, "none");
    if last.counts.launches == 0 {
        return Ok(Counted { left: None, ..none });
    }
    let Some(sequence) = &last.sequence else {
        return Ok(none);
    };
    let call = child::unseen(method, 0, child::all().len() - 1)?;
    Ok(match sequence.repeat(&tensors(&call), options()) {
        Ok(repeated) => {
            let all = expected(&call)?;
            Counted {
                counts: none.counts.with(&repeated.reports),
                left: uncounted(&repeated.reports).or_else(|| left(&call, &all, &repeated)),
                most: most(&repeated.reports),
            }
        }
        Err(error) => Counted::unrepeated(last, &first_line(&error)),
    })
}

/// Reads what the process of `method` wrote to the file `ran`, counts its last call, and writes [`Counted`] to `out`. With a
/// seed, the launches of all calls are repeated, and a fault or a wrong result counts as work that the kernels leave.
pub fn repeat(method: &str, ran: &Path, seed: Option<u64>, out: &Path) -> Result<bool> {
    let ran: Vec<Ran> = child::read(ran)?;
    let last = ran.last().context("expected calls, found none")?;
    let mut counted = counted(method, last)?;
    let counts = counted.left.is_none() && counted.counts.launches > 0;
    if let Some(seed) = seed.filter(|_| counts) {
        counted.left = fault(method, &ran, seed)?;
    }
    data::save_as(out, &serde_json::to_vec(&counted)?)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As level 1's method, whose process writes other counts at its end.
    #[test]
    fn counts_that_a_process_makes_up_are_not_its_kernels() -> Result<()> {
        let none = r#"{"texts":[],"others":[],"launches":[],"results":[]}"#;
        for (launches, sequence, line) in [
            (1, "null", "launches that can be repeated, found none"),
            (1, none, "kernels that read all operands, found 0 of "),
            (0, "null", ""),
        ] {
            let claimed =
                format!(r#"{{"launches":{launches},"tensors":7,"bytes":1,"warps":1,"flops":0}}"#);
            let ran = Ran {
                counts: serde_json::from_str(&claimed)?,
                sequence: serde_json::from_str(sequence)?,
                ..Ran::default()
            };
            let found = counted("linear", &ran)?;
            assert_eq!((found.counts.steps(), found.counts.bytes), (7, 0));
            assert_eq!((found.counts.launches, found.counts.warps), (0, 0));
            let left = found.left.unwrap_or_default();
            assert!(left.starts_with(line), "{left}");
        }
        Ok(())
    }

    /// Each of 320 threads reads a logit and writes its own number, so that one of the numbers is the token.
    #[test]
    fn a_kernel_that_writes_all_tokens_computes_none() -> Result<()> {
        let text = ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry all(.param .u64 x, .param .u64 y) {\n\
            .reg .u32 %t, %x;\n.reg .u64 %from, %to, %at;\nld.param.u64 %from, [x];\nld.param.u64 %to, [y];\n\
            mov.u32 %t, %tid.x;\nmul.wide.u32 %at, %t, 4;\nadd.u64 %from, %from, %at;\nadd.u64 %to, %to, %at;\n\
            ld.global.u32 %x, [%from];\nst.global.u32 [%to], %t;\nret;\n}\n";
        let step = r#"{"text":0,"entry":"all","grid":[1,1,1],"block":[320,1,1],"smem":0,"args":[{"Address":[0,0]},{"Address":[1,0]}]}"#;
        let all = format!(
            r#"{{"texts":[{text:?}],"others":[{{"bytes":1280,"zeros":true}}],"launches":[{step}],"results":[null]}}"#
        );
        let mut ran = Ran {
            sequence: serde_json::from_str(&all)?,
            ..Ran::default()
        };
        ran.counts.launches = 1;
        let counted = counted("next_token", &ran)?;
        assert_eq!(counted.counts.launches, 1);
        let left = counted.left.unwrap_or_default();
        assert!(left.contains("to memory of at most 64 bytes"), "{left}");
        Ok(())
    }

    /// Level 3's calls of `method` on the operands of seed 7, as a process writes them.
    fn ran(method: &str) -> Result<Vec<Ran>> {
        let level3 = levels::level(3).context("expected level 3, found none")?;
        let calls = (0..child::all().len()).map(|i| {
            let call = child::draw(method, 7, i)?;
            let ran = child::observe(&call, || call.run(&*level3))?;
            Ok(serde_json::from_str(&serde_json::to_string(&ran)?)?)
        });
        calls.collect()
    }

    /// 32 threads read an id each, but call 0 has one. Its process wrote no finding.
    #[test]
    fn a_fault_that_a_process_hides_is_found() -> Result<()> {
        let text = ".version 6.3\n.target sm_75\n.address_size 64\n.visible .entry one(.param .u64 ids) {\n\
            .reg .u32 %t, %id;\n.reg .u64 %from, %at;\nld.param.u64 %from, [ids];\nmov.u32 %t, %tid.x;\n\
            mul.wide.u32 %at, %t, 4;\nadd.u64 %from, %from, %at;\nld.global.u32 %id, [%from];\nret;\n}\n";
        let step = r#"{"text":0,"entry":"one","grid":[1,1,1],"block":[32,1,1],"smem":0,"args":[{"Address":[0,0]}]}"#;
        let all = format!(r#"{{"texts":[{text:?}],"others":[],"launches":[{step}],"results":[]}}"#);
        let mut ran = ran("embedding")?;
        ran[0].sequence = serde_json::from_str(&all)?;
        let found = fault("embedding", &ran, 7)?.unwrap_or_default();
        let line =
            "kernels that compute all calls without a fault, found one in a repeat of call 0 (";
        assert!(
            found.starts_with(line) && found.contains("ld.global.u32"),
            "{found}"
        );
        Ok(())
    }

    /// The call that is counted has all launches, and another one, of an odd size, leaves one out.
    #[test]
    fn a_launch_that_a_process_leaves_out_is_missed() -> Result<()> {
        let method = "norm_linear";
        for (i, left_out, line) in [
            (1, 0, "of param_x, which were never written"),
            (2, 1, "kernels that write all results, found 0 of"),
            (6, 1, "kernels that write all results, found 0 of"),
        ] {
            let mut ran = ran(method)?;
            assert_eq!(fault(method, &ran, 7)?, None);
            let mut sequence = serde_json::to_value(&ran[i].sequence)?;
            let launches = sequence["launches"].as_array_mut().context("launches")?;
            assert_eq!(launches.len(), 2);
            launches.remove(left_out);
            ran[i].sequence = serde_json::from_value(sequence)?;
            let found = fault(method, &ran, 7)?.unwrap_or_default();
            let at = format!("found one in a repeat of call {i} (");
            assert!(found.contains(&at) && found.contains(line), "{found}");
        }
        Ok(())
    }

    /// No kernel of level 3 is taken for one that leaves something out.
    #[test]
    fn kernels_compute_all_calls() -> Result<()> {
        for method in levels::OPS {
            if *method != "next_token" {
                assert_eq!(fault(method, &ran(method)?, 7)?, None, "{method}");
            }
        }
        Ok(())
    }
}
