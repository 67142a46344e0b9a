// A decode step that is recorded once and replayed for each token, as a CUDA graph.
//
// The model is small: a row of four numbers stands for the keys and values of a token, and a sum of rows
// stands for attention. What a recording keeps, and what it does not, is the same as in CUDA.

/// Words of the device's memory. An address is the index of a word.
pub type Memory = Vec<usize>;

/// A kernel. It runs on the device, where it finds its arguments and the memory, but nothing of the
/// host's.
pub type Kernel = fn(&mut Memory, &[usize]);

/// A launch, as it is written to a queue: arguments are words. Whether one is a number or an address
/// depends on what the kernel does with it.
pub struct Launch {
    pub kernel: Kernel,
    pub args: Vec<usize>,
}

/// Where launches go.
pub enum Stream<'m> {
    /// The device runs each of them at once.
    Running(&'m mut Memory),
    /// None is run; a graph keeps them.
    Recording(Vec<Launch>),
}

impl Stream<'_> {
    pub fn launch(&mut self, kernel: Kernel, args: &[usize]) {
        match self {
            Stream::Running(memory) => kernel(memory, args),
            Stream::Recording(graph) => {
                let args = args.to_vec();
                graph.push(Launch { kernel, args });
            }
        }
    }
}

/// Runs the launches of a graph, with the arguments that it has kept.
pub fn replay(graph: &[Launch], memory: &mut Memory) {
    for launch in graph {
        (launch.kernel)(memory, &launch.args);
    }
}

/// Words of a row.
pub const WIDTH: usize = 4;

/// Address of the token that a step reads.
pub const TOKEN: usize = 0;

/// Address of the number of tokens in the cache, which is also the position of the next one.
pub const POSITION: usize = 1;

/// Address of the row of the token.
pub const X: usize = 2;

/// Address of the result.
pub const Y: usize = X + WIDTH;

/// Address of the first row of the cache.
pub const CACHE: usize = Y + WIDTH;

/// token, x: computes the row of the token at the address `token`.
fn project(memory: &mut Memory, args: &[usize]) {
    let (token, x) = (memory[args[0]], args[1]);
    for c in 0..WIDTH {
        memory[x + c] = token * (c + 1);
    }
}

// REGION: kernels
/// x, cache, position: copies a row to its place in the cache.
fn append(memory: &mut Memory, args: &[usize]) {
    let (x, cache, position) = (args[0], args[1], memory[args[2]]);
    memory.copy_within(x..x + WIDTH, cache + position * WIDTH);
}

/// cache, y, position: adds up the rows from the first to the one at the position.
fn attend(memory: &mut Memory, args: &[usize]) {
    let (cache, y, position) = (args[0], args[1], memory[args[2]]);
    for c in 0..WIDTH {
        memory[y + c] = (0..=position).map(|row| memory[cache + row * WIDTH + c]).sum();
    }
}

/// position: adds one to it, after all kernels that read it.
fn advance(memory: &mut Memory, args: &[usize]) {
    memory[args[0]] += 1;
}
// END

/// Launches the step of the token at `TOKEN`. The host calls it for each token, or once to record it.
/// `host` is the position as the host knows it when it calls.
pub fn step(stream: &mut Stream, host: usize) {
    // REGION: step
    let _ = host; // a number that a replay would not change
    stream.launch(project, &[TOKEN, X]);
    stream.launch(append, &[X, CACHE, POSITION]);
    stream.launch(attend, &[CACHE, Y, POSITION]);
    stream.launch(advance, &[POSITION]);
    // END
}
