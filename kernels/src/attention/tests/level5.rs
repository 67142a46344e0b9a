//! Decode steps with the position in device memory.

use candle_core::{DType, Device, Result, Tensor};
use rand_chacha::ChaCha8Rng;

use super::case::{Case, LEVELS};
use crate::attention;
use crate::attention::level5::tile_tf32x3;
use crate::attention::level5::{self, Position};
use crate::dispatch::{Facts, Why};
use crate::launch::{noted, on_cpu, simulated};
use crate::output::poisoned;
use crate::rope;
use crate::testing::{
    assert_close, behind, bits, devices, host, pairwise, relative_error, rng, skip, tolerance,
    uniform,
};

/// Runs steps after `position`, whose past level 4 has appended; returns the result and the position on the
/// device.
fn step(case: Case, path: Path, product: &Tensor, device: &Device) -> Result<(Tensor, usize)> {
    let mut inner = case.cache(device)?;
    if case.position > 0 {
        case.append(&LEVELS[1], product, &mut inner, 0, case.position)?;
    }
    let position = Position::new(device)?;
    let mut cache = level5::Cache::new(inner, position.clone());
    let [q, k, v] = case.cut(product, case.position, case.tokens)?;
    let Some(at) = cache.on_device(&q, case.position)? else {
        candle_core::bail!("{case:?} is left to level 4")
    };
    // The angles of other positions would differ and rotate keys and queries apart.
    let angles = |here: f64, before: f64| -> Result<Tensor> {
        let row = |x: f64, n| Tensor::full(x as f32, (n, case.d / 2), device);
        let here = row(here, case.tokens)?;
        let all = match case.position {
            0 => here, // a GPU cannot fill an empty tensor
            n => Tensor::cat(&[row(before, n)?, here], 0)?,
        };
        all.to_dtype(case.dtype)
    };
    let (cos, sin) = (angles(1., 0.3)?, angles(0., -0.7)?);
    let y = match path {
        Path::Launches => {
            let q = rope::level5::rope_append_step(&q, &k, &v, &cos, &sin, &at)?;
            let q = match case.offset {
                0 => q,
                _ => behind(&q)?,
            };
            level5::causal_attention_step(&q, &at)?
        }
        Path::Step => level5::attention_step(&q, &k, &v, &cos, &sin, &at)?,
        Path::Split => {
            let (q, k, v, cos, sin, cache) = (&q, &k, &v, &cos, &sin, &at);
            level5::step_split::launch(&level5::Step {
                q,
                k,
                v,
                cos,
                sin,
                cache,
            })?
        }
    };
    Ok((y, position.map_or(Ok(0), |p| p.read())?))
}

/// The functions that compute a step.
#[derive(Debug, Clone, Copy)]
enum Path {
    /// The rotation and the append, then attention.
    Launches,
    /// The entry that the registry picks: on Hopper and in the simulator a cluster, where the operands allow it.
    Step,
    /// One launch whose blocks have splits of the keys.
    Split,
}

#[test]
fn steps_equal_the_oracle_at_every_position() -> Result<()> {
    let mut rng = rng();
    let axes: [&[usize]; 7] = [
        &[1, 2],
        &[1, 2, 4],
        &[0, 1, 62, 255, 256, 300, 520, 1030],
        &[0, 1, 2],
        &[8, 32, 64, 128],
        &[0, 1],
        &[0, 3],
    ];
    for device in devices() {
        if on_cpu(&device) {
            continue; // a CPU's loops take the position as an argument
        }
        for shape in pairwise(&axes) {
            let (heads, kv_heads) = [(2, 2), (3, 1), (6, 2)][shape[3]];
            let case = Case {
                batch: shape[0],
                tokens: shape[1],
                position: shape[2],
                heads,
                kv_heads,
                d: shape[4],
                dtype: [DType::F32, DType::BF16][shape[5]],
                offset: shape[6],
            };
            let case = case.capped(1 << 22);
            let (product, values) = case.product(&mut rng, &device)?;
            let expected = case.oracle(&values, true);
            for path in [Path::Launches, Path::Step, Path::Split] {
                let (y, position) = poisoned(|| step(case, path, &product, &device))?;
                let what = format!("level 5 {device:?} {path:?} {case:?}");
                assert_close(&what, &y, &expected, tolerance(case.dtype, 1e-4))?;
                assert_eq!(position, case.position, "{what}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_position_is_set_and_advanced_on_the_device() -> Result<()> {
    for device in devices() {
        let Some(position) = Position::new(&device)? else {
            assert!(on_cpu(&device));
            continue;
        };
        assert_eq!(position.read()?, 0);
        position.set(41)?;
        position.advance(2)?;
        assert_eq!(position.read()?, 43);
        position.set(43)?; // unchanged, so nothing is launched
        position.set(7)?;
        assert_eq!(position.read()?, 7);
    }
    Ok(())
}

#[test]
fn level_5_leaves_some_shapes_to_level_4() -> Result<()> {
    for device in devices() {
        let case = |d, tokens| {
            let cache = crate::attention::Cache::new(1, 9, 1, d, DType::BF16, &device)?;
            let mut cache = level5::Cache::new(cache, Position::new(&device)?);
            let q = Tensor::zeros((1, tokens, 1, d), DType::BF16, &device)?;
            let here = cache.on_device(&q, 0)?.is_some();
            Ok::<_, candle_core::Error>(here)
        };
        let gpu = !on_cpu(&device);
        assert_eq!(case(64, 4)?, gpu);
        assert!(!case(64, 5)?, "too many tokens");
        assert!(!case(20, 1)?, "heads that are no whole number of 16 bytes");
    }
    Ok(())
}

/// Three TF32 matmuls are as accurate as one in f32, even where scores are differences of large numbers and
/// many keys are summed. A single TF32 matmul has 10 bits per factor, too few for this.
#[test]
fn prompts_in_f32_are_as_accurate_as_f32() -> Result<()> {
    let case = Case {
        batch: 1,
        tokens: 333,
        position: 0,
        heads: 1,
        kv_heads: 1,
        d: 128,
        dtype: DType::F32,
        offset: 0,
    };
    for device in devices() {
        if on_cpu(&device) {
            continue; // a CPU has level 4's loops
        }
        if !tile_tf32x3::can(Facts::of(&device)?, case.dtype, case.d) {
            let why = format!("needs tensor cores of sm_80 or later, found {device:?}");
            skip("level 5's attention in f32 on tensor cores", &why);
            continue;
        }
        let (product, values) = case.product(&mut rng(), &device)?;
        let expected = case.oracle(&values, false).values;
        let [q, k, v] = case.cut(&product, 0, case.tokens)?;
        let y = host(&tile_tf32x3::attention(&q, &k, &v)?)?;
        let off = relative_error(&y, expected.iter().copied());
        assert!(off < 1e-6, "{device:?}: {off}");
    }
    Ok(())
}

#[test]
fn unaligned_operands_are_for_the_launches() -> Result<()> {
    for device in devices() {
        if !Facts::of(&device)?.at_least((9, 0)) {
            continue; // no clusters
        }
        let zeros = |dims: &[usize]| Tensor::zeros(dims, DType::F32, &device);
        let inner = attention::Cache::new(1, 4, 1, 16, DType::F32, &device)?;
        let mut cache = level5::Cache::new(inner, Position::new(&device)?);
        let (k, angles) = (zeros(&[1, 1, 1, 16])?, zeros(&[4, 8])?);
        let unaligned = zeros(&[17])?.narrow(0, 1, 16)?.reshape((1, 1, 1, 16))?;
        for (q, name) in [
            (&k, "attention_step_cluster"),
            (&unaligned, "attention_step_launches"),
        ] {
            let Some(cache) = &cache.on_device(q, 0)? else {
                candle_core::bail!("expected the position on the device, found none")
            };
            let (k, v, cos, sin) = (&k, &k, &angles, &angles);
            let step = level5::Step {
                q,
                k,
                v,
                cos,
                sin,
                cache,
            };
            let (_, picked) = level5::attention_step_with_info(&step)?;
            assert_eq!(picked.entry.name, name, "{device:?}");
            let is_fixed = matches!(picked.why, Why::Fixed(_));
            assert_eq!(is_fixed, q.layout().start_offset() > 0, "{device:?}");
        }
    }
    Ok(())
}

/// Operands of a step whose angles differ from position to position, and what runs it.
struct Steps {
    qkv: Tensor,
    cos: Tensor,
    sin: Tensor,
    before: Tensor,
    shape: Shape,
}

/// Batch, tokens, position, heads, those of the cache, D, and positions of the cache after the step.
type Shape = (usize, usize, usize, usize, usize, usize, usize);

impl Steps {
    fn new(rng: &mut ChaCha8Rng, shape: Shape, dtype: DType, device: &Device) -> Result<Self> {
        let (batch, tokens, position, heads, kv_heads, d, room) = shape;
        let capacity = position + tokens + room;
        let mut draw = |dims: &[usize]| uniform(rng, dims, dtype, device).map(|(x, _)| x);
        Ok(Self {
            qkv: draw(&[batch, tokens, heads + 2 * kv_heads, d])?,
            cos: draw(&[capacity, d / 2])?,
            sin: draw(&[capacity, d / 2])?,
            before: draw(&[batch, position.max(1), kv_heads, d])?,
            shape,
        })
    }

    /// A cache with the keys and values before the step, and NaN after it.
    fn cache(&self) -> Result<attention::Cache> {
        let (batch, tokens, position, _, kv_heads, d, room) = self.shape;
        let (dtype, device) = (self.qkv.dtype(), self.qkv.device());
        let capacity = position + tokens + room;
        let new = || attention::Cache::new(batch, capacity, kv_heads, d, dtype, device);
        let mut cache = poisoned(new)?;
        if position > 0 {
            let here = |angles: &Tensor| angles.narrow(0, 0, position);
            let (cos, sin) = (here(&self.cos)?, here(&self.sin)?);
            let x = &self.before;
            rope::level4::rope_append(x, x, x, &cos, &sin, &mut cache, 0)?;
        }
        Ok(cache)
    }

    /// Calls `run` with the step.
    fn run<T>(&self, cache: attention::Cache, run: impl Fn(&level5::Step) -> T) -> Result<T> {
        let (_, _, position, heads, kv_heads, ..) = self.shape;
        let part = |from, count| self.qkv.narrow(2, from, count);
        let q = &part(0, heads)?;
        let (k, v) = (&part(heads, kv_heads)?, &part(heads + kv_heads, kv_heads)?);
        let mut cache = level5::Cache::new(cache, Position::new(q.device())?);
        let Some(cache) = &cache.on_device(q, position)? else {
            candle_core::bail!("expected the position on the device, found none")
        };
        let (cos, sin) = (&self.cos, &self.sin);
        Ok(run(&level5::Step {
            q,
            k,
            v,
            cos,
            sin,
            cache,
        }))
    }
}

/// The same as [`Path::Launches`] in the step's result and in the cache, with angles of their own at each position: what one
/// launch appends is what the rotation appends.
#[test]
fn one_launch_equals_the_launches() -> Result<()> {
    let mut rng = rng();
    for device in devices() {
        let facts = Facts::of(&device)?;
        if on_cpu(&device) {
            continue; // a CPU's loops take the position as an argument
        }
        let mut names = vec!["attention_step_launches", "attention_step_split"];
        if facts.at_least((9, 0)) {
            names.push("attention_step_cluster");
        } else {
            let why = format!("needs compute capability 9.0, found {}", facts.name);
            skip("decode steps in clusters", &why);
        }
        for shape in [
            (1, 1, 0, 1, 1, 16, 3),
            (1, 1, 300, 3, 1, 64, 3),
            (2, 4, 61, 2, 2, 48, 3),
            (1, 3, 129, 10, 2, 32, 3),
            (2, 2, 40, 2, 1, 128, 3),
            // Keys of the split kernel: new ones in two splits, the last of a bucket, a split without any, 22 query heads.
            (1, 2, 127, 3, 1, 32, 200),
            (1, 4, 252, 2, 1, 64, 9),
            (1, 1, 256, 2, 2, 128, 700),
            (1, 1, 127, 22, 1, 16, 1),
        ] {
            for dtype in [DType::F32, DType::BF16] {
                let steps = Steps::new(&mut rng, shape, dtype, &device)?;
                let keys_seen = shape.2 + shape.1;
                let mut results = vec![];
                for name in &names {
                    let cache = steps.cache()?;
                    let (keys, values) = cache.tensors()?;
                    let (keys, values) = (keys.clone(), values.clone());
                    let entry = level5::STEP_REGISTRY.named(name).expect("an entry");
                    let run = |step: &level5::Step| noted(|| poisoned(|| (entry.run)(step)));
                    let (y, launches) = steps.run(cache, run)?;
                    let bucket = keys_seen.next_power_of_two().min(keys_seen + shape.6);
                    let expected = match *name {
                        "attention_step_launches" => 2 + usize::from(bucket > 256),
                        _ => 1,
                    };
                    assert_eq!(launches.len(), expected, "{name}: {launches:?}");
                    // A copy: reading the narrowed tensor back would read the rest of its memory, too.
                    let written = |x: Tensor| x.narrow(2, 0, keys_seen)?.force_contiguous();
                    results.push([host(&y?)?, host(&written(keys)?)?, host(&written(values)?)?]);
                }
                for (name, result) in names.iter().zip(&results).skip(1) {
                    for (i, found) in result.iter().enumerate() {
                        let off = relative_error(found, results[0][i].iter().copied());
                        // One rounding of bf16 apart where a rotation's sums are contracted another way.
                        let most = if dtype == DType::BF16 { 4e-3 } else { 2e-6 };
                        assert!(
                            off < most,
                            "{name} {device:?} {dtype:?} {shape:?}: {i}: {off}"
                        );
                    }
                }
            }
        }
    }
    Ok(())
}

/// The counters are 0 again after each launch, also where the next one has more splits, and two launches have the same bits.
#[test]
fn tickets_are_ready_for_the_next_step() -> Result<()> {
    for device in devices() {
        if on_cpu(&device) {
            continue;
        }
        let steps = Steps::new(&mut rng(), (2, 2, 299, 6, 1, 32, 1), DType::F32, &device)?;
        let results = steps.run(steps.cache()?, |step| -> Result<Vec<Tensor>> {
            let mut results = vec![];
            for _ in 0..3 {
                results.push(poisoned(|| level5::step_split::launch(step))?);
                let tickets = step.cache.inner.tickets()?.to_vec1::<u32>()?;
                assert!(tickets.iter().all(|&ticket| ticket == 0), "{tickets:?}");
            }
            Ok(results)
        })??;
        for again in &results[1..] {
            assert_eq!(bits(&results[0])?, bits(again)?, "{device:?}");
        }
    }
    Ok(())
}

/// Without the fence the simulator finds a race. With a counter that does not wrap, another block than the last joins the
/// parts, or the counter is not 0 afterwards.
#[test]
fn a_missing_fence_or_reset_is_found() -> Result<()> {
    for (name, text, replacement) in [
        ("none", "membar.gl;", "membar.gl;"),
        ("the fence", "membar.gl;", ""),
        ("the reset", "atom.global.inc.u32", "atom.global.add.u32"),
    ] {
        let module = level5::step_split::mutant(text, replacement);
        let (tickets, reports) = simulated(simt::Options::default(), || {
            let shape = (1, 1, 299, 2, 1, 32, 1);
            let steps = Steps::new(&mut rng(), shape, DType::F32, &Device::Cpu)?;
            steps.run(steps.cache()?, |step| {
                level5::step_split::launch_of(module, step)?;
                step.cache.inner.tickets()?.to_vec1::<u32>()
            })?
        });
        let is_reset = tickets?.iter().all(|&ticket| ticket == 0);
        let is_clean = reports.iter().all(simt::Report::is_clean);
        assert_eq!(is_reset, name != "the reset", "{name}");
        match name {
            "none" => assert!(is_clean, "{reports:?}"),
            "the fence" => assert!(!is_clean),
            _ => {} // the order of the blocks decides whether a race is seen
        }
    }
    Ok(())
}
