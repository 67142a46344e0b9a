//! seccomp: the calls that a program may not make.
//!
//! The list is one of refusals, not of permissions: a compiler, a linker and a program of candle make too many calls.
//! The refused ones reach another process, the network, the kernel's settings, other people's files or memory that no
//! limit counts.

use std::collections::BTreeMap;

use libc::c_long;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, sock_filter,
};

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
    // Their priorities and processors.
    libc::SYS_setpriority,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setaffinity,
    libc::SYS_ioprio_set,
    // Owners and attributes of files, which Landlock leaves to their owner.
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SETXATTRAT,
    REMOVEXATTRAT,
    FILE_SETATTR,
    // Ways out of the process group and of the limits.
    libc::SYS_setsid,
    libc::SYS_setpgid,
    libc::SYS_setrlimit,
    libc::SYS_unshare,
    libc::SYS_setns,
    // Memory that no limit counts, and that may stay.
    libc::SYS_memfd_create,
    libc::SYS_memfd_secret,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_shmdt,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
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

/// Calls newer than libc's list; their numbers are the same on all architectures.
const FCHMODAT2: c_long = 452;
const SETXATTRAT: c_long = 463;
const REMOVEXATTRAT: c_long = 466;
const FILE_SETATTR: c_long = 469;

/// Modes and times of files, which Landlock leaves to their owner. A linker makes its output executable, so they are
/// refused to programs that start no process.
const MODES: [c_long; 4] = [
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_utimensat,
];

/// The older calls of x86-64: owners, modes and times of files, and those that start a process and not a thread.
#[cfg(target_arch = "x86_64")]
mod old {
    pub const OWNERS: [super::c_long; 2] = [libc::SYS_chown, libc::SYS_lchown];
    pub const MODES: [super::c_long; 4] = [
        libc::SYS_chmod,
        libc::SYS_utime,
        libc::SYS_utimes,
        libc::SYS_futimesat,
    ];
    pub const FORKS: [super::c_long; 2] = [libc::SYS_fork, libc::SYS_vfork];
}
#[cfg(not(target_arch = "x86_64"))]
mod old {
    pub const OWNERS: [super::c_long; 0] = [];
    pub const MODES: [super::c_long; 0] = [];
    pub const FORKS: [super::c_long; 0] = [];
}

/// `F_SETOWN_EX` of fcntl.
const F_SETOWN_EX: i32 = 15;

/// Commands of fcntl that reach others: a process gets a signal, or waits for a file that has a lease.
const REACHING: [i32; 4] = [
    libc::F_SETOWN,
    F_SETOWN_EX,
    libc::F_SETLEASE,
    libc::F_NOTIFY,
];

/// Commands of ioctl that programs need. Others set attributes of a file that is only readable.
const DEVICES: [u64; 7] = [
    0x5401,      // TCGETS
    0x802c_542a, // TCGETS2
    0x5413,      // TIOCGWINSZ
    0x541b,      // FIONREAD
    0x5421,      // FIONBIO
    0x5450,      // FIONCLEX
    0x5451,      // FIOCLEX
];

/// Stands in a filter for the number of the process that it is for, which is known after the fork.
const OWN: u32 = 0x5e1f_5e1f;

/// Puts the number of this process where the filter compares with its own. Neither allocates nor frees.
pub fn allow_own_signals(filter: &mut BpfProgram) {
    let own = std::process::id();
    let stands_for_it = filter.iter_mut().filter(|step| step.k == OWN);
    stands_for_it.for_each(|step| step.k = own);
}

/// The bit in the numbers of the x32 ABI. Some of its calls have other numbers than their namesakes.
const X32: u32 = 0x4000_0000;

/// Refuses all calls of the x32 ABI.
fn no_x32() -> BpfProgram {
    let step = |code: u32, jf, k| sock_filter {
        code: code as u16,
        jt: 0,
        jf,
        k,
    };
    let refuse = libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned();
    vec![
        // The call's number.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 1, X32),
        step(libc::BPF_RET | libc::BPF_K, 0, refuse),
        step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

/// The filter of a process that becomes no other program.
pub fn programs() -> Result<BpfProgram, BackendError> {
    let calls = [libc::SYS_execve, libc::SYS_execveat];
    filter(calls.map(|call| (call, vec![])).into(), libc::EPERM)
}

/// The filters, for a program that may start processes if `forks`.
pub fn refused(forks: bool) -> Result<[BpfProgram; 3], BackendError> {
    let mut rules: BTreeMap<c_long, Vec<SeccompRule>> = BTreeMap::new();
    let mut refuse = |call: c_long, rule: Vec<SeccompRule>| {
        rules.insert(call, rule);
    };
    let always = REFUSED.iter().chain(&old::OWNERS);
    always.for_each(|&call| refuse(call, vec![]));
    // The program is killed when the one that started it ends.
    let is = SeccompCmpOp::Eq;
    let on_end = libc::PR_SET_PDEATHSIG as u64;
    let stays = condition(0, SeccompCmpArgLen::Dword, is.clone(), on_end)?;
    refuse(libc::SYS_prctl, vec![stays]);
    let reaching =
        REACHING.map(|command| condition(1, SeccompCmpArgLen::Dword, is.clone(), command as u64));
    refuse(
        libc::SYS_fcntl,
        reaching.into_iter().collect::<Result<_, _>>()?,
    );
    let other = DEVICES.map(|command| {
        SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, command)
    });
    let other = other.into_iter().collect::<Result<_, _>>()?;
    refuse(libc::SYS_ioctl, vec![SeccompRule::new(other)?]);
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
        let alone = MODES.iter().chain(&old::MODES).chain(&old::FORKS);
        alone.for_each(|&call| refuse(call, vec![]));
        // `abort` sends a signal to its own process.
        let other = condition(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, OWN.into())?;
        refuse(libc::SYS_tgkill, vec![other]);
        let thread = libc::CLONE_THREAD as u64;
        let of_none = SeccompCmpOp::MaskedEq(thread);
        let process = condition(0, SeccompCmpArgLen::Qword, of_none, 0)?;
        refuse(libc::SYS_clone, vec![process]);
    }
    // A filter cannot read clone3's flags, which are in memory. Without the call, libraries take `clone`.
    let missing = BTreeMap::from([(libc::SYS_clone3, vec![])]);
    Ok([
        filter(rules, libc::EPERM)?,
        filter(missing, libc::ENOSYS)?,
        no_x32(),
    ])
}

fn condition(
    argument: u8,
    length: SeccompCmpArgLen,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(
        argument, length, operator, value,
    )?])
}

fn filter(
    rules: BTreeMap<c_long, Vec<SeccompRule>>,
    error: i32,
) -> Result<BpfProgram, BackendError> {
    let arch = if cfg!(target_arch = "x86_64") {
        TargetArch::x86_64
    } else {
        TargetArch::aarch64
    };
    let refuse = SeccompAction::Errno(error.cast_unsigned());
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?.try_into()
}
