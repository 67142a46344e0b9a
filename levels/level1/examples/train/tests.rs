//! The three trainings, a few steps each.

#[path = "../../../../tests/tests/words/help.rs"]
mod help;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use candle_core::{DType, Device, Tensor};
use candle_nn::{VarBuilder, VarMap};
use clap::CommandFactory;
use data::corpus::Page;
use models::config::ConfigFile;
use safetensors::SafeTensors;
use serde_json::{Value, json};

use crate::gnn::Gnn;
use crate::lm::Lm;
use crate::optim::values;
use crate::place::Place;
use crate::run::{Budget, Training};
use crate::task::Task;
use crate::vit::Vit;
use crate::{checkpoint, end, eval, save, shards};

/// Every weight after the training, by name.
fn weights(training: &Training) -> Vec<(String, Vec<f32>)> {
    let named = |(name, var): (String, candle_core::Var)| (name, values(&var).unwrap());
    training.variables.all().into_iter().map(named).collect()
}

fn pages() -> Vec<Page> {
    let words = ["one", "two", "three", "four", "five", "six", "seven"];
    let line = |i: usize| format!("{} and {}.\n", words[i % 7], words[i * i % 5]);
    let text = (0..400).map(line).collect();
    let name = "page".to_string();
    vec![Page { name, text }]
}

/// A gradient reaches every weight (else a step fails), moves it, and the loss falls.
fn learns<T: Task>(task: &T, steps: usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint.safetensors");
    let mut training = Training::new(task, 3, Budget::Steps(steps));
    // Loading once makes the weights.
    let shard = task.draw(&mut crate::task::rng_of_step(3, 0)).unwrap();
    shards::gradients(task, &training.variables, &[shard]).unwrap();
    let before = weights(&training);
    training.run(task, &path, Duration::ZERO).unwrap();
    for ((name, before), (_, after)) in before.iter().zip(weights(&training)) {
        assert_ne!(*before, after, "{name} stayed as it was");
        assert!(after.iter().all(|x| x.is_finite()), "{name}");
    }
    let (first, last) = (training.losses[0], training.losses[steps - 1]);
    assert!(
        last < 0.97 * first,
        "{}: {first} became {last}",
        task.name()
    );

    let model = folder.path().join("model");
    save::model(&model, task, &training).unwrap();
    assert!(
        std::fs::metadata(model.join("model.safetensors"))
            .unwrap()
            .len()
            > 0
    );
}

#[test]
fn the_language_model_learns() {
    learns(&Lm::new(&pages()).unwrap(), 12);
}

#[test]
fn the_vision_transformer_learns() {
    learns(&Vit::new(), 12);
}

#[test]
fn the_graph_transformer_learns() {
    learns(&Gnn::new(), 12);
}

/// The folder in place of a file of the model stands for a disk that is full.
#[test]
fn a_training_is_kept_until_all_is_written() {
    let [out, workbook] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let config = out.path().join("config.json");
    std::fs::create_dir(&config).unwrap();
    let task = Gnn::new();
    let place = || Place::lock("gnn", Some(out.path()), workbook.path()).unwrap();
    let checkpoint = place().checkpoint;
    let mut training = Training::new(&task, 5, Budget::Steps(1));
    training
        .run(&task, &checkpoint, Duration::from_secs(3600))
        .unwrap();
    assert!(!checkpoint.exists());
    let end = |training: &Training| end(&task, training, &place(), |_| Ok(json!({})));
    end(&training).unwrap_err();
    let resumed = checkpoint::load(&checkpoint, &task).unwrap();
    assert_eq!(weights(&resumed), weights(&training));

    std::fs::remove_dir(&config).unwrap();
    end(&resumed).unwrap();
    assert!(config.is_file() && !checkpoint.exists());
}

#[test]
fn a_stop_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint.safetensors");
    let task = Gnn::new();
    let budget = Budget::Steps(6);
    let mut whole = Training::new(&task, 5, budget);
    whole.run(&task, &path, Duration::ZERO).unwrap();

    let mut training = Training::new(&task, 5, budget);
    for step in 0..3 {
        let mut rng = crate::task::rng_of_step(5, step);
        let batch: Vec<_> = (0..Gnn::SHARDS)
            .map(|_| task.draw(&mut rng).unwrap())
            .collect();
        training.step(&task, &batch).unwrap();
    }
    checkpoint::save(&path, &task, &training).unwrap();
    let mut resumed = checkpoint::load(&path, &task).unwrap();
    assert_eq!((resumed.seed, resumed.budget), (5, budget));
    resumed.run(&task, &path, Duration::ZERO).unwrap();
    assert_eq!(resumed.losses, whole.losses);
    assert_eq!(weights(&resumed), weights(&whole));
}

#[test]
fn a_checkpoint_of_another_training_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint.safetensors");
    let missing = checkpoint::load(&path, &Gnn::new()).err().unwrap();
    assert!(
        missing
            .to_string()
            .ends_with("checkpoint.safetensors`: no such file")
    );

    let training = Training::new(&Gnn::new(), 5, Budget::Minutes(1.));
    checkpoint::save(&path, &Gnn::new(), &training).unwrap();
    let other = checkpoint::load(&path, &Vit::new()).err().unwrap();
    assert!(other.is::<data::BadInput>(), "{other}");

    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let cut_off = checkpoint::load(&path, &Gnn::new()).err().unwrap();
    assert!(cut_off.is::<data::BadInput>(), "{cut_off}");
}

/// A training after one step, its checkpoint with these changes, and the error of going on from it.
fn resumed(
    state: impl FnOnce(&mut Value),
    tensors: impl FnOnce(&mut BTreeMap<String, Tensor>),
) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("checkpoint.safetensors");
    let task = Gnn::new();
    let mut training = Training::new(&task, 5, Budget::Steps(2));
    let shard = task.draw(&mut crate::task::rng_of_step(5, 0)).unwrap();
    training.step(&task, &[shard]).unwrap();
    checkpoint::save(&path, &task, &training).unwrap();
    checkpoint::load(&path, &task).unwrap();

    let bytes = std::fs::read(&path).unwrap();
    let (_, metadata) = SafeTensors::read_metadata(&bytes).unwrap();
    let mut metadata = metadata.metadata().clone().unwrap();
    let mut kept: Value = serde_json::from_str(&metadata["training"]).unwrap();
    state(&mut kept);
    metadata.insert("training".into(), kept.to_string());
    let stored = candle_core::safetensors::load_buffer(&bytes, &Device::Cpu).unwrap();
    let mut stored = stored.into_iter().collect();
    tensors(&mut stored);
    std::fs::write(
        &path,
        safetensors::serialize(&stored, Some(metadata)).unwrap(),
    )
    .unwrap();
    let error = checkpoint::load(&path, &task).err().unwrap();
    assert!(error.is::<data::BadInput>(), "{error}");
    let text = error.to_string();
    let start = text.find("checkpoint.safetensors: ").unwrap();
    text[start..].replacen("checkpoint.safetensors: ", "", 1)
}

const HEAD: &str = "weight.head.bias";

#[test]
fn numbers_that_no_training_leaves_are_refused() {
    let with = |key: &'static str, value: Value| resumed(|state| state[key] = value, |_| ());
    let cases = [
        ("seed", json!("x"), "a whole number from 0, found \"x\""),
        ("seed", json!(null), "a whole number from 0, found null"),
        ("seconds", json!(-1), "a number from 0, found -1"),
        ("stepz", json!(7), "no such key, found 7"),
        (
            "budget",
            json!({"minutes": -1}),
            "steps or minutes, above 0, found {\"minutes\":-1}",
        ),
        (
            "budget",
            json!({"steps": 0}),
            "steps or minutes, above 0, found {\"steps\":0}",
        ),
    ];
    for (key, value, end) in cases {
        assert_eq!(with(key, value), format!("`{key}`: expected {end}"));
    }
}

#[test]
fn tensors_that_no_training_leaves_are_refused() {
    let with = |change: fn(&mut BTreeMap<String, Tensor>)| resumed(|_| (), change);
    let missing = with(|tensors| tensors.retain(|name, _| !name.starts_with("weight.")));
    assert!(
        missing.ends_with("expected this tensor, found nothing"),
        "{missing}"
    );
    let short = with(|tensors| {
        let one = Tensor::new(&[0f32], &Device::Cpu).unwrap();
        tensors.insert("first.head.bias".into(), one);
    });
    let start = "tensor `first.head.bias`: expected shape [";
    assert!(
        short.starts_with(start) && short.ends_with("found shape [1]"),
        "{short}"
    );
    let changed = |change: fn(&Tensor) -> candle_core::Result<Tensor>, name: &str| {
        resumed(
            |_| (),
            |tensors| {
                let tensor = change(&tensors[name]).unwrap();
                tensors.insert(name.into(), tensor);
            },
        )
    };
    let infinite = changed(|tensor| tensor / 0., HEAD);
    assert!(
        infinite.contains("`weight.head.bias`: expected finite"),
        "{infinite}"
    );
    let below = changed(|tensor| tensor - 1., "second.head.bias");
    assert!(
        below.contains("expected numbers from 0, found -"),
        "{below}"
    );
    let half = changed(|tensor| tensor.to_dtype(DType::BF16), HEAD);
    assert!(half.ends_with("expected F32, found bf16"), "{half}");
    let more = with(|tensors| {
        let one = Tensor::new(&[0f32], &Device::Cpu).unwrap();
        tensors.insert("weight.none".into(), one);
    });
    assert_eq!(
        more,
        "tensor `weight.none`: expected no other tensor, found it"
    );
    let many = with(|tensors| {
        let three = Tensor::new(&[1f32; 3], &Device::Cpu).unwrap();
        tensors.insert("losses".into(), three);
    });
    assert!(many.contains("expected at most 2, the steps"), "{many}");
}

/// The error for a model of other sizes.
fn refused<T: Task>(
    task: &T,
    sizes: &[(&str, usize)],
    load: impl FnOnce(VarBuilder, &ConfigFile),
    evaluate: impl FnOnce(&Path) -> anyhow::Result<Value>,
) -> String {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (name, bytes) in task.files().unwrap() {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
    let mut config = task.config();
    for (key, n) in sizes.iter().chain(&[("num_hidden_layers", 1)]) {
        config[*key] = json!(n);
    }
    let path = folder.join("config.json");
    save::write_json(&path, &config).unwrap();
    let weights = VarMap::new();
    let builder = VarBuilder::from_varmap(&weights, DType::F32, &Device::Cpu);
    load(builder, &ConfigFile::read(&path).unwrap());
    weights.save(folder.join("model.safetensors")).unwrap();
    evaluate(folder).unwrap_err().to_string()
}

/// Files of 20 MB, whose pass would take 10 GB.
#[test]
fn a_pass_that_does_not_fit_is_refused() {
    let task = Lm::new(&pages()).unwrap();
    let sizes = [("num_attention_heads", 1 << 13), ("head_dim", 2)];
    let load = |weights: VarBuilder, file: &ConfigFile| {
        let config = models::lm::Config::from_file(file).unwrap();
        models::LanguageModel::load(weights, &config).unwrap();
    };
    let error = refused(&task, &sizes, load, |x| eval::language(x, &pages()));
    assert!(error.ends_with("found 256 × 256 × 8192"), "{error}");

    let sizes = [("image_size", 4096), ("patch_size", 128)];
    let load = |weights: VarBuilder, file: &ConfigFile| {
        let config = models::vit::Config::from_file(file).unwrap();
        models::VisionTransformer::load(weights, &config).unwrap();
    };
    let error = refused(&Vit::new(), &sizes, load, |x| {
        let size = json!({"size": {"height": 4096, "width": 4096}});
        save::write_json(&x.join("preprocessor_config.json"), &size)?;
        eval::pictures(x, 1)
    });
    assert!(error.ends_with("found 50 × 3 × 4096 × 4096"), "{error}");
}

#[test]
fn help_texts_use_plain_words() {
    let mut command = crate::args::Args::command();
    command.build();
    help::check(help::of_command("train", &mut command));
}

/// A figure of the record that the training of a shipped model left.
fn recorded(model: &str, figure: &str) -> f64 {
    let path = cli::files::find(&format!("models/tiny/{model}/training.json")).unwrap();
    let record: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    record["eval"][figure].as_f64().unwrap()
}

#[test]
fn the_shipped_models_reach_what_is_asked_of_them() {
    assert!(recorded("lm", "bits_per_byte") <= 1.6);
    assert!(recorded("vit", "accuracy") >= 0.97);
    assert!(recorded("gnn", "accuracy") >= 0.95);
    assert!(recorded("vit", "baseline_accuracy") < 0.5);
    assert!(recorded("gnn", "baseline_accuracy") < 0.8);
}

#[test]
fn the_shipped_models_are_small() {
    let folder = |model| cli::files::find(&format!("models/tiny/{model}")).unwrap();
    let files = ["lm", "vit", "gnn"]
        .into_iter()
        .flat_map(|model| std::fs::read_dir(folder(model)).unwrap());
    let bytes: u64 = files
        .map(|file| file.unwrap().metadata().unwrap().len())
        .sum();
    assert!(bytes < 3_500_000, "{bytes} bytes");
}
