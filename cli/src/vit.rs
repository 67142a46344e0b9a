//! The program around the vision transformer.

mod attention;
mod tensors;
mod view;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use data::BadInput;
use models::{Ops, VisionTransformer};

use crate::args::{ModelArgs, RunArgs, parse};
use crate::files::{self, Output};
use crate::load::{self, Loaded, Request};
use crate::top;
use crate::trace::traced;
use view::View;

/// Classifies pictures.
#[derive(Debug, Clone, Args)]
pub struct VitArgs {
    /// Which model, and on what.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Tensors from a file and into one.
    #[command(flatten)]
    pub run: RunArgs,
    /// PNG or JPEG files to classify [default: the sample pictures of the repository]
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "input")]
    pub image: Vec<PathBuf>,
    /// Paint where the class token of the last block looks
    #[arg(long, value_name = "OUT.png", conflicts_with = "input")]
    pub attention: Option<PathBuf>,
}

/// The whole program, with the options of this process.
pub fn main(ops: &dyn Ops) -> ExitCode {
    crate::run(|| run(&parse()?, ops))
}

/// Classifies the pictures of `args`, or answers its tensors.
pub fn run(args: &VitArgs, ops: &dyn Ops) -> anyhow::Result<()> {
    let output = args.run.output.as_ref().or(args.attention.as_ref());
    let output = output.map(|path| Output::new(path)).transpose()?;
    let request = Request::new(&args.model)?;
    let loaded = load::vit(&request)?;
    traced(args.run.trace, &request.device, || {
        match (&args.run.input, output) {
            (Some(input), Some(output)) => {
                tensors::run(ops, &loaded.model, &request, input, &output)
            }
            (_, paint) => pictures(args, ops, &request, &loaded, paint),
        }
    })
}

/// Prints the classes of each picture, and paints the attention to all of them.
fn pictures(
    args: &VitArgs,
    ops: &dyn Ops,
    request: &Request,
    loaded: &Loaded<VisionTransformer>,
    paint: Option<Output>,
) -> anyhow::Result<()> {
    let paths = match args.image.is_empty() {
        true => samples()?,
        false => args.image.clone(),
    };
    let view = View::new(loaded)?;
    let pixels: Vec<Vec<f32>> = paths
        .iter()
        .map(|p| view.read(p))
        .collect::<Result<_, _>>()?;
    let mut out = std::io::stdout().lock();
    let mut tiles = vec![];
    for (path, pixels) in paths.iter().zip(&pixels) {
        let tensor = view.tensor(pixels, request)?;
        let logits = loaded.model.forward(ops, &tensor)?;
        let classes = top::top(&logits, 5)?;
        let labels = &loaded.model.config().labels;
        write!(
            out,
            "{}\n{}",
            path.display(),
            top::lines(&classes[0], labels)
        )?;
        if paint.is_some() {
            let attention = loaded.model.class_attention(ops, &tensor)?;
            let picture = view.picture(pixels);
            tiles.push(attention::paint(
                &picture,
                &attention.flatten_all()?.to_vec1()?,
            ));
        }
    }
    if let Some(output) = paint {
        output.write(&attention::png(&attention::sheet(&tiles))?)?;
    }
    writeln!(std::io::stderr(), "level {}, {}", ops.level(), loaded.name)?;
    Ok(())
}

/// The sample pictures of the repository, by name.
fn samples() -> Result<Vec<PathBuf>, BadInput> {
    let folder = files::find("assets/pictures")?;
    let bad = |found: String| BadInput::new(folder.display(), "a folder of pictures", found);
    let entries = std::fs::read_dir(&folder).map_err(|e| bad(e.to_string()))?;
    let mut paths = vec![];
    for entry in entries {
        let path = entry.map_err(|e| bad(e.to_string()))?.path();
        if path.extension().is_some_and(|e| e == "png" || e == "jpg") {
            paths.push(path);
        }
    }
    paths.sort();
    match paths.is_empty() {
        true => Err(bad("no PNG or JPEG file".into())),
        false => Ok(paths),
    }
}
