//! A model at a level on an input, ready to run.

use candle_core::{Result, Tensor};
use cli::load::Request;
use data::BadInput;
use levels::Level;
use models::presets;

use crate::{gnn, lm, vit};

/// The three models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// The language model.
    Lm,
    /// The vision transformer.
    Vit,
    /// The graph transformer.
    Gnn,
}

impl Model {
    /// In the order of the book.
    pub const ALL: [Self; 3] = [Self::Lm, Self::Vit, Self::Gnn];

    /// `lm`, `vit` or `gnn`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lm => "lm",
            Self::Vit => "vit",
            Self::Gnn => "gnn",
        }
    }

    /// The ops that it runs.
    pub fn ops(self) -> &'static [&'static str] {
        match self {
            Self::Lm => models::lm::OPS,
            Self::Vit => models::vit::OPS,
            Self::Gnn => models::gnn::OPS,
        }
    }

    fn has(self, preset: &str) -> bool {
        let of_this =
            |(name, presets): &(&str, &[&str])| *name == self.name() && presets.contains(&preset);
        preset == "tiny" || presets::NAMES.iter().any(of_this)
    }
}

/// Something to time.
pub trait Job {
    /// Frees the memory that earlier runs keep, so that its memory can be counted from here.
    fn reset(&mut self) {}

    /// Brings everything to where [`run`](Self::run) starts. Not timed.
    fn prepare(&mut self) -> Result<()> {
        Ok(())
    }

    /// [`forwards`](Self::forwards) forward passes, the device synchronised after each; returns the
    /// last logits.
    fn run(&mut self) -> Result<Tensor> {
        let logits = self.queue()?;
        logits.device().synchronize()?;
        Ok(logits)
    }

    /// Brings everything to where [`queue`](Self::queue) starts.
    fn prepare_pass(&mut self) -> Result<()> {
        self.prepare()
    }

    /// The forward pass in the middle of a run alone; the device need not be done with it at the end.
    fn queue(&mut self) -> Result<Tensor>;

    /// Forward passes of one run; a time is given for one of them.
    fn forwards(&self) -> usize {
        1
    }

    /// Inputs of a forward pass, under the names that other frameworks use.
    ///
    /// # Errors
    /// When a tensor cannot be made of it.
    fn inputs(&self) -> Result<Vec<(&'static str, Tensor)>>;

    /// Kernels of a forward pass, where it was recorded.
    fn recorded(&self) -> Option<usize> {
        None
    }
}

/// A job and its name.
pub struct Workload {
    /// Which of the three models.
    pub model: Model,
    /// `tiny`, or the name of a preset.
    pub preset: String,
    /// Name of the workload: `prefill`, `decode`, `batch1`, `graphs128`.
    pub name: String,
    /// The input in words.
    pub input: String,
    /// Tokens, images or graphs of one forward pass.
    pub items: usize,
    /// The forward pass that is timed.
    pub job: Box<dyn Job>,
}

/// The models that have `preset`; all of them have `tiny`.
///
/// # Errors
/// When no model has a preset of that name.
pub fn models_of(preset: &str) -> std::result::Result<Vec<Model>, BadInput> {
    let models: Vec<_> = Model::ALL
        .into_iter()
        .filter(|model| model.has(preset))
        .collect();
    if models.is_empty() {
        let expected = format!("all, or one of {}", every_preset().join(", "));
        return Err(BadInput::new("--preset", expected, format!("{preset:?}")));
    }
    Ok(models)
}

/// Every preset's name, `tiny` first.
pub fn every_preset() -> Vec<String> {
    let names = presets::NAMES.iter().flat_map(|(_, names)| names.iter());
    ["tiny"]
        .iter()
        .chain(names)
        .map(|name| name.to_string())
        .collect()
}

/// The presets that `--preset all` measures: every one except the [`LARGE`](presets::LARGE) ones.
pub fn all_presets() -> Vec<String> {
    let mut presets = every_preset();
    presets.retain(|name| !presets::LARGE.contains(&name.as_str()));
    presets
}

/// Loads `model` as `request` says, with weights of its own for `level`: a weight is packed for one
/// level. With `cuda_graph`, forward passes are recorded at their first run and repeated.
pub fn load(
    model: Model,
    request: &Request,
    level: &Level,
    cuda_graph: bool,
) -> models::Result<Vec<Workload>> {
    match model {
        Model::Lm => lm::load(request, level, cuda_graph),
        Model::Vit => vit::load(request, level, cuda_graph),
        Model::Gnn => gnn::load(request, level, cuda_graph),
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{DType, Device};

    use super::*;

    /// A pass alone is one of a run's, and leaves the next run as it is.
    #[test]
    fn a_pass_of_a_run_is_queued_alone() -> models::Result<()> {
        let request = Request {
            model: "tiny".into(),
            dtype: DType::F32,
            device: Device::Cpu,
            seed: 0,
        };
        let level = levels::level(levels::highest()).expect("a level");
        for model in Model::ALL {
            for Workload { name, mut job, .. } in load(model, &request, &level, false)? {
                job.prepare()?;
                let run = values(&job.run()?)?;
                job.prepare_pass()?;
                let pass = values(&job.queue()?)?;
                assert_eq!(pass == run, job.forwards() == 1, "{name}");
                job.prepare()?;
                assert_eq!(values(&job.run()?)?, run, "{name}");
            }
        }
        Ok(())
    }

    fn values(logits: &Tensor) -> Result<Vec<f32>> {
        logits.flatten_all()?.to_vec1()
    }

    #[test]
    fn presets_name_their_models() {
        assert_eq!(models_of("tiny"), Ok(Model::ALL.to_vec()));
        assert_eq!(models_of("s16"), Ok(vec![Model::Vit]));
        let error = models_of("s17").unwrap_err().to_string();
        assert_eq!(
            error,
            "--preset: expected all, or one of tiny, readme, smollm-135m, llama-1b, s16, b16, base, found \"s17\""
        );
        assert!(every_preset().iter().all(|name| models_of(name).is_ok()));
        assert!(!all_presets().contains(&"llama-1b".to_string()));
    }
}
