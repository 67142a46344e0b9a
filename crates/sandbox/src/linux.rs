//! Landlock and seccomp: what a program reads and writes, and the calls that it may not make.
//!
//! seccomp's list is one of refusals, not of permissions: a compiler, a linker and a program of candle make too many
//! calls. The refused ones reach another process, the network, the kernel's settings or memory that no limit counts.

use std::collections::BTreeMap;
use std::io;
use std::thread;

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope, path_beneath_rules,
};
use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

use crate::{Limits, Reason};

/// Programs, libraries and their settings, where they exist.
const SYSTEM: [&str; 9] = [
    "/bin",
    "/etc",
    "/lib",
    "/lib32",
    "/lib64",
    "/nix/store",
    "/usr",
    "/dev/urandom",
    "/dev/zero",
];

/// The first version that also restricts truncation.
const NEEDED: ABI = ABI::V3;

/// Files and calls that are refused from [`Jail::enter`] on.
pub struct Jail {
    files: Option<RulesetCreated>,
    calls: [BpfProgram; 2],
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
        let calls = calls(forks).map_err(io::Error::other)?;
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
        let [first, last] = &self.calls;
        apply_filter(first).map_err(|_| refused())?;
        apply_filter(last).map_err(|_| refused())
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
        .add_rules(path_beneath_rules(SYSTEM, read))
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

/// Refused with "operation not permitted".
const REFUSED: &[c_long] = &[
    // The network. io_uring makes sockets without the call.
    libc::SYS_socket,
    libc::SYS_io_uring_setup,
    // Other processes: their memory, their files, signals to them.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_kcmp,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    // Ways out of the process group and of the limits.
    libc::SYS_setsid,
    libc::SYS_setpgid,
    libc::SYS_setrlimit,
    libc::SYS_unshare,
    libc::SYS_setns,
    // Memory that no limit counts, and that may stay.
    libc::SYS_memfd_create,
    libc::SYS_shmget,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_mq_open,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // The machine.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_fsopen,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_by_handle_at,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
];

/// Calls that start a process and not a thread, on x86-64.
#[cfg(target_arch = "x86_64")]
const FORKS: [c_long; 2] = [libc::SYS_fork, libc::SYS_vfork];
#[cfg(not(target_arch = "x86_64"))]
const FORKS: [c_long; 0] = [];

/// The same call with the numbers of the x32 ABI, which have this bit.
const X32: c_long = 0x4000_0000;

/// The filters, for a program that may start processes if `forks`.
fn calls(forks: bool) -> Result<[BpfProgram; 2], seccompiler::BackendError> {
    let mut rules: BTreeMap<c_long, Vec<SeccompRule>> = BTreeMap::new();
    let mut refuse = |call: c_long, rule: Vec<SeccompRule>| {
        if cfg!(target_arch = "x86_64") {
            rules.insert(call | X32, rule.clone());
        }
        rules.insert(call, rule);
    };
    REFUSED.iter().for_each(|&call| refuse(call, vec![]));
    // A new limit; to read one is allowed.
    let new_limit = condition(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    refuse(libc::SYS_prlimit64, vec![new_limit]);
    if forks {
        // In a namespace of users it would be the superuser.
        let bit = libc::CLONE_NEWUSER as u64;
        let is_set = SeccompCmpOp::MaskedEq(bit);
        let namespace = condition(0, SeccompCmpArgLen::Qword, is_set, bit)?;
        refuse(libc::SYS_clone, vec![namespace]);
    } else {
        // std starts some programs with one, which reaches nothing outside.
        refuse(libc::SYS_socketpair, vec![]);
        FORKS.iter().for_each(|&call| refuse(call, vec![]));
        let thread = libc::CLONE_THREAD as u64;
        let of_none = SeccompCmpOp::MaskedEq(thread);
        let process = condition(0, SeccompCmpArgLen::Qword, of_none, 0)?;
        refuse(libc::SYS_clone, vec![process]);
    }
    // A filter cannot read clone3's flags, which are in memory. Without the call, libraries take `clone`.
    let mut missing = BTreeMap::from([(libc::SYS_clone3, vec![])]);
    if cfg!(target_arch = "x86_64") {
        missing.insert(libc::SYS_clone3 | X32, vec![]);
    }
    Ok([filter(rules, libc::EPERM)?, filter(missing, libc::ENOSYS)?])
}

fn condition(
    argument: u8,
    length: SeccompCmpArgLen,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(
        argument, length, operator, value,
    )?])
}

fn filter(
    rules: BTreeMap<c_long, Vec<SeccompRule>>,
    error: i32,
) -> Result<BpfProgram, seccompiler::BackendError> {
    let arch = if cfg!(target_arch = "x86_64") {
        TargetArch::x86_64
    } else {
        TargetArch::aarch64
    };
    let refuse = SeccompAction::Errno(error.cast_unsigned());
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?.try_into()
}
