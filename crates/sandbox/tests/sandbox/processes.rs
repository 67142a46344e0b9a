//! Other processes, and what is left of a group.

use std::io::{Read, Write};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use sandbox::Limits;

use super::{child, is_available, limits, run, said, shell};

/// Whether a process runs; a zombie does not.
fn runs(id: &str) -> bool {
    let state = Command::new("ps")
        .args(["-o", "stat=", "-p", id])
        .output()
        .unwrap();
    let state = String::from_utf8_lossy(&state.stdout);
    !state.trim().is_empty() && !state.trim().starts_with('Z')
}

/// A process that was killed needs a moment to end.
fn ends(id: &str) -> bool {
    let last = Instant::now() + Duration::from_secs(20);
    while runs(id) && Instant::now() < last {
        thread::sleep(Duration::from_millis(10));
    }
    !runs(id)
}

#[test]
fn a_program_has_threads_and_no_processes() {
    let outcome = run(child("starts_a_thread", ""), &limits());
    assert!(said(&outcome).contains("thread: 42"), "{}", said(&outcome));
    if is_available("a submission that starts programs") {
        let said = said(&run(child("starts_a_program", ""), &limits()));
        assert_eq!(said.matches("Err(PermissionDenied)").count(), 2, "{said}");
        let bomb = run(shell("f() { f | f & }; f; f; wait; true"), &limits());
        assert!(
            bomb.stderr.text().to_lowercase().contains("fork"),
            "{}",
            bomb.stderr.text()
        );
    }
    let outcome = run(child("starts_a_program", ""), &limits().processes(64));
    assert!(
        said(&outcome).contains("Ok(ExitStatus"),
        "{}",
        said(&outcome)
    );
}

#[test]
fn all_of_the_group_is_killed_at_the_end() {
    let limits = limits().processes(64);
    let outcome = run(shell("sleep 1000 & echo $!; sleep 1000 & echo $!"), &limits);
    let ids = outcome.stdout.text();
    assert_eq!(ids.lines().count(), 2, "{}", said(&outcome));
    assert!(ids.lines().all(ends), "{ids}");
    if is_available("a submission that leaves its process group") {
        let outcome = run(shell("setsid sleep 1000 & echo $!; sleep 0.3"), &limits);
        assert!(
            outcome.stderr.text().contains("setsid"),
            "{}",
            outcome.stderr.text()
        );
        assert!(ends(outcome.stdout.text().trim()));
    }
}

#[test]
fn a_fork_bomb_ends_with_its_time() {
    let begin = Instant::now();
    let few = Limits::new(Duration::from_secs(2))
        .processes(64)
        .memory(1 << 28);
    let outcome = run(
        shell("f() { sleep 1000 & [ $1 = 0 ] || f $(($1 - 1)); }; f 300; echo end; wait"),
        &few,
    );
    assert!(!outcome.success());
    assert!(
        begin.elapsed() < Duration::from_secs(30),
        "{:?}",
        begin.elapsed()
    );
}

#[test]
fn no_process_gets_a_signal() {
    if is_available("a submission that kills") {
        let mut victim = Command::new("sleep").arg("1000").spawn().unwrap();
        let id = victim.id().to_string();
        let outcome = run(shell(&format!("kill -9 {id}")), &limits());
        assert!(!outcome.success());
        assert!(runs(&id));
        victim.kill().unwrap();
        victim.wait().unwrap();
    }
}

#[test]
fn a_program_that_is_dropped_is_killed() {
    let mut command = Command::new("sleep");
    command.arg("1000");
    let running = sandbox::spawn(command, &limits()).unwrap();
    let id = running.id().to_string();
    assert!(runs(&id));
    drop(running);
    assert!(!runs(&id));
}

/// As `grade` does after a SIGKILL.
#[cfg(target_os = "linux")]
#[test]
fn a_program_ends_with_the_one_that_started_it() {
    for program in ["sleep", "becomes_another"] {
        let output = child("leaves_a_program", program).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let id = said
            .split("number ")
            .nth(1)
            .and_then(|rest| rest.split_whitespace().next());
        assert!(ends(id.unwrap_or_else(|| panic!("{program}: {said}"))));
    }
}

#[test]
fn a_program_that_stays_itself_becomes_no_other() {
    if is_available("a submission that becomes another program") {
        let said = said(&run(child("stays_this_program", ""), &limits()));
        let refused = "PermissionDenied PermissionDenied";
        assert!(said.contains(refused), "{said}");
    }
}

/// Priorities, shared memory, signals and the promise to end with this process.
#[cfg(target_os = "linux")]
#[test]
fn calls_that_reach_others_are_refused() {
    if !is_available("calls of a submission that reach others") {
        return;
    }
    let calls = [
        libc::SYS_setpriority,
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setattr,
        libc::SYS_sched_setaffinity,
        libc::SYS_ioprio_set,
        libc::SYS_shmat,
        libc::SYS_shmctl,
        libc::SYS_msgctl,
        libc::SYS_semctl,
        libc::SYS_tgkill,
        libc::SYS_rt_sigqueueinfo,
        libc::SYS_setxattr,
        // `ptrace` and `getpid` of the x32 ABI.
        #[cfg(target_arch = "x86_64")]
        0x4000_0209,
        #[cfg(target_arch = "x86_64")]
        0x4000_0027,
    ];
    let numbers: Vec<String> = calls.iter().map(ToString::to_string).collect();
    let said = said(&run(child("makes_calls", numbers.join(" ")), &limits()));
    for call in calls {
        let refused = format!("call {call}: {}", libc::EPERM);
        assert!(said.contains(&refused), "{refused}: {said}");
    }
    // A program may still end itself.
    let aborted = run(child("aborts", ""), &limits());
    let signal = std::os::unix::process::ExitStatusExt::signal(&aborted.status);
    assert_eq!(signal, Some(libc::SIGABRT));
}

#[test]
fn a_caller_talks_to_a_program() {
    let mut running = sandbox::spawn(Command::new("cat"), &limits()).unwrap();
    let (mut stdin, mut stdout) = (
        running.stdin.take().unwrap(),
        running.stdout.take().unwrap(),
    );
    stdin.write_all(b"one").unwrap();
    let mut answer = [0; 3];
    stdout.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"one");
    drop(stdin);
    let outcome = running.wait().unwrap();
    assert!(outcome.success() && outcome.stdout.bytes.is_empty());
}

#[test]
fn two_programs_talk_to_each_other() {
    let limits = limits();
    let mut first = sandbox::spawn(Command::new("cat"), &limits).unwrap();
    let (stdin, stdout) = (first.stdin.take().unwrap(), first.stdout.take().unwrap());
    let ask = shell("echo question; read answer; echo \"answer: $answer\" >&2");
    let second = sandbox::spawn_with(ask, stdout.into(), stdin.into(), &limits).unwrap();
    let outcome = second.wait().unwrap();
    assert_eq!(outcome.stderr.text(), "answer: question\n");
    // Its stdin has ended with the second program.
    assert!(first.wait().unwrap().success());
}
