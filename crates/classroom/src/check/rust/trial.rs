//! Runs the two programs against each other.

use std::io;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use data::BadInput;
use sandbox::{Limits, Outcome};

use super::compile::Programs;

/// Time that a check has after its submission's has ended.
pub const TO_JUDGE: Duration = Duration::from_secs(5);

/// How both programs ended.
pub struct Trial {
    pub submission: Outcome,
    pub judge: Outcome,
}

impl Trial {
    /// Runs the submission with a time limit, and the check that calls it through pipes.
    pub fn run(programs: &Programs, limit: Duration, seed: u64) -> Result<Self, BadInput> {
        let bad = |e: io::Error| BadInput::new("a submission", "a program that can be started", e);
        let limits = |program: &Path, wall| {
            let limits = Limits::new(wall).readable(program).open_files(64);
            // More than the allocator of `exercise` gives, so that it is the one that refuses.
            limits.memory(4 << 30).file_size(0)
        };
        let mut command = quiet(&programs.submission);
        // candle's errors need a backtrace to name their location; a panic names it anyway.
        command.envs([("RUST_BACKTRACE", "0"), ("RUST_LIB_BACKTRACE", "1")]);
        let mut submission =
            sandbox::spawn(command, &limits(&programs.submission, limit)).map_err(bad)?;
        let (Some(requests), Some(answers)) = (submission.stdin.take(), submission.stdout.take())
        else {
            return Err(bad(io::ErrorKind::BrokenPipe.into()));
        };
        let mut judge = quiet(&programs.judge);
        judge.args([seed.to_string(), submission.id().to_string()]);
        let mut of_judge = limits(&programs.judge, limit + TO_JUDGE);
        // The kernel tells there how much memory the submission has had.
        if Path::new("/proc").is_dir() {
            of_judge = of_judge.readable("/proc");
        }
        let judge = sandbox::spawn_with(judge, answers.into(), requests.into(), &of_judge);
        let judge = judge.map_err(bad)?;
        thread::scope(|scope| {
            let waits = scope.spawn(|| judge.wait());
            let submission = submission.wait().map_err(bad)?;
            let panicked = || Err(io::ErrorKind::Other.into());
            let judge = waits.join().unwrap_or_else(|_| panicked()).map_err(bad)?;
            Ok(Self { submission, judge })
        })
    }

    /// How a check ended that gave no verdict.
    pub fn of_judge(&self) -> String {
        let stderr = self.judge.stderr.text();
        // A panic's first line names its place, and the second says why.
        let panic = stderr.find("panicked at ").map_or("", |at| &stderr[at..]);
        let lines: Vec<&str> = panic.lines().take(2).collect();
        match self.judge.killed {
            Some(_) => "no end".into(),
            None if lines.is_empty() => format!("none ({})", self.judge.status),
            None => lines.join(" "),
        }
    }
}

/// A program in its own folder, without variables but for one that Windows needs.
fn quiet(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    command.envs(std::env::var_os("SystemRoot").map(|root| ("SystemRoot", root)));
    command.current_dir(program.parent().unwrap_or(Path::new(".")));
    command
}

#[cfg(unix)]
#[test]
fn a_submission_gets_no_variable() {
    let printed = quiet(Path::new("/usr/bin/env")).output().unwrap();
    assert!(printed.status.success() && printed.stdout.is_empty());
}
