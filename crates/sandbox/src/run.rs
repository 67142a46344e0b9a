use std::io;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::output::{Kept, Reader};
use crate::{Limits, process, warn_once};

/// Time to wait for output after the program's end; without a sandbox another process may keep the stream open.
const STRAGGLERS: Duration = Duration::from_millis(500);

/// Why a program was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Killed {
    /// It still ran at the end of its wall-clock time.
    Time,
    /// It used up its CPU time.
    Cpu,
    /// It wrote a file that is too large.
    FileSize,
}

/// A program that ended.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Its exit status.
    pub status: ExitStatus,
    /// The limit that ended it, if one did. A program that gets no more memory ends by itself.
    pub killed: Option<Killed>,
    /// CPU time of the program and of those of its children that it waited for; zero where it cannot be read.
    pub cpu: Duration,
    /// Wall-clock time.
    pub wall: Duration,
    /// Maximum of its resident bytes, and at least what this process had when it started the program; zero where it
    /// cannot be read.
    pub peak_memory: u64,
    /// Its stdout, unless the caller took that.
    pub stdout: Kept,
    /// Its stderr.
    pub stderr: Kept,
}

impl Outcome {
    /// Whether it ended by itself and successfully.
    pub fn success(&self) -> bool {
        self.killed.is_none() && self.status.success()
    }
}

/// A program that runs. Dropped, it is killed.
#[derive(Debug)]
pub struct Running {
    child: Option<Child>,
    /// Kills it if this process ends before it.
    watcher: Option<Child>,
    /// Its stdin, for the caller to take.
    pub stdin: Option<ChildStdin>,
    /// Its stdout, for the caller to take; otherwise [`wait`](Self::wait) reads it.
    pub stdout: Option<ChildStdout>,
    limits: Limits,
    begin: Instant,
}

/// Starts a program in the sandbox, or with limits alone where there is none, after a warning. Its stdin and stdout are
/// pipes. It gets the variables that `command` has, so a caller that has secrets in its environment clears it.
///
/// # Errors
/// The program or a folder of the limits does not exist, or it cannot be started.
pub fn spawn(command: Command, limits: &Limits) -> io::Result<Running> {
    spawn_with(command, Stdio::piped(), Stdio::piped(), limits)
}

/// Starts a program with other streams than pipes of its own, such as those of a program that it talks to.
///
/// # Errors
/// As [`spawn`].
pub fn spawn_with(
    mut command: Command,
    stdin: Stdio,
    stdout: Stdio,
    limits: &Limits,
) -> io::Result<Running> {
    if limits.confined {
        warn_once();
    }
    command.stdin(stdin).stdout(stdout).stderr(Stdio::piped());
    process::prepare(&mut command, limits)?;
    let begin = Instant::now();
    let mut child = command.spawn()?;
    let watched = process::watch(&child);
    let mut running = Running {
        stdin: child.stdin.take(),
        stdout: child.stdout.take(),
        child: Some(child),
        watcher: None,
        limits: limits.clone(),
        begin,
    };
    running.watcher = watched?;
    Ok(running)
}

/// Runs a program without input to its end, or to the end of its time.
///
/// # Errors
/// As [`spawn`].
pub fn run(command: Command, limits: &Limits) -> io::Result<Outcome> {
    spawn(command, limits)?.wait()
}

impl Running {
    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }

    /// Closes its stdin, waits for its end and kills what is left of its process group.
    ///
    /// # Errors
    /// The system cannot wait for it.
    pub fn wait(mut self) -> io::Result<Outcome> {
        let Some(mut child) = self.child.take() else {
            return Err(io::ErrorKind::NotFound.into());
        };
        drop(self.stdin.take());
        let stdout = Reader::new(self.stdout.take(), self.limits.output);
        let stderr = Reader::new(child.stderr.take(), self.limits.output);
        let end = self.begin + self.limits.wall;
        let mut pause = Duration::from_micros(200);
        let mut late = false;
        while !process::has_ended(&mut child)? {
            if Instant::now() >= end {
                late = true;
                break;
            }
            thread::sleep(pause);
            pause = (2 * pause).min(Duration::from_millis(5));
        }
        self.dismiss();
        let ended = process::end(&mut child)?;
        let wall = self.begin.elapsed();
        let last = Instant::now() + STRAGGLERS;
        let by_system = process::limit_of(ended.status, ended.cpu, &self.limits);
        let killed = if late { Some(Killed::Time) } else { by_system };
        Ok(Outcome {
            status: ended.status,
            killed,
            cpu: ended.cpu,
            wall,
            peak_memory: ended.peak_memory,
            stdout: stdout.end(last),
            stderr: stderr.end(last),
        })
    }
}

impl Running {
    /// Ends the watcher before the program's number may become another's.
    fn dismiss(&mut self) {
        if let Some(mut watcher) = self.watcher.take() {
            // It may have been killed by hand.
            let _ = watcher.kill().and_then(|()| watcher.wait());
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.dismiss();
        if let Some(mut child) = self.child.take() {
            // There is nobody to tell.
            let _ = process::end(&mut child);
        }
    }
}

/// The system's account of a process that ended.
pub struct Ended {
    pub status: ExitStatus,
    pub cpu: Duration,
    pub peak_memory: u64,
}
