// How the check calls the submission: it decodes from an empty cache, and the memory is sent after each event.

use exercise::Calls;
use exercise::candle_core::Error;
use submission::{CACHE, Memory, POSITION, Stream, TOKEN, WIDTH, replay, step};

/// Rows of the cache.
const ROWS: usize = 100;

/// In words that no kernel has written.
const UNWRITTEN: usize = 1 << 40;

/// A token that the host launches is (0, token), and one that a replay reads (1, token). (2, 0) records a step, and
/// (3, len) forgets all tokens but the first `len`.
type Event = (usize, usize);

pub fn calls(calls: &mut Calls) {
    calls.add("decode", |(events,): (Vec<Event>,)| {
        let mut memory: Memory = vec![UNWRITTEN; CACHE + ROWS * WIDTH];
        memory[POSITION] = 0;
        let mut host = 0; // the position as the host knows it
        let mut graph = vec![];
        let mut seen = vec![];
        for (what, value) in events {
            match what {
                0 => {
                    memory[TOKEN] = value;
                    step(&mut Stream::Running(&mut memory), host);
                    host += 1;
                }
                1 => {
                    memory[TOKEN] = value;
                    replay(&graph, &mut memory);
                    host += 1;
                }
                2 => {
                    let mut stream = Stream::Recording(vec![]);
                    step(&mut stream, host);
                    let Stream::Recording(launches) = stream else {
                        return Err(Error::msg("the stream that should record does not"));
                    };
                    graph = launches;
                }
                _ => {
                    host = value;
                    memory[POSITION] = value;
                }
            }
            let cache: Vec<Vec<usize>> = memory[CACHE..].chunks(WIDTH).map(<[usize]>::to_vec).collect();
            seen.push((memory[CACHE - WIDTH..CACHE].to_vec(), cache));
        }
        Ok(seen)
    });
}
