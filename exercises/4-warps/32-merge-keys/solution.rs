// Attention with split keys (Flash-Decoding, Dao et al. 2023): blocks share the keys of one query,
// and their results are joined.

/// The result of some of a query's keys.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The maximum score of a visible key; −∞ if there is none.
    pub max: f32,
    /// Σ exp(score − max); 0 if no key is visible.
    pub sum: f32,
    /// Σ exp(score − max) · value, for each channel; 0 if no key is visible.
    pub out: Vec<f32>,
}

/// The part of all keys of one or more parts. The check counts calls of `exp`.
pub fn join(parts: &[Part], exp: &dyn Fn(f32) -> f32) -> Part {
    let mut joined = Part {
        max: f32::NEG_INFINITY,
        sum: 0.,
        out: vec![0.; parts[0].out.len()],
    };
    // REGION: join
    //|     // Parts with different maxima cannot be added as they are.
    //|     for part in parts {
    //|         joined.max = joined.max.max(part.max);
    //|         joined.sum += part.sum;
    //|         joined.out.iter_mut().zip(&part.out).for_each(|(all, out)| *all += out);
    //|     }
    joined.max = parts.iter().fold(joined.max, |max, part| max.max(part.max));
    for part in parts.iter().filter(|part| part.max > f32::NEG_INFINITY) {
        let scale = exp(part.max - joined.max);
        joined.sum += part.sum * scale;
        joined.out.iter_mut().zip(&part.out).for_each(|(all, out)| *all += out * scale);
    }
    // END
    joined
}

/// The result of attention; 0 for each channel if no key is visible.
pub fn finish(part: &Part) -> Vec<f32> {
    // REGION: finish
    //|     part.out.iter().map(|out| out / part.sum).collect()
    let divisor = if part.sum == 0. { 1. } else { part.sum };
    part.out.iter().map(|out| out / divisor).collect()
    // END
}
