//! Invalid tensors of `--input`.

use std::fs;

use safetensors::tensor::Dtype;

use crate::fixture::{Fixture, Stored};

/// Replaces one tensor of a golden's case and asserts an error that names it.
fn refuses(golden: &str, name: &str, tensor: Stored, parts: &[&str]) {
    let fixture = Fixture::golden(golden);
    fixture.edit("case.safetensors", |tensors| {
        tensors.insert(name.into(), tensor);
    });
    let name = format!("case.safetensors: tensor `{name}`: expected");
    fixture
        .answer(&[])
        .refused(&[&[name.as_str()], parts].concat());
}

fn lm(tensor: Stored, parts: &[&str]) {
    refuses("lm-mqa", "input_ids", tensor, parts);
}

fn vit(tensor: Stored, parts: &[&str]) {
    refuses("vit-patch4", "pixel_values", tensor, parts);
}

/// `gnn-plain` has 25 nodes, 75 edges and four graphs.
fn gnn(name: &str, tensor: Stored, parts: &[&str]) {
    refuses("gnn-plain", name, tensor, parts);
}

#[test]
fn tokens_out_of_range() {
    let below = "tokens from 0 to below 97";
    lm(Stored::integers(&[1, 2], &[3, 97]), &[below, "found 97"]);
    lm(Stored::integers(&[1, 2], &[-1, 3]), &[below, "found -1"]);
    lm(
        Stored::integers(&[1, 1], &[i64::MAX]),
        &[below, "found 9223372036854775807"],
    );
    // 2³² + 5 is not token 5.
    lm(
        Stored::integers(&[1, 1], &[(1 << 32) + 5]),
        &[below, "found 4294967301"],
    );
}

#[test]
fn tokens_of_another_form() {
    lm(
        Stored::floats(&[1, 2], &[1., 2.]),
        &["I64, I32 or U32, found F32"],
    );
    lm(
        Stored::integers(&[2], &[1, 2]),
        &["shape [any, any], found shape [2]"],
    );
    lm(
        Stored::integers(&[1, 0], &[]),
        &["at least one token, found shape [1, 0]"],
    );
    lm(
        Stored::integers(&[0, 4], &[]),
        &["at least one token, found shape [0, 4]"],
    );
}

#[test]
fn more_tokens_than_the_context() {
    lm(
        Stored::integers(&[1, 65], &[1; 65]),
        &["at most 64 tokens per row", "found 65"],
    );
    let parts = [
        "--generate",
        "at most 57 after a prompt of 8 tokens, found 58",
    ];
    Fixture::golden("lm-mqa")
        .answer(&["--generate", "58"])
        .refused(&parts);
    let huge = usize::MAX.to_string();
    Fixture::golden("lm-mqa")
        .answer(&["--generate", &huge])
        .refused(&["--generate"]);
}

/// Each new token of each row takes a call.
#[test]
fn more_new_tokens_than_minutes_allow() {
    let fixture = Fixture::golden("lm-mqa");
    let ids = Stored::integers(&[20_000, 1], &[1; 20_000]);
    fixture.save("case.safetensors", &[("input_ids".into(), ids)].into());
    let parts = ["--generate: ", "at most 52 for 20000 rows, found 60"];
    fixture.answer(&["--generate", "60"]).refused(&parts);
}

#[test]
fn pixels() {
    let size = 3 * 16 * 16;
    let shape = "expected shape [any, 3, 16, 16]";
    let zeros = vec![0.; size];
    vit(
        Stored::floats(&[3, 16, 16], &zeros),
        &[shape, "found shape [3, 16, 16]"],
    );
    vit(Stored::floats(&[1, 16, 16, 3], &zeros), &[shape]);
    vit(Stored::floats(&[1, 3, 8, 32], &zeros), &[shape]);
    vit(
        Stored::floats(&[0, 3, 16, 16], &[]),
        &["at least one image"],
    );
    vit(
        Stored::integers(&[1, 3, 16, 16], &vec![0; size]),
        &["F32, F16 or BF16, found I64"],
    );
    let mut pixels = zeros;
    pixels[100] = f32::NAN;
    vit(
        Stored::floats(&[1, 3, 16, 16], &pixels),
        &["finite numbers, found NaN"],
    );
}

#[test]
fn edges() {
    let mut edges = vec![0; 150];
    gnn(
        "edge_index",
        Stored::integers(&[75, 2], &edges),
        &["shape [2, any], found shape [75, 2]"],
    );
    edges[80] = 25;
    gnn(
        "edge_index",
        Stored::integers(&[2, 75], &edges),
        &["nodes from 0 to below 25, found 25"],
    );
    edges[80] = -1;
    gnn(
        "edge_index",
        Stored::integers(&[2, 75], &edges),
        &["found -1"],
    );
    gnn(
        "edge_index",
        Stored::floats(&[2, 75], &[0.; 150]),
        &["I64, I32 or U32, found F32"],
    );
    gnn(
        "edge_attr",
        Stored::floats(&[74, 5], &[0.; 370]),
        &["shape [75, 5], found shape [74, 5]"],
    );
    gnn(
        "edge_attr",
        Stored::floats(&[75, 4], &[0.; 300]),
        &["shape [75, 5], found shape [75, 4]"],
    );
    gnn(
        "edge_attr",
        Stored::floats(&[75, 5], &[f32::INFINITY; 375]),
        &["finite numbers, found inf"],
    );
}

#[test]
fn nodes() {
    gnn(
        "x",
        Stored::floats(&[25, 7], &[0.; 175]),
        &["shape [any, 6], found shape [25, 7]"],
    );
    gnn("x", Stored::floats(&[0, 6], &[]), &["at least one node"]);
    let mut x = [0.; 150];
    x[149] = f32::NAN;
    gnn(
        "x",
        Stored::floats(&[25, 6], &x),
        &["finite numbers, found NaN"],
    );
}

#[test]
fn graphs() {
    let mut batch = [0; 25];
    gnn(
        "batch",
        Stored::integers(&[24], &batch[1..]),
        &["shape [25], found shape [24]"],
    );
    batch[24] = 4;
    gnn(
        "batch",
        Stored::integers(&[25], &batch),
        &["graphs from 0 to below 4, found 4"],
    );
    batch[24] = -4;
    gnn("batch", Stored::integers(&[25], &batch), &["found -4"]);
    batch[24] = 0;
    batch[23] = 2;
    gnn(
        "batch",
        Stored::integers(&[25], &batch),
        &["non-decreasing", "found 0 after 2"],
    );
    gnn(
        "num_graphs",
        Stored::integers(&[1], &[0]),
        &["at least one graph, found 0"],
    );
    gnn(
        "num_graphs",
        Stored::integers(&[1], &[1 << 40]),
        &["one number"],
    );
    gnn(
        "num_graphs",
        Stored::integers(&[2], &[4, 4]),
        &["shape [1], found shape [2]"],
    );
}

/// A case has the answer next to the input, but no other tensor.
#[test]
fn a_tensor_that_nothing_reads() {
    for golden in ["lm-mqa", "vit-patch4", "gnn-plain"] {
        let extra = || Stored::floats(&[1], &[1.]);
        refuses(golden, "attention_mask", extra(), &["only ", "found it"]);
    }
}

#[test]
fn more_graphs_than_nodes() {
    let most = Stored::integers(&[1], &[(1 << 24) - 1]);
    gnn(
        "num_graphs",
        most,
        &["one number from 0 to below 4122, found 16777215"],
    );
}

#[test]
fn more_rows_than_memory() {
    let rows = Stored::integers(&[300_000, 1], &[0; 300_000]);
    lm(rows, &["rows of 1 tokens", "found 300000"]);
}

#[test]
fn a_tensor_that_is_missing() {
    for (golden, names) in [
        ("lm-mqa", &["input_ids"][..]),
        ("vit-patch4", &["pixel_values"]),
        (
            "gnn-plain",
            &["x", "edge_index", "edge_attr", "batch", "num_graphs"],
        ),
    ] {
        for name in names {
            let fixture = Fixture::golden(golden);
            fixture.edit("case.safetensors", |tensors| {
                tensors.remove(*name);
            });
            let part = format!("tensor `{name}`: expected this tensor, found nothing");
            fixture.answer(&[]).refused(&[&part]);
        }
    }
}

#[test]
fn a_file_that_is_none() {
    let fixture = Fixture::golden("gnn-plain");
    let bytes = fs::read(fixture.path("case.safetensors")).unwrap();
    for (bytes, found) in [
        (&bytes[..0], "0 bytes"),
        (&bytes[..bytes.len() / 2], "bytes: "),
    ] {
        fixture.write("case.safetensors", bytes);
        fixture.answer(&[]).refused(&["case.safetensors", found]);
    }
    fs::remove_file(fixture.path("case.safetensors")).unwrap();
    fixture
        .answer(&[])
        .unreadable(&fixture.path("case.safetensors"));
}

#[test]
fn other_integers_are_fine() {
    for dtype in [Dtype::I32, Dtype::U32] {
        let fixture = Fixture::golden("lm-mqa");
        fixture.edit("case.safetensors", |tensors| {
            let ids = tensors.get_mut("input_ids").unwrap();
            let narrow = |id: i64| (id as u32).to_le_bytes();
            ids.bytes = ids.to_integers().into_iter().flat_map(narrow).collect();
            ids.dtype = dtype;
        });
        fixture.answer(&[]).fine();
    }
}
