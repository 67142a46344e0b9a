//! The pass against the oracle on a Hopper, and on a CPU which passes the kernel can compute.

mod case;
mod prepared;

use candle_core::{DType, Device, Result, Tensor};
use operands::{GraphPass, Linear, Norm, Weight};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::level5::{self as launched, Operands, graph_pass};
use crate::dispatch::{Facts, Feature};
use crate::launch::{Arg, noted, simulated, structure::Structure};
use crate::level4 as k;
use crate::output::poisoned;
use crate::testing::{
    KernelFile, assert_close, behind, directive, gpu, host, is_sanitized, relative_error, rng,
    skip, tolerance,
};
use case::{Case, Graph, Source, graph};

const DTYPES: [DType; 2] = [DType::BF16, DType::F32];

fn entry(dtype: DType) -> String {
    format!("graph_pass_{}_level5", dtype.as_str())
}

/// Relative to the largest logit, in f32.
const TOLERANCE: f64 = 1e-5;

/// A case of `graphs` on a CPU.
fn on_cpu(dtype: DType, graphs: Vec<Graph>, layers: usize) -> Result<Case> {
    let mut source = Source {
        rng: &mut rng(),
        dtype,
        device: &Device::Cpu,
    };
    Case::random(&mut source, graphs, layers, 10)
}

/// Graphs of `nodes` nodes, each with `degree` incoming edges.
fn regular(nodes: usize, degree: usize) -> Vec<Graph> {
    vec![
        graph(&mut rng(), &vec![degree; nodes]),
        graph(&mut rng(), &[1, 0]),
    ]
}

fn can(pass: &GraphPass) -> bool {
    Operands::of(pass).is_some()
}

#[test]
fn the_kernel_takes_what_fits() -> Result<()> {
    for dtype in DTYPES {
        for (nodes, degree, layers) in [(32, 14, 8), (32, 0, 2), (1, 448, 1)] {
            let case = on_cpu(dtype, regular(nodes, degree), layers)?;
            assert!(can(&case.pass()), "{dtype:?} {nodes} {degree} {layers}");
        }
        for (nodes, degree, layers) in [(33, 1, 4), (1, 449, 4), (32, 4, 9)] {
            let case = on_cpu(dtype, regular(nodes, degree), layers)?;
            assert!(!can(&case.pass()), "{dtype:?} {nodes} {degree} {layers}");
        }
        assert!(!can(&on_cpu(dtype, vec![], 4)?.pass()), "no nodes");
        let without_layers = can(&on_cpu(dtype, regular(3, 2), 0)?.pass());
        assert_eq!(without_layers, dtype == DType::BF16);
    }
    assert!(!can(&on_cpu(DType::F16, regular(3, 2), 4)?.pass()), "f16");
    Ok(())
}

/// One operand at a time that the kernel cannot read.
#[test]
fn other_operands_are_refused() -> Result<()> {
    let [bf16, f32] = DTYPES;
    refuses_others(bf16, f32)?;
    refuses_others(f32, bf16)
}

fn refuses_others(dtype: DType, other: DType) -> Result<()> {
    let case = on_cpu(dtype, regular(5, 3), 2)?;
    let with = |w: Tensor, like: &Linear| Linear::new(w, like.bias.clone());
    assert!(can(&case.pass()));
    let mut pass = case.pass();
    pass.sizes.are_separate = false;
    assert!(!can(&pass), "edges between graphs");
    let mut pass = case.pass();
    pass.num_heads = 8;
    assert!(!can(&pass), "other heads");

    let (x, up) = (&case.x, &case.blocks[1].up.operand);
    let wide = Tensor::cat(&[x, x], 1)?;
    let view = wide.narrow(1, 0, x.dim(1)?)?;
    assert!(!view.is_contiguous());
    for (what, x) in [
        ("wide rows", &wide),
        ("a view", &view),
        ("a misaligned x", &behind(x)?),
        ("x in another dtype", &x.to_dtype(other)?),
    ] {
        let mut pass = case.pass();
        pass.x = x;
        assert!(!can(&pass), "{what}");
    }
    let w = up.weight.tensor();
    let no_bias = Linear::new(w.clone(), None);
    let narrow = with(w.narrow(1, 0, 64)?.contiguous()?, up);
    let shifted = with(behind(w)?, up);
    for (what, up) in [
        ("no bias", &no_bias),
        ("another K", &narrow),
        ("a misaligned w", &shifted),
        ("another dtype", &with(w.to_dtype(other)?, up)),
    ] {
        let mut pass = case.pass();
        pass.blocks[1].up = up;
        assert!(!can(&pass), "{what}");
    }
    let edge = Weight::new(case.blocks[0].edge.tensor().narrow(1, 0, 8)?.contiguous()?);
    let mut pass = case.pass();
    pass.blocks[0].edge = &edge;
    assert!(!can(&pass), "8 features");

    let Norm::Layer { weight, bias, eps } = &case.norm.operand else {
        panic!("a LayerNorm")
    };
    let (weight, bias) = (weight.clone(), bias.clone());
    let rms = Norm::Rms {
        weight: weight.clone(),
        eps: *eps,
    };
    let another = Norm::Layer {
        weight,
        bias,
        eps: 1e-6,
    };
    for norm in [&rms, &another] {
        let mut pass = case.pass();
        pass.blocks[0].norm2 = norm;
        assert!(!can(&pass), "{norm:?}");
    }
    Ok(())
}

/// The pass op by op, on a CPU.
fn chain(case: &Case) -> Result<Tensor> {
    let norm = |x: &Tensor, norm: &Norm| match norm {
        Norm::Layer { weight, bias, eps } => k::layer_norm(x, weight, bias, *eps),
        Norm::Rms { .. } => unreachable!("a LayerNorm"),
    };
    let channels = launched::CHANNELS;
    let mut x = k::linear(&case.x, &case.proj_in.operand)?;
    for block in &case.blocks {
        let y = k::linear(&norm(&x, &block.norm1.operand)?, &block.qkv_skip.operand)?;
        let part = |i: usize| y.narrow(1, i * channels, channels)?.contiguous();
        let shape = (y.dim(0)?, launched::HEADS, channels / launched::HEADS);
        let heads = |i: usize| part(i)?.reshape(shape);
        let (q, key, v, edge) = (heads(0)?, heads(1)?, heads(2)?, &block.edge);
        x = k::edge_attention(&q, &key, &v, &part(3)?, &x, &case.edges, edge, &case.csr)?;
        let h = k::linear_gelu(&norm(&x, &block.norm2.operand)?, &block.up.operand)?;
        x = k::linear_residual(&h, &block.down.operand, &x)?;
    }
    let mean = k::segment_mean(&x, &case.segments)?;
    k::linear(&norm(&mean, &case.norm.operand)?, &case.head.operand)
}

/// The oracle, whose graphs are lists, against the ops.
#[test]
fn the_ops_equal_the_oracle() -> Result<()> {
    let case = on_cpu(DType::F32, ragged(&mut rng(), 5), 3)?;
    assert_close("op by op", &chain(&case)?, &case.oracle(), 1e-4)
}

/// On a CPU, and where launches are simulated, the ops compute the pass.
#[test]
fn a_cpu_has_no_kernel() -> Result<()> {
    for dtype in DTYPES {
        let case = on_cpu(dtype, regular(5, 3), 1)?;
        assert!(graph_pass(&case.pass())?.is_none());
        let (y, _) = simulated(simt::Options::default(), || graph_pass(&case.pass()));
        assert!(y?.is_none());
        assert!(case.prepared.get().is_none(), "weights that nothing reads");
    }
    Ok(())
}

#[test]
fn sizes_are_those_of_the_kernels() {
    let [rows, columns] = launched::TILE;
    let of_bf16 = [
        ("MAX_LAYERS", launched::MAX_LAYERS),
        ("TILE_ROWS", rows),
        ("TILE_COLUMNS", columns),
    ];
    let of_f32 = [
        ("GROUPS", launched::GROUPS),
        ("LAYER_TILES", launched::LAYER_TILES),
        ("TILE", 64 * 64 * size_of::<u16>()),
    ];
    for (dtype, sizes) in DTYPES.into_iter().zip([of_bf16, of_f32]) {
        let file = format!("graph_pass/level5/{}", dtype.as_str());
        let file = KernelFile::read(&file, "sm_90a");
        let of_both = [
            ("NODES", launched::NODES),
            ("INPUTS", launched::INPUTS),
            ("CHANNELS", launched::CHANNELS),
            ("HIDDEN", launched::HIDDEN),
            ("HEADS", launched::HEADS),
            ("FEATURES", launched::FEATURES),
            ("MAX_EDGES", launched::MAX_EDGES),
        ];
        for (name, value) in of_both.into_iter().chain(sizes) {
            assert_eq!(file.constant(name), value, "{name}");
        }
        assert_eq!(file.max_threads(&entry(dtype)), launched::THREADS);
    }
}

/// With all layers, the arguments end where `Params` does; in bf16 with fewer, after its first layers.
#[test]
fn arguments_fill_the_parameter() -> Result<()> {
    let [bf16, f32] = DTYPES;
    for (dtype, layers, end, size) in [
        (bf16, 8, 3968, "3968"),
        (bf16, 4, 3968 - 4 * 448, "3968"),
        (bf16, 0, 348, "3968"),
        (f32, 8, 132, "136"),
        (f32, 1, 132, "136"),
    ] {
        let case = on_cpu(dtype, regular(3, 1), layers)?;
        let pass = case.pass();
        let operands = Operands::of(&pass).expect("operands");
        let weights = launched::prepare(&pass)?;
        let launch = operands.arguments(weights.as_ref(), 2, &case.x);
        let entry = entry(dtype);
        assert_eq!(launch.entry, entry);
        let text = launch.module.texts()[0];
        let (_, parameter) = text.split_once("param_0[").expect("a struct");
        assert_eq!(parameter.split_once(']').expect("its size").0, size);
        assert_eq!(directive(text, &entry, ".maxntid"), launched::THREADS);
        let source = match dtype {
            DType::F32 => include_str!("level5/f32.cuh"),
            _ => include_str!("level5/bf16.cuh"),
        };
        assert!(source.contains(&format!("BYTES == {}", launch.smem)));

        let mut all = Structure::new();
        for arg in &launch.args {
            let (len, alignment) = match arg {
                Arg::Boxes(..) => (128, 64),
                Arg::Read(_) | Arg::Write(_) => (8, 8),
                Arg::U32(_) | Arg::F32(_) => (4, 4),
                other => panic!("{other:?}"),
            };
            all.push(&entry, &vec![0; len], alignment)?;
        }
        assert_eq!(all.end(), end, "{layers}");
    }
    Ok(())
}

/// The GPU, if it has the kernel.
fn hopper() -> Result<Option<Device>> {
    let device = gpu()?;
    if Facts::of(&device)?.has(Feature::Wgmma) {
        return Ok(Some(device));
    }
    skip("graph_pass", "the GPU is not of compute capability 9.0");
    Ok(None)
}

/// Graphs of 1 to 32 nodes with up to 29 edges into each; the last has as many nodes and edges as the kernel takes, and one
/// before it has no nodes.
fn ragged(rng: &mut ChaCha8Rng, count: usize) -> Vec<Graph> {
    let mut graphs = vec![];
    for _ in 0..count {
        let mut left = launched::MAX_EDGES;
        let nodes = rng.random_range(1..=launched::NODES);
        let many = if rng.random_range(0..3) == 0 { 30 } else { 6 };
        let mut degree = |_| {
            let degree = rng.random_range(0..many).min(left);
            left -= degree;
            degree
        };
        let degrees: Vec<usize> = (0..nodes).map(&mut degree).collect();
        graphs.push(graph(rng, &degrees));
    }
    graphs.push(vec![]);
    graphs.push(graph(rng, &[14; 32]));
    graphs
}

fn on_gpu(
    (device, dtype): (&Device, DType),
    graphs: Vec<Graph>,
    layers: usize,
    classes: usize,
) -> Result<Case> {
    let mut source = Source {
        rng: &mut rng(),
        dtype,
        device,
    };
    Case::random(&mut source, graphs, layers, classes)
}

fn run(case: &Case) -> Result<Tensor> {
    let (y, launches) = noted(|| poisoned(|| graph_pass(&case.pass())));
    let names: Vec<&str> = launches.iter().map(|launch| &*launch.kernel).collect();
    assert_eq!(names, [entry(case.x.dtype())]);
    Ok(y?.expect("the kernel can"))
}

#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn the_kernel_equals_the_oracle() -> Result<()> {
    let Some(device) = hopper()? else {
        return Ok(());
    };
    let count = if is_sanitized() { 3 } else { 30 };
    for dtype in DTYPES {
        let tolerance = tolerance(dtype, TOLERANCE);
        for (layers, classes) in [(4, 10), (1, 1), (2, 33), (8, 16), (3, 17), (0, 5)] {
            if dtype == DType::F32 && layers == 0 {
                continue;
            }
            let graphs = ragged(&mut rng(), count);
            let case = on_gpu((&device, dtype), graphs, layers, classes)?;
            let (y, expected) = (run(&case)?, case.oracle());
            let what = format!("{dtype:?}, {layers} layers, {classes} classes");
            assert_eq!(y.dims(), [case.graphs.len(), classes], "{what}");
            assert_close(&what, &y, &expected, tolerance)?;
            let error = relative_error(&host(&y)?, expected.values);
            assert!(error <= tolerance / 2., "{what}: {error}");
            assert_eq!(host(&run(&case)?)?, host(&y)?, "{what}: another answer");
        }
    }
    Ok(())
}

/// Graphs of one size, without edges, and of one node each.
#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn extreme_graphs_equal_the_oracle() -> Result<()> {
    let Some(device) = hopper()? else {
        return Ok(());
    };
    for dtype in DTYPES {
        for (count, nodes, degree) in [
            (140, 32, 4),
            (2, 32, 0),
            (5, 1, 448),
            (40, 1, 1),
            (1, 32, 14),
        ] {
            let count = if is_sanitized() { count.min(3) } else { count };
            let degrees = vec![degree; nodes];
            let graphs = (0..count).map(|_| graph(&mut rng(), &degrees)).collect();
            let case = on_gpu((&device, dtype), graphs, 2, 10)?;
            let what =
                format!("{dtype:?}, {count} graphs of {nodes} nodes with {degree} edges each");
            let tolerance = tolerance(dtype, TOLERANCE);
            assert_close(&what, &run(&case)?, &case.oracle(), tolerance)?;
        }
    }
    Ok(())
}

/// NaN features of one graph reach no other, although its rows are read with those of the graph before it.
#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn a_nan_stays_in_its_graph() -> Result<()> {
    let Some(device) = hopper()? else {
        return Ok(());
    };
    for dtype in DTYPES {
        let graphs = [5, 3, 32].map(|nodes| graph(&mut rng(), &vec![2; nodes]));
        let mut case = on_gpu((&device, dtype), graphs.into(), 2, 10)?;
        let before = host(&run(&case)?)?;
        let nan = Tensor::full(f32::NAN, (3, launched::INPUTS), &device)?.to_dtype(dtype)?;
        let parts = [&case.x.narrow(0, 0, 5)?, &nan, &case.x.narrow(0, 8, 32)?];
        case.x = Tensor::cat(&parts, 0)?;
        let after = host(&run(&case)?)?;
        assert_eq!(after[..10], before[..10]);
        assert_eq!(after[20..], before[20..]);
        assert!(after[10..20].iter().all(|y| y.is_nan()), "{after:?}");
    }
    Ok(())
}

/// Weights that FP16 cannot bound are left to the ops, and so is f32 without tensor cores.
#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn weights_out_of_range_are_left_to_the_ops() -> Result<()> {
    let Some(device) = hopper()? else {
        return Ok(());
    };
    let mut case = on_gpu((&device, DType::F32), regular(5, 3), 2, 10)?;
    case.blocks[1].norm1.operand = prepared::with_gain(&case.blocks[1].norm1.operand, 6e3)?;
    let (y, launches) = noted(|| graph_pass(&case.pass()));
    assert!(y?.is_none() && launches.is_empty());
    Ok(())
}
