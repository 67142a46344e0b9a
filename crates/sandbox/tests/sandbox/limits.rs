//! Time, memory, sizes and output.

use std::time::{Duration, Instant};

use sandbox::{Killed, Limits};

use super::{child, limits, run, said, shell, this};

#[test]
fn a_program_that_ends_is_described() {
    let outcome = run(shell("echo out; echo err >&2; exit 3"), &limits());
    assert_eq!(outcome.status.code(), Some(3));
    assert!(!outcome.success() && outcome.killed.is_none());
    assert_eq!(outcome.stdout.text(), "out\n");
    assert_eq!(outcome.stderr.text(), "err\n");
    assert!(outcome.peak_memory > 100_000, "{}", outcome.peak_memory);
    assert!(run(shell("true"), &limits()).success());
}

#[test]
fn an_endless_program_is_killed_in_time() {
    let begin = Instant::now();
    let limits = Limits::new(Duration::from_millis(300)).readable(this());
    let outcome = run(child("sleeps", ""), &limits);
    assert_eq!(outcome.killed, Some(Killed::Time));
    assert!(outcome.wall >= Duration::from_millis(300));
    assert!(
        begin.elapsed() < Duration::from_secs(20),
        "{:?}",
        begin.elapsed()
    );
}

#[test]
fn cpu_time_is_limited_and_measured() {
    let limits = limits().cpu(Duration::from_secs(1));
    let outcome = run(child("computes_for_ever", ""), &limits);
    assert_eq!(outcome.killed, Some(Killed::Cpu), "{}", said(&outcome));
    let cpu = outcome.cpu.as_secs_f64();
    // The kernel counts in ticks, and may stop a program some of them early.
    assert!((0.8..3.).contains(&cpu), "{cpu}");
}

#[cfg(target_os = "linux")]
#[test]
fn memory_is_limited() {
    let limits = limits().memory(1 << 30);
    let outcome = run(child("eats_memory", ""), &limits);
    assert!(!outcome.success() && outcome.killed.is_none());
    assert!(
        said(&outcome).contains("memory allocation of"),
        "{}",
        said(&outcome)
    );
    assert!(
        (1 << 28..1 << 30).contains(&outcome.peak_memory),
        "{}",
        outcome.peak_memory
    );
}

#[test]
fn files_have_a_largest_size() {
    let folder = tempfile::tempdir().unwrap();
    let limits = limits().file_size(1 << 16).writable(folder.path());
    let mut command = shell("while :; do echo 0123456789012345678901234567890123456789; done > a");
    command.current_dir(folder.path());
    let outcome = run(command, &limits);
    assert_eq!(outcome.killed, Some(Killed::FileSize), "{}", said(&outcome));
    assert_eq!(folder.path().join("a").metadata().unwrap().len(), 1 << 16);
}

#[test]
fn endless_output_is_cut() {
    let limits = Limits::new(Duration::from_secs(1))
        .readable(this())
        .output(1000);
    let outcome = run(child("prints_for_ever", ""), &limits);
    assert_eq!(outcome.killed, Some(Killed::Time));
    assert!(outcome.stdout.truncated);
    assert_eq!(outcome.stdout.bytes.len(), 1000);
    assert!(
        outcome.stdout.text().starts_with("\nrunning 1 test"),
        "its start is kept"
    );
}

#[test]
fn limits_cannot_be_raised() {
    if super::is_available("a submission that raises its limits") {
        let said = said(&run(child("raises_its_limits", ""), &limits()));
        assert_eq!(said.matches("Err(PermissionDenied)").count(), 2, "{said}");
    }
}
