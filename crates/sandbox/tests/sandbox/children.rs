//! The programs. `CHILD` names one of them, and `GIVEN` is its argument.

use std::env;
use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
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

/// Starts a program in a sandbox of its own, and ends without waiting for it.
fn leaves_a_program() {
    let limits = sandbox::Limits::new(Duration::from_secs(1000));
    let mut command = Command::new("sleep");
    command.arg("1000");
    let running = sandbox::spawn(command, &limits).unwrap();
    println!("number {}", running.id());
    std::process::abort();
}
