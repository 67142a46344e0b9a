//! A maximum and a sum that are kept up to date while scores arrive.

use super::canvas::Canvas;

const SCORES: [f64; 9] = [1.0, 2.5, 0.5, 4.0, 3.0, 1.5, 5.0, 2.0, 4.5];
const LEFT: f64 = 130.;
const STEP: f64 = 66.;
/// Height of a score of 1, in pixels.
const UNIT: f64 = 26.;
const FLOOR: f64 = 175.;

/// State of the online softmax after a score.
struct State {
    max: f64,
    /// Factor of the old sum: e^(old maximum − new maximum).
    factor: f64,
    /// Σ e^(score − max) so far.
    sum: f64,
}

/// The states after each score, in one walk over them.
fn walk(scores: &[f64]) -> Vec<State> {
    let [mut max, mut sum] = [f64::NEG_INFINITY, 0.];
    let state = |&score: &f64| {
        let higher = score.max(max);
        let factor = (max - higher).exp();
        sum = sum * factor + (score - higher).exp();
        max = higher;
        State { max, factor, sum }
    };
    scores.iter().map(state).collect()
}

/// Bars of scores under the line of the maximum so far, and the state after each below.
pub fn draw() -> Canvas {
    let mut canvas = Canvas::new(
        "online-softmax",
        272.,
        "Online softmax",
        "Nine scores as bars, and the largest so far as a line above them. Below each score the maximum, the factor by which \
         the old sum shrinks, which is 1 unless the maximum has risen, and the sum.",
    );
    let states = walk(&SCORES);
    for (i, (score, state)) in SCORES.iter().zip(&states).enumerate() {
        let x = LEFT + i as f64 * STEP;
        let rises = state.factor < 1.;
        canvas.rect(
            [x + 14., FLOOR - score * UNIT, STEP - 28., score * UNIT],
            if rises { "b" } else { "a-soft" },
        );
        canvas.text(
            [x + STEP / 2., FLOOR + 18.],
            "small middle",
            format!("{score}"),
        );
        let factor = if rises {
            "small middle strong"
        } else {
            "small middle"
        };
        for (line, (class, value)) in (1..).zip([
            ("small middle", format!("{}", state.max)),
            (factor, format!("{:.3}", state.factor)),
            ("small middle", format!("{:.3}", state.sum)),
        ]) {
            canvas.text(
                [x + STEP / 2., FLOOR + 22. + 22. * f64::from(line)],
                class,
                value,
            );
        }
    }
    for (line, name) in ["score", "max m", "e^(old m − m)", "sum"]
        .into_iter()
        .enumerate()
    {
        let y = FLOOR + 18. + 22. * line as f64 + if line > 0 { 4. } else { 0. };
        canvas.text([8., y], "small", name);
    }
    canvas.line(
        [LEFT, FLOOR],
        [LEFT + SCORES.len() as f64 * STEP, FLOOR],
        "stroke",
    );
    canvas.path(&maximum(&states), "stroke c-line");
    legend(&mut canvas);
    canvas
}

/// Draws the legend of the colours above the bars.
fn legend(canvas: &mut Canvas) {
    const Y: f64 = 14.;
    canvas.line([LEFT, Y - 4.], [LEFT + 14., Y - 4.], "stroke c-line");
    canvas.text([LEFT + 20., Y], "small", "the maximum so far");
    for (x, class, text) in [
        (LEFT + 146., "b", "a new maximum: the old sum shrinks"),
        (LEFT + 390., "a-soft", "no higher: the sum only grows"),
    ] {
        canvas.rect([x, Y - 11., 14., 14.], class);
        canvas.text([x + 20., Y], "small", text);
    }
}

/// The largest so far, as a staircase.
fn maximum(states: &[State]) -> Vec<[f64; 2]> {
    let stair = |(i, state): (usize, &State)| {
        let [x, y] = [LEFT + i as f64 * STEP, FLOOR - state.max * UNIT];
        [[x, y], [x + STEP, y]]
    };
    states.iter().enumerate().flat_map(stair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_colour_has_its_entry_in_the_legend() {
        let figure = draw().figure();
        for text in ["the maximum so far", "a new maximum", "no higher"] {
            assert_eq!(figure.matches(text).count(), 1, "{text}");
        }
    }

    #[test]
    fn the_last_state_is_that_of_the_whole_row() {
        let states = walk(&SCORES);
        let last = &states[SCORES.len() - 1];
        let max = SCORES.into_iter().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = SCORES.iter().map(|score| (score - max).exp()).sum();
        assert_eq!(last.max, max);
        assert!((last.sum - sum).abs() < 1e-12, "{} {sum}", last.sum);
    }
}
