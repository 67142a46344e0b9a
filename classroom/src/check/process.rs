//! A program with a time limit.

use std::io::{self, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of output that are kept; a program that writes more is told that nobody reads.
const KEPT: u64 = 1 << 20;

/// A program that ended.
#[derive(Debug)]
pub struct Ended {
    /// How; `None` for one that was killed after its time.
    pub status: Option<ExitStatus>,
    /// The beginning of its output.
    pub stdout: String,
    /// The beginning of its complaints.
    pub stderr: String,
}

/// Runs a program to its end, or for `limit` and then kills it.
///
/// # Errors
/// It cannot be started.
pub fn run(mut command: Command, limit: Duration) -> io::Result<Ended> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        let stdout = scope.spawn(|| beginning(out));
        let stderr = scope.spawn(|| beginning(err));
        let end = Instant::now() + limit;
        let status = loop {
            match child.try_wait()? {
                Some(status) => break Some(status),
                None if Instant::now() < end => thread::sleep(Duration::from_millis(5)),
                None => {
                    child.kill()?;
                    child.wait()?;
                    break None;
                }
            }
        };
        Ok(Ended {
            status,
            stdout: stdout.join().unwrap_or_default(),
            stderr: stderr.join().unwrap_or_default(),
        })
    })
}

fn beginning(stream: Option<impl Read>) -> String {
    let mut bytes = vec![];
    let read = stream.map(|stream| stream.take(KEPT).read_to_end(&mut bytes));
    // What was read before an error is all that there is.
    drop(read);
    String::from_utf8_lossy(&bytes).into_owned()
}
