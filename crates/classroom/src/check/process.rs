//! Programs with a time limit.

use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Bytes kept at the start of an output, and at its end.
const KEPT: usize = 1 << 19;

/// Time to wait for output after the program's end; a child process may keep the stream open.
const STRAGGLERS: Duration = Duration::from_millis(500);

/// A program that ended.
#[derive(Debug)]
pub struct Ended {
    /// The exit status; `None` if it was killed at the time limit.
    pub status: Option<ExitStatus>,
    /// Start and end of its stdout.
    pub stdout: String,
    /// Start and end of its stderr.
    pub stderr: String,
}

/// Runs a program until it ends or `limit` is over, and kills it then with its child processes. It can read
/// `input` at once; its stdin ends only with this process.
///
/// # Errors
/// The program cannot be started.
pub fn run(mut command: Command, limit: Duration, input: &str) -> io::Result<Ended> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn()?;
    let mut stdin = child.stdin.take();
    // A program that has already ended reads nothing, which is fine.
    let _ = stdin
        .as_mut()
        .map(|stdin| stdin.write_all(input.as_bytes()));
    let stdout = Output::of(child.stdout.take());
    let stderr = Output::of(child.stderr.take());
    let status = wait(&mut child, limit)?;
    end_group(&child);
    let last = Instant::now() + STRAGGLERS;
    Ok(Ended {
        status,
        stdout: stdout.text(last),
        stderr: stderr.text(last),
    })
}

/// Waits for the program's end; `None` if it had to be killed.
fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let end = Instant::now() + limit;
    loop {
        match child.try_wait()? {
            Some(status) => return Ok(Some(status)),
            None if Instant::now() < end => thread::sleep(Duration::from_millis(5)),
            None => break,
        }
    }
    end_group(child);
    child.kill()?;
    child.wait()?;
    Ok(None)
}

/// Kills the program, if it still runs, and its remaining child processes. On Windows, children of a program
/// that has ended cannot be found and stay.
fn end_group(child: &Child) {
    let mut kill = kill(child.id());
    kill.stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // Usually no process is left.
    let _ = kill.status();
}

/// The command that kills a process group, by its leader's process id.
fn kill(leader: u32) -> Command {
    let mut command;
    if cfg!(windows) {
        command = Command::new("taskkill");
        command.args(["/F", "/T", "/PID", &leader.to_string()]);
    } else {
        command = Command::new("sh");
        command.args(["-c", &format!("kill -s KILL -- -{leader}")]);
    }
    command
}

/// A stream that a thread reads to its end, so that the writer never blocks.
struct Output(Arc<Mutex<Vec<u8>>>, JoinHandle<()>);

impl Output {
    fn of(stream: Option<impl Read + Send + 'static>) -> Self {
        let kept = Arc::new(Mutex::new(vec![]));
        let bytes = Arc::clone(&kept);
        let reader = thread::spawn(move || {
            if let Some(stream) = stream {
                ends(stream, &bytes);
            }
        });
        Self(kept, reader)
    }

    /// Returns the output up to the stream's end or the time `last`.
    fn text(&self, last: Instant) -> String {
        while !self.1.is_finished() && Instant::now() < last {
            thread::sleep(Duration::from_millis(1));
        }
        let bytes = self.0.lock();
        bytes.map_or_else(
            |_| String::new(),
            |bytes| String::from_utf8_lossy(&bytes).into_owned(),
        )
    }
}

/// Keeps the start and end of a stream, up to a read error.
fn ends(mut stream: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut chunk = [0; 1 << 13];
    while let Ok(count @ 1..) = stream.read(&mut chunk) {
        let Ok(mut bytes) = kept.lock() else { return };
        bytes.extend(&chunk[..count]);
        if bytes.len() > 4 * KEPT {
            let end = bytes.len() - KEPT;
            bytes.drain(KEPT..end);
        }
    }
}
