//! Accuracy of a linear model on the two generated tasks, and speed of the generators.
//!
//! `cargo run --release -p data --example separability`

use std::time::Instant;

use data::picture::Preprocessor;
use data::{families, features, logistic, shapes};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const TRAIN: usize = 10_000;
const TEST: usize = 2_000;

fn main() -> Result<(), data::BadInput> {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let y: Vec<usize> = (0..TRAIN + TEST).map(|i| i % 10).collect();

    let start = Instant::now();
    let preprocessor = Preprocessor::new(shapes::SIDE);
    let mut pixels = vec![];
    for &class in &y {
        pixels.extend(preprocessor.apply(&shapes::draw(class, &mut rng))?);
    }
    rate("pictures with pixels", start);
    report("logistic regression on pixels", &pixels, &y, 5);

    let start = Instant::now();
    let graphs: Vec<_> = y.iter().map(|&f| families::draw(f, &mut rng)).collect();
    rate("graphs", start);
    let start = Instant::now();
    let (mut degrees, mut walks) = (vec![], vec![]);
    for graph in &graphs {
        features::edge_features(graph, 16)?;
        walks.extend(mean_and_std(&features::node_features(graph, 16)?, 16));
        degrees.extend(features::degree_histogram(graph, 16));
    }
    rate("graphs with features", start);
    report("logistic regression on degree histograms", &degrees, &y, 60);
    report(
        "the same on mean and std of return probabilities",
        &walks,
        &y,
        60,
    );
    Ok(())
}

fn rate(what: &str, start: Instant) {
    let n = TRAIN + TEST;
    println!(
        "{:.0} {what} a second",
        n as f64 / start.elapsed().as_secs_f64()
    );
}

fn report(what: &str, x: &[f32], y: &[usize], epochs: usize) {
    let width = x.len() / y.len();
    let start = Instant::now();
    let model = logistic::fit(&x[..TRAIN * width], &y[..TRAIN], 10, epochs, 1);
    let accuracy = logistic::accuracy(&model, &x[TRAIN * width..], &y[TRAIN..]);
    println!(
        "{what}: {:.1}% in {:.1} s",
        100.0 * accuracy,
        start.elapsed().as_secs_f64()
    );
}

/// Returns the mean and the standard deviation of each column of `x` (N, width).
fn mean_and_std(x: &[f32], width: usize) -> Vec<f32> {
    let n = (x.len() / width) as f32;
    let column = |c: usize| x.iter().skip(c).step_by(width);
    let mean = |c| column(c).sum::<f32>() / n;
    let std = |c| (column(c).map(|v| (v - mean(c)).powi(2)).sum::<f32>() / n).sqrt();
    (0..width).flat_map(|c| [mean(c), std(c)]).collect()
}
