//! Loads the model of `--model` with its weights.

pub mod hub;
mod watched;

use std::path::{Path, PathBuf};

use candle_core::{DType, Device};
use candle_nn::VarBuilder;
use data::BadInput;
use models::checkpoint::Checkpoint;
use models::config::ConfigFile;
use models::random::RandomWeights;
use models::{GraphTransformer, LanguageModel, Result, VisionTransformer, presets};

use crate::args::ModelArgs;
use crate::device::Choice;
use crate::files;
use watched::watched;

/// A request to load a model.
#[derive(Debug, Clone)]
pub struct Request {
    /// A folder, `hf:ORG/NAME`, a preset, or `tiny`: the trained models of this repository.
    pub model: String,
    /// dtype of weights and activations.
    pub dtype: DType,
    /// Device of the weights.
    pub device: Device,
    /// Seed of a preset's random weights.
    pub seed: u64,
}

impl Request {
    /// Converts the command line's options; opens the device.
    pub fn new(args: &ModelArgs) -> Result<Self> {
        Ok(Self {
            model: args.model.clone(),
            dtype: args.dtype.into(),
            device: match args.device {
                Choice::Sim => Device::Cpu,
                choice => choice.open()?,
            },
            seed: args.seed,
        })
    }
}

/// A model and its origin.
pub struct Loaded<M> {
    /// The model with its weights.
    pub model: M,
    /// Folder of its files; `None` for a preset.
    pub folder: Option<PathBuf>,
    /// Name for messages, with dtype and device.
    pub name: String,
}

impl<M> Loaded<M> {
    /// Returns the path of a file in the model's folder, if it exists.
    pub fn file(&self, name: &str) -> Option<PathBuf> {
        let path = self.folder.as_ref()?.join(name);
        data::is_there(&path).then_some(path)
    }
}

/// Weights and settings in the model's folder, and `more` inputs, which no output may replace.
pub fn files(args: &ModelArgs, program: &str, more: &[PathBuf]) -> Vec<PathBuf> {
    let folder = match &*args.model {
        "tiny" => files::find(&format!("models/tiny/{program}")).unwrap_or_default(),
        model => hub::cached(model).unwrap_or_else(|| model.into()),
    };
    // A malformed index is an error when the model is loaded.
    let shards = models::checkpoint::shards(&folder.join("model.safetensors.index.json"));
    let is_read = |path: &PathBuf| {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        stem.starts_with("model") || path.extension() == Some("json".as_ref())
    };
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let files = entries.map(|e| e.path()).filter(is_read);
    let files = files.chain(shards.unwrap_or_default());
    files.chain(more.iter().cloned()).collect()
}

/// Loads a language model.
pub fn lm(request: &Request) -> Result<Loaded<LanguageModel>> {
    let kind = Kind {
        name: "lm",
        file: Some("tokenizer.json"),
        from_file: models::lm::Config::from_file,
        layers: |c| (models::lm::LAYERS, c.num_hidden_layers),
        preset: presets::lm,
        build: LanguageModel::load,
        tensors: |c| {
            let of_layer = if c.qkv_bias { 12 } else { 9 };
            2 + of_layer * c.num_hidden_layers + usize::from(!c.tie_word_embeddings)
        },
    };
    kind.load(request)
}

/// Loads a vision transformer.
pub fn vit(request: &Request) -> Result<Loaded<VisionTransformer>> {
    let kind = Kind {
        name: "vit",
        file: Some("preprocessor_config.json"),
        from_file: models::vit::Config::from_file,
        layers: |c| (models::vit::LAYERS, c.num_hidden_layers),
        preset: presets::vit,
        build: VisionTransformer::load,
        tensors: |c| 8 + 16 * c.num_hidden_layers,
    };
    kind.load(request)
}

/// Loads a graph transformer.
pub fn gnn(request: &Request) -> Result<Loaded<GraphTransformer>> {
    let kind = Kind {
        name: "gnn",
        file: None,
        from_file: models::gnn::Config::from_file,
        layers: |c| (models::gnn::LAYERS, c.num_hidden_layers),
        preset: presets::gnn,
        build: GraphTransformer::load,
        tensors: |c| 6 + 17 * c.num_hidden_layers,
    };
    kind.load(request)
}

/// Differences of the three models.
struct Kind<C, M> {
    name: &'static str,
    /// A file that the program needs in addition to configuration and weights.
    file: Option<&'static str>,
    from_file: fn(&ConfigFile) -> std::result::Result<C, BadInput>,
    /// Prefix of the layers' tensors, and number of layers.
    layers: fn(&C) -> (&'static str, usize),
    preset: fn(&str) -> Option<C>,
    build: fn(VarBuilder, &C) -> candle_core::Result<M>,
    /// Number of tensors, for the progress bar.
    tensors: fn(&C) -> usize,
}

impl<C, M> Kind<C, M> {
    fn load(&self, request: &Request) -> Result<Loaded<M>> {
        let Request {
            model,
            dtype,
            device,
            seed,
        } = request;
        let build = |weights, config: &C| {
            let weights = watched(weights, (self.tensors)(config));
            (self.build)(weights, config)
        };
        let (loaded, folder) = match (self.preset)(model) {
            Some(config) => {
                let weights = RandomWeights::weights(*seed, *dtype, device);
                (build(weights, &config)?, None)
            }
            None => {
                let folder = self.folder(model)?;
                let config = (self.from_file)(&ConfigFile::read(&folder.join("config.json"))?)?;
                let (prefix, layers) = (self.layers)(&config);
                let checkpoint = Checkpoint::open(&folder)?.of_layers(prefix, layers)?;
                let built = checkpoint.build(*dtype, device, |weights| build(weights, &config))?;
                (built, Some(folder))
            }
        };
        Ok(Loaded {
            model: loaded,
            folder,
            name: format!(
                "{model}, {}, {}",
                dtype.as_str(),
                crate::device::name(device)
            ),
        })
    }

    /// Returns the folder of `model`.
    fn folder(&self, model: &str) -> std::result::Result<PathBuf, BadInput> {
        let of = hub::Use {
            program: self.name,
            file: self.file,
        };
        if let Some(folder) = hub::folder(model, of) {
            return folder;
        }
        match Path::new(model) {
            _ if model == "tiny" => files::find(&format!("models/tiny/{}", self.name)),
            path if path.is_dir() => Ok(path.to_path_buf()),
            path => {
                let found = match path.exists() {
                    true => format!("the file {model}"),
                    false if model.contains(['/', '\\']) => format!("no such folder: {model}"),
                    false => format!("{model:?}"),
                };
                let expected = format!(
                    "a folder, hf:ORG/NAME, or one of {}",
                    self.names().join(", ")
                );
                Err(BadInput::new("--model", expected, found))
            }
        }
    }

    fn names(&self) -> Vec<&'static str> {
        let of_kind = presets::NAMES.iter().filter(|(kind, _)| *kind == self.name);
        let presets = of_kind.flat_map(|(_, names)| names.iter().copied());
        std::iter::once("tiny").chain(presets).collect()
    }
}
