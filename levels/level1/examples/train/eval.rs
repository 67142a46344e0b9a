//! How good the weights of a folder are, rounded as they are stored, on data that no training saw.

use std::path::Path;

use candle_core::{D, DType, Device, Tensor};
use cli::tokenizer::TextTokenizer;
use data::BadInput;
use data::corpus::Page;
use data::families::FAMILIES;
use data::picture::Preprocessor;
use data::shapes::{CLASSES, SIDE};
use indicatif::ProgressBar;
use level1::Level1;
use models::checkpoint::Checkpoint;
use models::config::ConfigFile;
use models::{GraphTransformer, LanguageModel, Scores, VisionTransformer, gnn, lm, vit};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use crate::baseline;
use crate::task::rng_of_eval;
use crate::text;

/// Images or graphs to evaluate on.
pub const EXAMPLES: usize = 2000;
/// Images or graphs per forward pass.
const BATCH: usize = 50;

/// Where the tensors of its layers are is the model's; how many there are, its configuration's.
fn weights(
    folder: &Path,
    prefix: &str,
    layers: usize,
) -> models::Result<candle_nn::VarBuilder<'static>> {
    let checkpoint = Checkpoint::open(folder)?.of_layers(prefix, layers)?;
    Ok(checkpoint.into_weights(DType::F32, &Device::Cpu))
}

pub fn config(folder: &Path) -> models::Result<ConfigFile> {
    Ok(ConfigFile::read(&folder.join("config.json"))?)
}

/// The language model in `folder` on the pages held out.
pub fn language(folder: &Path, held_out: &[Page]) -> anyhow::Result<Value> {
    let config = lm::Config::from_file(&config(folder)?)?;
    let weights = weights(folder, lm::LAYERS, config.num_hidden_layers)?;
    let model = LanguageModel::load(weights, &config).map_err(models::Error::from)?;
    let tokenizer = TextTokenizer::open(&folder.join("tokenizer.json"))?;
    let name = folder.display().to_string();
    let bits = text::bits_per_byte(&model, &tokenizer, held_out, &name)?;
    let bytes: usize = held_out.iter().map(|page| page.text.len()).sum();
    data::println!(
        "lm: {bits:.3} bits per byte on {} held-out pages ({bytes} bytes), weights in bf16",
        held_out.len()
    );
    let samples = text::samples(&model, &tokenizer, &name)?;
    for (how, sample) in &samples {
        data::println!("\n{how}:\n  {}", sample.trim().replace('\n', "\n  "));
    }
    let samples = samples
        .into_iter()
        .map(|(how, text)| json!({ "sampling": how, "text": text }));
    Ok(json!({
        "bits_per_byte": bits,
        "held_out_pages": held_out.len(),
        "held_out_bytes": bytes,
        "samples": samples.collect::<Vec<_>>(),
    }))
}

/// The vision transformer in `folder` on fresh images, compared with a linear model of the pixels.
pub fn pictures(folder: &Path, seed: u64) -> anyhow::Result<Value> {
    let config = vit::Config::from_file(&config(folder)?)?;
    let weights = weights(folder, vit::LAYERS, config.num_hidden_layers)?;
    let model = VisionTransformer::load(weights, &config).map_err(models::Error::from)?;
    let file = folder.join("preprocessor_config.json");
    let preprocessor = Preprocessor::read(&file)?;
    let (side, size) = (config.image_size, preprocessor.output_size(SIDE, SIDE));
    if size != [side as u32; 2] {
        let expected = format!("{side} × {side} pixels, the model's `image_size`");
        return Err(BadInput::new(file.display(), expected, format!("{size:?}")).into());
    }
    config.check_pass(&folder.display().to_string(), BATCH, Scores::Held)?;
    let logits = |classes: &[usize], rng: &mut ChaCha8Rng| -> models::Result<Tensor> {
        let (pixels, _) = crate::vit::pictures(classes, &preprocessor, rng)?;
        Ok(model.forward(&Level1, &pixels)?)
    };
    let score = classify("vit", CLASSES.len(), seed, logits)?;
    let baseline = baseline::pixels(seed);
    Ok(report(
        "vit", "pictures", &CLASSES, &score, "pixels", baseline,
    ))
}

/// The graph transformer in `folder` on fresh graphs, compared with a linear model of the degrees.
pub fn graphs(folder: &Path, seed: u64) -> anyhow::Result<Value> {
    let config = gnn::Config::from_file(&config(folder)?)?;
    let weights = weights(folder, gnn::LAYERS, config.num_hidden_layers)?;
    let model = GraphTransformer::load(weights, &config).map_err(models::Error::from)?;
    let name = folder.display().to_string();
    let logits = |classes: &[usize], rng: &mut ChaCha8Rng| -> models::Result<Tensor> {
        let (batch, _) = crate::gnn::graphs(classes, model.config(), &name, rng)?;
        Ok(model.forward(&Level1, &batch)?)
    };
    let score = classify("gnn", FAMILIES.len(), seed, logits)?;
    let baseline = baseline::degrees(seed);
    Ok(report(
        "gnn",
        "graphs",
        &FAMILIES,
        &score,
        "degree histograms",
        baseline,
    ))
}

/// How many of [`EXAMPLES`] examples, as many of each class, were named rightly: by class.
fn classify(
    name: &'static str,
    num_classes: usize,
    seed: u64,
    logits: impl Fn(&[usize], &mut ChaCha8Rng) -> models::Result<Tensor>,
) -> anyhow::Result<Vec<usize>> {
    let mut rng = rng_of_eval(seed);
    let mut right = vec![0; num_classes];
    let bar = ProgressBar::new(EXAMPLES as u64).with_prefix(name);
    bar.set_style(crate::run::style(
        "{prefix} eval {wide_bar} {pos}/{len} ETA {eta}",
    ));
    let all: Vec<usize> = (0..EXAMPLES).map(|i| i % num_classes).collect();
    for classes in all.chunks(BATCH) {
        let named: Vec<u32> = logits(classes, &mut rng)?.argmax(D::Minus1)?.to_vec1()?;
        for (&class, named) in classes.iter().zip(named) {
            right[class] += usize::from(class == named as usize);
        }
        bar.inc(classes.len() as u64);
    }
    bar.finish_and_clear();
    Ok(right)
}

/// Prints and records shares of examples that were named rightly.
fn report(
    name: &str,
    what: &str,
    classes: &[&str],
    right: &[usize],
    linear_on: &str,
    baseline: f32,
) -> Value {
    let accuracy = right.iter().sum::<usize>() as f64 / EXAMPLES as f64;
    let of_class = |n: usize| n as f64 * classes.len() as f64 / EXAMPLES as f64;
    data::println!(
        "{name}: {:.2}% of {EXAMPLES} fresh {what}, weights in bf16",
        100. * accuracy
    );
    data::println!(
        "{name}: {:.2}% by logistic regression on {linear_on}, for comparison",
        100. * baseline
    );
    if let Some((worst, name)) = right.iter().zip(classes).min() {
        data::println!(
            "     the hardest class is {name}: {:.1}%",
            100. * of_class(*worst)
        );
    }
    let by_class = classes
        .iter()
        .zip(right)
        .map(|(name, &n)| (name.to_string(), of_class(n).into()));
    json!({
        "accuracy": accuracy,
        "examples": EXAMPLES,
        "baseline": format!("logistic regression on {linear_on}"),
        "baseline_accuracy": baseline,
        "accuracy_by_class": by_class.collect::<serde_json::Map<_, _>>(),
    })
}
