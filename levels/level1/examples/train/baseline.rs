//! Accuracy of a linear model on the same data: the tasks must not be that easy.

use data::families::{self, FAMILIES};
use data::shapes::{self, CLASSES};
use data::{features, logistic};
use indicatif::ProgressBar;

use crate::eval::EXAMPLES;
use crate::task::rng_of_eval;

/// Examples that the linear model learns from.
const TRAIN: usize = 10_000;
/// Degrees counted apart; the last bin holds all higher ones.
const BINS: usize = 16;

/// Share of fresh images that logistic regression on their pixels names rightly.
pub fn pixels(seed: u64) -> f32 {
    let mut rng = rng_of_eval(seed ^ 1);
    accuracy(CLASSES.len(), 5, seed, |class| {
        let picture = shapes::draw(class, &mut rng);
        let scaled = picture
            .into_raw()
            .into_iter()
            .map(|byte| f32::from(byte) / 255.);
        scaled.collect()
    })
}

/// Share of fresh graphs that logistic regression on their degree histograms names rightly.
pub fn degrees(seed: u64) -> f32 {
    let mut rng = rng_of_eval(seed ^ 1);
    accuracy(FAMILIES.len(), 60, seed, |class| {
        features::degree_histogram(&families::draw(class, &mut rng), BINS)
    })
}

fn accuracy(
    num_classes: usize,
    epochs: usize,
    seed: u64,
    mut draw: impl FnMut(usize) -> Vec<f32>,
) -> f32 {
    let spinner =
        ProgressBar::new_spinner().with_message("fitting logistic regression for comparison …");
    spinner.enable_steady_tick(std::time::Duration::from_millis(100));
    let y: Vec<usize> = (0..TRAIN + EXAMPLES).map(|i| i % num_classes).collect();
    let x: Vec<f32> = y.iter().flat_map(|&class| draw(class)).collect();
    let width = x.len() / y.len();
    let model = logistic::fit(&x[..TRAIN * width], &y[..TRAIN], num_classes, epochs, seed);
    let accuracy = logistic::accuracy(&model, &x[TRAIN * width..], &y[TRAIN..]);
    spinner.finish_and_clear();
    accuracy
}
