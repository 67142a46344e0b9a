//! The pipes between a check and a submission.
//!
//! Both programs start with them as stdin and stdout. They move out of reach of the submission's code: its stdin is then
//! empty, and what it prints goes to stderr. Without `unsafe`, no code can name the pipes' new numbers.

use std::fs::File;
use std::io::{self, Read, Write};

/// Maximum bytes of a message: many times the largest input.
pub const MOST: usize = 1 << 27;

/// A pipe in each direction.
pub struct Channel {
    input: File,
    output: File,
}

impl Channel {
    /// Takes stdin and stdout of this process; a second call gets what is left there: nothing.
    pub fn take() -> io::Result<Self> {
        let channel = Self {
            input: own(&io::stdin())?,
            output: own(&io::stdout())?,
        };
        redirect()?;
        Ok(channel)
    }

    /// Sends a message.
    pub fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let len = u32::try_from(message.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        self.output.write_all(&len.to_le_bytes())?;
        self.output.write_all(message)
    }

    /// Receives a message; `None` at the end of the pipe.
    pub fn receive(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut len = [0; 4];
        if let Err(error) = self.input.read_exact(&mut len) {
            let ended = error.kind() == io::ErrorKind::UnexpectedEof;
            return if ended { Ok(None) } else { Err(error) };
        }
        let len = u32::from_le_bytes(len) as usize;
        if len > MOST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        // Read as it comes, so that a length that was made up reserves nothing.
        let mut message = vec![];
        (&mut self.input)
            .take(len as u64)
            .read_to_end(&mut message)?;
        Ok((message.len() == len).then_some(message))
    }
}

#[cfg(unix)]
fn own(stream: &impl std::os::fd::AsFd) -> io::Result<File> {
    stream.as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(windows)]
fn own(stream: &impl std::os::windows::io::AsHandle) -> io::Result<File> {
    stream.as_handle().try_clone_to_owned().map(File::from)
}

/// Empties stdin, and lets stdout be stderr.
#[cfg(unix)]
fn redirect() -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let empty = File::open("/dev/null")?;
    for (from, to) in [(empty.as_raw_fd(), 0), (io::stderr().as_raw_fd(), 1)] {
        // SAFETY: both numbers are open, and std takes its streams from the numbers 0 and 1 each time it uses them.
        if unsafe { libc::dup2(from, to) } == -1 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Empties stdin, and lets stdout be stderr.
#[cfg(windows)]
fn redirect() -> io::Result<()> {
    use std::os::windows::io::{AsRawHandle, IntoRawHandle, RawHandle};
    // The standard handles by their numbers in the Windows API.
    const STDIN: u32 = -10i32 as u32;
    const STDOUT: u32 = -11i32 as u32;
    unsafe extern "system" {
        fn SetStdHandle(which: u32, handle: RawHandle) -> i32;
    }
    let empty = File::open("NUL")?.into_raw_handle();
    for (which, handle) in [(STDIN, empty), (STDOUT, io::stderr().as_raw_handle())] {
        // SAFETY: both handles stay open, and std asks for the standard handle each time it uses one.
        if unsafe { SetStdHandle(which, handle) } == 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}
