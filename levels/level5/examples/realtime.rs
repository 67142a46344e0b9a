//! A control loop: a step of a small network and of a few small attention heads, 10,000 times, each step on inputs
//! of its own and waited for; candle's products against the tuned ones.
//! `cargo run --release -p level5 --example realtime -- --device auto`

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Result, ensure};
use candle_core::{D, Device, Module, Tensor};
use clap::Args;
use level5::tuned::{Linear, Tuned};

#[derive(Args)]
struct Realtime {
    /// Where to run: auto (a GPU if there is one), cpu, cuda or cuda:N
    #[arg(long, default_value = "auto")]
    device: cli::device::Choice,
    /// Number of steps of each kind
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    steps: u32,
}

fn main() -> ExitCode {
    cli::run(|| realtime(&cli::args::parse::<Realtime>()?))
}

/// Inputs that the steps take in turn.
const INPUTS: usize = 16;

/// Steps that are not counted.
const WARM_UP: u32 = 100;

/// Sizes of the network's layers, and of the attention: heads, positions, channels of a head.
const LAYERS: [usize; 5] = [32, 64, 128, 64, 8];
const ATTENTION: [usize; 3] = [4, 16, 32];

fn realtime(args: &Realtime) -> Result<()> {
    let device = args.device.open()?;
    let random = |dims: &[usize]| Tensor::rand(-1f32, 1., dims, &device);
    let layers = LAYERS
        .windows(2)
        .map(|w| Ok((random(&[w[1], w[0]])?, random(&[w[1]])?)));
    let layers: Vec<(Tensor, Tensor)> = layers.collect::<Result<_>>()?;
    let tuned = layers
        .iter()
        .map(|(w, b)| Linear::new(w.clone(), Some(b.clone())));
    let tuned: Vec<Linear> = tuned.collect();
    let inputs = |dims: &[usize]| {
        (0..INPUTS)
            .map(|_| random(dims))
            .collect::<candle_core::Result<Vec<_>>>()
    };

    println!("{:<22} {:>10} {:>10}", "µs", "p50", "p99");
    let x = inputs(&[1, LAYERS[0]])?;
    let plain_mlp = |x: &Tensor| {
        mlp(x, layers.len(), |i, x| {
            let (w, b) = &layers[i];
            x.matmul(&w.t()?)?.broadcast_add(b)
        })
    };
    let tuned_mlp = |x: &Tensor| mlp(x, tuned.len(), |i, x| tuned[i].forward(x));
    compare("mlp", args.steps, &device, &x, [&plain_mlp, &tuned_mlp])?;

    let qkv = inputs(&[&[3], &ATTENTION[..]].concat())?;
    let plain_attention = |x: &Tensor| attention(x, Tensor::matmul);
    let tuned_attention = |x: &Tensor| attention(x, Tensor::bmm_tuned);
    compare(
        "attention",
        args.steps,
        &device,
        &qkv,
        [&plain_attention, &tuned_attention],
    )
}

type Step<'a> = &'a dyn Fn(&Tensor) -> candle_core::Result<Tensor>;

/// The network with its layers computed by `layer`, ReLU between them: (1, 32) → (1, 8)
fn mlp(
    x: &Tensor,
    layers: usize,
    layer: impl Fn(usize, &Tensor) -> candle_core::Result<Tensor>,
) -> candle_core::Result<Tensor> {
    let mut x = layer(0, x)?;
    for i in 1..layers {
        x = layer(i, &x.relu()?)?;
    }
    Ok(x)
}

/// softmax(q·kᵀ/√D)·v with the products by `product`: q, k and v (H, T, D) of x (3, H, T, D)
fn attention(
    x: &Tensor,
    product: fn(&Tensor, &Tensor) -> candle_core::Result<Tensor>,
) -> candle_core::Result<Tensor> {
    let (q, k, v) = (x.get(0)?, x.get(1)?, x.get(2)?);
    let scores = (product(&q, &k.t()?)? / (ATTENTION[2] as f64).sqrt())?;
    let exp = scores
        .broadcast_sub(&scores.max_keepdim(D::Minus1)?)?
        .exp()?;
    product(&exp.broadcast_div(&exp.sum_keepdim(D::Minus1)?)?, &v)
}

/// Both give the same; the steps are taken in turns.
fn compare(
    what: &str,
    steps: u32,
    device: &Device,
    inputs: &[Tensor],
    [plain, tuned]: [Step; 2],
) -> Result<()> {
    let difference = (plain(&inputs[0])? - tuned(&inputs[0])?)?
        .abs()?
        .max_all()?;
    let difference = difference.to_scalar::<f32>()?;
    ensure!(
        difference < 1e-3,
        "{what}: tuned and candle's differ by {difference}"
    );
    let mut times = [vec![], vec![]];
    for i in 0..WARM_UP + steps {
        let x = &inputs[i as usize % inputs.len()];
        for (step, times) in [plain, tuned].iter().zip(&mut times) {
            let start = Instant::now();
            step(x)?;
            device.synchronize()?;
            if i >= WARM_UP {
                times.push(start.elapsed().as_secs_f64() * 1e6);
            }
        }
    }
    for (name, times) in ["candle", "tuned"].iter().zip(&mut times) {
        times.sort_by(f64::total_cmp);
        let at = |q: f64| times[((times.len() - 1) as f64 * q) as usize];
        println!(
            "{:<22} {:>10.1} {:>10.1}",
            format!("{what}, {name}"),
            at(0.5),
            at(0.99)
        );
    }
    Ok(())
}
