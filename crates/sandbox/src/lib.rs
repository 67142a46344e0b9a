//! Runs a program that is not trusted: a submission, or the compiler that reads one.
//!
//! [`run`] starts a [`Command`](std::process::Command) with [`Limits`] and returns its [`Outcome`]; [`spawn`] leaves
//! its standard input and output to the caller. What holds while it runs:
//!
//! | | Linux from 6.2, x86-64 and AArch64 | other Unix | elsewhere |
//! |:--|:--|:--|:--|
//! | wall-clock time; output that is kept | yes | yes | yes |
//! | CPU time, open files, size of a file | yes | yes | no |
//! | address space | yes | not on macOS, which refuses | no |
//! | the whole process group is killed at the end, and with this process | nothing can leave it | yes | no |
//! | files: reads what is listed, writes one folder; no owner, mode, attribute or lease | Landlock, seccomp | no | no |
//! | no network, no other process, no way out of the limits; no other program, if it asks | seccomp | no | no |
//!
//! [`available`] says whether the middle column holds here, as it does not in a container whose own filter forbids
//! Landlock. Without it, `run` warns once and applies what is left; a caller for whom that is too little asks first.
//!
//! Two things have no limit: the number of files in the writable folder, and for the superuser the number of processes
//! (the kernel exempts it). Both end with the time limit. A file that this process can read and that is listed as
//! readable is no secret.

#![warn(clippy::disallowed_macros)]

#[cfg_attr(
    all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    ),
    path = "linux.rs"
)]
#[cfg_attr(
    not(all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    )),
    path = "none.rs"
)]
mod jail;
mod limits;
mod output;
#[cfg_attr(unix, path = "unix.rs")]
#[cfg_attr(not(unix), path = "portable.rs")]
mod process;
mod run;

pub use limits::Limits;
pub use output::Kept;
pub use process::limit_own_memory;
pub use run::{Killed, Outcome, Running, run, spawn, spawn_with};

use std::io::Write;
use std::sync::{Once, OnceLock};

/// Why there is no sandbox on this machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no sandbox: {0}")]
pub struct Reason(String);

impl Reason {
    fn new(why: impl ToString) -> Self {
        Self(why.to_string())
    }
}

/// Whether files, the network and other processes are out of reach of a program that [`run`] starts. The first call
/// tries it on a thread of this process.
///
/// # Errors
/// When something is missing; the reason says what.
pub fn available() -> Result<(), Reason> {
    static TRIED: OnceLock<Result<(), Reason>> = OnceLock::new();
    TRIED.get_or_init(jail::available).clone()
}

/// Forbids this process to become another program, before it calls code that is not trusted: another program could make
/// system calls that safe code cannot. Does nothing on a system without seccomp.
///
/// # Errors
/// The system refuses.
pub fn stay_this_program() -> std::io::Result<()> {
    jail::stay_this_program()
}

/// Warns on stderr, once per process, if there is no sandbox.
pub fn warn_once() {
    static WARNED: Once = Once::new();
    if let Err(reason) = available() {
        WARNED.call_once(|| {
            let warning = "the program has limits, but reads and writes your files";
            // Without stderr, no one reads it.
            let _ = writeln!(std::io::stderr(), "warning: {reason}; {warning}");
        });
    }
}
