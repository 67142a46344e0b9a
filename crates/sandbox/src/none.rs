//! No sandbox: a system without Landlock and seccomp.

use std::io;

use crate::{Limits, Reason};

pub fn available() -> Result<(), Reason> {
    Err(Reason::new(
        "it needs Linux 6.2 or newer on x86-64 or AArch64",
    ))
}

pub fn stay_this_program() -> io::Result<()> {
    Ok(())
}

pub fn system(_: bool) -> impl Iterator<Item = &'static str> {
    std::iter::empty()
}

/// Restrictions that a child process applies before the program starts: none here.
pub struct Jail;

#[cfg_attr(not(unix), expect(dead_code))]
impl Jail {
    pub fn new(_: &Limits) -> io::Result<Option<Self>> {
        Ok(None)
    }

    pub fn enter(&mut self) -> io::Result<()> {
        Ok(())
    }
}
