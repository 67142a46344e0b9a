//! Contents of the written files.

use charts::{
    Axis, Bar, BarChart, BarGrid, BarPanels, Chart, Error, Format, Group, HeatMap, Intensity,
    LineChart, LinePanels, Measured, MeasuredChart, Panel, Roof, RooflineChart, Series, bar_chart,
    bar_grid, line_chart, roofline_chart, svg,
};

fn loss() -> LineChart {
    let curve = |scale: f64| (1..=300).map(move |i| (i as f64, scale * 6.9 / (i as f64).powf(0.3)));
    let series = |name: &str, scale| Series {
        name: name.into(),
        points: curve(scale).collect(),
    };
    LineChart {
        title: "Loss".into(),
        x: Axis::linear("step"),
        y: Axis::log("loss (nats a token)"),
        series: vec![series("training", 1.), series("held out", 1.05)],
        note: "Of one run.".into(),
    }
}

fn speed() -> BarChart {
    let bar = |level: u8, value: f64| Bar {
        name: format!("level {level}"),
        value,
        spread: (value * 0.96, value * 1.07),
        label: format!("{value:.2}× · 3.21 ms"),
    };
    let group = |name: &str| Group {
        name: name.into(),
        bars: vec![bar(1, 1.), bar(2, 1.4)],
    };
    BarChart {
        title: "Speed".into(),
        axis: Axis::linear("speed-up over level 1 (×)"),
        mark: Some(1.),
        groups: ["lm decode", "vit pictures", "gnn graphs"]
            .map(group)
            .into(),
    }
}

#[test]
fn both_files_are_complete_and_there_are_no_others() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut paths = line_chart(&dir.path().join("lm.tiny"), &loss())
        .expect("a chart")
        .to_vec();
    paths.extend(bar_chart(&dir.path().join("speed"), &speed()).expect("a chart"));

    let names: Vec<_> = paths.iter().filter_map(|p| p.file_name()).collect();
    assert_eq!(
        names,
        ["lm.tiny.svg", "lm.tiny.png", "speed.svg", "speed.png"]
    );
    assert_eq!(
        std::fs::read_dir(dir.path()).expect("the folder").count(),
        4
    );
    for (svg, width) in [(&paths[0], 380), (&paths[2], 740)] {
        let text = std::fs::read_to_string(svg).expect("text");
        let begin = format!("<svg width=\"{width}\"");
        assert!(text.starts_with(&begin) && text.trim_end().ends_with("</svg>"));
    }
    for (png, width) in [(&paths[1], 380), (&paths[3], 740)] {
        let picture = image::open(png).expect("a picture").to_rgb8();
        assert_eq!(picture.width(), 2 * width);
        let colours: std::collections::HashSet<_> = picture.pixels().map(|p| p.0).collect();
        let [blue, orange] = [[0, 114, 178], [230, 159, 0]];
        assert!(
            colours.contains(&blue) && colours.contains(&orange),
            "two series are drawn"
        );
    }
}

#[test]
fn units_and_values_are_written_out() {
    let dir = tempfile::tempdir().expect("a folder");
    let [svg, _] = bar_chart(&dir.path().join("speed"), &speed()).expect("a chart");
    let text = std::fs::read_to_string(svg).expect("text");
    for expected in [
        "speed-up over level 1 (×)",
        "1.40× · 3.21 ms",
        "gnn graphs",
        "level 2",
    ] {
        assert!(text.contains(expected), "{expected} is missing");
    }
}

#[test]
fn points_outside_the_axes_are_left_out() {
    let dir = tempfile::tempdir().expect("a folder");
    let stem = dir.path().join("loss");
    let mut chart = loss();
    chart.series[0].points = vec![(1., f64::NAN), (2., 0.), (3., 2.), (4., f64::INFINITY)];
    line_chart(&stem, &chart).expect("a chart of what is left");
}

#[test]
fn an_empty_chart_is_an_error_that_names_it() {
    let dir = tempfile::tempdir().expect("a folder");
    let stem = dir.path().join("empty");
    let mut chart = loss();
    chart
        .series
        .iter_mut()
        .for_each(|series| series.points.clear());
    let error = line_chart(&stem, &chart).expect_err("nothing to draw");
    assert!(matches!(&error, Error::Empty(title) if title == "Loss"));
    assert_eq!(
        std::fs::read_dir(dir.path()).expect("the folder").count(),
        0
    );
}

#[test]
fn a_missing_folder_is_an_error_that_names_the_file() {
    let dir = tempfile::tempdir().expect("a folder");
    let error = bar_chart(&dir.path().join("no/speed"), &speed()).expect_err("no folder");
    assert!(error.to_string().ends_with("speed.svg`: no such folder"));
}

/// A kernel on each side of the ridge at 12 FLOPs per byte, and one without FLOPs.
fn roofline() -> RooflineChart {
    let kernel = |name: &str, value| Intensity {
        name: name.into(),
        value,
    };
    RooflineChart {
        title: "Roofline".into(),
        roof: Roof {
            name: "a machine".into(),
            bandwidth: 4.,
            peak: 48.,
        },
        kernels: vec![
            kernel("tiled", 40.),
            kernel("copy", 0.),
            kernel("norm", 0.5),
        ],
        note: "a ceiling".into(),
    }
}

#[test]
fn kernels_are_on_the_roof_in_ascending_intensity() {
    let svg = roofline_chart(&roofline(), Format::Svg).expect("a chart");
    let text = String::from_utf8(svg).expect("text");
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    for expected in ["1  norm  0.5", "2  tiled  40", "a ceiling"] {
        assert!(lines.contains(&expected), "{expected} is missing");
    }
    assert!(!text.contains("copy"), "it has no place on the axis");
    // One dot in the chart and one in the list, in the colour of the limit.
    for colour in ["#0072B2", "#E69F00"] {
        let dots = text.matches("<circle").count();
        let of_colour = |line: &&str| line.starts_with("<circle") && line.contains(colour);
        let of_colour = text.lines().filter(of_colour).count();
        assert_eq!((dots, of_colour), (4, 2), "{colour}");
    }
    let png = roofline_chart(&roofline(), Format::Png).expect("a chart");
    let picture = image::load_from_memory(&png).expect("a picture");
    assert_eq!(picture.width(), 2 * 740);
}

#[test]
fn a_roofline_without_arithmetic_is_an_error_that_names_it() {
    let mut chart = roofline();
    chart.kernels.retain(|kernel| kernel.name == "copy");
    let error = roofline_chart(&chart, Format::Svg).expect_err("nothing to draw");
    assert!(matches!(&error, Error::Empty(title) if title == "Roofline"));
}

#[test]
fn the_extension_decides_the_format() {
    let of = |name: &str| Format::of(name.as_ref());
    assert_eq!(of("a/b.svg"), Some(Format::Svg));
    assert_eq!(of("b.x.png"), Some(Format::Png));
    assert_eq!([of("b"), of("b.jpg"), of("svg")], [None; 3]);
}

/// Draws a chart as an SVG of this width and at most this height, and returns its text.
fn drawn(chart: &impl Chart, width: u32, most: u32) -> String {
    let dir = tempfile::tempdir().expect("a folder");
    let path = svg(&dir.path().join("chart"), chart).expect("a chart");
    let files = std::fs::read_dir(dir.path()).expect("a folder").count();
    assert_eq!(files, 1, "one SVG and no PNG");
    let text = std::fs::read_to_string(path).expect("text");
    assert_eq!(number(&text, "<svg width=\""), width);
    assert!(number(&text, "\" height=\"") <= most, "{}", &text[..60]);
    text
}

/// The number after the first `key`.
fn number(text: &str, key: &str) -> u32 {
    let (_, rest) = text.split_once(key).expect("the key");
    let (number, _) = rest.split_once('"').expect("a quote");
    number.parse().expect("a number")
}

#[test]
fn a_grid_of_bars_is_half_as_high() {
    let mut chart = speed();
    chart.groups = chart.groups.iter().cycle().take(12).cloned().collect();
    let text = drawn(&BarGrid(&chart), 740, 500);
    for expected in [
        "vit pictures",
        "level 2",
        "1.40× · 3.21 ms",
        "speed-up over level 1 (×)",
    ] {
        assert!(text.contains(expected), "{expected} is missing");
    }
}

#[test]
fn a_map_writes_its_ratios() {
    let chart = HeatMap {
        title: "Small products".into(),
        note: "above 1, level 5 is faster".into(),
        panels: vec![Panel {
            title: "squares".into(),
            columns: vec!["16".into(), "32".into()],
            rows: vec![("1".into(), vec![Some(1.5), None])],
        }],
    };
    let text = drawn(&chart, 380, 200);
    assert!(text.contains("1.50") && text.contains("squares"), "{text}");
}

#[test]
fn measured_rates_are_below_the_roof() {
    let chart = MeasuredChart {
        title: "Rates".into(),
        roof: roofline().roof,
        series: vec!["level 1".into(), "level 5".into()],
        kernels: vec![Measured {
            name: "norm".into(),
            intensity: 0.5,
            rates: vec![Some(0.2), Some(1.8)],
        }],
        note: "of a machine".into(),
    };
    let text = drawn(&chart, 380, 700);
    assert!(
        text.contains("norm\n") && text.contains("reached (TFLOP/s)"),
        "{text}"
    );
    // Level 1 has circles and level 5 diamonds, one each in the legend and in the chart.
    assert_eq!(text.matches("<circle").count(), 4);
    assert_eq!(text.matches("<polygon").count(), 2);
    assert!(text.contains("rotate(270"), "the name stands upright");
}

#[test]
fn the_legend_names_what_is_drawn_and_everything_is_visible() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut chart = speed();
    chart.axis = Axis::log("speed-up over level 1 (×)");
    for group in &mut chart.groups {
        group.bars.push(Bar {
            name: "level 3".into(),
            value: f64::NAN,
            spread: (f64::NAN, f64::NAN),
            label: "not measured".into(),
        });
    }
    let [svg, _] = bar_chart(&dir.path().join("speed"), &chart).expect("a chart");
    let text = std::fs::read_to_string(svg).expect("text");
    assert!(!text.contains("level 3"), "nothing of it is drawn");
    // Level 1's bar starts and ends at the mark; it is in the legend and once in each group.
    let blue = |line: &&str| line.starts_with("<rect") && line.contains("#0072B2");
    let bars: Vec<&str> = text.lines().filter(blue).collect();
    assert_eq!(bars.len(), 4);
    assert!(
        bars.iter().all(|bar| !bar.contains("width=\"0\"")),
        "{bars:?}"
    );
}

#[test]
fn bars_that_cannot_be_drawn_are_an_error() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut chart = speed();
    chart.mark = Some(1.);
    for bar in chart.groups.iter_mut().flat_map(|group| &mut group.bars) {
        bar.value = f64::INFINITY;
    }
    for draw in [bar_chart, bar_grid] {
        let error = draw(&dir.path().join("none"), &chart).expect_err("nothing to draw");
        assert!(matches!(&error, Error::Empty(_)), "{error}");
    }
    assert_eq!(std::fs::read_dir(dir.path()).expect("a folder").count(), 0);
}

#[test]
fn panels_have_one_legend() {
    let dir = tempfile::tempdir().expect("a folder");
    let chart = LinePanels {
        title: "Losses".into(),
        panels: vec![loss(), loss(), loss()],
    };
    let text = drawn(&chart, 740, 700);
    assert_eq!(text.matches("held out").count(), 1);
    assert_eq!(text.matches("loss (nats a token)").count(), 3);
    let none = LinePanels {
        panels: vec![],
        ..chart
    };
    let error = svg(&dir.path().join("none"), &none).expect_err("nothing to draw");
    assert!(matches!(&error, Error::Empty(title) if title == "Losses"));
}

/// Two panels whose longest bars have the longest labels.
fn panels(label: &str) -> BarPanels {
    let bar = |name: &str, value: f64| Bar {
        name: name.into(),
        value,
        spread: (value, value),
        label: label.into(),
    };
    let panel = |name: &str, value| Group {
        name: name.into(),
        bars: vec![bar("level 1, candle", value), bar("level 3, PTX", 0.1)],
    };
    BarPanels {
        title: "Decode".into(),
        axis: Axis::linear("ms per token"),
        panels: vec![panel("a GPU", 2.9), panel("a CPU", 4.31)],
    }
}

/// Bars of one colour as (left, width).
fn bars_of(text: &str, colour: &str) -> Vec<[u32; 2]> {
    let is_bar = |line: &&str| line.starts_with("<rect") && line.contains(colour);
    let bar = |line: &str| [" x=\"", " width=\""].map(|key| number(line, key));
    text.lines().filter(is_bar).map(bar).collect()
}

#[test]
fn the_longest_bar_leaves_room_for_its_label() {
    let ends = ["4.31 ms", "4.31 ms, and twice as long"].map(|label| {
        let text = drawn(&panels(label), 380, 300);
        assert_eq!(text.matches(label).count(), 4);
        let [_, longest] = bars_of(&text, "#0072B2")[..] else {
            panic!("level 1 is in both panels: {text}");
        };
        longest[0] + longest[1]
    });
    // At least 6 pixels per character.
    assert!(ends[0] < 380 - 7 * 6 && ends[1] < 380 - 26 * 6, "{ends:?}");
    assert!(ends[0] > ends[1] + 80, "a short label leaves more room");
}

#[test]
fn panels_share_a_scale_and_the_colours_of_levels() {
    let text = drawn(&panels("x"), 380, 300);
    let [gpu, cpu] = bars_of(&text, "#0072B2")[..] else {
        panic!("level 1 is in both panels: {text}");
    };
    assert_eq!(gpu[0], cpu[0]);
    let ratio = f64::from(gpu[1]) / f64::from(cpu[1]);
    assert!((ratio - 2.9 / 4.31).abs() < 0.01, "{ratio}");
    assert_eq!(bars_of(&text, "#009E73").len(), 2);
    for name in ["level 1, candle", "a GPU", "ms per token"] {
        assert!(text.contains(name), "{name} is missing");
    }
}

#[test]
fn a_bar_without_a_length_is_an_error() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut chart = panels("x");
    chart.panels[0].bars[0].value = f64::NAN;
    let error = svg(&dir.path().join("none"), &chart).expect_err("nothing to draw");
    assert!(matches!(&error, Error::Empty(title) if title == "Decode"));
}
