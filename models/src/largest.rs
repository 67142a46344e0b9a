//! The largest tensor of a pass. The file bounds the weights; only these checks bound activations, logits and scores.

use data::BadInput;

/// Maximum number of elements of a tensor in a pass: 1 GiB in f32. All logits of `llama-1b` for its 2048 tokens fit.
pub(crate) const MAX_ELEMENTS: usize = data::features::MAX_FEATURES;

/// Maximum number of scores of all layers, which take a CPU minutes. A prompt of 8192 tokens for `llama-1b` fits.
const ALL_SCORES: usize = 1 << 35;

/// How the ops of a pass attend, which bounds the scores of an attention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scores {
    /// All scores, and the keys and values of all heads or edges, are in memory, up to five times, as at levels 1 and 2.
    Held,
    /// Tile by tile on a CPU, which takes minutes for the maximum.
    TiledOnCpu,
    /// Tile by tile on a GPU, without a maximum.
    TiledOnGpu,
}

impl Scores {
    fn most(self) -> usize {
        match self {
            Self::Held => MAX_ELEMENTS / 2,
            Self::TiledOnCpu => 1 << 34,
            Self::TiledOnGpu => usize::MAX,
        }
    }

    /// Refuses sizes above the maximum, and the first, of scores, above that of all `layers`.
    pub(crate) fn check(self, input: &str, layers: usize, sizes: &[Size]) -> Result<(), BadInput> {
        check(input, self.most(), sizes)?;
        let most = ALL_SCORES.max(self.most());
        let layers = ("`num_hidden_layers`", layers);
        let all: Vec<_> = sizes[0].iter().copied().chain([layers]).collect();
        check(input, most, &[&all])
    }
}

/// Factors of a number of elements, each with its name in the input or in `config.json`.
pub(crate) type Size<'a> = &'a [(&'a str, usize)];

/// Refuses sizes above `most`. The error is about `input` and the largest size.
pub(crate) fn check(input: &str, most: usize, sizes: &[Size]) -> Result<(), BadInput> {
    let product = |size: &Size| (size.iter()).fold(1, |all: usize, (_, n)| all.saturating_mul(*n));
    let largest = sizes.iter().copied().max_by_key(product);
    let Some(largest) = largest.filter(|size| product(size) > most) else {
        return Ok(());
    };
    let (names, numbers): (Vec<&str>, Vec<String>) = largest
        .iter()
        .map(|(name, n)| (*name, n.to_string()))
        .unzip();
    let names = names.join(" × ");
    let expected = format!("at most {most} elements in a tensor of {names}, by config.json");
    Err(BadInput::new(input, expected, numbers.join(" × ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lm::Logits;
    use crate::presets;

    #[test]
    fn sizes_that_overflow_are_refused() {
        let huge = [("a", usize::MAX), ("b", 3)];
        assert!(check("x", usize::MAX - 1, &[&[("c", 1)], &huge]).is_err());
        assert_eq!(check("x", 4, &[&[("c", 4)]]), Ok(()));
    }

    #[test]
    fn presets_fit() {
        let lm = presets::lm("llama-1b").unwrap();
        let all = lm.check_pass("x", [1, 2048], 0, Logits::All, Scores::Held);
        let mut vit = presets::vit("b16").unwrap();
        let batch = vit.check_pass("x", 128, Scores::Held);
        let gnn = presets::gnn("base").unwrap();
        let powerlaw = gnn.check_pass("x", [169_343, 2_332_486, 1], Scores::TiledOnCpu);
        assert_eq!([all, batch, powerlaw], [const { Ok(()) }; 3]);
        vit.image_size = 1600;
        let error = vit.check_pass("x", 1, Scores::Held).unwrap_err();
        assert_eq!(error.found, "1 × 10001 × 10001 × 12");
        let prompt = |n| lm.check_pass("x", [1, n], 0, Logits::Last, Scores::TiledOnCpu);
        assert_eq!(prompt(8192), Ok(()));
        assert_eq!(prompt(8193).unwrap_err().found, "8193 × 8193 × 32 × 16");
    }
}
