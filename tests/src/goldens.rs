//! Models and answers that transformers and PyTorch Geometric wrote: see `goldens/README.md`.

use std::collections::HashMap;
use std::path::PathBuf;

use candle_core::{DType, Device, Tensor, safetensors};
use candle_nn::VarBuilder;
use models::checkpoint::Checkpoint;
use models::config::ConfigFile;
use models::gnn::GraphBatch;
use models::{GraphTransformer, LanguageModel, Result, VisionTransformer, gnn, lm, vit};

/// A golden: a model folder, the inputs and the expected outputs.
pub struct Golden {
    /// Its folder.
    pub folder: PathBuf,
    /// `case.safetensors`.
    pub case: HashMap<String, Tensor>,
}

impl Golden {
    /// Opens `goldens/{name}`.
    pub fn open(name: &str) -> Result<Self> {
        let folder = crate::root().join("tests/goldens").join(name);
        let case = safetensors::load(folder.join("case.safetensors"), &Device::Cpu)?;
        Ok(Self { folder, case })
    }

    /// A tensor of the case, on `device`.
    pub fn tensor(&self, name: &str, device: &Device) -> Result<Tensor> {
        match self.case.get(name) {
            Some(tensor) => Ok(tensor.to_device(device)?),
            None => Err(models::bad_input(name, "a tensor of the golden", "nothing").into()),
        }
    }

    /// The model's weights as `dtype` on `device`, and its configuration.
    fn open_model(
        &self,
        dtype: DType,
        device: &Device,
    ) -> Result<(VarBuilder<'static>, ConfigFile)> {
        let weights = Checkpoint::open(&self.folder)?.into_weights(dtype, device);
        Ok((weights, ConfigFile::read(&self.folder.join("config.json"))?))
    }

    /// The language model of this folder.
    pub fn lm(&self, dtype: DType, device: &Device) -> Result<LanguageModel> {
        let (weights, config) = self.open_model(dtype, device)?;
        Ok(LanguageModel::load(
            weights,
            &lm::Config::from_file(&config)?,
        )?)
    }

    /// The vision transformer of this folder.
    pub fn vit(&self, dtype: DType, device: &Device) -> Result<VisionTransformer> {
        let (weights, config) = self.open_model(dtype, device)?;
        Ok(VisionTransformer::load(
            weights,
            &vit::Config::from_file(&config)?,
        )?)
    }

    /// The graph transformer of this folder.
    pub fn gnn(&self, dtype: DType, device: &Device) -> Result<GraphTransformer> {
        let (weights, config) = self.open_model(dtype, device)?;
        Ok(GraphTransformer::load(
            weights,
            &gnn::Config::from_file(&config)?,
        )?)
    }

    /// The graphs of this case.
    pub fn graphs(&self, dtype: DType, device: &Device) -> Result<GraphBatch> {
        let indices = |name| -> Result<Vec<u32>> {
            let tensor = self.tensor(name, &Device::Cpu)?.flatten_all()?;
            Ok(tensor
                .to_vec1::<i64>()?
                .into_iter()
                .map(|i| i as u32)
                .collect())
        };
        let edges = indices("edge_index")?;
        let (src, dst) = edges.split_at(edges.len() / 2);
        let edges: Vec<[u32; 2]> = src.iter().zip(dst).map(|(&s, &d)| [s, d]).collect();
        let x = self.tensor("x", device)?.to_dtype(dtype)?;
        let features = self.tensor("edge_attr", device)?.to_dtype(dtype)?;
        let num_graphs = indices("num_graphs")?[0] as usize;
        GraphBatch::new(x, &edges, &features, &indices("batch")?, num_graphs)
    }
}
