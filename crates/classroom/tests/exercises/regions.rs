//! Submissions whose regions would replace the text outside of them, or have costs that no limit counts.

use classroom::{Exercise, Part};

use crate::desk::solution;
use crate::hostile::checked;
use crate::submissions::named;

/// The solution with other lines in some regions.
fn filled(exercise: &Exercise, regions: &[(&str, &str)]) -> String {
    let mut lines: Vec<&str> = vec![];
    let mut inside = false;
    for line in solution(exercise).lines() {
        let trimmed = line.trim();
        inside &= trimmed != "// END";
        if !inside {
            lines.push(line);
        }
        let name = trimmed.strip_prefix("// REGION: ");
        if let Some((_, text)) = regions.iter().find(|(region, _)| name == Some(region)) {
            inside = true;
            lines.push(text);
        }
    }
    lines.join("\n") + "\n"
}

/// A barrier of the cluster is one of the block, and a text for sm_75 has neither it nor a bulk copy.
#[test]
fn a_target_has_no_newer_instructions() {
    let exercise = &named("20-double-buffer");
    let barrier = "bar.sync        0;";
    assert_eq!(solution(exercise).matches(barrier).count(), 1);
    for newer in [
        "barrier.cluster.arrive; barrier.cluster.wait;",
        "cp.async.bulk.commit_group; bar.sync 0;",
    ] {
        let failure = checked(exercise, &solution(exercise).replace(barrier, newer));
        assert_eq!(failure.by, Part::Text, "{}", failure.line);
        let why = ": it needs `.version ";
        assert!(failure.line.contains(why), "{}", failure.line);
    }
}

/// The tile is not padded, and `wmma` transposes it from one array into another.
#[test]
fn no_limit_on_wavefronts_is_kept_by_wmma() {
    let exercise = &named("14-transpose");
    let memory = "    .shared .align 128 .f32 tile[1024];
    .shared .align 128 .f32 turned[1024];
    .reg .f32 %f<8>; .reg .b32 %n, %q, %down, %across, %to; .reg .pred %has;";
    let values = "{%f0, %f1, %f2, %f3, %f4, %f5, %f6, %f7}";
    let exchange = format!(
        "    mad.lo.u32 %at, %ty, 32, %tx;
    mad.lo.u32 %at, %at, 4, %words;
    st.shared.f32 [%at], %value;
    bar.sync 0;
    mov.u32 %to, turned;
    setp.lt.u32 %has, %ty, 4;
    @!%has bra turned_all;
    mov.u32 %n, 32;
    shr.u32 %down, %ty, 1;
    and.b32 %across, %ty, 1;
    mul.lo.u32 %q, %down, 512;
    mad.lo.u32 %q, %across, 16, %q;
    mad.lo.u32 %q, %q, 4, %words;
    wmma.load.c.sync.aligned.row.m16n16k16.shared.f32 {values}, [%q], %n;
    mul.lo.u32 %q, %across, 512;
    mad.lo.u32 %q, %down, 16, %q;
    mad.lo.u32 %q, %q, 4, %to;
    wmma.store.d.sync.aligned.col.m16n16k16.shared.f32 [%q], {values}, %n;
turned_all:
    bar.sync 0;
    mad.lo.u32 %at, %ty, 32, %tx;
    mad.lo.u32 %at, %at, 4, %to;
    ld.shared.f32 %value, [%at];
    mad.lo.u32 %row, %bx, 32, %ty;
    mad.lo.u32 %column, %by, 32, %tx;"
    );
    let text = filled(exercise, &[("memory", memory), ("exchange", &exchange)]);
    let failure = checked(exercise, &text);
    assert_eq!(failure.by, Part::Limit, "{}", failure.line);
    let why = "wavefronts that a store into the tile needs: expected at most 1, found ";
    assert!(failure.line.contains(why), "{}", failure.line);
    assert!(failure.line.contains("| wmma.store.d."), "{}", failure.line);
}

/// The first region stands before the kernels, and the first of two kernels would run.
#[test]
fn no_kernel_takes_the_place_of_another() {
    let exercise = &named("38-row-in-registers");
    let whole = solution(exercise);
    let begin = whole.find(".visible .entry in_registers").unwrap();
    let end = begin + whole[begin..].find("\n}\n").unwrap() + 3;
    let own: Vec<&str> = whole[begin..end]
        .lines()
        .filter(|line| !line.contains("// REGION") && !line.contains("// END"))
        .collect();
    let own = own.join("\n");
    let twice = own.replace("in_registers", "in_shared");
    let header = ".version 6.3\n.target sm_75\n.address_size 64\n";
    let (_, answers) = whole.split_once("// REGION: prediction\n").unwrap();
    let answers = answers.split("// END").next().unwrap();
    for header in [header, ""] {
        let text = filled(
            exercise,
            &[("prediction", &format!("{answers}{header}{own}\n{twice}"))],
        );
        let failure = checked(exercise, &text);
        assert_eq!(failure.by, Part::Text, "{}", failure.line);
        let why = "expected one header, before all else, found `.version`";
        assert!(failure.line.contains(why), "{}", failure.line);
    }
}

/// The text between two regions would be a comment, code that is not compiled, or part of another kernel.
#[test]
fn a_region_does_not_reach_into_the_next() {
    let kernel = "extern \"C\" __global__ void row_max(const float *x, float *y, int columns) {
  float max = 0.f;
  const float *row = x;";
    for (exercise, first, second) in [
        ("23-warp-max-cuda", "#if 0", format!("#endif\n{kernel}")),
        ("23-warp-max-cuda", "/*", format!("*/\n{kernel}")),
        ("14-transpose", "/*", "*/".into()),
    ] {
        let exercise = &named(exercise);
        let names = match exercise.spec.kernels[0].entry.as_str() {
            "transpose" => ["memory", "exchange"],
            _ => ["warp_max", "columns"],
        };
        let text = filled(exercise, &[(names[0], first), (names[1], &second)]);
        let failure = checked(exercise, &text);
        assert_eq!(failure.by, Part::Outside, "{}", failure.line);
        let why = "closes what it opens, found ";
        assert!(failure.line.contains(why), "{}", failure.line);
    }
}
