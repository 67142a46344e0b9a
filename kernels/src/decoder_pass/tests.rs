//! The pass against an oracle in f64 at positions around the ends of its loops, and what it refuses.

use std::sync::Arc;

use candle_core::{D, DType, Device, Result, Tensor};
use operands::{DecoderBlock, Linear, Norm};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::level5::{self, DecoderStep, F, Launches, MLP_CLUSTERS, MOST_KEYS, SIZES, Size};
use crate::attention;
use crate::attention::level5::{Cache, Position};
use crate::dispatch::{Facts, Feature};
use crate::launch::{is_simulated, noted, on_cpu};
use crate::output::poisoned;
use crate::rope::level4::rope_append;
use crate::testing::{
    behind, devices, first_if_sanitized, host, relative_error, rng, skip, uniform,
};

const EPS: f64 = 1e-5;
const HEAD: usize = level5::D;

/// Positions that the caches have room for.
const CAPACITY: usize = 600;

/// Rows of the embedding.
const VOCAB: usize = 37;

/// Before, at and after the end of a pass over 256 keys, and the first and the last.
const POSITIONS: [usize; 7] = [257, 0, 1, 255, 256, 511, CAPACITY - 1];

/// shift + scale·u, with u uniform in −1..1.
fn affine(
    rng: &mut ChaCha8Rng,
    shape: &[usize],
    (shift, scale): (f64, f64),
    dtype: DType,
    device: &Device,
) -> Result<Tensor> {
    let (u, _) = uniform(rng, shape, DType::F32, &Device::Cpu)?;
    u.affine(scale, shift)?.to_dtype(dtype)?.to_device(device)
}

/// The weights of a block.
#[derive(Clone)]
struct Layers {
    norm_before: Norm,
    qkv: Linear,
    out: Linear,
    norm_after: Norm,
    gate_up: Linear,
    down: Linear,
}

impl Layers {
    /// Results have the size of the inputs.
    fn random(rng: &mut ChaCha8Rng, size: &Size, device: &Device) -> Result<Self> {
        let (c, q, kv) = (size.hidden, size.heads * HEAD, size.kv_heads * HEAD);
        let mut norm = || {
            let weight = affine(rng, &[c], (1., 0.3), size.dtype, device)?;
            Ok::<_, candle_core::Error>(Norm::Rms { weight, eps: EPS })
        };
        let (norm_before, norm_after) = (norm()?, norm()?);
        let mut linear = |n: usize, k: usize| {
            let scale = (3. / k as f64).sqrt();
            let w = affine(rng, &[n, k], (0., scale), size.dtype, device)?;
            Ok::<_, candle_core::Error>(Linear::new(w, None))
        };
        Ok(Self {
            norm_before,
            qkv: linear(q + 2 * kv, c)?,
            out: linear(c, q)?,
            norm_after,
            gate_up: linear(2 * F, c)?,
            down: linear(c, F)?,
        })
    }

    fn borrow(&self) -> DecoderBlock<'_> {
        DecoderBlock {
            norm_before: &self.norm_before,
            qkv: &self.qkv,
            out: &self.out,
            norm_after: &self.norm_after,
            gate_up: &self.gate_up,
            down: &self.down,
        }
    }
}

fn f64(x: &Tensor) -> Result<Tensor> {
    x.to_device(&Device::Cpu)?.to_dtype(DType::F64)
}

/// A model before a step: its layers, and a cache for each with NaN from the position on.
struct Case {
    size: &'static Size,
    position: usize,
    id: Tensor,
    table: Tensor,
    layers: Vec<Layers>,
    caches: Vec<Cache>,
    cos: Tensor,
    sin: Tensor,
}

impl Case {
    fn random(
        rng: &mut ChaCha8Rng,
        size: &'static Size,
        (blocks, position): (usize, usize),
        device: &Device,
    ) -> Result<Self> {
        let (angles, _) = uniform(rng, &[CAPACITY, HEAD / 2], DType::F32, &Device::Cpu)?;
        let angles = (angles * 3.)?;
        let dtype = size.dtype;
        let on_device = |x: Tensor| x.to_dtype(dtype)?.to_device(device);
        let shared = Position::new(device)?;
        let mut caches = vec![];
        for _ in 0..blocks {
            let kv = size.kv_heads;
            let new = || attention::Cache::new(1, CAPACITY, kv, HEAD, dtype, device);
            let mut cache = poisoned(new)?;
            if position > 0 {
                let mut of = |heads: usize, scale: f64| {
                    affine(rng, &[1, position, heads, HEAD], (0., scale), dtype, device)
                };
                let (q, k, v) = (of(size.heads, 1.)?, of(kv, 1.5)?, of(kv, 1.5)?);
                let zeros = Tensor::zeros((position, HEAD / 2), dtype, device)?;
                rope_append(&q, &k, &v, &zeros.ones_like()?, &zeros, &mut cache, 0)?;
            }
            caches.push(Cache::new(cache, shared.clone()));
        }
        Ok(Self {
            size,
            position,
            id: Tensor::new(&[[rng.random_range(0..VOCAB as u32)]], device)?,
            table: affine(rng, &[VOCAB, size.hidden], (0., 1.7), dtype, device)?,
            layers: (0..blocks)
                .map(|_| Layers::random(rng, size, device))
                .collect::<Result<_>>()?,
            caches,
            cos: on_device(angles.cos()?)?,
            sin: on_device(angles.sin()?)?,
        })
    }

    /// Does something with the step and its caches.
    fn with<T>(&mut self, act: impl FnOnce(DecoderStep, &mut [Cache]) -> T) -> T {
        let blocks: Vec<_> = self.layers.iter().map(Layers::borrow).collect();
        let step = DecoderStep {
            id: &self.id,
            table: &self.table,
            blocks: &blocks,
            heads: self.size.heads,
            cos: &self.cos,
            sin: &self.sin,
            position: self.position,
        };
        act(step, &mut self.caches)
    }

    fn run(&mut self) -> Result<Tensor> {
        self.with(|step, caches| {
            let refs: Vec<&Cache> = caches.iter().collect();
            assert!(step.is_readable(&refs));
            poisoned(|| step.run(caches.iter_mut().collect()))
        })
    }

    fn is_readable(&mut self) -> bool {
        self.with(|step, caches| step.is_readable(&caches.iter().collect::<Vec<_>>()))
    }

    /// The keys or values of a layer up to a position: (KV, positions, D)
    fn cached(&self, layer: usize, is_value: bool, positions: usize) -> Result<Tensor> {
        let (keys, values) = self.caches[layer].inner_ref().tensors()?;
        let all = if is_value { values } else { keys };
        f64(&all.squeeze(0)?.narrow(1, 0, positions)?)
    }

    /// The step in f64 by candle on the CPU: (C), and what it appends to each layer: (KV, 1, D) twice.
    fn oracle(&self) -> Result<(Tensor, Vec<[Tensor; 2]>)> {
        let mut x = self.embedded()?;
        let mut appended = vec![];
        for i in 0..self.layers.len() {
            let (attended, new) = self.attended(i, &x)?;
            x = self.transformed(i, &attended)?;
            appended.push(new);
        }
        Ok((x.squeeze(0)?, appended))
    }

    /// The token's row of the embedding: (1, C)
    fn embedded(&self) -> Result<Tensor> {
        let id = self.id.to_vec2::<u32>()?[0][0];
        f64(&self.table.narrow(0, id as usize, 1)?)
    }

    /// x (1, C) and the attention of a layer, and what the layer appends.
    fn attended(&self, layer: usize, x: &Tensor) -> Result<(Tensor, [Tensor; 2])> {
        let (heads, kv, p) = (self.size.heads, self.size.kv_heads, self.position);
        let layers = &self.layers[layer];
        let angle = |x: &Tensor| f64(&x.narrow(0, p, 1)?);
        let (cos, sin) = (angle(&self.cos)?, angle(&self.sin)?);
        let rotated = |x: &Tensor| {
            let half = |i: usize| x.narrow(1, i * HEAD / 2, HEAD / 2);
            let (a, b) = (half(0)?, half(1)?);
            let first = (a.broadcast_mul(&cos)? - b.broadcast_mul(&sin)?)?;
            let second = (b.broadcast_mul(&cos)? + a.broadcast_mul(&sin)?)?;
            Tensor::cat(&[first, second], 1)
        };
        let dtype = self.size.dtype;
        let rounded = |x: Tensor| x.to_dtype(dtype)?.to_dtype(DType::F64)?.unsqueeze(1);
        let qkv = matmul(&layers.qkv, &norm(&layers.norm_before, x)?)?;
        let qkv = qkv.reshape((heads + 2 * kv, HEAD))?;
        let q = rotated(&qkv.narrow(0, 0, heads)?)?;
        let new = [
            rounded(rotated(&qkv.narrow(0, heads, kv)?)?)?,
            rounded(qkv.narrow(0, heads + kv, kv)?.copy()?)?,
        ];
        let all = |is_value: bool| {
            let old = self.cached(layer, is_value, p)?;
            let all = Tensor::cat(&[&old, &new[usize::from(is_value)]], 1)?; // (KV, p + 1, D)
            let of_head = (0..heads).map(|h| all.get(h / (heads / kv)));
            Tensor::stack(&of_head.collect::<Result<Vec<_>>>()?, 0) // (H, p + 1, D)
        };
        let (keys, values) = (all(false)?, all(true)?);
        let scores = (keys.matmul(&q.unsqueeze(2)?)?.squeeze(2)? / (HEAD as f64).sqrt())?;
        let e = scores.broadcast_sub(&scores.max_keepdim(1)?)?.exp()?;
        let weights = e.broadcast_div(&e.sum_keepdim(1)?)?.unsqueeze(1)?; // (H, 1, p + 1)
        let attended = weights.matmul(&values)?.reshape((1, heads * HEAD))?;
        Ok(((x + matmul(&layers.out, &attended)?)?, new))
    }

    /// x (1, C) and the MLP of a layer.
    fn transformed(&self, layer: usize, x: &Tensor) -> Result<Tensor> {
        let layers = &self.layers[layer];
        let h = matmul(&layers.gate_up, &norm(&layers.norm_after, x)?)?;
        let (gate, up) = (h.narrow(1, 0, F)?, h.narrow(1, F, F)?);
        x + matmul(&layers.down, &(gate.silu()? * up)?)?
    }
}

/// x·wᵀ in f64.
fn matmul(w: &Linear, x: &Tensor) -> Result<Tensor> {
    x.matmul(&f64(w.weight.tensor())?.t()?)
}

/// RMSNorm in f64.
fn norm(norm: &Norm, x: &Tensor) -> Result<Tensor> {
    match norm {
        Norm::Rms { weight, eps } => {
            let scale = (x.sqr()?.mean_keepdim(D::Minus1)? + *eps)?.sqrt()?;
            x.broadcast_div(&scale)?.broadcast_mul(&f64(weight)?)
        }
        Norm::Layer { .. } => candle_core::bail!("expected RMSNorm"),
    }
}

/// Checks a step: its result, what it appends, its launches, and that it gives the same bits again.
fn check(what: &str, case: &mut Case) -> Result<()> {
    let (exact, appended) = case.oracle()?;
    let exact = exact.to_vec1::<f64>()?;
    let (y, launches) = noted(|| case.run());
    let y = y?;
    let size = case.size;
    assert_eq!(
        (y.dims(), y.dtype()),
        (&[1, 1, size.hidden][..], size.dtype)
    );
    let y = host(&y)?;
    // bf16 rounds y, and the new key after other sums than the oracle's. f32 has sums of 512 to 1536 products.
    let (most_of_y, most_of_new) = match case.size.dtype {
        DType::F32 => (1e-5, 1e-5),
        _ => (0.003, 0.004),
    };
    let off = relative_error(&y, exact);
    assert!(off < most_of_y, "{what}: {off}");
    for (layer, new) in appended.iter().enumerate() {
        for (is_value, new) in [false, true].into_iter().zip(new) {
            let all = case.cached(layer, is_value, case.position + 1)?;
            let last = all.narrow(1, case.position, 1)?;
            let new = new.flatten_all()?.to_vec1::<f64>()?;
            let off = relative_error(&last.flatten_all()?.to_vec1::<f64>()?, new);
            assert!(
                off < most_of_new,
                "{what}, layer {layer}, value {is_value}: {off}"
            );
        }
    }
    let names = launches.iter().map(|launch| &*launch.kernel);
    let names: Vec<_> = names.filter(|name| name.starts_with("decoder")).collect();
    let block = [case.size.attend, case.size.mlp];
    let blocks = block.repeat(case.layers.len()).into_iter();
    let expected: Vec<_> = blocks.chain([case.size.end]).collect();
    assert_eq!(names, expected, "{what}");
    assert_eq!(host(&case.run()?)?, y, "{what}: the same bits again");
    Ok(())
}

/// Whether a device has the kernels; another is skipped by name.
fn has_kernels(device: &Device) -> bool {
    if on_cpu(device) {
        return false;
    }
    let facts = Facts::of(device).unwrap();
    let is_hopper = facts.has(Feature::Wgmma);
    if !is_hopper {
        let why = format!("needs a Hopper, found {}", facts.name);
        skip("the decoder pass", &why);
    }
    is_hopper
}

/// A launch reads x and the partial sums of the one before it, and adds its own. Each is tested alone, on random sums.
#[test]
fn each_launch_equals_the_oracle() -> Result<()> {
    let mut rng = rng();
    for device in devices().filter(has_kernels) {
        for size in &SIZES {
            let what = |launch: &str| format!("{launch} of {size:?} on {device:?}");
            let mut case = Case::random(&mut rng, size, (1, 3), &device)?;
            let mut random = |rows: usize| {
                affine(
                    &mut rng,
                    &[rows, size.hidden],
                    (0., 1.),
                    DType::F32,
                    &device,
                )
            };
            let (x, parts) = (random(1)?, random(MLP_CLUSTERS)?);
            let sum = |x: &Tensor, parts: &Tensor, of: usize| {
                f64(x)?.reshape((1, size.hidden))? + f64(parts)?.narrow(0, 0, of)?.sum_keepdim(0)?
            };
            let floats = |x: &Tensor| x.flatten_all()?.to_vec1::<f64>();
            let close = |launch: &str, found: &Tensor, exact: &Tensor| -> Result<()> {
                let off = relative_error(&floats(found)?, floats(exact)?);
                // bf16 rounds what a launch has multiplied, and the last launch its result.
                let most = if size.dtype == DType::F32 {
                    1e-5
                } else {
                    0.004
                };
                assert!(off < most, "{}: {off}", what(launch));
                Ok(())
            };
            let before = |of: usize| sum(&x, &parts, of);
            let embedded = case.attended(0, &case.embedded()?)?.0;
            let attended = case.attended(0, &before(MLP_CLUSTERS)?)?.0;
            let transformed = case.transformed(0, &before(size.heads)?)?;

            case.with(|step, caches| -> Result<()> {
                let block = &step.blocks[0];
                // The first block reads the embedding, the others read sums.
                for (vocab, exact) in [(VOCAB, &embedded), (0, &attended)] {
                    let mut launches = poisoned(|| Launches::new(step.id, step.table, size))?;
                    launches.vocab = vocab;
                    if vocab == 0 {
                        (launches.now.x, launches.now.parts) = (x.clone(), parts.clone());
                    }
                    let cache = caches[0]
                        .at(step.position)?
                        .expect("a cache that is not on the CPU");
                    launches.attend(block, [step.cos, step.sin], &cache)?;
                    let found = sum(&launches.now.x, &launches.now.parts, size.heads)?;
                    close(size.attend, &found, exact)?;
                }
                let mut launches = poisoned(|| Launches::new(step.id, step.table, size))?;
                (launches.now.x, launches.now.parts) = (x.clone(), parts.clone());
                launches.mlp(block)?;
                let found = sum(&launches.now.x, &launches.now.parts, MLP_CLUSTERS)?;
                close(size.mlp, &found, &transformed)?;

                let mut launches = poisoned(|| Launches::new(step.id, step.table, size))?;
                (launches.now.x, launches.now.parts) = (x.clone(), parts.clone());
                close(size.end, &f64(&launches.end()?)?, &before(MLP_CLUSTERS)?)
            })?;
        }
    }
    Ok(())
}

#[test]
fn a_decoder_pass_equals_the_oracle() -> Result<()> {
    let mut rng = rng();
    for device in devices().filter(has_kernels) {
        for size in &SIZES {
            // A simulated position takes seconds.
            let (positions, blocks) = if is_simulated() {
                (&POSITIONS[..2], 1)
            } else {
                (first_if_sanitized(&POSITIONS), 3)
            };
            for &position in positions {
                let what = format!("{} at {position}, {device:?}", size.attend);
                let mut case = Case::random(&mut rng, size, (blocks, position), &device)?;
                check(&what, &mut case)?;
            }
        }
    }
    Ok(())
}

fn other(dtype: DType) -> DType {
    if dtype == DType::F32 {
        DType::BF16
    } else {
        DType::F32
    }
}

/// A cache on the CPU without positions.
fn empty(
    size: &Size,
    capacity: usize,
    dtype: DType,
    position: &Option<Arc<Position>>,
) -> Result<Cache> {
    let inner = attention::Cache::new(1, capacity, size.kv_heads, HEAD, dtype, &Device::Cpu)?;
    Ok(Cache::new(inner, position.clone()))
}

/// A change of a case, and what it makes of it.
type Change = (&'static str, fn(&mut Case) -> Result<()>);

const CHANGES: [Change; 14] = [
    ("two tokens", |case| {
        case.id = Tensor::cat(&[&case.id, &case.id], 1)?;
        Ok(())
    }),
    ("ids of another dtype", |case| {
        case.id = case.id.to_dtype(DType::I64)?;
        Ok(())
    }),
    ("an embedding of another dtype", |case| {
        case.table = case.table.to_dtype(other(case.size.dtype))?;
        Ok(())
    }),
    ("a gain of another dtype", |case| {
        if let Norm::Rms { weight, eps } = case.layers[1].norm_before.clone() {
            let weight = weight.to_dtype(other(weight.dtype()))?;
            case.layers[1].norm_before = Norm::Rms { weight, eps };
        }
        Ok(())
    }),
    ("angles of another dtype", |case| {
        case.sin = case.sin.to_dtype(other(case.size.dtype))?;
        Ok(())
    }),
    ("caches of another dtype", |case| {
        let (dtype, shared) = (other(case.size.dtype), Position::new(&Device::Cpu)?);
        for cache in &mut case.caches {
            *cache = empty(case.size, CAPACITY, dtype, &shared)?;
        }
        Ok(())
    }),
    ("an unaligned embedding", |case| {
        case.table = behind(&case.table)?;
        Ok(())
    }),
    ("a bias", |case| {
        let n = case.layers[1].qkv.weight.tensor().dim(0)?;
        case.layers[1].qkv.bias = Some(Tensor::zeros(n, case.size.dtype, &Device::Cpu)?);
        Ok(())
    }),
    ("LayerNorm", |case| {
        if let Norm::Rms { weight, eps } = case.layers[0].norm_after.clone() {
            let bias = weight.clone();
            case.layers[0].norm_after = Norm::Layer { weight, bias, eps };
        }
        Ok(())
    }),
    ("a weight by columns", |case| {
        let w = case.layers[0].out.weight.tensor().t()?;
        case.layers[0].out = Linear::new(w, None);
        Ok(())
    }),
    ("too few angles", |case| {
        case.cos = case.cos.narrow(0, 0, CAPACITY - 1)?;
        Ok(())
    }),
    ("a full cache", |case| {
        case.position = CAPACITY;
        Ok(())
    }),
    ("a layer without a cache", |case| {
        case.caches.pop();
        Ok(())
    }),
    ("positions of their own", |case| {
        let own = Position::new(&Device::Cpu)?;
        case.caches[1] = empty(case.size, CAPACITY, case.size.dtype, &own)?;
        Ok(())
    }),
];

#[test]
fn operands_decide_whether_there_is_a_decoder_pass() -> Result<()> {
    let mut rng = rng();
    for device in devices().filter(|_| is_simulated()) {
        for size in [&SIZES[0], &SIZES[2]] {
            let mut case = || Case::random(&mut rng, size, (2, 0), &device);
            let mut fine = case()?;
            assert!(fine.is_readable());
            let fits = fine.with(|step, caches| step.fits(&caches.iter().collect::<Vec<_>>()));
            assert!(!fits?, "not in the simulator");
            for (what, change) in CHANGES {
                let mut case = case()?;
                change(&mut case)?;
                assert!(!case.is_readable(), "{}: {what}", size.attend);
            }
            let shared: Option<Arc<Position>> = Position::new(&device)?;
            let long = 2 * MOST_KEYS;
            for (position, is_readable) in [(MOST_KEYS - 1, true), (MOST_KEYS, false)] {
                let mut case = case()?;
                case.position = position;
                case.cos = Tensor::zeros((long, HEAD / 2), size.dtype, &device)?;
                case.sin = case.cos.clone();
                for cache in &mut case.caches {
                    *cache = empty(size, long, size.dtype, &shared)?;
                }
                assert_eq!(case.is_readable(), is_readable, "{position}");
            }
        }
    }
    Ok(())
}
