//! Processes where there is neither a process group nor a limit of the system's.

use std::io;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::Limits;
use crate::run::{Ended, Killed};

pub fn prepare(_: &mut Command, _: &Limits) -> io::Result<()> {
    Ok(())
}

pub fn limit_own_memory(_: u64) -> io::Result<()> {
    Ok(())
}

/// Nothing here ends a program with this process.
pub fn watch(_: &Child) -> io::Result<Option<Child>> {
    Ok(None)
}

pub fn has_ended(child: &mut Child) -> io::Result<bool> {
    Ok(child.try_wait()?.is_some())
}

/// Kills the program and its children; those of a program that has ended cannot be found and stay.
pub fn end(child: &mut Child) -> io::Result<Ended> {
    if child.try_wait()?.is_none() {
        let mut kill = Command::new("taskkill");
        kill.args(["/F", "/T", "/PID", &child.id().to_string()]);
        kill.stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        // The next line kills what is left.
        let _ = kill.status();
        child.kill()?;
    }
    Ok(Ended {
        status: child.wait()?,
        cpu: Duration::ZERO,
        peak_memory: 0,
    })
}

pub fn limit_of(_: ExitStatus, _: Duration, _: &Limits) -> Option<Killed> {
    None
}
