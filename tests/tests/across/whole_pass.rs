//! Passes that a level computes as a whole: who is asked, and on a Hopper what level 5 answers.

use std::sync::Arc;

use candle_core::{DType, Device, Tensor};
use kernels::launch::noted;
use kernels::without::{self, Idea};
use levels::{Costed, Level, OPS, Swap, whole};
use models::gnn::{self, GraphBatch};
use models::lm::Logits;
use models::random::RandomWeights;
use models::{
    CacheShape, Csr, DecoderPass, EncoderPass, GraphPass, GraphTransformer, HeadPass, Heads,
    KvCache, Linear, NextStep, Norm, Ops, Result, Rope, Sampling, Segments, Weight, WholePass,
    for_each_op, presets,
};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use tests::inputs::{
    Graphs, fresh_rng, graph_transformer, language_model, rng, uniform, vision_transformer,
};
use tests::{difference, gpu, levels, skip, watchable};

/// Level 1, with zeros for passes as a whole.
struct Zeros(Level);

impl WholePass for Zeros {
    fn graph_pass(&self, pass: &GraphPass) -> candle_core::Result<Option<Tensor>> {
        let logits = (
            pass.segments.num_segments,
            pass.head.weight.tensor().dim(0)?,
        );
        Tensor::zeros(logits, DType::F32, &Device::Cpu).map(Some)
    }

    fn encoder_pass(&self, pass: &EncoderPass) -> candle_core::Result<Option<Tensor>> {
        pass.x.zeros_like().map(Some)
    }

    fn decoder_pass(&self, pass: &mut DecoderPass) -> candle_core::Result<Option<Tensor>> {
        let (_, c) = pass.embedding.tensor().dims2()?;
        Tensor::zeros((1, 1, c), DType::F32, &Device::Cpu).map(Some)
    }

    fn head_pass(&self, pass: &HeadPass) -> candle_core::Result<Option<Tensor>> {
        let v = pass.head.weight.tensor().dim(0)?;
        Tensor::zeros((1, 1, v), DType::F32, &Device::Cpu).map(Some)
    }
}

macro_rules! forward {
    ($($op:ident($($name:ident: $of:ty),*) -> $result:ty;)*) => {
        $(fn $op(&self, $($name: $of),*) -> candle_core::Result<$result> {
            self.0.$op($($name),*)
        })*
    };
}

impl Ops for Zeros {
    fn level(&self) -> u8 {
        self.0.level()
    }

    fn new_caches(&self, shape: &CacheShape) -> candle_core::Result<Vec<KvCache>> {
        self.0.new_caches(shape)
    }

    for_each_op!(forward);
}

/// A model asks a level first. A swap and costs want every op, and so they do not pass the question on.
#[test]
fn a_level_is_asked_unless_its_ops_are_wanted() -> Result<()> {
    let level1 = levels().remove(0);
    let zeros: Level = Arc::new(Zeros(level1.clone()));
    let (device, mut rng) = (Device::Cpu, rng(1));
    let (gnn, vit) = (
        graph_transformer(1, &device)?,
        vision_transformer(1, &device)?,
    );
    let graphs = Graphs::random(&mut rng, &[(5, 9), (3, 0)]).batch(&device)?;
    let mut pixels = || Tensor::from_vec(uniform(&mut rng, 1, 675), (1, 3, 15, 15), &device);
    let (pixels, others) = (pixels()?, pixels()?);

    let logits = gnn.forward(&*zeros, &graphs)?.to_vec2::<f32>()?;
    assert_eq!(logits, vec![vec![0.; 5]; 2]);
    let of_zeros = vit.forward(&*zeros, &pixels)?;
    assert_eq!(difference(&vit.forward(&*zeros, &others)?, &of_zeros)?, 0.);

    let [logits, classes] = [
        gnn.forward(&*level1, &graphs)?,
        vit.forward(&*level1, &pixels)?,
    ];
    assert!(difference(&of_zeros, &classes)? > 0.);
    let looks = vit.class_attention(&*level1, &pixels)?;
    assert_eq!(
        difference(&vit.class_attention(&*zeros, &pixels)?, &looks)?,
        0.
    );
    let wrapped: [Level; 2] = [
        Arc::new(Swap::new(zeros.clone(), "linear=1", OPS)?),
        Arc::new(Costed::new(zeros.clone())),
    ];
    for ops in wrapped {
        assert_eq!(difference(&gnn.forward(&*ops, &graphs)?, &logits)?, 0.);
        assert_eq!(difference(&vit.forward(&*ops, &pixels)?, &classes)?, 0.);
    }
    // Costed ops forward them where it is asked for.
    let costed = Costed::new(zeros);
    let [graph, image] = whole(|| {
        Result::Ok([
            gnn.forward(&costed, &graphs)?,
            vit.forward(&costed, &pixels)?,
        ])
    })?;
    assert!(difference(&graph, &logits)? > 0.);
    assert!(difference(&image, &classes)? > 0.);
    assert_eq!(difference(&gnn.forward(&costed, &graphs)?, &logits)?, 0.);
    Ok(())
}

/// The same of the end of a decode step.
#[test]
fn a_level_is_asked_to_end_a_step_unless_its_ops_are_wanted() -> Result<()> {
    let level1 = levels().remove(0);
    let zeros: Level = Arc::new(Zeros(level1.clone()));
    let device = Device::Cpu;
    let (model, ids) = (
        language_model(1, &device)?,
        Tensor::new(&[[3u32]], &device)?,
    );
    let caches = || model.new_caches(&*level1, 1, 4);
    let expected = model.forward(&*level1, &ids, &mut caches()?, Logits::Last)?;
    let swap: Level = Arc::new(Swap::new(zeros.clone(), "linear=1", OPS)?);
    let costed: Level = Arc::new(Costed::new(zeros.clone()));
    for (ops, is_asked) in [
        (&zeros, true),
        (&level1, false),
        (&swap, false),
        (&costed, false),
    ] {
        let next = NextStep {
            position: Tensor::new(&[7u32], &device)?,
            token: Some(ids.copy()?),
            scratch: Tensor::zeros(4, DType::U32, &device)?,
        };
        let (logits, has_ended) = model.forward_step(&**ops, &ids, &mut caches()?, &next)?;
        assert_eq!(has_ended, is_asked);
        let of_ops = difference(&logits, &expected)? == 0.;
        assert_eq!(of_ops, !is_asked);
        assert_eq!(next.position.to_vec1::<u32>()?, [7]);
    }
    // The blocks are asked for as a whole for one token, not for two.
    let two = Tensor::new(&[[3u32, 4]], &device)?;
    for (ids, is_asked) in [(&ids, true), (&two, false)] {
        let expected = model.forward(&*level1, ids, &mut caches()?, Logits::Last)?;
        for (ops, asks) in [(&zeros, true), (&swap, false), (&costed, false)] {
            let found = model.forward(&**ops, ids, &mut caches()?, Logits::Last)?;
            let of_ops = difference(&found, &expected)? == 0.;
            assert_eq!(of_ops, !(asks && is_asked));
        }
    }
    Ok(())
}

#[test]
fn a_batch_knows_its_largest_graph() -> Result<()> {
    let graphs = Graphs::random(&mut rng(2), &[(5, 9), (7, 2), (1, 0)]).batch(&Device::Cpu)?;
    let with = graphs.with(graphs.x.zeros_like()?, graphs.edges.clone());
    for sizes in [graphs.sizes, with.sizes] {
        assert_eq!((sizes.max_nodes, sizes.max_edges), (7, 9));
        assert!(sizes.are_separate);
    }
    Ok(())
}

/// Graphs before they are on a device, and the model that reads them.
struct Case {
    config: gnn::Config,
    edges: Vec<[u32; 2]>,
    batch: Vec<u32>,
    x: Vec<f32>,
    features: Vec<f32>,
}

impl Case {
    /// One graph per pair of numbers of nodes and edges.
    fn random(rng: &mut ChaCha8Rng, config: gnn::Config, sizes: &[(usize, usize)]) -> Self {
        let Graphs { edges, batch, .. } = Graphs::random(rng, sizes);
        Self {
            x: uniform(rng, batch.len(), config.node_features),
            features: uniform(rng, edges.len(), config.edge_features),
            config,
            edges,
            batch,
        }
    }

    fn logits(&self, ops: &dyn Ops, dtype: DType, device: &Device) -> Result<Tensor> {
        let weights = RandomWeights::weights(1, dtype, device);
        let model = GraphTransformer::load(weights, &self.config)?;
        let tensor = |values: &[f32], width: usize| {
            let shape = (values.len() / width, width);
            Tensor::from_slice(values, shape, device)?.to_dtype(dtype)
        };
        let x = tensor(&self.x, self.config.node_features)?;
        let features = tensor(&self.features, self.config.edge_features)?;
        let count = self.batch.last().map_or(0, |&g| g as usize + 1);
        let batch = GraphBatch::new(x, &self.edges, &features, &self.batch, count)?;
        Ok(model.forward(ops, &batch)?)
    }

    /// The kernels that level 5 launches, once its answer is that of level 1 in f32.
    #[track_caller]
    fn launches(&self, dtype: DType, device: &Device) -> Result<Vec<String>> {
        let levels = levels();
        let (ops, expected) = (
            &levels[4],
            self.logits(&*levels[0], DType::F32, &Device::Cpu)?,
        );
        let (found, launches) = noted(|| self.logits(&**ops, dtype, device));
        let apart = difference(&found?, &expected)?;
        let tolerance = if dtype == DType::F32 { 1e-4 } else { 2e-2 };
        assert!(apart <= tolerance, "{dtype:?}: {apart}");
        Ok(launches
            .into_iter()
            .map(|l| l.kernel.into_owned())
            .collect())
    }
}

/// Small graphs take one launch. Others, and all without that idea, take the chain, with the same answer.
#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn level_5_answers_for_small_graphs() -> Result<()> {
    let device = gpu()?;
    if !kernels::dispatch::Facts::of(&device)?.has(kernels::dispatch::Feature::Wgmma) {
        skip(
            "level 5's graph_pass",
            "the GPU is not of compute capability 9.0",
        );
        return Ok(());
    }
    if !watchable(5, DType::BF16, &device) {
        return Ok(());
    }
    let mut rng = fresh_rng();
    let base = || presets::gnn("base").expect("a preset");
    let mut ragged: Vec<(usize, usize)> = (0..20)
        .map(|_| (rng.random_range(1..=32), rng.random_range(0..=448)))
        .collect();
    ragged.push((32, 448));
    let small = Case::random(&mut rng, base(), &ragged);
    let alone = |launches: &[String], dtype| launches == [format!("graph_pass_{dtype}_level5")];
    let chain = |launches: &[String]| {
        launches.len() > 4 && !launches.iter().any(|kernel| kernel.contains("graph_pass"))
    };
    for dtype in [DType::BF16, DType::F32] {
        let ran = small.launches(dtype, &device)?;
        assert!(alone(&ran, dtype.as_str()), "{ran:?}");
        without::set(&[Idea::GraphPass]);
        let ran = small.launches(dtype, &device);
        without::set(&[]);
        assert!(chain(&ran?), "without it");
    }
    without::set(&[Idea::Tf32x3]);
    let ran = small.launches(DType::F32, &device);
    without::set(&[]);
    assert!(chain(&ran?), "f32 without tensor cores");

    for (what, sizes) in [
        ("33 nodes", [(3, 4), (33, 60)]),
        ("449 edges", [(3, 4), (32, 449)]),
    ] {
        let ran = Case::random(&mut rng, base(), &sizes).launches(DType::BF16, &device)?;
        assert!(chain(&ran), "{what}: {ran:?}");
    }
    let mut joined = Case::random(&mut rng, base(), &[(5, 9), (6, 9)]);
    joined.edges[3] = [1, 7];
    let ran = joined.launches(DType::BF16, &device)?;
    assert!(chain(&ran), "an edge between graphs: {ran:?}");
    let others = [
        gnn::Config {
            node_features: 32,
            ..base()
        },
        gnn::Config {
            edge_features: 8,
            ..base()
        },
        gnn::Config {
            num_attention_heads: 8,
            ..base()
        },
        gnn::Config {
            intermediate_size: 512,
            ..base()
        },
        gnn::Config {
            num_hidden_layers: 9,
            ..base()
        },
    ];
    for config in others {
        let ran = Case::random(&mut rng, config.clone(), &[(5, 9), (6, 9)]);
        let ran = ran.launches(DType::BF16, &device)?;
        assert!(chain(&ran), "{config:?}: {ran:?}");
    }
    Ok(())
}
