// How the check calls the submission: it decodes from an empty cache, and the memory is sent after each event.

use exercise::Calls;
use exercise::candle_core::{Error, Result};
use submission::{CACHE, Kernel, Launch, Memory, POSITION, Stream, TOKEN, WIDTH, X, Y, replay, step};

/// Rows of the cache.
const ROWS: usize = 100;

/// In words that no kernel has written.
const UNWRITTEN: usize = 1 << 40;

/// A token that the host launches is (0, token), and one that a replay reads (1, token). (2, 0) records a step, and
/// (3, len) forgets all tokens but the first `len`.
type Event = (usize, usize);

type Step = fn(&mut Stream, usize);

pub fn calls(calls: &mut Calls) {
    calls.add("decode", |(events,): (Vec<Event>,)| {
        let mut memory = empty();
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
                2 => graph = recorded(step, host)?,
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
    calls.add("kept", |(replays,): (usize,)| kept(step, replays));
    calls.add("kept_by_starter", |(replays,): (usize,)| kept(starter, replays));
}

/// The memory of an empty cache.
fn empty() -> Memory {
    let mut memory = vec![UNWRITTEN; CACHE + ROWS * WIDTH];
    memory[POSITION] = 0;
    memory
}

/// The launches of a step that is recorded at a position.
fn recorded(step: Step, position: usize) -> Result<Vec<Launch>> {
    let mut stream = Stream::Recording(vec![]);
    step(&mut stream, position);
    match stream {
        Stream::Recording(launches) => Ok(launches),
        Stream::Running(_) => Err(Error::msg("the stream that should record does not")),
    }
}

/// The arguments that differ between recordings at the positions 0 and 1, and the rows of the cache that no replay of the
/// first one writes.
fn kept(step: Step, replays: usize) -> Result<(usize, usize)> {
    let (graph, other) = (recorded(step, 0)?, recorded(step, 1)?);
    let arguments = |graph: &[Launch]| -> Vec<usize> { graph.iter().flat_map(|launch| launch.args.clone()).collect() };
    let both = arguments(&graph).into_iter().zip(arguments(&other));
    let changed = both.filter(|(one, other)| one != other).count();
    let mut memory = empty();
    for token in 0..replays {
        memory[TOKEN] = token;
        replay(&graph, &mut memory);
    }
    let rows = memory[CACHE..].chunks(WIDTH).take(replays);
    Ok((changed, rows.filter(|row| row.contains(&UNWRITTEN)).count()))
}

/// The starter's step, whose launches keep the host's position.
fn starter(stream: &mut Stream, host: usize) {
    let project: Kernel = |memory, args| (0..WIDTH).for_each(|c| memory[args[1] + c] = memory[args[0]] * (c + 1));
    let append: Kernel = |memory, args| memory.copy_within(args[0]..args[0] + WIDTH, args[1] + args[2] * WIDTH);
    let attend: Kernel = |memory, args| {
        for c in 0..WIDTH {
            memory[args[1] + c] = (0..=args[2]).map(|row| memory[args[0] + row * WIDTH + c]).sum();
        }
    };
    stream.launch(project, &[TOKEN, X]);
    stream.launch(append, &[X, CACHE, host]);
    stream.launch(attend, &[CACHE, Y, host]);
}
