//! The programs. `CHILD` names one of them, and `GIVEN` is its argument.

use std::env;
use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;
use std::time::Duration;

const PROGRAMS: &[(&str, fn())] = &[
    ("connects", connects),
    ("starts_a_program", starts_a_program),
    ("starts_a_thread", starts_a_thread),
    ("reads", reads),
    ("writes", writes),
    ("computes_for_ever", computes_for_ever),
    ("sleeps", sleeps),
    ("eats_memory", eats_memory),
    ("prints_for_ever", prints_for_ever),
    ("raises_its_limits", raises_its_limits),
    ("leaves_a_program", leaves_a_program),
    ("becomes_another", becomes_another),
    ("changes_a_mode", changes_a_mode),
    ("makes_calls", makes_calls),
    #[cfg(target_os = "linux")]
    ("reaches_others_by_a_file", reaches_others_by_a_file),
    ("stays_this_program", stays_this_program),
    ("aborts", || std::process::abort()),
];

/// The program that a test has started, in a process of this binary; in the others nothing.
#[test]
fn program() {
    let Ok(name) = env::var("CHILD") else { return };
    let found = PROGRAMS.iter().find(|(own, _)| *own == name);
    let (_, run) = found.unwrap_or_else(|| panic!("no program {name}"));
    run();
}

fn given() -> String {
    env::var("GIVEN").unwrap_or_default()
}

fn connects() {
    println!("{:?}", TcpStream::connect(given()).map_err(|e| e.kind()));
    println!("pair: {:?}", UnixStream::pair().map_err(|e| e.kind()));
}

fn starts_a_program() {
    println!("{:?}", Command::new("true").status().map_err(|e| e.kind()));
    // As rustc starts the linker, which std does in another way.
    let mut with_path = Command::new("true");
    with_path.env("PATH", env::var("PATH").unwrap_or_default());
    println!("{:?}", with_path.status().map_err(|e| e.kind()));
}

fn starts_a_thread() {
    println!("thread: {:?}", thread::spawn(|| 6 * 7).join().unwrap());
}

fn reads() {
    println!(
        "read: {:?}",
        fs::read_to_string(given()).map_err(|e| e.kind())
    );
    println!(
        "list: {:?}",
        fs::read_dir(given()).map(|_| ()).map_err(|e| e.kind())
    );
}

fn writes() {
    println!(
        "write: {:?}",
        fs::write(given(), "it was here").map_err(|e| e.kind())
    );
    let append = fs::OpenOptions::new().append(true).open(given());
    println!("append: {:?}", append.map(|_| ()).map_err(|e| e.kind()));
    println!(
        "remove: {:?}",
        fs::remove_file(given()).map_err(|e| e.kind())
    );
}

fn computes_for_ever() {
    let mut x = 1u64;
    loop {
        x = std::hint::black_box(x.wrapping_mul(3));
    }
}

fn sleeps() {
    thread::sleep(Duration::from_secs(1000));
}

fn eats_memory() {
    let mut all = vec![];
    loop {
        all.push(std::hint::black_box(vec![1u8; 1 << 24]));
    }
}

fn prints_for_ever() {
    loop {
        // Ends when nobody reads.
        std::io::stdout().write_all(&[b'x'; 1 << 16]).unwrap();
    }
}

fn raises_its_limits() {
    println!(
        "{:?}",
        rlimit::Resource::NOFILE
            .set(4000, 4000)
            .map_err(|e| e.kind())
    );
    println!(
        "{:?}",
        rlimit::Resource::AS
            .set(1 << 50, 1 << 50)
            .map_err(|e| e.kind())
    );
}

/// Replaces this program by another from a thread, which loses the kernel's promise to kill it.
fn becomes_another() {
    let other = || Command::new("sleep").arg("1000").exec();
    println!("{:?}", thread::spawn(other).join());
}

/// Changes mode and time of a file.
fn changes_a_mode() {
    let none = fs::Permissions::from_mode(0o000);
    let mode = fs::set_permissions(given(), none);
    println!("mode: {:?}", mode.map_err(|e| e.kind()));
    let file = fs::File::open(given()).unwrap();
    let time = file.set_modified(std::time::SystemTime::UNIX_EPOCH);
    println!("time: {:?}", time.map_err(|e| e.kind()));
    let owner = std::os::unix::fs::chown(given(), Some(0), Some(0));
    println!("owner: {:?}", owner.map_err(|e| e.kind()));
}

/// Sets attributes of a file that it can only read, takes a lease, and wants a notice of its folder.
#[cfg(target_os = "linux")]
fn reaches_others_by_a_file() {
    use std::os::fd::AsRawFd;
    let path = std::path::PathBuf::from(given());
    let [file, folder] = [&path, path.parent().unwrap()].map(|path| fs::File::open(path).unwrap());
    let (file, folder, flags) = (file.as_raw_fd(), folder.as_raw_fd(), [0x40u64; 4]);
    let error = |made: i32| {
        let error = std::io::Error::last_os_error().raw_os_error();
        if made == -1 { error } else { None }.unwrap_or(0)
    };
    // SAFETY: the kernel reads at most 28 bytes of the 32 of `flags`, and otherwise numbers. The commands are
    // FS_IOC_SETFLAGS ("no dump") and FS_IOC_FSSETXATTR.
    let errors = unsafe {
        [
            error(libc::ioctl(file, 0x4008_6602, flags.as_ptr())),
            error(libc::ioctl(file, 0x401c_5820, flags.as_ptr())),
            error(libc::fcntl(file, libc::F_SETLEASE, libc::F_RDLCK)),
            error(libc::fcntl(folder, libc::F_NOTIFY, 1)),
        ]
    };
    println!("refused: {errors:?}");
}

/// Becomes no other program, from this thread and another, as a submission after its start.
fn stays_this_program() {
    sandbox::stay_this_program().unwrap();
    let other = || Command::new("true").exec().kind();
    println!("{:?} {:?}", thread::spawn(other).join().unwrap(), other());
}

/// Makes the calls whose numbers are given, with the process that started this one as their arguments.
fn makes_calls() {
    let parent = std::os::unix::process::parent_id();
    for call in given().split_whitespace() {
        let call = call.parse().unwrap();
        // SAFETY: none of the calls reads or writes memory before it is refused; 0 is no address.
        let made = unsafe { libc::syscall(call, parent, parent, 0, 0, 0, 0) };
        let error = std::io::Error::last_os_error().raw_os_error();
        println!(
            "call {call}: {}",
            if made == -1 { error } else { None }.unwrap_or(0)
        );
    }
}

/// Starts a program in a sandbox of its own, and ends without waiting for it.
fn leaves_a_program() {
    let limits = super::with_programs(sandbox::Limits::new(Duration::from_secs(1000)));
    let mut command = super::child(&given(), "");
    if given() == "sleep" {
        command = Command::new("sleep");
        command.arg("1000");
    }
    let running = sandbox::spawn(command, &limits).unwrap();
    // Time to become another.
    thread::sleep(Duration::from_millis(500));
    println!("number {}", running.id());
    std::process::abort();
}
