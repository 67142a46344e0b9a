//! Parsing and formatting of launches.

use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::Arg;

fn operands(line: &str) -> Result<Operands> {
    Case::parse(line)?.operands(7, Path::new(""))
}

fn floats(line: &str) -> Vec<f32> {
    operands(line).unwrap().buffers[0].to_f32s()
}

/// Thirty folders, each with two links to the next, are a walk of 2³⁰ folders.
#[cfg(unix)]
#[test]
fn links_to_folders_are_not_followed() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: String| root.path().join(name);
    for depth in 0..30 {
        fs::create_dir(at(format!("{depth}"))).unwrap();
        for name in ["a", "b"] {
            let link = at(format!("{depth}/{name}"));
            std::os::unix::fs::symlink(at(format!("{}", depth + 1)), link).unwrap();
        }
    }
    assert!(files_below(root.path(), &[]).unwrap().is_empty());
}

#[test]
fn a_line_describes_a_launch() {
    let line =
        "--entry scale --grid 4,2 --block=256,1,1 --smem 64 --arg i32:-3 --arg f32:1e-5 --arg null";
    let case = Case::parse(line).unwrap();
    assert_eq!(case.entry.as_deref(), Some("scale"));
    assert_eq!(
        (case.dim.grid, case.dim.block, case.dim.smem),
        ([4, 2, 1], [256, 1, 1], 64)
    );
    let args = operands(line).unwrap().args;
    assert_eq!(args[0], Arg::Number(Element::I32, u32::MAX as u64 - 2));
    assert_eq!(args[1], Arg::Number(Element::F32, 1e-5f32.to_bits().into()));
    assert_eq!(args[2], Arg::Null);
}

#[test]
fn scalars_have_the_bytes_of_their_type() {
    for (text, bytes) in [
        ("u8:255", vec![255]),
        ("s8:-1", vec![255]),
        ("u16:0x0102", vec![2, 1]),
        ("s64:-2", (-2i64).to_le_bytes().into()),
        ("f16:1.5", vec![0x00, 0x3e]),
        ("bf16:1.5", vec![0xc0, 0x3f]),
        ("f64:0.1", 0.1f64.to_le_bytes().into()),
        // This number is a tie of f32 and rounds to even.
        ("f32:16777217", 16_777_216f32.to_le_bytes().into()),
        ("hex:00ff10", vec![0, 255, 16]),
    ] {
        let args = operands(&format!("--arg {text}")).unwrap().args;
        let found = match &args[..] {
            [Arg::Number(element, bits)] => element.to_bytes(*bits),
            [Arg::Bytes(bytes)] => bytes.clone(),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(found, bytes, "{text}");
    }
}

#[test]
fn buffers_have_the_contents_they_ask_for() {
    assert_eq!(floats("--arg f32:3:iota"), [0., 1., 2.]);
    assert_eq!(floats("--arg f32:3:zeros"), [0.; 3]);
    assert_eq!(floats("--arg f32:2x2:-0.5"), [-0.5; 4]);
    assert_eq!(floats("--arg f32:[1,2.5]"), [1., 2.5]);
    assert_eq!(floats("--arg f32:[1,3*-2,0]"), [1., -2., -2., -2., 0.]);
    let bytes = |line: &str| operands(line).unwrap().buffers[0].bytes.clone();
    assert_eq!(bytes("--arg u8:3:iota"), [0, 1, 2]);
    assert_eq!(bytes("--arg u8:[0x0aff10,7,0x09]"), [10, 255, 16, 7, 9]);
    assert_eq!(bytes("--arg bf16:2:1"), [0x80, 0x3f, 0x80, 0x3f]);
    assert_eq!(bytes("--arg i16:[-1,2]"), [255, 255, 2, 0]);
    let poison = &operands("--arg f32:2:poison").unwrap().buffers[0];
    assert_eq!((poison.initialised, poison.bytes.len()), (false, 8));
}

#[test]
fn random_numbers_cover_their_range_and_depend_on_the_seed_alone() {
    let drawn = floats("--arg f32:4096:random");
    let mean = drawn.iter().sum::<f32>() / 4096.;
    assert!(drawn.iter().all(|x| (-1. ..1.).contains(x)) && mean.abs() < 0.05);
    let least = drawn.iter().copied().fold(f32::INFINITY, f32::min);
    let most = drawn.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    assert!(least < -0.99 && most > 0.99, "{least} {most}");
    assert_eq!(drawn, floats("--arg f32:4096:random"));
    let below = operands("--arg u32:999:random:5").unwrap().buffers[0].to_u32s();
    assert!((0..5).all(|n| below.contains(&n)) && below.iter().all(|&n| n < 5));
    let wide = floats("--arg f32:999:random:8");
    assert!(wide.iter().any(|x| x.abs() > 4.));
    let two = operands("--arg f32:9:random --arg f32:9:random").unwrap();
    let [first, second] = [0, 1].map(|i| two.buffers[i].to_u32s());
    assert!(second.iter().all(|x| !first.contains(x)));
    let case = Case::parse("--arg f32:9:random").unwrap();
    let other = case.operands(8, Path::new("")).unwrap();
    assert_ne!(two.buffers[0].bytes, other.buffers[0].bytes);
}

#[test]
fn addresses_inside_and_shared() {
    let found = operands("--arg f64:8:zeros@2 --arg same:0 --arg same:0@3").unwrap();
    let expected = [Arg::Inside(0, 16), Arg::Buffer(0), Arg::Inside(0, 24)];
    assert_eq!(found.args, expected);
    assert_eq!(found.buffers.len(), 1);
}

#[test]
fn npy_files_are_read_and_written() {
    let folder = tempfile::tempdir().unwrap();
    for text in [
        "f32:2x3:random",
        "bf16:5:random",
        "i64:4:iota",
        "u8:1:zeros",
    ] {
        let saved = operands(&format!("--arg {text}")).unwrap();
        std::fs::write(folder.path().join("a.npy"), saved.npy(0).unwrap()).unwrap();
        let element = text.split(':').next().unwrap();
        let case = Case::parse(&format!("--arg {element}:a.npy")).unwrap();
        let loaded = case.operands(0, folder.path()).unwrap();
        assert_eq!(loaded.buffers[0].bytes, saved.buffers[0].bytes);
        assert_eq!(loaded.layouts, saved.layouts);
    }
}

/// NumPy 2's file of `np.array([[1, 2]], np.int32)`.
#[test]
fn the_bytes_of_an_array_are_numpys() {
    let saved = operands("--arg i32:1x2:iota").unwrap().npy(0).unwrap();
    let mut expected = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    expected.extend(b"{'descr': '<i4', 'fortran_order': False, 'shape': (1, 2), }");
    expected.resize(127, b' ');
    expected.extend(b"\n\0\0\0\0\x01\0\0\0");
    assert_eq!(saved, expected);
}

#[test]
fn npy_files_of_other_contents_are_errors() {
    let array = |shape: &[u64]| npy::Array {
        element: Element::I32,
        shape: shape.to_vec(),
        bytes: vec![0; 8],
    };
    let file = npy::write(&array(&[2]));
    let refused = |file: &[u8], element, parts: &[&str]| {
        let error = npy::read("a.npy", file, element).unwrap_err().to_string();
        let all = parts.iter().all(|part| error.contains(part));
        assert!(all && error.starts_with("a.npy: "), "{error}");
    };
    refused(&file, Element::F32, &["expected '<f4', f32", "found '<i4'"]);
    refused(&file[..file.len() - 1], Element::I32, &["found 7 bytes"]);
    refused(b"PK\x03\x04", Element::I32, &["a .npy file"]);
    let huge = npy::write(&array(&[u64::MAX, 9]));
    refused(&huge, Element::I32, &["found 8 bytes"]);
    let text = String::from_utf8_lossy(&file[10..]).replace("False", "True ");
    let fortran = |shape: &str| [&file[..10], text.replacen("(2,)", shape, 1).as_bytes()].concat();
    refused(&fortran("(2,1)"), Element::I32, &["C order"]);
    for cut in 0..file.len() {
        npy::read("a.npy", &file[..cut], Element::I32).unwrap_err();
    }
}

#[test]
fn errors_name_the_problem() {
    for (line, parts) in [
        ("--arg f32:x:random", ["--arg f32:x:random", "found \"x\""]),
        (
            "--arg f32:4:randm",
            ["random, zeros, iota", "found \"randm\""],
        ),
        ("--arg f31:4:zeros", ["f16, bf16, f32", "found \"f31\""]),
        ("--arg i32:1.5", ["a number of type i32", "\"1.5\""]),
        ("--arg u8:256", ["a number of type u8", "\"256\""]),
        (
            "--arg f32:4294967296:zeros",
            ["at most 1073741824 bytes", "4294967296"],
        ),
        // Refused before the first is filled.
        (
            "--arg f64:130000000:random --arg f64:130000000:random",
            [
                "the buffers of the arguments: expected at most",
                "2080000000",
            ],
        ),
        ("--arg u32:[1,x]", ["numbers of type u32", "[1,x]"]),
        ("--arg u32:[1", ["ends with ]", "[1"]),
        ("--arg u32:4:random:0", ["above 0", "random:0"]),
        ("--arg same:1", ["before it that has a buffer", "found 1"]),
        (
            "--arg f32:none.npy",
            ["none.npy: expected a readable file", "found no such file"],
        ),
        ("--arg f32:4:zeros@5000000000", ["32 bits", "5000000000"]),
        (
            "--grid 1,2,3,4",
            ["--grid: expected one to three", "1,2,3,4"],
        ),
        ("--smem", ["--smem: expected a value", "none"]),
        ("--gird 4", ["--entry, --grid", "found --gird"]),
    ] {
        let error = operands(line).unwrap_err().to_string();
        assert!(parts.iter().all(|p| error.contains(p)), "{line}: {error}");
    }
    let error = Case::parse_all("# one\n\n--arg f32:1 # two\n--gird 4").unwrap_err();
    assert!(error.to_string().starts_with("line 4: "), "{error}");
}

#[test]
fn a_kernel_file_has_one_file_of_cases() {
    for (ptx, cases) in [
        ("softmax.ptx", "softmax.cases"),
        ("a/softmax.sm_80.ptx", "a/softmax.cases"),
        (
            "/b/kernels/generated/gelu/level4.sm_90a.ptx",
            "/b/kernels/generated/gelu/level4.cases",
        ),
        (
            "/src/kernels/src/linear/level3/gelu.ptx",
            "/src/kernels/generated/linear/level3/gelu.cases",
        ),
    ] {
        assert_eq!(super::file_of(Path::new(ptx)), Path::new(cases));
    }
}

#[test]
fn a_reading_version_is_next_to_hand_written_ptx() {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels");
    for (file, expected) in [
        ("src/rms_norm/level3.cu", true),
        ("generated/rms_norm/level3.sm_75.ptx", true),
        ("src/rms_norm/level3.ptx", false),
        ("src/rms_norm/level4.cu", false),
        ("generated/rms_norm/level4.sm_80.ptx", false),
    ] {
        let path = kernels.join(file).canonicalize().unwrap();
        assert_eq!(super::is_reading_version(&path), expected, "{file}");
    }
}

#[test]
fn a_file_of_cases_has_comments() {
    let cases = Case::parse_all("# one\n\n--arg f32:1 # two\n--grid 4\n").unwrap();
    let lines: Vec<usize> = cases.iter().map(|(line, _)| *line).collect();
    assert_eq!(lines, [3, 4]);
}

#[test]
fn the_entry_is_optional_in_a_module_with_one_kernel() {
    let text = |names: &[&str]| {
        let entry = |name| format!(".visible .entry {name}() {{ ret; }}\n");
        let entries: String = names.iter().map(entry).collect();
        Module::parse(&format!(
            ".version 7.0\n.target sm_75\n.address_size 64\n{entries}"
        ))
        .unwrap()
    };
    let kernel = |line: &str, names: &[&str]| Case::parse(line).unwrap().kernel(&text(names));
    assert_eq!(kernel("", &["a"]).unwrap().name(), "a");
    assert_eq!(kernel("--entry b", &["a", "b"]).unwrap().name(), "b");
    let sums = ["_Z3sumPKfPf", "_Z4sum2PKf", "_Z1aIfEvi", "_Z1aIdEvi"];
    assert_eq!(kernel("--entry sum", &sums).unwrap().name(), sums[0]);
    assert!(kernel("--entry a", &sums).is_err());
    let error = kernel("", &["a", "b"]).unwrap_err().to_string();
    assert_eq!(error, "--entry: expected one of a, b, found none");
    let error = kernel("--entry c", &["a"]).unwrap_err().to_string();
    assert_eq!(error, "--entry: expected one of a, found c");
}

proptest! {
    /// Parsing never panics, and what parses is formatted so that it parses again.
    #[test]
    fn any_text_is_read_or_refused(line in "(--(arg|grid|smem)[ =][a-z0-9:x@,.\\[\\]-]{0,24} ?){0,3}") {
        if let Ok(case) = Case::parse(&line) {
            prop_assert_eq!(Case::parse(&case.to_string()).unwrap(), case);
        }
    }

    #[test]
    fn arguments_parse_as_they_are_formatted(
        element in "(u8|i32|f16|bf16|f32|f64|u64)",
        shape in prop::sample::select(vec!["7", "2x3", "0"]),
        fill in prop::sample::select(vec!["random", "random:3", "iota", "poison", "zeros", "1", "a.npy"]),
        at in prop::sample::select(vec!["", "@5"]),
    ) {
        let text = format!("{element}:{shape}:{fill}{at}");
        let argument: Argument = text.parse().unwrap();
        let again: Argument = argument.to_string().parse().unwrap();
        prop_assert_eq!(again, argument);
    }
}

#[test]
fn equal_numbers_in_a_row_get_a_repeat_count() {
    for (text, shown) in [
        ("u32:[7,7,7,7,1,1,0]", "u32:[4*7,1,1,0]"),
        ("f32:[3*NaN,-0.0,0.0]", "f32:[3*NaN,-0.0,0.0]"),
        ("bf16:[2*1,1]", "bf16:[3*1.0]"),
        ("u8:[200,100,33,4]", "u8:[0xc8642104]"),
        ("u8:[9*200,1]", "u8:[9*200,1]"),
    ] {
        let argument: Argument = text.parse().unwrap();
        assert_eq!(argument.to_string(), shown);
        assert_eq!(shown.parse::<Argument>().unwrap().to_string(), shown);
    }
    for text in [
        "u32:[2000000*0]",
        "u32:[900000*0,900000*0]",
        "u32:[*1]",
        "u32:[2*]",
        "u32:[-1*2]",
        "u8:[0x]",
        "u8:[0x123]",
        "u8:[0x1g]",
        "u16:[0x010203]",
    ] {
        assert!(text.parse::<Argument>().is_err(), "{text}");
    }
}
