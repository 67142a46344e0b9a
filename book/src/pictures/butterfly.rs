//! Whose numbers are in each lane's sum after each step of a warp's butterfly, from the simulator.

use super::canvas::{Canvas, WIDTH};
use super::warp::{LANES, launch};
use anyhow::Result;
use simt::{Arg, Buffer};

const PTX: &str = include_str!("../../pictures/butterfly.ptx");
/// The bit by which partners' lane numbers differ, step by step.
const BITS: [usize; 5] = [16, 8, 4, 2, 1];
/// The lane that is followed.
const FOLLOWED: usize = 5;
const LEFT: f64 = 110.;
const STEP: f64 = 58.;
const TOP: f64 = 34.;

/// A row of lanes before the first step, and one after each.
pub fn draw() -> Result<Canvas> {
    let mut canvas = Canvas::new(
        "butterfly",
        TOP + 5. * STEP + 28.,
        "A sum over a warp in five steps",
        "32 lanes in a row, six rows. In each step a lane adds the sum of the lane whose number differs in one bit: 16, 8, \
         4, 2, 1 away. One lane's sum is followed back: it holds 2, 4, 8, 16 and at last all 32 numbers.",
    );
    let sums = sums()?;
    // From the end backwards: the lanes whose sums go into that of the followed lane.
    let mut needed = vec![vec![FOLLOWED]];
    for bit in BITS.iter().rev() {
        let last = &needed[needed.len() - 1];
        needed.push(last.iter().flat_map(|&lane| [lane, lane ^ bit]).collect());
    }
    needed.reverse();
    for (step, bit) in BITS.iter().enumerate() {
        arrows(&mut canvas, step, *bit, &needed[step + 1]);
    }
    for (step, sums) in sums.iter().enumerate() {
        row(&mut canvas, step, sums, &needed[step]);
    }
    Ok(canvas)
}

fn x(lane: usize) -> f64 {
    LEFT + (lane as f64 + 0.5) * (WIDTH - LEFT - 10.) / LANES as f64
}

fn y(step: usize) -> f64 {
    TOP + step as f64 * STEP
}

fn arrows(canvas: &mut Canvas, step: usize, bit: usize, needed: &[usize]) {
    for lane in 0..LANES {
        let class = if needed.contains(&lane) {
            "stroke a-line"
        } else {
            "stroke faint"
        };
        for from in [lane, lane ^ bit] {
            canvas.line([x(from), y(step)], [x(lane), y(step + 1)], class);
        }
    }
    let middle = y(step) + STEP / 2. + 4.;
    canvas.text([8., middle], "small", format!("lane xor {bit}"));
}

fn row(canvas: &mut Canvas, step: usize, sums: &[u32], needed: &[usize]) {
    for lane in 0..LANES {
        let class = if needed.contains(&lane) {
            "paper a"
        } else {
            "paper box"
        };
        canvas.circle([x(lane), y(step)], 5., class);
    }
    let held = sums[FOLLOWED].count_ones();
    let plural = if held == 1 { "number" } else { "numbers" };
    canvas.text([8., y(step) + 4.], "strong", format!("{held} {plural}"));
    if step == 0 {
        for lane in (0..LANES).step_by(4) {
            canvas.text([x(lane), y(0) - 12.], "small middle", lane.to_string());
        }
    }
}

/// The sum of each lane before the first step and after each; bit l is the number that lane l began with.
fn sums() -> Result<Vec<Vec<u32>>> {
    let rows = BITS.len() + 1;
    let mut buffers = [Buffer::uninitialised("masks", 4 * LANES * rows)];
    launch(PTX, "butterfly", &mut buffers, &[Arg::Buffer(0)])?;
    Ok(buffers[0]
        .to_u32s()
        .chunks(LANES)
        .map(<[u32]>::to_vec)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_doubles_what_a_lane_holds_and_the_last_has_all() {
        let sums = sums().unwrap();
        assert_eq!(sums.len(), 6);
        for (step, sums) in sums.iter().enumerate() {
            assert!(
                sums.iter().all(|sum| sum.count_ones() == 1 << step),
                "{step}: {sums:?}"
            );
        }
        assert!(sums[5].iter().all(|&sum| sum == u32::MAX));
    }
}
