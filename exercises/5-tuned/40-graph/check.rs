// Tokens launched by the host and tokens of a replay, in turn, with the cache that the text so far must give.

use exercise::{Fresh, Submission, Verdict, compare, expect};

type Event = (usize, usize);

/// Each sum, and the rows of the cache.
type Seen = (Vec<usize>, Vec<Vec<usize>>);

pub fn check(fresh: &mut Fresh, submission: &mut Submission) -> Verdict {
    // A text of the host alone, which also a step with a number for its position reads.
    held(submission, &[(0, 5), (0, 3), (0, 8)])?;
    // A recording at the start, and two tokens.
    held(submission, &[(2, 0), (1, 5), (1, 3)])?;
    for _ in 0..10 {
        let mut plan = vec![];
        let mut len = 0;
        for part in 0..4 {
            for _ in 0..fresh.below(4) {
                plan.push((0, fresh.below(1000)));
                len += 1;
            }
            if part % 2 == 0 {
                plan.push((2, 0));
            }
            for _ in 0..3 + fresh.below(8) {
                plan.push((1, fresh.below(1000)));
                len += 1;
            }
            if part > 0 {
                len = fresh.below(len);
                plan.push((3, len));
                plan.push((1, fresh.below(1000)));
                len += 1;
            }
        }
        held(submission, &plan)?;
    }
    compare_kept(submission)
}

/// Compares with the starter, whose recording keeps a position.
fn compare_kept(submission: &mut Submission) -> Verdict {
    let replays = 10usize;
    let before: (usize, usize) = submission.call("kept_by_starter", (replays,))?;
    let own: (usize, usize) = submission.call("kept", (replays,))?;
    let counters = [
        ("arguments that keep the recording's position", before.0, own.0),
        ("rows of the cache that no replay wrote", before.1, own.1),
    ];
    compare(&format!("{replays} replays of a step recorded at position 0"), "starter", &counters);
    Ok(())
}

/// The step's row of a token.
fn row(token: usize) -> Vec<usize> {
    (1..=4).map(|c| token * c).collect()
}

fn held(submission: &mut Submission, plan: &[Event]) -> Verdict {
    let found: Vec<Seen> = submission.call("decode", (plan.to_vec(),))?;
    expect(found.len() == plan.len(), "events", plan.len(), found.len())?;
    let mut text = vec![];
    let mut replays = 0;
    let mut recorded_at = 0;
    for (&(what, value), (y, cache)) in plan.iter().zip(found) {
        let place = text.len();
        let event = match what {
            0 => format!("a step that the host launches at position {place}"),
            1 => {
                replays += 1;
                format!("replay {replays}, at position {place}, of the step recorded at position {recorded_at}")
            }
            2 => {
                (replays, recorded_at) = (0, place);
                continue;
            }
            _ => {
                text.truncate(value);
                continue;
            }
        };
        text.push(value);
        for (at, &token) in text.iter().enumerate() {
            let (expected, found) = (row(token), &cache[at]);
            let what = format!("{event}: row {at} of the cache");
            expect(*found == expected, what, words(&expected), words(found))?;
        }
        let expected = row(text.iter().sum());
        expect(y == expected, format!("{event}: sum of {} rows", text.len()), words(&expected), words(&y))?;
    }
    Ok(())
}

/// Words, those that nobody wrote by name.
fn words(row: &[usize]) -> String {
    if row.iter().all(|&word| word == 1 << 40) {
        return "words that no kernel wrote".into();
    }
    format!("{row:?}")
}
