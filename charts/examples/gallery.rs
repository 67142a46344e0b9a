//! Draws one chart of each kind into a folder: `cargo run -p charts --example gallery -- target/gallery`.

use charts::{Axis, Bar, BarChart, Group, LineChart, Series};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("expected a folder")?;
    std::fs::create_dir_all(&folder)?;
    let folder = std::path::Path::new(&folder);
    for path in charts::line_chart(&folder.join("line"), &line())? {
        println!("{}", path.display());
    }
    for path in charts::bar_chart(&folder.join("bar"), &bars())? {
        println!("{}", path.display());
    }
    Ok(())
}

/// Seven power laws, one in each colour.
fn line() -> LineChart {
    let law = |k: i32| Series {
        name: format!("n to the {k}"),
        points: (1..=64)
            .map(|n| (f64::from(n), f64::from(n).powi(k)))
            .collect(),
    };
    LineChart {
        title: "Powers of n".into(),
        x: Axis::linear("n"),
        y: Axis::log("power (1)"),
        series: (-3..=3).map(law).collect(),
    }
}

/// Three groups of five bars.
fn bars() -> BarChart {
    let bar = |i: u32| {
        let value = 1. + f64::from(i).powf(1.3) / 4.;
        Bar {
            name: format!("bar {}", i + 1),
            value,
            spread: (0.94 * value, 1.1 * value),
            label: format!("{value:.2}×"),
        }
    };
    let group = |name: &str| Group {
        name: name.into(),
        bars: (0..5).map(bar).collect(),
    };
    BarChart {
        title: "Growth".into(),
        axis: Axis::linear("ratio to the first (×)"),
        mark: Some(1.),
        groups: ["short", "of some length", "a name of many words"]
            .map(group)
            .into(),
    }
}
