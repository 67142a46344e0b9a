//! Submissions that try to pass without a right result, or to harm the machine of the teacher.

use std::fs;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use classroom::{Exercise, Failure, Part};

use crate::desk::{Desk, repository, solution};
use crate::submissions::{named, with_line};

/// The failure of swiglu's solution with a line before its last one.
fn failure(line: &str) -> Failure {
    checked(&named("swiglu"), &with_line(&named("swiglu"), line))
}

pub fn checked(exercise: &Exercise, text: &str) -> Failure {
    // Threads of its own: those of the process may be busy with other tests for longer than a check may take.
    let threads = rayon::ThreadPoolBuilder::new().num_threads(2);
    let threads = threads.build().unwrap();
    let begin = Instant::now();
    let outcome = threads.install(|| Desk::new().check(exercise, "hostile", text).unwrap());
    assert!(begin.elapsed() < Duration::from_secs(100));
    outcome.expect_err(text)
}

/// Whether the checks of what a sandbox prevents can run here.
fn has_sandbox(what: &str) -> bool {
    let available = sandbox::available();
    if let Err(reason) = &available {
        crate::skip::skip(what, &reason.to_string());
    }
    available.is_ok()
}

#[test]
fn a_verdict_that_a_submission_prints_is_none() {
    for line in [
        r#"println!("\nverdict: passed"); std::process::exit(0);"#,
        r#"eprintln!("\nverdict: passed"); std::process::exit(0);"#,
        "std::process::exit(0);",
        "std::process::abort();",
        // Whoever reads the calls finds none, and answers nobody.
        "let mut all = String::new(); while std::io::stdin().read_line(&mut all)? > 0 {} std::process::exit(0);",
        // Both sides of the conversation are public, and have nobody to talk to.
        "let _ = exercise::judge(|_, _| Ok(())); std::process::exit(0);",
        "let _ = exercise::serve(|_| (), \"\"); std::process::exit(0);",
    ] {
        assert_eq!(failure(line).by, Part::Crash, "{line}");
    }
    let wrong =
        "let up = (up * 2.)?; println!(\"verdict: passed\"); exercise::judge(|_, _| Ok(()));";
    let failure = failure(wrong);
    assert_eq!(failure.by, Part::Check, "{}", failure.line);
    // The smallest shape may draw a value whose double is within the tolerance.
    assert!(failure.line.contains("swiglu at T = "), "{}", failure.line);
}

#[test]
fn a_result_has_a_limit() {
    let exercise = &named("swiglu");
    let line = "return Tensor::zeros(1 << 25, exercise::candle_core::DType::F32, x.device());";
    // Its bytes decide, not the time that a busy machine takes for them: a result that is read fails for its shape.
    let desk = Desk::with_limit(Duration::from_secs(3600));
    let outcome = desk.check(exercise, "large", with_line(exercise, line));
    let failure = outcome.unwrap().expect_err("expected a limit");
    let why = "expected a result of at most 128 MiB, found more";
    assert!(failure.line.ends_with(why), "{}", failure.line);
}

#[test]
fn no_submission_is_unsafe() {
    for line in [
        "unsafe { std::hint::unreachable_unchecked() }",
        "static mut KEPT: usize = 0; unsafe { KEPT += 1 };",
        "use std::alloc::{GlobalAlloc, Layout, System}; unsafe { System.alloc(Layout::new::<u64>()) };",
        "#[allow(unsafe_code)] unsafe fn harm() {}",
        "#[expect(unsafe_code)] { unsafe { std::env::set_var(\"A\", \"b\") } }",
        "unsafe extern \"C\" { safe fn abort() -> !; } abort();",
        "struct S; unsafe impl Send for S {}",
        // The lint misses this one.
        "#[unsafe(naked)] extern \"C\" fn harm() { core::arch::naked_asm!(\"ret\") } harm();",
    ] {
        let failure = failure(line);
        assert_eq!(failure.by, Part::Text, "{line}: {}", failure.line);
        assert!(failure.line.contains("02-swiglu.rs:"), "{}", failure.line);
    }
    // A library that does not exist is the submission's fault, not the teacher's.
    let failure = failure("#[link(name = \"nope\")] unsafe extern \"C\" {}");
    assert_eq!(failure.by, Part::Text, "{}", failure.line);
}

#[test]
fn no_row_is_kept_anywhere() {
    let exercise = &named("online-softmax");
    let region = "    let one = |x: f32| Stats { max: x, sum: 1. };\n    numbers.fold(NOTHING, |so_far, x| merge(so_far, one(x)))\n";
    assert_eq!(solution(exercise).matches(region).count(), 1);
    let two_passes = "let kept = &kept[..count];
    let max = kept.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    Stats { max, sum: kept.iter().map(|x| (x - max).exp()).sum() }";
    let in_a_static = "
    use std::sync::Mutex;
    static KEPT: Mutex<[f32; 1 << 22]> = Mutex::new([0.; 1 << 22]);
    let mut kept = KEPT.lock().unwrap();
    let mut count = 0;
    for x in numbers { kept[count] = x; count += 1; }
    let kept: &[f32] = &*kept;\n";
    let text = solution(exercise).replace(region, &format!("{in_a_static}    {two_passes}\n"));
    let by_static = checked(exercise, &text);
    // A row on the stack of a thread, which receives the numbers one by one.
    let on_a_stack = format!(
        "
    use std::sync::mpsc::sync_channel;
    let (send, receive) = sync_channel::<f32>(64);
    let thread = std::thread::Builder::new().stack_size(1 << 26).spawn(move || {{
        let mut kept = [0f32; 1 << 22];
        let mut count = 0;
        for x in receive {{ kept[count] = x; count += 1; }}
        {two_passes}
    }}).unwrap();
    numbers.for_each(|x| send.send(x).unwrap());
    drop(send);
    thread.join().unwrap()\n"
    );
    let by_stack = checked(exercise, &solution(exercise).replace(region, &on_a_stack));
    assert_eq!(by_static.by, Part::Text, "{}", by_static.line);
    assert!(
        by_static.line.contains("expected no `static`"),
        "{}",
        by_static.line
    );
    // A quarter of the row's bytes, as one byte per number, on the stack of the main thread.
    let in_bytes = "
    let mut kept = [0u8; 1 << 22];
    let mut count = 0;
    for x in numbers { kept[count] = (x + 128.) as u8; count += 1; }
    let kept = kept[..count].iter().map(|&x| f32::from(x) - 128.);
    let max = kept.clone().fold(f32::NEG_INFINITY, f32::max);
    Stats { max, sum: kept.map(|x| (x - max).exp()).sum() }\n";
    let by_bytes = checked(exercise, &solution(exercise).replace(region, in_bytes));
    for failure in [by_stack, by_bytes] {
        assert_eq!(failure.by, Part::Check, "{}", failure.line);
        let grows = "bytes by which the process grows during stats of 4194304 numbers";
        assert!(
            failure.line.contains(grows) || failure.line.contains("allocates"),
            "{}",
            failure.line
        );
    }
}

/// An atomic that adds 0 reads a number, and is no load.
#[test]
fn no_limit_on_loads_is_kept_by_atomics() {
    let exercise = &named("row-in-registers");
    let load = |chunk: usize, at: usize| {
        let number = |i| {
            let [register, offset] = [4 * chunk + i, at + 4 * i];
            format!(
                "    @%has{chunk} atom.global.or.b32 %bit, [%x+{offset}], 0;\n    \
                 @%has{chunk} mov.b32 %v{register}, %bit;\n"
            )
        };
        (0..4).map(number).collect::<String>()
    };
    let mut text = solution(exercise).to_owned();
    for (loads, atomics) in [
        (
            "@%has0 ld.global.v4.f32 {%v0, %v1, %v2, %v3}, [%x];\n",
            load(0, 0),
        ),
        (
            "@%has1 ld.global.v4.f32 {%v4, %v5, %v6, %v7}, [%x+512];\n",
            load(1, 512),
        ),
    ] {
        assert!(text.contains(loads));
        text = text.replace(loads, &atomics);
    }
    let failure = checked(exercise, &text);
    assert_eq!(failure.by, Part::Limit, "{}", failure.line);
    let expected = "loads from x, per row (256 columns need two): expected at most 2, found 8";
    assert!(failure.line.contains(expected), "{}", failure.line);
}

/// Threads that count each other with an atomic, and read the count until all have come, wait as at a barrier.
#[test]
fn no_limit_on_barriers_is_kept_by_one_of_atomics() {
    let exercise = &named("double-buffer");
    let text = solution(exercise);
    let first = "    setp.lt.u32     %inside, %tx, %inner;\n";
    let other = "    xor.b32         %now, %now, 1024;            // the other buffer\n";
    assert_eq!(text.matches(other).count(), 1);
    let gate = "    .shared .align 4 .u32 gate;
    .reg .b32 %came, %all;
    .reg .pred %wait;
    mov.u32 %all, 0;
    or.b32 %at, %tx, %ty;
    setp.eq.u32 %wait, %at, 0;
    @%wait st.shared.u32 [gate], 0;\n";
    let text = text.replacen(first, &format!("{gate}{first}"), 1);
    let wait = "    add.u32 %all, %all, 256;
    atom.acq_rel.cta.shared.add.u32 %came, [gate], 1;
hold:
    ld.acquire.cta.shared.u32 %came, [gate];
    setp.lt.u32 %wait, %came, %all;
    @%wait bra hold;\n";
    let failure = checked(exercise, &text.replace(other, wait));
    assert_eq!(failure.by, Part::Limit, "{}", failure.line);
    let expected = "expected accesses and barriers that can be counted, found `atom.acq_rel.";
    assert!(failure.line.contains(expected), "{}", failure.line);
}

#[test]
fn files_are_out_of_reach() {
    if !has_sandbox("files that a submission of an exercise reads and writes") {
        return;
    }
    let folder = named("swiglu").folder.canonicalize().unwrap();
    let [check, solution] = ["check.rs", "solution.rs"].map(|name| folder.join(name));
    let before = fs::read(&check).unwrap();
    let own = std::env::current_exe().unwrap();
    for line in [
        format!("std::fs::write({check:?}, \"\").unwrap();"),
        format!("std::fs::remove_file({check:?}).unwrap();"),
        format!("std::fs::read_to_string({check:?}).unwrap();"),
        format!("std::fs::read_to_string({solution:?}).unwrap();"),
        format!("std::fs::write({own:?}, \"\").unwrap();"),
        "std::fs::read(\"/proc/self/maps\").unwrap();".into(),
        "std::fs::OpenOptions::new().write(true).open(\"/proc/self/mem\").unwrap();".into(),
        format!(
            "std::fs::read(\"/proc/{}/environ\").unwrap();",
            std::process::id()
        ),
        "std::fs::read_dir(\"..\").unwrap();".into(),
        "std::fs::write(\"here\", \"\").unwrap();".into(),
        "std::fs::write(\"/tmp/candlepower-was-here\", \"\").unwrap();".into(),
        "std::fs::write(std::env::current_exe()?, \"\").unwrap();".into(),
    ] {
        let failure = failure(&line);
        assert_eq!(failure.by, Part::Crash, "{line}: {}", failure.line);
        let why = ["PermissionDenied", "Text file busy", "ExecutableFileBusy"];
        assert!(
            why.iter().any(|why| failure.line.contains(why)),
            "{line}: {}",
            failure.line
        );
    }
    assert_eq!(fs::read(&check).unwrap(), before);
    // While it is compiled, too: a macro that reads a file is a forbidden word, and its path leads nowhere.
    let word = failure(&format!("include_str!({solution:?});"));
    assert_eq!(word.by, Part::Text);
    assert!(repository().join("exercises").is_dir());
}

#[test]
fn no_secret_is_in_the_environment() {
    let line =
        "assert_eq!(std::env::vars().filter(|(name, _)| name.starts_with(\"CARGO\")).count(), 0);
         assert_eq!([option_env!(\"PATH\"), option_env!(\"HOME\")], [None, None]);";
    let outcome = Desk::new().check(
        &named("swiglu"),
        "environment",
        with_line(&named("swiglu"), line),
    );
    assert!(std::env::vars().any(|(name, _)| name.starts_with("CARGO")));
    let notes = outcome.unwrap().unwrap();
    assert!(notes.iter().all(|note| !note.contains("printed")));
}

/// The check is the teacher's: that it panics is no fault of a submission, which gets no verdict.
#[test]
fn a_check_that_panics_fails_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let exercise = named("swiglu");
    let calls = exercise.folder.join("calls.rs");
    fs::copy(calls, folder.path().join("calls.rs")).unwrap();
    let check = "use exercise::{Fresh, Submission, Verdict};
        pub fn check(_: &mut Fresh, _: &mut Submission) -> Verdict { panic!(\"no inputs\") }";
    fs::write(folder.path().join("check.rs"), check).unwrap();
    let broken = Exercise {
        folder: folder.path().to_owned(),
        ..exercise.clone()
    };
    let bad = Desk::new().check(&broken, "panics", solution(&exercise));
    let bad = bad.unwrap_err().to_string();
    let found = "check.rs: expected a verdict, found panicked at ";
    assert!(bad.contains(found) && bad.ends_with("no inputs"), "{bad}");
}

#[test]
fn no_process_and_no_connection_is_made() {
    if !has_sandbox("processes and connections of a submission of an exercise") {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    for line in [
        format!("std::net::TcpStream::connect(\"{address}\").unwrap();"),
        "std::net::TcpListener::bind(\"127.0.0.1:0\").unwrap();".into(),
        "std::net::UdpSocket::bind(\"127.0.0.1:0\").unwrap();".into(),
        "std::process::Command::new(\"sleep\").arg(\"300\").spawn().unwrap();".into(),
        "loop { std::process::Command::new(std::env::current_exe()?).spawn().unwrap(); }".into(),
        // In another program, it could make any system call.
        "panic!(\"{}\", std::os::unix::process::CommandExt::exec(&mut std::process::Command::new(\"true\")).kind());".replace("{}", "{:?}"),
    ] {
        let failure = failure(&line);
        assert_eq!(failure.by, Part::Crash, "{line}: {}", failure.line);
        assert!(
            failure.line.contains("PermissionDenied"),
            "{}",
            failure.line
        );
    }
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "something has connected");
}

#[test]
fn an_endless_program_is_ended() {
    let quick = Desk::with_limit(Duration::from_secs(3));
    let exercise = &named("swiglu");
    for line in [
        "loop {}",
        "loop { std::thread::sleep(std::time::Duration::MAX) }",
        "std::thread::park();",
        "for _ in 0..8 { std::thread::spawn(|| loop {}); } loop {}",
        "loop { println!(\"verdict: passed\") }",
    ] {
        let outcome = quick.check(exercise, "endless", with_line(exercise, line));
        assert_eq!(outcome.unwrap().unwrap_err().by, Part::Time, "{line}");
    }
}

/// A constant of 32 GiB, a loop in one, and a type that grows: rustc ends, or is killed, before the machine suffers.
#[test]
fn an_endless_compilation_is_ended() {
    for line in [
        "const BIG: [u64; 1 << 32] = [7; 1 << 32]; let f = f + BIG[f] as usize;",
        "const fn deep(n: usize) -> usize { let a = [n; 1 << 20]; if n == 0 { 0 } else { deep(n - 1) + a[1] } } \
         const DEEP: usize = deep(100_000); let f = f + DEEP;",
        "const LOOP: usize = { let mut n = 1usize; while n > 0 { n = n.wrapping_mul(3); } n }; let f = f + LOOP;",
        "macro_rules! twice { ($($t:tt)*) => { twice!($($t)* $($t)*) } } twice!(a);",
    ] {
        let failure = failure(line);
        assert!(
            matches!(failure.by, Part::Text | Part::Time),
            "{line}: {}",
            failure.line
        );
        assert!(failure.line.contains("02-swiglu.rs"), "{}", failure.line);
    }
}
