// Which scores are computed, and which of them are tested.

use std::error::Error;

use exercise::{Fresh, Submission, Verdict, compare, expect};

pub fn check(fresh: &mut Fresh, submission: &mut Submission) -> Verdict {
    let keys: usize = submission.call("keys", ())?;
    for query in [0, 1, 31, 32, 63, fresh.below(500)] {
        let row: Vec<bool> = submission.call("row", (query, query + 70))?;
        for (key, found) in row.into_iter().enumerate() {
            let what = format!("is_visible({query}, {key})");
            expect(found == (key <= query), what, key <= query, found)?;
        }
    }
    // Queries of a prompt, after a cache, one at a time, and anywhere.
    let mut all = vec![];
    for (start, end, queries) in [(0, 256, 64), (0, 100, 64), (0, 128, 16), (45, 145, 20), (310, 330, 1)] {
        let first = (start..end).step_by(queries);
        all.extend(first.map(|first| (first, end.min(first + queries))));
    }
    for _ in 0..20 {
        let start = fresh.below(400);
        all.push((start, start + 1 + fresh.below(100)));
    }
    for (start, end) in all {
        one(submission, start, end, keys)?;
    }
    compare_tiles(submission, keys)
}

/// The tiles of a prompt, next to those of a kernel that computes all scores and tests each.
fn compare_tiles(submission: &mut Submission, keys: usize) -> Verdict {
    let (tokens, queries) = (4096, 64);
    let (mut visits, mut tests) = (0, 0);
    for start in (0..tokens).step_by(queries) {
        let visited = one(submission, start, start + queries, keys)?;
        visits += visited.len();
        tests += visited.iter().filter(|(_, is_masked)| *is_masked).count();
    }
    let all = tokens / queries * (tokens / keys);
    let counters = [("tiles visited", all, visits), ("tiles whose scores are tested", all, tests)];
    compare("4096 queries in blocks of 64, 4096 keys", "all tiles", &counters);
    Ok(())
}

/// The visits of the queries start..end, which are right: first key of the tile, and whether it is masked.
fn one(
    submission: &mut Submission,
    start: usize,
    end: usize,
    keys: usize,
) -> Result<Vec<(usize, bool)>, Box<dyn Error>> {
    let visited: Vec<(usize, bool)> = submission.call("visit", (start, end))?;
    let of = format!("visit({start}..{end})");
    for (i, &(key, is_masked)) in visited.iter().enumerate() {
        let tile = format!("{of}: the tile of the keys {key}..{}", key + keys);
        expect(key % keys == 0, &tile, format!("a multiple of {keys} as first key"), key)?;
        let twice = visited[..i].iter().any(|&(k, _)| k == key);
        expect(!twice, &tile, "one visit", "a second one")?;
        let last = end - 1;
        expect(key <= last, &tile, format!("no visit: query {last}, the last one, sees none of it"), "one")?;
        // The first query sees the least.
        let seen_by_all = key + keys <= start + 1;
        let why = format!("masked: query {start} does not see key {}", key + keys - 1);
        expect(is_masked || seen_by_all, &tile, why, "whole")?;
        let why = "whole: every query sees every key of it";
        expect(!is_masked || !seen_by_all, &tile, why, "masked")?;
    }
    let missing = (0..end).step_by(keys).find(|first| visited.iter().all(|(key, _)| key != first));
    let found = missing.map_or(String::new(), |key| format!("none of the tile at key {key}"));
    let needed = end.div_ceil(keys);
    expect(missing.is_none(), of, format!("a visit of each of {needed} tiles"), found)?;
    Ok(visited)
}
