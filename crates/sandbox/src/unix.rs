//! Processes on Unix: a session of its own, and the system's limits.

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rlimit::Resource;

use crate::jail::Jail;
use crate::run::{Ended, Killed};
use crate::{Limits, available};

/// Makes `command` enter a new session with the limits, and the sandbox where there is one.
pub fn prepare(command: &mut Command, limits: &Limits) -> io::Result<()> {
    let mut jail = match available() {
        Ok(()) if limits.confined => Jail::new(limits)?,
        // `spawn` has warned if it was wanted.
        _ => None,
    };
    let resources = resources(limits)?;
    let parent = std::process::id();
    let start = move || {
        // SAFETY: no memory is passed.
        if unsafe { libc::setsid() } == -1 {
            return Err(io::Error::last_os_error());
        }
        die_with(parent)?;
        for (resource, soft, hard) in &resources {
            resource.set(*soft, *hard)?;
        }
        jail.as_mut().map_or(Ok(()), Jail::enter)
    };
    // SAFETY: between fork and exec, `start` only makes system calls and reads what was made before: it takes no lock and
    // neither allocates nor frees memory, because another thread may have held the allocator's lock at the fork.
    unsafe { command.pre_exec(start) };
    Ok(())
}

/// Kills the program when the thread that started it ends, as by a SIGKILL to this process.
#[cfg(target_os = "linux")]
fn die_with(parent: u32) -> io::Result<()> {
    // SAFETY: prctl reads a number, and getppid nothing.
    let (set, found) = unsafe {
        let set = libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        (set, libc::getppid())
    };
    if set == -1 {
        return Err(io::Error::last_os_error());
    }
    // It may have ended before the call.
    if found.cast_unsigned() == parent {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(libc::ESRCH))
    }
}

#[cfg(not(target_os = "linux"))]
fn die_with(_: u32) -> io::Result<()> {
    Ok(())
}

/// Starts a shell that kills the process group of `leader` when this process ends, however it does: the pipe that it
/// reads closes. The kernel's signal to the leader alone is lost when another of its threads becomes a new program.
pub fn watch(leader: &Child) -> io::Result<Option<Child>> {
    let script = format!(
        "trap '' INT TERM HUP; read -r end; kill -s KILL -- -{}",
        leader.id()
    );
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &script]).env_clear().process_group(0);
    shell.stdin(Stdio::piped()).stdout(Stdio::null());
    shell.stderr(Stdio::null()).spawn().map(Some)
}

/// Soft and hard limits, none above the hard limits of this process, which only the superuser may raise.
fn resources(limits: &Limits) -> io::Result<Vec<(Resource, u64, u64)>> {
    let cpu = limits.cpu_seconds();
    let mut all = vec![
        (Resource::CORE, 0, 0),
        // At the soft limit a signal tells why, a second later the kernel kills.
        (Resource::CPU, cpu, cpu + 1),
        (Resource::FSIZE, limits.file_size, limits.file_size),
        (Resource::NOFILE, limits.open_files, limits.open_files),
    ];
    // macOS refuses to limit the address space below what every program has.
    if cfg!(target_os = "linux") {
        all.push((Resource::AS, limits.memory, limits.memory));
        let most = tasks() + limits.processes.max(THREADS);
        all.push((Resource::NPROC, most, most));
    }
    for (resource, soft, hard) in &mut all {
        let (_, most) = resource.get()?;
        *hard = (*hard).min(most);
        *soft = (*soft).min(*hard);
    }
    Ok(all)
}

/// Limits the address space of this process, where the system lets it.
pub fn limit_own_memory(bytes: u64) -> io::Result<()> {
    if cfg!(target_os = "linux") {
        let (_, hard) = Resource::AS.get()?;
        Resource::AS.set(bytes.min(hard), hard)?;
    }
    Ok(())
}

/// Threads that a program without child processes may have: those of rayon, and more.
const THREADS: u64 = 512;

/// Processes and threads that this user has now, because the kernel counts those together.
fn tasks() -> u64 {
    use std::os::unix::fs::MetadataExt;
    let own = std::fs::metadata("/proc/self").map(|own| own.uid()).ok();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_own = |path: &std::path::Path| path.metadata().map(|data| data.uid()).ok() == own;
    let of = |path: std::path::PathBuf| {
        let tasks = std::fs::read_dir(path.join("task"));
        tasks.map_or(0, |tasks| tasks.count() as u64)
    };
    let own = processes
        .map(|entry| entry.path())
        .filter(|path| is_own(path));
    own.map(of).sum()
}

/// Whether the program has ended; it stays a zombie, so that its number names its group until [`end`].
pub fn has_ended(child: &mut Child) -> io::Result<bool> {
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: `info` is memory for the answer, which is valid when all its bytes are 0.
    let (waited, info) = unsafe {
        let waited = libc::waitid(libc::P_PID, child.id(), info.as_mut_ptr(), flags);
        (waited, info.assume_init())
    };
    if waited == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the field of a SIGCHLD, or 0 if nothing has ended.
    Ok(unsafe { info.si_pid() } != 0)
}

/// Kills what is left of the process group, and reads what the program has used.
pub fn end(child: &mut Child) -> io::Result<Ended> {
    let leader = child.id().cast_signed();
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the leader has not been waited for, so that the number is still its group's; the group is not this
    // process's own, because the leader called `setsid` before it became the program.
    unsafe { libc::kill(-leader, libc::SIGKILL) };
    loop {
        // SAFETY: `status` and `usage` are memory for the answer.
        let waited = unsafe { libc::wait4(leader, &mut status, 0, usage.as_mut_ptr()) };
        if waited == leader {
            break;
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: `wait4` has filled it, and zeros are valid, too.
    let usage = unsafe { usage.assume_init() };
    let time = |time: libc::timeval| {
        let micros = time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64;
        Duration::from_micros(micros)
    };
    // Linux counts in KiB, macOS in bytes.
    let unit = if cfg!(target_vendor = "apple") {
        1
    } else {
        1024
    };
    Ok(Ended {
        status: ExitStatus::from_raw(status),
        cpu: time(usage.ru_utime) + time(usage.ru_stime),
        peak_memory: u64::try_from(usage.ru_maxrss).unwrap_or(0) * unit,
    })
}

/// The limit that a signal tells of.
pub fn limit_of(status: ExitStatus, cpu: Duration, limits: &Limits) -> Option<Killed> {
    match status.signal()? {
        libc::SIGXCPU => Some(Killed::Cpu),
        libc::SIGKILL if cpu.as_secs() >= limits.cpu_seconds() => Some(Killed::Cpu),
        libc::SIGXFSZ => Some(Killed::FileSize),
        _ => None,
    }
}
