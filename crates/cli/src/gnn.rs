//! The program of the graph transformer.

mod input;
mod tensors;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use candle_core::Tensor;
use clap::Args;
use data::graph::Graph;
use levels::Name;
use models::gnn::{Config, GraphBatch};
use models::{GraphTransformer, Ops};
use replay::Pass;

use crate::args::{CudaGraphArgs, ModelArgs, RunArgs, parse};
use crate::load::{self, Loaded, Request};
use crate::own::{self, Program};
use crate::simulation::simulated;
use crate::top;
use crate::trace::{traced, warm_up};

/// Graphs per batch.
const BATCH: usize = 64;

/// Classifies graphs.
#[derive(Debug, Clone, Args)]
pub struct GnnArgs {
    /// Which model, and on what.
    #[command(flatten)]
    pub model: ModelArgs,
    /// Tensors from a file and into one.
    #[command(flatten)]
    pub run: RunArgs,
    /// Folder of graphs in the text format of the TU collection [default: one random graph of each of the ten families
    /// that the tiny model was trained on, such as cycles, trees and ladders of 24 to 64 nodes, from --seed]
    #[arg(long, value_name = "DIR", conflicts_with = "input")]
    pub graph: Option<PathBuf>,
    /// Launch by launch, or recorded.
    #[command(flatten)]
    pub cuda_graph: CudaGraphArgs,
    /// Edge list of one graph: a directed edge `source,target` per line; an undirected edge takes two lines, one in each
    /// direction. Nodes have the numbers from 0 to the largest one in the file. Further columns are edge attributes, as
    /// many as the model has edge features (tiny: 4); without them, the features come from the degrees of the nodes and
    /// their common neighbours. The tiny model was trained on undirected graphs of 24 to 64 nodes, and knows ten families:
    /// cycle, tree, ladder, random cubic, torus grid, ring lattice, small world, scale-free, random, communities
    #[arg(long, value_name = "FILE.csv", conflicts_with_all = ["input", "graph"])]
    pub edges: Option<PathBuf>,
}

/// Runs the whole program at `level`, with the options of this process.
pub fn main(level: u8) -> ExitCode {
    crate::run(|| {
        let args: GnnArgs = parse()?;
        let program = Program::Example {
            model: "gnn",
            level,
        };
        own::run_with(program, &own::names_in(args.run.swap.as_deref()))?;
        run(&args, &Name::Number(level))
    })
}

/// Classifies the graphs of `args`, or runs on its tensors.
pub fn run(args: &GnnArgs, level: &Name) -> anyhow::Result<()> {
    let inputs = load::files(&args.model, "gnn", args.edges.as_slice());
    let files = args.run.files(None, &inputs)?;
    simulated(&args.model, &args.run, || {
        let request = Request::new(&args.model)?;
        let ops = &*args.run.ops(&request, models::gnn::OPS, level)?;
        let loaded = load::gnn(&request)?;
        let trace = args.run.trace;
        let recorded = args.cuda_graph.records(ops, &request.device, trace)?;
        let pass = || Pass::new(recorded);
        traced(trace, &request.device, || match files {
            Some((input, output)) => {
                let scores = args.run.scores(level, &request.device);
                let model = &loaded.model;
                tensors::run(
                    trace,
                    (ops, scores),
                    pass(),
                    model,
                    &request,
                    input,
                    &output,
                )
            }
            None => graphs(args, ops, level, pass, &request, &loaded),
        })
    })
}

/// Prints the classes of each graph.
fn graphs(
    args: &GnnArgs,
    ops: &dyn Ops,
    level: &Name,
    pass: impl Fn() -> Pass,
    request: &Request,
    loaded: &Loaded<GraphTransformer>,
) -> anyhow::Result<()> {
    let config = loaded.model.config();
    let source = input::Source::read(args, config)?;
    let scores = args.run.scores(level, &request.device);
    for graphs in source.graphs.chunks(BATCH) {
        source.check(graphs, config, scores)?;
    }
    warm_up(args.run.trace, || {
        let first = &source.graphs[..source.graphs.len().min(BATCH)];
        let batch = source.batch(first, config, request)?;
        Ok(loaded.model.forward(ops, &batch)?)
    })?;
    for (first, graphs) in (0..).step_by(BATCH).zip(source.graphs.chunks(BATCH)) {
        let batch = source.batch(graphs, config, request)?;
        let logits = forward(&mut pass(), ops, &loaded.model, &batch)?;
        let rows = top::top(&logits, 3).map_err(|error| source.named(error))?;
        if let Some(path) = &args.edges {
            graphs.iter().for_each(|graph| notes(path, graph, config));
        }
        for ((i, graph), classes) in (first..).zip(graphs).zip(&rows) {
            let head = describe(i, graph, source.truth(graph));
            data::print!("{head}\n{}", top::lines(classes, &config.labels));
        }
    }
    let level = args.run.label(level);
    data::note(format_args!("{level}, {}", loaded.name));
    Ok(())
}

/// Notes probable mistakes in an edge list.
fn notes(path: &Path, graph: &Graph, config: &Config) {
    let one_way = input::one_way(graph).map(str::to_owned);
    let size = input::unknown_size(graph, config);
    let notes = [input::lonely(graph), one_way, size].into_iter().flatten();
    notes.for_each(|note| crate::note::note(format_args!("{}: {note}", path.display())));
}

/// Runs one batch. A recording holds for one batch only, because it includes the edges.
fn forward(
    pass: &mut Pass,
    ops: &dyn Ops,
    model: &GraphTransformer,
    batch: &GraphBatch,
) -> candle_core::Result<Tensor> {
    pass.run(batch.x.device(), &[&batch.x, &batch.edges], |features| {
        let batch = batch.with(features[0].clone(), features[1].clone());
        model.forward(ops, &batch)
    })
}

fn describe(index: usize, graph: &Graph, truth: Option<String>) -> String {
    let (nodes, edges) = (graph.num_nodes, graph.edges.len());
    let truth = truth.map_or(String::new(), |label| format!(", true class {label}"));
    let (nodes, edges) = (
        data::counted(nodes, "node"),
        data::counted(edges, "directed edge"),
    );
    format!("graph {index}: {nodes}, {edges}{truth}")
}

#[test]
fn the_help_lists_the_families() {
    let families = data::families::FAMILIES.join(", ");
    assert!(crate::args::help_of::<GnnArgs>().contains(&families));
}
