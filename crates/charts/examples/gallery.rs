//! Draws one chart of each kind into a folder: `cargo run -p charts --example gallery -- target/gallery`.

use charts::{Axis, Bar, BarChart, Format, Group, LineChart, Series};
use charts::{Intensity, Roof, RooflineChart};

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
    for (name, format) in [("roofline.svg", Format::Svg), ("roofline.png", Format::Png)] {
        let path = folder.join(name);
        data::write_atomically(&path, charts::roofline_chart(&roofline(), format)?)?;
        println!("{}", path.display());
    }
    Ok(())
}

/// Kernels with distant and with close intensities, on both sides of the ridge.
fn roofline() -> RooflineChart {
    let kernel = |(i, value): (usize, f64)| Intensity {
        name: format!("kernel_of_a_long_name_bf16_level{i}"),
        value,
    };
    let values = [
        0.06, 0.12, 0.125, 0.126, 0.13, 0.5, 3., 11., 12.5, 13., 200.,
    ];
    RooflineChart {
        title: "Kernels on the roof of a machine".into(),
        roof: Roof {
            name: "a machine".into(),
            bandwidth: 4.,
            peak: 48.,
        },
        kernels: values.into_iter().enumerate().map(kernel).collect(),
        note: "What is drawn is the ceiling.".into(),
    }
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
        note: String::new(),
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
