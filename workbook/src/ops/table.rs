//! Times of ops for a terminal: a block an op, a line a shape, a column a level.

use candle_core::Device;
use results::OpRow;

/// What the columns say.
pub fn legend(device: &Device) -> &'static str {
    match device.is_cpu() {
        true => "Microseconds of one call, median; in brackets how many times faster than level 2.",
        false => {
            "Microseconds of one call on the device, median, without the host's part; in brackets how \
             many times\nfaster than level 2. The host's part is in the JSON."
        }
    }
}

/// All rows, an op after the other.
pub fn all(rows: &[OpRow]) -> String {
    rows.chunk_by(|a, b| (&a.op, &a.dtype) == (&b.op, &b.dtype))
        .map(block)
        .collect()
}

fn block(rows: &[OpRow]) -> String {
    let mut levels: Vec<&str> = vec![];
    for row in rows {
        if !levels.contains(&row.level.as_str()) {
            levels.push(&row.level);
        }
    }
    let title = format!("{}, {}", rows[0].op, rows[0].dtype);
    let mut text = format!("\n{title:32}");
    for level in &levels {
        text += &format!("{level:>20}");
    }
    text.push('\n');
    for cases in rows.chunk_by(|a, b| a.shape == b.shape) {
        text += &format!("  {:30}", cases[0].shape);
        for level in &levels {
            text += &format!("{:>20}", cell(cases, level));
        }
        text.push('\n');
    }
    text
}

/// `12.3 (1.50×)`
fn cell(cases: &[OpRow], level: &str) -> String {
    let find = |level: &str| cases.iter().find(|row| row.level == level);
    let (Some(row), base) = (find(level), find("level2")) else {
        return "–".into();
    };
    match base.filter(|_| level != "level2" && level != "copy") {
        Some(base) => format!("{:.2} ({:.2}×)", row.us(), base.us() / row.us()),
        None => format!("{:.2}", row.us()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_a_shape_and_a_column_a_level() {
        let row = |level: &str, us| OpRow {
            op: "linear".into(),
            shape: "1x2x3".into(),
            level: level.into(),
            dtype: "f32".into(),
            host_us: us,
            ..OpRow::default()
        };
        let text = all(&[row("level1", 8.), row("level2", 4.), row("level3", 2.)]);
        let words: Vec<&str> = text.split_whitespace().collect();
        let expected = "linear, f32 level1 level2 level3 1x2x3 8.00 (0.50×) 4.00 2.00 (2.00×)";
        assert_eq!(words.join(" "), expected);
    }
}
