//! A training that stopped, as one safetensors file: weights, moments, losses and where it was.

use std::collections::HashMap;
use std::fmt::Display;
use std::path::Path;

use candle_core::{DType, Device, Tensor};
use data::BadInput;
use safetensors::SafeTensors;
use serde_json::{Value, json};

use crate::optim::{Moments, values};
use crate::run::{Budget, Training};
use crate::save::write_file;
use crate::task::{Task, rng_of_step};

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

/// Values that must equal the checkpoint's for a training to continue.
fn identity<T: Task>(task: &T) -> Value {
    json!({ "config": task.config(), "inputs": task.inputs() })
}

fn vector(values: &[f32]) -> candle_core::Result<Tensor> {
    Tensor::new(values, &Device::Cpu)
}

/// Reads what [`save`] wrote.
///
/// # Errors
/// [`BadInput`] when there is no such file, it belongs to another training, or a number or a tensor in it is not what
/// a training leaves.
pub fn load<T: Task>(path: &Path, task: &T) -> anyhow::Result<Training> {
    let bad = |found: &dyn Display| BadInput::new(path.display(), EXPECTED, found);
    let bytes = data::read_file(path, u64::MAX)?;
    let (_, metadata) = SafeTensors::read_metadata(&bytes).map_err(|e| bad(&e))?;
    let state = metadata.metadata().as_ref().and_then(|m| m.get("training"));
    let state: Value = match state {
        Some(text) => serde_json::from_str(text).map_err(|e| bad(&e))?,
        None => return Err(bad(&"a safetensors file without one").into()),
    };
    if state["task"] != identity(task) {
        return Err(bad(&format!("one of {}", data::short(&state["task"]))).into());
    }
    let tensors =
        candle_core::safetensors::load_buffer(&bytes, &Device::Cpu).map_err(|e| bad(&e))?;
    let stored = Stored { path, tensors };
    let state = State { path, state };
    state.has_no_other_key()?;
    let mut training = Training::new(task, state.seed()?, state.budget()?);
    training.seconds = state.seconds()?;
    fill(&mut training, task, stored)?;
    Ok(training)
}

/// The numbers of a checkpoint.
struct State<'a> {
    path: &'a Path,
    state: Value,
}

impl State<'_> {
    fn has_no_other_key(&self) -> Result<(), BadInput> {
        let mut keys = self
            .state
            .as_object()
            .into_iter()
            .flat_map(|state| state.keys());
        match keys.find(|key| !["task", "seed", "budget", "seconds"].contains(&key.as_str())) {
            Some(key) => Err(self.complain(key, "no such key")),
            None => Ok(()),
        }
    }

    fn seed(&self) -> Result<u64, BadInput> {
        let seed = self.state["seed"].as_u64();
        seed.ok_or_else(|| self.complain("seed", "a whole number from 0"))
    }

    fn seconds(&self) -> Result<f64, BadInput> {
        let seconds = self.state["seconds"].as_f64().filter(|x| *x >= 0.);
        seconds.ok_or_else(|| self.complain("seconds", "a number from 0"))
    }

    fn budget(&self) -> Result<Budget, BadInput> {
        let budget = serde_json::from_value(self.state["budget"].clone());
        match budget {
            Ok(budget @ Budget::Steps(1..)) => Ok(budget),
            Ok(budget @ Budget::Minutes(minutes)) if minutes > 0. => Ok(budget),
            _ => Err(self.complain("budget", "steps or minutes, above 0")),
        }
    }

    fn complain(&self, key: &str, expected: &str) -> BadInput {
        let what = format!("{}: `{key}`", self.path.display());
        BadInput::new(what, expected, data::short(&self.state[key]))
    }
}

/// The tensors of a checkpoint that no one has taken yet.
struct Stored<'a> {
    path: &'a Path,
    tensors: HashMap<String, Tensor>,
}

impl Stored<'_> {
    /// Returns the elements of a tensor; checks that they are finite, and that its shape is `shape`.
    fn take(&mut self, name: &str, shape: Option<&[usize]>) -> anyhow::Result<Vec<f32>> {
        let Some(tensor) = self.tensors.remove(name) else {
            return Err(self.complain(name, "this tensor", "nothing").into());
        };
        if tensor.dtype() != DType::F32 {
            return Err(self.complain(name, "F32", tensor.dtype().as_str()).into());
        }
        if shape.is_some_and(|shape| shape != tensor.dims()) {
            let expected = format!("shape {:?}", shape.unwrap_or_default());
            let found = format!("shape {:?}", tensor.dims());
            return Err(self.complain(name, expected, found).into());
        }
        let values = values(&tensor)?;
        match values.iter().find(|x| !x.is_finite()) {
            Some(x) => Err(self.complain(name, "finite numbers", x).into()),
            None => Ok(values),
        }
    }

    fn complain(&self, name: &str, expected: impl Display, found: impl Display) -> BadInput {
        let what = format!("{}: tensor `{name}`", self.path.display());
        BadInput::new(what, expected, found)
    }
}

/// Before the first step there are no weights yet: they follow from the seed.
fn fill<T: Task>(training: &mut Training, task: &T, mut stored: Stored) -> anyhow::Result<()> {
    training.losses = stored.take("losses", None)?;
    let steps = training.losses.len();
    training.adam.steps = steps;
    if let Budget::Steps(budget) = training.budget
        && steps > budget
    {
        let expected = format!("at most {budget}, the steps of the training");
        return Err(stored.complain("losses", expected, steps).into());
    }
    if steps > 0 {
        // A forward pass makes the weights, with their shapes.
        let shard = task.draw(&mut rng_of_step(training.seed, 0))?;
        task.loss(training.variables.builder(), &shard)?;
    }
    for (name, var) in training.variables.all() {
        let weight = stored.take(&format!("weight.{name}"), Some(var.dims()))?;
        let count = weight.len();
        var.set(&Tensor::from_vec(weight, var.shape(), &Device::Cpu)?)?;
        let second = format!("second.{name}");
        let moments = Moments {
            first: stored.take(&format!("first.{name}"), Some(&[count]))?,
            second: stored.take(&second, Some(&[count]))?,
        };
        if let Some(x) = moments.second.iter().find(|x| **x < 0.) {
            return Err(stored.complain(&second, "numbers from 0", x).into());
        }
        training.adam.moments.insert(name, moments);
    }
    match stored.tensors.keys().min() {
        Some(name) => Err(stored.complain(name, "no other tensor", "it").into()),
        None => Ok(()),
    }
}
