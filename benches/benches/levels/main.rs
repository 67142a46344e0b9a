//! Every op and every model at every level, side by side.
//!
//! `cargo bench -p benches` runs all of it; `cargo bench -p benches -- linear/level2` what has that
//! in its name. Names are `op/level/shape` and `model/level/workload`. `workbook bench-charts` draws
//! what the last run left in `target/criterion`.

mod attentions;
mod gathers;
mod harness;
mod models;
mod norms;
mod products;

use candle_core::Result;
use harness::Harness;

fn main() -> std::process::ExitCode {
    cli::run(|| {
        let mut harness = Harness::new()?;
        ops(&mut harness)?;
        models::all(&mut harness)?;
        harness.finish();
        Ok(())
    })
}

/// In the order of the `Ops` trait.
fn ops(harness: &mut Harness) -> Result<()> {
    gathers::embedding(harness)?;
    products::linear(harness)?;
    products::qkv(harness)?;
    products::qkv_skip(harness)?;
    products::linear_gelu(harness)?;
    products::linear_swiglu(harness)?;
    norms::add_rms_norm(harness)?;
    norms::add_layer_norm(harness)?;
    attentions::causal_prefill(harness)?;
    attentions::causal_decode(harness)?;
    attentions::attention(harness)?;
    attentions::edge_attention(harness)?;
    gathers::segment_mean(harness)?;
    products::patch_embed(harness)?;
    gathers::next_token(harness)
}
