//! A training that stopped, as one safetensors file: weights, moments, losses and where it was.

use std::collections::HashMap;
use std::path::Path;

use candle_core::{Device, Tensor};
use data::BadInput;
use safetensors::SafeTensors;
use serde_json::{Value, json};

use crate::optim::{AdamW, Moments, values};
use crate::run::{Budget, Training};
use crate::save::write_file;
use crate::task::Task;

const EXPECTED: &str = "a checkpoint of this training";

/// Writes the checkpoint.
pub fn save<T: Task>(path: &Path, task: &T, training: &Training) -> anyhow::Result<()> {
    let mut tensors = vec![("losses".to_string(), vector(&training.losses)?)];
    for (name, var) in training.variables.all() {
        tensors.push((format!("weight.{name}"), var.as_tensor().clone()));
    }
    for (name, moments) in &training.adam.moments {
        tensors.push((format!("first.{name}"), vector(&moments.first)?));
        tensors.push((format!("second.{name}"), vector(&moments.second)?));
    }
    let state = json!({
        "task": identity(task),
        "seed": training.seed,
        "budget": training.budget,
        "seconds": training.seconds,
    });
    let metadata = HashMap::from([("training".to_string(), state.to_string())]);
    let views = tensors.iter().map(|(name, tensor)| (name, tensor));
    write_file(path, &safetensors::serialize(views, Some(metadata))?)
}

/// What has to be the same for a training to go on.
fn identity<T: Task>(task: &T) -> Value {
    json!({ "config": task.config(), "inputs": task.inputs() })
}

fn vector(values: &[f32]) -> candle_core::Result<Tensor> {
    Tensor::new(values, &Device::Cpu)
}

/// Reads what [`save`] wrote.
///
/// # Errors
/// [`BadInput`] when there is no such file, or it belongs to another training.
pub fn load<T: Task>(path: &Path, task: &T) -> anyhow::Result<Training> {
    let bad = |found: &dyn std::fmt::Display| BadInput::new(path.display(), EXPECTED, found);
    let bytes = std::fs::read(path).map_err(|e| BadInput::unreadable(path, &e))?;
    let (_, metadata) = SafeTensors::read_metadata(&bytes).map_err(|e| bad(&e))?;
    let state = metadata.metadata().as_ref().and_then(|m| m.get("training"));
    let state: Value = match state {
        Some(text) => serde_json::from_str(text).map_err(|e| bad(&e))?,
        None => return Err(bad(&"a safetensors file without one").into()),
    };
    if state["task"] != identity(task) {
        return Err(bad(&format!("one of {}", state["task"])).into());
    }
    let tensors =
        candle_core::safetensors::load_buffer(&bytes, &Device::Cpu).map_err(|e| bad(&e))?;
    let budget: Budget = serde_json::from_value(state["budget"].clone()).map_err(|e| bad(&e))?;
    let mut training = Training {
        seed: state["seed"].as_u64().unwrap_or_default(),
        seconds: state["seconds"].as_f64().unwrap_or_default(),
        ..Training::new(task, 0, budget)
    };
    fill(&mut training, &tensors)?;
    Ok(training)
}

fn fill(training: &mut Training, tensors: &HashMap<String, Tensor>) -> anyhow::Result<()> {
    let Training {
        variables,
        adam,
        losses,
        ..
    } = training;
    for (name, tensor) in tensors {
        match name.split_once('.') {
            Some(("weight", name)) => variables.insert(name, tensor)?,
            Some(("first", name)) => moments(adam, name).first = values(tensor)?,
            Some(("second", name)) => moments(adam, name).second = values(tensor)?,
            _ => *losses = values(tensor)?,
        }
    }
    adam.steps = losses.len();
    Ok(())
}

fn moments<'a>(adam: &'a mut AdamW, name: &str) -> &'a mut Moments {
    adam.moments.entry(name.to_string()).or_default()
}
