//! Most probable classes.

use candle_core::Tensor;
use models::Result;

use crate::tensors::finite;

/// Returns the `count` most probable classes of each row of `logits` (B, classes), in descending order, with
/// their softmax probabilities; among equals, the lower class comes first.
pub fn top(logits: &Tensor, count: usize) -> Result<Vec<Vec<(usize, f64)>>> {
    let (_, classes) = logits.dims2()?;
    let values = finite("logits", logits)?;
    let rows = values.chunks_exact(classes);
    Ok(rows.map(|row| top_of_row(row, count)).collect())
}

fn top_of_row(row: &[f32], count: usize) -> Vec<(usize, f64)> {
    let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let exp: Vec<f64> = row.iter().map(|x| f64::from(x - max).exp()).collect();
    let sum: f64 = exp.iter().sum();
    let mut classes: Vec<(usize, f64)> = exp.iter().map(|e| e / sum).enumerate().collect();
    classes.sort_by(|a, b| b.1.total_cmp(&a.1));
    classes.truncate(count);
    classes
}

/// Formats one line per class: `  98.31%  arrow`. A label of a file cannot act on a terminal.
pub fn lines(classes: &[(usize, f64)], labels: &[String]) -> String {
    let label = |class: usize| data::plain_line(&labels[class]);
    let line = |&(class, p): &(usize, f64)| format!("  {:6.2}%  {}\n", 100. * p, label(class));
    classes.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::Device;

    #[test]
    fn probabilities_are_a_softmax() -> Result<()> {
        let logits = Tensor::new(&[[0f32, 3f32.ln(), 0.], [1000., 0., 1000.]], &Device::Cpu)?;
        let rows = top(&logits, 2)?;
        let [(first, p), (second, q)] = rows[0][..] else {
            panic!("two classes: {rows:?}")
        };
        assert_eq!((first, second), (1, 0));
        assert!((p - 0.6).abs() < 1e-6 && (q - 0.2).abs() < 1e-6, "{rows:?}");
        assert_eq!(rows[1], [(0, 0.5), (2, 0.5)]);
        let labels = ["a", "b", "c"].map(String::from);
        assert_eq!(lines(&rows[1], &labels), "   50.00%  a\n   50.00%  c\n");
        let labels = ["\u{1b}[2J\n", "b", "c"].map(String::from);
        assert_eq!(lines(&rows[1][..1], &labels), "   50.00%  \\u{1b}[2J\\n\n");
        Ok(())
    }

    #[test]
    fn logits_must_be_finite() -> Result<()> {
        let logits = Tensor::new(&[[0., f32::NAN]], &Device::Cpu)?;
        assert!(matches!(top(&logits, 1), Err(models::Error::Input(_))));
        Ok(())
    }
}
