// Attention tile by tile (FlashAttention, Dao et al. 2022), for one query.

/// Maximum, sum and mixed values of the keys seen so far.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// The maximum score; −∞ before the first tile.
    pub max: f32,
    /// Σ exp(score − max).
    pub sum: f32,
    /// Σ exp(score − max) · value, for each channel.
    pub out: Vec<f32>,
}

/// Scores of a tile of keys (n, D): q·k / √D.
fn scores(query: &[f32], keys: &[f32]) -> Vec<f32> {
    let scale = 1. / (query.len() as f32).sqrt();
    let score = |key: &[f32]| key.iter().zip(query).map(|(k, q)| k * q).sum::<f32>() * scale;
    keys.chunks(query.len()).map(score).collect()
}

/// Adds a tile of keys and values, both (n, D), to the state. The check counts calls of `exp`.
pub fn add_tile(
    state: &mut State,
    query: &[f32],
    keys: &[f32],
    values: &[f32],
    exp: &dyn Fn(f32) -> f32,
) {
    let scores = scores(query, keys);
    let max = scores.iter().copied().fold(state.max, f32::max);
    // REGION: tile
    //|     // This is right for the first tile only: `sum` and `out` belong to the old maximum.
    //|     state.max = max;
    //|     for (score, value) in scores.iter().zip(values.chunks(query.len())) {
    //|         let weight = exp(score - max);
    //|         state.sum += weight;
    //|         state.out.iter_mut().zip(value).for_each(|(out, v)| *out += weight * v);
    //|     }
    let scale = exp(state.max - max);
    state.sum *= scale;
    state.out.iter_mut().for_each(|out| *out *= scale);
    state.max = max;
    for (score, value) in scores.iter().zip(values.chunks(query.len())) {
        let weight = exp(score - max);
        state.sum += weight;
        state.out.iter_mut().zip(value).for_each(|(out, v)| *out += weight * v);
    }
    // END
}

/// The result of attention to all keys so far.
pub fn finish(state: &State) -> Vec<f32> {
    state.out.iter().map(|out| out / state.sum).collect()
}
