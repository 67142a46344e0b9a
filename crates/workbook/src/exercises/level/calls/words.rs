//! Sizes and variants of calls in words.

use candle_core::DType;
use models::{Linear, Norm};

use super::{Call, Sizes};
use data::counted;

impl Call {
    /// `5 rows, C = 33, N = 65, RMS norm, with bias, f32`: what the method has of these.
    pub fn words(&self, sizes: Sizes, dtype: DType) -> String {
        let Sizes { rows, c, n, heads } = sizes;
        let (h, kv, d) = heads;
        let rows = counted(rows, "row");
        let channels = format!("{rows}, C = {c}");
        let all = format!("{channels}, N = {n}");
        let heads = |h| format!("{} of {d} channels", counted(h, "head"));
        let cut = |kv| format!("{}, {} of keys", heads(h), counted(kv, "head"));
        let what = match self {
            Self::Embedding(..) => format!("{channels}, V = {n}"),
            Self::PatchEmbed(pixels, ..) => format!("pixels {:?}, C = {c}", pixels.dims()),
            Self::Linear(_, w) | Self::LinearResidual(_, w, _) => all + bias(w),
            Self::NormLinear(_, norm, w)
            | Self::NormSwiglu(_, norm, w)
            | Self::NormGelu(_, norm, w) => all + norm_name(norm) + bias(w),
            Self::NormQkv(_, norm, w, _) => {
                format!("{channels}, {}{}{}", cut(kv), norm_name(norm), bias(w))
            }
            Self::NormQkvSkip(_, norm, w, _) => {
                format!("{channels}, {}{}{}", heads(h), norm_name(norm), bias(w))
            }
            Self::Causal(..) => format!("{rows}, {}", cut(kv)),
            Self::Attention(..) | Self::Edges { .. } => format!("{rows}, {}", heads(h)),
            Self::SegmentMean(..) => channels,
            Self::NextToken(logits, t) => {
                format!("{}, temperature {t}", counted(logits.elem_count(), "logit"))
            }
        };
        format!("{what}, {}", dtype.as_str())
    }
}

fn norm_name(norm: &Norm) -> &'static str {
    match norm {
        Norm::Rms { .. } => ", RMS norm",
        Norm::Layer { .. } => ", layer norm",
    }
}

fn bias(w: &Linear) -> &'static str {
    if w.bias.is_some() {
        ", with bias"
    } else {
        ", without bias"
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::child::{all, draw};

    #[test]
    fn a_call_names_only_what_it_has() -> anyhow::Result<()> {
        let words = |method: &str, i: usize| {
            let (dtype, sizes, _) = all()[i];
            Ok::<_, anyhow::Error>(draw(method, 3, i)?.words(sizes, dtype))
        };
        assert_eq!(
            words("norm_linear", 0)?,
            "1 row, C = 7, N = 3, RMS norm, without bias, f32"
        );
        assert_eq!(
            words("norm_qkv", 1)?,
            "5 rows, C = 33, 3 heads of 10 channels, 3 heads of keys, layer norm, with bias, f32"
        );
        assert_eq!(words("segment_mean", 4)?, "1 row, C = 7, bf16");
        assert_eq!(words("next_token", 1)?, "98 logits, temperature 0.75, f32");
        for method in levels::OPS {
            let has_n = words(method, 0)?.contains("N = 3");
            let is_of_n =
                method.contains("linear") || ["norm_swiglu", "norm_gelu"].contains(method);
            assert_eq!(has_n, is_of_n, "{method}");
        }
        Ok(())
    }
}
