//! The first microseconds of a decode step, launch by launch and as a graph, from recorded times.

use super::canvas::{Canvas, WIDTH};
use anyhow::{Context, Result};
use results::{Results, Row};

/// Microseconds that are shown.
const SHOWN: f64 = 45.;
const LEFT: f64 = 76.;
const BAR: f64 = 22.;

/// A step's mean time from kernel to kernel, microseconds.
struct Pace {
    /// By the host's clock: the device waits for the host.
    launch_by_launch: f64,
    /// By the device's clock.
    graph: f64,
}

/// Host and device above each other, twice.
pub fn draw(results: &Results) -> Result<Canvas> {
    let pace = Pace {
        launch_by_launch: pace(results, "level5", |row| Some(row.median_ms))?,
        graph: pace(results, "level5.graph", |row| row.device_ms)?,
    };
    let mut canvas = Canvas::new(
        "replay",
        250.,
        "A decode step, launch by launch and as a graph",
        "Two time lines. Launch by launch, the host writes a launch for each kernel, and the device waits between kernels. As a \
         graph, the host launches once and the kernels follow each other.",
    );
    let per = |us: f64, each: &str| format!("{} µs {each}", crate::format::three_digits(us));
    lines(
        &mut canvas,
        0.,
        "launch by launch",
        &per(pace.launch_by_launch, "from kernel to kernel"),
    );
    let mut at = 0.;
    while at < SHOWN {
        bar(
            &mut canvas,
            32.,
            [at, at + 0.9 * pace.launch_by_launch],
            "box a-soft",
        );
        let begin = at + pace.launch_by_launch;
        bar(&mut canvas, 62., [begin, begin + pace.graph], "b");
        at += pace.launch_by_launch;
    }
    lines(
        &mut canvas,
        110.,
        "as a graph",
        &per(pace.graph, "from kernel to kernel"),
    );
    bar(
        &mut canvas,
        142.,
        [0., 0.9 * pace.launch_by_launch],
        "box a-soft",
    );
    let mut at = pace.launch_by_launch;
    while at < SHOWN {
        bar(&mut canvas, 172., [at, at + 0.96 * pace.graph], "b");
        at += pace.graph;
    }
    axis(&mut canvas, 216.);
    Ok(canvas)
}

/// The mean time of a kernel in a decode step of `readme` in bf16.
fn pace(results: &Results, level: &str, ms: impl Fn(&Row) -> Option<f64>) -> Result<f64> {
    let key = format!("lm.readme.decode.bf16.{level}");
    let row: &Row = results
        .rows
        .iter()
        .find(|row| row.key() == key)
        .with_context(|| format!("expected a recorded row `{key}`, found none"))?;
    let launches = row
        .launches
        .with_context(|| format!("{key}: expected `launches`, found null"))?;
    let ms = ms(row).with_context(|| format!("{key}: expected `device_ms`, found null"))?;
    Ok(ms * 1e3 / launches as f64)
}

fn x(us: f64) -> f64 {
    LEFT + us * (WIDTH - LEFT - 12.) / SHOWN
}

fn bar(canvas: &mut Canvas, y: f64, [begin, end]: [f64; 2], class: &str) {
    let end = end.min(SHOWN);
    if begin < end {
        canvas.rect([x(begin), y, x(end) - x(begin), BAR], class);
    }
}

fn lines(canvas: &mut Canvas, top: f64, title: &str, pace: &str) {
    canvas.text([8., top + 20.], "strong", title);
    canvas.text([WIDTH - 12., top + 20.], "end", pace);
    for (name, y) in [("host", 32.), ("device", 62.)] {
        canvas.text([8., top + y + 15.], "small", name);
        canvas.line(
            [x(0.), top + y + BAR],
            [x(SHOWN), top + y + BAR],
            "stroke faint",
        );
    }
}

fn axis(canvas: &mut Canvas, y: f64) {
    canvas.line([x(0.), y], [x(SHOWN), y], "stroke");
    for us in (0..=SHOWN as usize).step_by(5) {
        canvas.line([x(us as f64), y], [x(us as f64), y + 5.], "stroke");
        canvas.text([x(us as f64), y + 20.], "small middle", us.to_string());
    }
    canvas.text([8., y + 20.], "small", "µs");
}
