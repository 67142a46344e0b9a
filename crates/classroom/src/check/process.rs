//! A program with a time limit.

use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Bytes of an output's beginning that are kept, and of its end.
const KEPT: usize = 1 << 19;

/// How long after the end of a program its output may still come: something that it started may hold it open.
const STRAGGLERS: Duration = Duration::from_millis(500);

/// A program that ended.
#[derive(Debug)]
pub struct Ended {
    /// How; `None` for one that was killed after its time.
    pub status: Option<ExitStatus>,
    /// The beginning and the end of its output.
    pub stdout: String,
    /// Those of its complaints.
    pub stderr: String,
}

/// Runs a program to its end, or for `limit` and then kills it, with all that it has started. `input` is what it can
/// read at once; its input ends only when somebody ends this process.
///
/// # Errors
/// It cannot be started.
pub fn run(mut command: Command, limit: Duration, input: &str) -> io::Result<Ended> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn()?;
    let mut stdin = child.stdin.take();
    // One that has ended already reads nothing, which is no fault.
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

/// How the program ended; `None` if it had to be killed.
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

/// Kills what the program has started and left, and the program if it still runs. On Windows nothing leads from a
/// program that has ended to those that it started: they are killed only if it still runs.
fn end_group(child: &Child) {
    let mut kill = kill(child.id());
    kill.stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // That nobody is left is the rule.
    let _ = kill.status();
}

/// The system's program that ends a group of processes, by its leader's number.
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

/// A stream that is read to its end, so that who writes never waits.
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

    /// What has come until the stream's end, or until `last`.
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

/// Keeps the beginning and the end of a stream; what it was before an error is all that there is.
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
