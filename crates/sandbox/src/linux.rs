//! Landlock and seccomp: what a program reads and writes, and the calls that it may not make.

mod calls;

use std::io;
use std::thread;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope, path_beneath_rules,
};
use seccompiler::{BpfProgram, apply_filter, apply_filter_all_threads};

use crate::{Limits, Reason};

/// Libraries and their settings, where they exist.
///
/// From `/etc`, only the loader's settings and the links to compilers: passwords and keys are there, too. Images of
/// containers keep a user's files in `/usr/src` and `/usr/local/cargo`.
const LIBRARIES: [&str; 15] = [
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix/store",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/local/lib",
    "/usr/local/lib64",
    "/dev/urandom",
    "/dev/zero",
];

/// Folders that a compiler and its linker need in addition.
const COMPILERS: [&str; 8] = [
    "/bin",
    "/etc/alternatives",
    "/usr/bin",
    "/usr/include",
    "/usr/libexec",
    "/usr/local/bin",
    "/usr/local/include",
    "/usr/local/libexec",
];

/// Paths that every program may read; a compiler reads more.
pub fn system(compiles: bool) -> impl Iterator<Item = &'static str> {
    let compilers = COMPILERS.iter().filter(move |_| compiles);
    LIBRARIES.iter().chain(compilers).copied()
}

/// The first version that also restricts truncation.
const NEEDED: ABI = ABI::V3;

/// Files and calls that are refused from [`Jail::enter`] on.
pub struct Jail {
    files: Option<RulesetCreated>,
    calls: [BpfProgram; 3],
}

/// Tries all of it on a thread that then ends, because both restrict the thread that calls them.
pub fn available() -> Result<(), Reason> {
    let limits = Limits::new(std::time::Duration::ZERO);
    let jail = Jail::new(&limits).map_err(Reason::new)?;
    let tried = thread::spawn(move || jail.map_or(Ok(()), |mut jail| jail.enter()));
    match tried.join() {
        Ok(entered) => entered.map_err(|e| Reason::new(format!("the kernel refuses it: {e}"))),
        Err(_) => Err(Reason::new("the trial of it panicked")),
    }
}

impl Jail {
    pub fn new(limits: &Limits) -> io::Result<Option<Self>> {
        let forks = limits.processes > 0;
        let calls = calls::refused(forks).map_err(io::Error::other)?;
        let files = Some(files(limits)?);
        Ok(Some(Self { files, calls }))
    }

    /// Gives up capabilities, files and calls, for this thread and all that it starts. Neither allocates nor frees.
    pub fn enter(&mut self) -> io::Result<()> {
        drop_capabilities();
        let refused = || io::Error::from_raw_os_error(libc::EPERM);
        let files = self.files.take().ok_or_else(refused)?;
        // An error of landlock's, which would say more, might allocate.
        files.restrict_self().map_err(|_| refused())?;
        calls::allow_own_signals(&mut self.calls[0]);
        let mut each = self.calls.iter();
        each.try_for_each(|filter| apply_filter(filter).map_err(|_| refused()))
    }
}

/// Errors where no process can restrict itself. In a sandbox, the same call has succeeded before.
const NONE: [i32; 4] = [libc::EINVAL, libc::ENOSYS, libc::EPERM, libc::EACCES];

/// Refuses to become another program, for all threads of this process.
pub fn stay_this_program() -> io::Result<()> {
    let filter = calls::programs().map_err(io::Error::other)?;
    let is_none = |e: &io::Error| e.raw_os_error().is_some_and(|e| NONE.contains(&e));
    match apply_filter_all_threads(&filter) {
        Err(seccompiler::Error::Prctl(e) | seccompiler::Error::Seccomp(e)) if is_none(&e) => Ok(()),
        applied => applied.map_err(io::Error::other),
    }
}

/// Removes every capability from what the next program can get. For a user without any, the kernel refuses, and there
/// is nothing to remove.
fn drop_capabilities() {
    // 41 exist; the kernel refuses numbers beyond its last.
    for capability in 0..64 {
        // SAFETY: prctl reads a number.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0) };
    }
}

fn files(limits: &Limits) -> io::Result<RulesetCreated> {
    let other = |e: landlock::RulesetError| io::Error::other(format!("Landlock: {e}"));
    let no_path = |e: landlock::PathFdError| io::Error::new(io::ErrorKind::NotFound, e.to_string());
    let (read, all) = (AccessFs::from_read(ABI::V5), AccessFs::from_all(ABI::V5));
    let missing = |e| io::Error::other(format!("it needs Landlock of Linux 6.2 or newer ({e})"));
    let handled = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))
        .map_err(missing)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)
        .and_then(|ruleset| ruleset.handle_access(AccessNet::from_all(ABI::V4)))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(ABI::V6)))
        .map_err(other)?;
    let mut ruleset = handled
        .create()
        .map_err(missing)?
        .add_rules(path_beneath_rules(system(limits.processes > 0), read))
        .and_then(|ruleset| {
            let null = path_beneath_rules(["/dev/null"], read | AccessFs::WriteFile);
            ruleset.add_rules(null)
        })
        .map_err(other)?;
    let listed = limits.readable.iter().map(|path| (path, read));
    for (path, access) in listed.chain(limits.writable.iter().map(|path| (path, all))) {
        let access = if path.is_dir() {
            access
        } else {
            access & AccessFs::from_file(ABI::V5)
        };
        let beneath = PathBeneath::new(PathFd::new(path).map_err(no_path)?, access);
        ruleset = ruleset.add_rule(beneath).map_err(other)?;
    }
    Ok(ruleset)
}
