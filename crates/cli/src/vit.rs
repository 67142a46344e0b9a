//! The program of the vision transformer.

mod attention;
mod tensors;
mod view;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use data::BadInput;
use image::RgbImage;
use levels::Name;
use models::{Ops, VisionTransformer};
use replay::Pass;

use crate::args::{CudaGraphArgs, ModelArgs, RunArgs, parse};
use crate::files::{self, Output};
use crate::load::{self, Loaded, Request};
use crate::note::note;
use crate::own::{self, Program};
use crate::simulation::simulated;
use crate::tensors::named;
use crate::top;
use crate::trace::{traced, warm_up};
use view::View;

/// Classifies images.
#[derive(Debug, Clone, Args)]
pub struct VitArgs {
    /// Which model, and on what.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Tensors from a file and into one.
    #[command(flatten)]
    pub run: RunArgs,
    /// Launch by launch, or recorded.
    #[command(flatten)]
    pub cuda_graph: CudaGraphArgs,
    /// PNG or JPEG files to classify, resized to the model's input; transparent pixels become white. The tiny model knows
    /// ten shapes: circle, ring, square, triangle, star, cross, crescent, heart, arrow, hourglass [default: the sample
    /// images of the repository]
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "input")]
    pub image: Vec<PathBuf>,
    /// Draw a heat map of the attention from the class token in the last block
    #[arg(long, value_name = "OUT.png", conflicts_with = "input")]
    pub attention: Option<PathBuf>,
}

/// Maximum pixels of all images: 1 GiB of memory.
const MAX_PIXELS: usize = (1 << 28) / 3;

/// Maximum number of images on the sheet of `--attention`.
const MAX_PAIRS: usize = 64;

/// Runs the whole program at `level`, with the options of this process.
pub fn main(level: u8) -> ExitCode {
    crate::run(|| {
        let args: VitArgs = parse()?;
        let program = Program::Example {
            model: "vit",
            level,
        };
        own::run_with(program, &own::names_in(args.run.swap.as_deref()))?;
        run(&args, &Name::Number(level))
    })
}

/// Classifies the images of `args`, or runs on its tensors.
pub fn run(args: &VitArgs, level: &Name) -> anyhow::Result<()> {
    let paint = args.attention.as_deref().map(Output::new).transpose()?;
    let inputs = load::files(&args.model, "vit", &args.image);
    let files = args.run.files(paint.as_ref(), &inputs)?;
    if let Some(path) = (args.attention.as_ref()).filter(|p| p.extension() != Some("png".as_ref()))
    {
        return Err(
            BadInput::new("--attention", "a file that ends in .png", path.display()).into(),
        );
    }
    simulated(&args.model, &args.run, || {
        let request = Request::new(&args.model)?;
        let ops = &*args.run.ops(&request, models::vit::OPS, level)?;
        let loaded = load::vit(&request)?;
        let trace = args.run.trace;
        let pass = Pass::new(args.cuda_graph.records(ops, &request.device, trace)?);
        traced(args.run.trace, &request.device, || match files {
            Some((input, output)) => {
                let scores = args.run.scores(level, &request.device);
                let model = &loaded.model;
                tensors::run(trace, (ops, scores), pass, model, &request, input, &output)
            }
            None => pictures(args, ops, level, pass, &request, &loaded, paint),
        })
    })
}

/// Prints the classes of each image, and draws the attention to all of them.
fn pictures(
    args: &VitArgs,
    ops: &dyn Ops,
    level: &Name,
    mut pass: Pass,
    request: &Request,
    loaded: &Loaded<VisionTransformer>,
    paint: Option<Output>,
) -> anyhow::Result<()> {
    let paths = if args.image.is_empty() {
        samples()?
    } else {
        args.image.clone()
    };
    let config = loaded.model.config();
    let scores = args.run.scores(level, &request.device);
    config.check_pass("--image", 1, scores)?;
    check_number(paths.len(), config.image_size, paint.is_some())?;
    let view = View::new(loaded)?;
    let read: Result<Vec<_>, BadInput> = paths.iter().map(|path| view.read(path)).collect();
    let (pixels, changes): (Vec<_>, Vec<_>) = read?.into_iter().unzip();
    // The repository's samples need no note.
    for (path, changes) in args.image.iter().zip(changes) {
        if let Some(changes) = changes {
            note(format_args!("{}: {changes}", path.display()));
        }
    }
    let model = &loaded.model;
    warm_up(args.run.trace, || {
        Ok(model.forward(ops, &view.tensor(&pixels[0], request)?)?)
    })?;
    for (path, pixels) in paths.iter().zip(&pixels) {
        let pixels = view.tensor(pixels, request)?;
        let logits = pass.run(&request.device, &[&pixels], |x| model.forward(ops, &x[0]))?;
        let path = path.display().to_string();
        let classes = top::top(&logits, 5).map_err(|error| named(&path, error))?;
        let lines = top::lines(&classes[0], &model.config().labels);
        data::print!("{}\n{lines}", data::plain_line(&path));
    }
    if let Some(output) = paint {
        let pair = |pixels: &Vec<f32>| -> anyhow::Result<RgbImage> {
            let attention = model.class_attention(ops, &view.tensor(pixels, request)?)?;
            let attention: Vec<f32> = attention.flatten_all()?.to_vec1()?;
            Ok(attention::paint(&view.picture(pixels), &attention))
        };
        let pairs = pixels
            .iter()
            .map(pair)
            .collect::<anyhow::Result<Vec<_>>>()?;
        output.write(&attention::png(&attention::sheet(&pairs))?)?;
        let path = output.path().display().to_string();
        data::say(format_args!(
            "wrote the attention to {}",
            data::plain_line(&path)
        ))?;
    }
    let level = args.run.label(level);
    data::note(format_args!("{level}, {}", loaded.name));
    Ok(())
}

fn check_number(images: usize, side: usize, are_drawn: bool) -> Result<(), BadInput> {
    let drawn = if are_drawn { MAX_PAIRS } else { images };
    let most = drawn.min(MAX_PIXELS / (side * side));
    let bad = || BadInput::new("--image", format!("at most {most} images"), images);
    if images > most { Err(bad()) } else { Ok(()) }
}

/// The sample images of the repository, sorted by name.
fn samples() -> Result<Vec<PathBuf>, BadInput> {
    let folder = files::find("crates/cli/pictures")?;
    let bad = |found: String| BadInput::new(folder.display(), "a folder of images", found);
    let entries = std::fs::read_dir(&folder).map_err(|e| bad(e.to_string()))?;
    let mut paths = vec![];
    for entry in entries {
        let path = entry.map_err(|e| bad(e.to_string()))?.path();
        if path.extension().is_some_and(|e| e == "png" || e == "jpg") {
            paths.push(path);
        }
    }
    paths.sort();
    if paths.is_empty() {
        Err(bad("no PNG or JPEG file".into()))
    } else {
        Ok(paths)
    }
}

#[test]
fn too_many_images_are_refused() {
    assert_eq!(check_number(1000, 224, false), Ok(()));
    assert!(check_number(65, 224, true).is_err());
    let error = check_number(50, 4096, false).unwrap_err();
    assert_eq!(error.expected, "at most 5 images");
}

#[test]
fn the_help_lists_the_shapes() {
    let shapes = data::shapes::CLASSES.join(", ");
    assert!(crate::args::help_of::<VitArgs>().contains(&shapes));
}
