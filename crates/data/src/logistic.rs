//! Multinomial logistic regression, the linear baseline for the models' tasks.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Scores W·(x − mean)/std + b, one for each class.
#[derive(Debug, Clone)]
pub struct Logistic {
    /// (classes, width + 1), row-major; the last column is b.
    weights: Vec<f32>,
    /// Mean and 1/std of each column of the training set.
    scale: Vec<[f32; 2]>,
}

const BATCH: usize = 64;
const LEARNING_RATE: f32 = 3e-3;

/// Fits rows `x` (N, width) with classes `y` (N) by Adam on the mean cross-entropy, in batches
/// of 64, with a step size that falls linearly from 0.003 to 0.
///
/// # Panics
/// If `x` is not N·width long, or a class is not in `0..classes`.
pub fn fit(x: &[f32], y: &[usize], classes: usize, epochs: usize, seed: u64) -> Logistic {
    let width = x.len() / y.len().max(1);
    assert_eq!(x.len(), y.len() * width, "rows of unequal width");
    let mut model = Logistic {
        weights: vec![0.0; classes * (width + 1)],
        scale: scales(x, width),
    };
    let mut adam = Adam::new(model.weights.len());
    let mut order: Vec<usize> = (0..y.len()).collect();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let steps = epochs * order.len().div_ceil(BATCH);
    for _ in 0..epochs {
        order.shuffle(&mut rng);
        for batch in order.chunks(BATCH) {
            let mut gradient = vec![0.0; model.weights.len()];
            for &i in batch {
                let row = model.scaled(&x[i * width..][..width]);
                model.add_gradient(&row, y[i], &mut gradient);
            }
            let rate = LEARNING_RATE * (1.0 - adam.steps as f32 / steps as f32);
            adam.step(
                &mut model.weights,
                &gradient,
                1.0 / batch.len() as f32,
                rate,
            );
        }
    }
    model
}

/// Returns the share of rows `x` (N, width) whose highest score is that of their class `y` (N).
pub fn accuracy(model: &Logistic, x: &[f32], y: &[usize]) -> f32 {
    let width = model.scale.len();
    let rows = x.chunks_exact(width).zip(y);
    let right = rows.filter(|(row, y)| {
        let scores = model.scores(&model.scaled(row));
        scores.iter().all(|s| *s <= scores[**y])
    });
    right.count() as f32 / y.len() as f32
}

impl Logistic {
    /// Returns the standardised row with a 1 appended for b.
    fn scaled(&self, row: &[f32]) -> Vec<f32> {
        let scaled = row
            .iter()
            .zip(&self.scale)
            .map(|(x, [mean, inverse])| (x - mean) * inverse);
        scaled.chain([1.0]).collect()
    }

    fn scores(&self, scaled: &[f32]) -> Vec<f32> {
        let rows = self.weights.chunks_exact(scaled.len());
        rows.map(|w| dot(w, scaled)).collect()
    }

    /// ∂(−ln softmax(scores)[y]) / ∂W = (softmax(scores) − onehot(y)) ⊗ x
    fn add_gradient(&self, scaled: &[f32], y: usize, gradient: &mut [f32]) {
        let scores = self.scores(scaled);
        let max = scores.iter().copied().fold(f32::MIN, f32::max);
        let exp: Vec<f32> = scores.iter().map(|s| (s - max).exp()).collect();
        let sum: f32 = exp.iter().sum();
        for (class, row) in gradient.chunks_exact_mut(scaled.len()).enumerate() {
            let error = exp[class] / sum - f32::from(class == y);
            for (g, x) in row.iter_mut().zip(scaled) {
                *g += error * x;
            }
        }
    }
}

/// Kingma and Ba, 2015, with β = (0.9, 0.999) and ε = 1e-8.
struct Adam {
    mean: Vec<f32>,
    square: Vec<f32>,
    steps: i32,
}

impl Adam {
    fn new(len: usize) -> Self {
        Self {
            mean: vec![0.0; len],
            square: vec![0.0; len],
            steps: 0,
        }
    }

    fn step(&mut self, weights: &mut [f32], gradient: &[f32], scale: f32, rate: f32) {
        self.steps += 1;
        let [fix1, fix2] = [0.9_f32, 0.999].map(|b| 1.0 - b.powi(self.steps));
        let moments = self.mean.iter_mut().zip(&mut self.square);
        for ((w, g), (m, v)) in weights.iter_mut().zip(gradient).zip(moments) {
            let g = g * scale;
            *m += 0.1 * (g - *m);
            *v += 0.001 * (g * g - *v);
            *w -= rate * (*m / fix1) / ((*v / fix2).sqrt() + 1e-8);
        }
    }
}

/// Returns mean and 1/std per column; a constant column gets 0, so that it has no effect.
fn scales(x: &[f32], width: usize) -> Vec<[f32; 2]> {
    let mut sums = vec![[0.0_f64; 2]; width];
    for row in x.chunks_exact(width.max(1)) {
        for (s, &x) in sums.iter_mut().zip(row) {
            s[0] += f64::from(x);
            s[1] += f64::from(x).powi(2);
        }
    }
    let n = (x.len() / width.max(1)) as f64;
    let of = |[sum, square]: [f64; 2]| {
        let mean = sum / n;
        let std = (square / n - mean * mean).max(0.0).sqrt();
        [
            mean as f32,
            if std > 1e-6 { (1.0 / std) as f32 } else { 0.0 },
        ]
    };
    sums.into_iter().map(of).collect()
}

/// Sixteen running sums, so that the compiler can use SIMD lanes.
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0; 16];
    let (a, b) = (a.chunks_exact(16), b.chunks_exact(16));
    let rest: f32 = a
        .remainder()
        .iter()
        .zip(b.remainder())
        .map(|(a, b)| a * b)
        .sum();
    for (a, b) in a.zip(b) {
        for i in 0..16 {
            sums[i] += a[i] * b[i];
        }
    }
    sums.iter().sum::<f32>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_learned_and_parity_is_not() {
        let points: Vec<[f32; 2]> = (0..400)
            .map(|i| [(i % 20) as f32 - 9.5, (i / 20) as f32 - 9.5])
            .collect();
        let x = points.concat();
        let by_line: Vec<usize> = points
            .iter()
            .map(|[x, y]| usize::from(x + 2.0 * y > 0.0))
            .collect();
        let by_parity: Vec<usize> = points
            .iter()
            .map(|[x, y]| usize::from(x * y > 0.0))
            .collect();
        let line = fit(&x, &by_line, 2, 200, 1);
        assert!(accuracy(&line, &x, &by_line) > 0.98);
        let parity = fit(&x, &by_parity, 2, 200, 1);
        assert!(accuracy(&parity, &x, &by_parity) < 0.6);
    }

    #[test]
    fn a_seed_fixes_the_fit() {
        let x: Vec<f32> = (0..300).map(|i| ((i * 37) % 101) as f32).collect();
        let y: Vec<usize> = (0..100).map(|i| i % 3).collect();
        let [a, b] = [5, 5].map(|seed| fit(&x, &y, 3, 3, seed).weights);
        assert_eq!(a, b);
    }
}
