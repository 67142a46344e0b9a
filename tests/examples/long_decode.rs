//! Generates many tokens with the small language model, and prints what memory the process holds meanwhile, as JSON.
//!
//! `cargo run --release -p tests --example long_decode -- 1000000`; `scripts/soak.sh` runs it. When the context is full,
//! the next one begins with the last token.

use std::time::Instant;

use candle_core::{D, DType, Device, Tensor};
use models::checkpoint::Checkpoint;
use models::config::ConfigFile;
use models::lm::{Config, Logits};
use models::{LanguageModel, Result};
use tests::root;

/// Level whose kernels generate.
const LEVEL: u8 = 4;

fn main() -> Result<()> {
    let count = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let Some(count) = count.filter(|&count: &usize| count > 0) else {
        eprintln!("error: expected a number of tokens, such as 1000000");
        std::process::exit(2);
    };
    let folder = root().join("models/tiny/lm");
    let config = Config::from_file(&ConfigFile::read(&folder.join("config.json"))?)?;
    let weights = Checkpoint::open(&folder)?.into_weights(DType::F32, &Device::Cpu);
    let model = LanguageModel::load(weights, &config)?;
    let ops = levels::level(LEVEL).expect("a level of the workbook");
    let context = config.max_position_embeddings;
    let (mut token, mut contexts) = (0u32, 0);
    let mut held = vec![];
    let begin = Instant::now();
    let mut left = count;
    while left > 0 {
        let steps = left.min(context);
        let mut caches = model.new_caches(&*ops, 1, steps)?;
        for _ in 0..steps {
            let ids = Tensor::new(&[[token]], &Device::Cpu)?;
            let logits = model.forward(&*ops, &ids, &mut caches, Logits::Last)?;
            token = logits.flatten_all()?.argmax(D::Minus1)?.to_scalar()?;
        }
        // Another token than the most probable one, so that no two contexts are the same.
        token = (token + 1 + contexts) % config.vocab_size as u32;
        left -= steps;
        contexts += 1;
        held.extend(resident());
    }
    let [first, last] = [held.get(held.len() / 10), held.last()];
    let mib = |bytes: Option<&u64>| {
        bytes.map_or("null".into(), |b| format!("{:.1}", *b as f64 / 1048576.))
    };
    println!(
        "{{\"tokens\": {count}, \"contexts\": {contexts}, \"seconds\": {:.1}, \"mib_after_a_tenth\": {}, \"mib_at_the_end\": {}, \"mib_at_most\": {}}}",
        begin.elapsed().as_secs_f64(),
        mib(first),
        mib(last),
        mib(held.iter().max()),
    );
    Ok(())
}

/// Resident bytes of this process, where the system tells.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(1024 * kib)
}
