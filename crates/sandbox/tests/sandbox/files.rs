//! Files and the network.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use super::{child, is_available, limits, run, said, shell};

#[test]
fn only_what_is_listed_is_read() {
    if !is_available("files that a submission reads") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("solution.rs");
    fs::write(&secret, "the solution").unwrap();
    let said_of = |limits| said(&run(child("reads", &secret), &limits));
    assert!(said_of(limits()).contains("read: Err(PermissionDenied)"));
    assert!(said_of(limits().readable(&secret)).contains("read: Ok(\"the solution\")"));
    assert!(said_of(limits().readable(folder.path())).contains("read: Ok(\"the solution\")"));
    // A link in the writable folder leads nowhere new.
    let own = tempfile::tempdir().unwrap();
    let link = own.path().join("link");
    std::os::unix::fs::symlink(&secret, &link).unwrap();
    let outcome = run(child("reads", &link), &limits().writable(own.path()));
    assert!(said(&outcome).contains("read: Err(PermissionDenied)"));
    for hidden in [
        "/proc/self/status",
        "/proc/1/environ",
        "/etc",
        "/etc/passwd",
        "/etc/shadow",
        "/root",
        "/home",
        "/dev/sda",
        "/usr",
        "/usr/src",
        "/usr/local/cargo",
        "/usr/share",
        "/",
    ] {
        if Path::new(hidden).exists() {
            let said = said(&run(child("reads", hidden), &limits()));
            assert!(!said.contains("Ok("), "{hidden}: {said}");
        }
    }
}

#[test]
fn a_folder_in_a_readable_one_is_exposed() {
    if !is_available("folders that a submission reads") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let class = folder.path().join("class");
    fs::create_dir(&class).unwrap();
    assert_eq!(limits().exposes(&class), None);
    let readable = limits().readable(folder.path());
    assert_eq!(readable.exposes(&class).as_deref(), Some(folder.path()));
    assert_eq!(readable.unconfined().exposes(&class), None);
    let headers = Path::new("/usr/include");
    assert_eq!(limits().exposes(headers), None);
    let compiler = limits().processes(1).exposes(headers);
    assert!(compiler.is_some() || !headers.exists());
}

#[test]
fn only_one_folder_is_written() {
    if !is_available("files that a submission writes") {
        return;
    }
    let [own, other] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let limits = limits().writable(own.path()).readable(other.path());
    let [mine, foreign] = [own.path().join("a"), other.path().join("a")];
    fs::write(&foreign, "kept").unwrap();
    let outcome = run(child("writes", &mine), &limits);
    let said_of_mine = said(&outcome);
    for line in ["write: Ok", "append: Ok", "remove: Ok"] {
        assert!(said_of_mine.contains(line), "{said_of_mine}");
    }
    let said = said(&run(child("writes", &foreign), &limits));
    for line in ["write: Err(Perm", "append: Err(Perm", "remove: Err(Perm"] {
        assert!(said.contains(line), "{said}");
    }
    assert_eq!(fs::read_to_string(&foreign).unwrap(), "kept");
    // Truncated without a right to write.
    let mut truncate = Command::new("truncate");
    truncate.args(["--size", "0"]).arg(&foreign);
    assert!(!run(truncate, &limits).success());
    assert_eq!(fs::read_to_string(&foreign).unwrap(), "kept");
}

#[test]
fn no_mode_time_or_owner_changes() {
    if !is_available("a submission that changes modes") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("another's.rs");
    fs::write(&file, "kept").unwrap();
    let before = fs::metadata(&file).unwrap();
    for limits in [limits(), limits().writable(folder.path())] {
        let said = said(&run(
            child("changes_a_mode", &file),
            &limits.readable(&file),
        ));
        for line in ["mode: Err(Perm", "time: Err(Perm", "owner: Err(Perm"] {
            assert!(said.contains(line), "{said}");
        }
    }
    let after = fs::metadata(&file).unwrap();
    assert_eq!(before.permissions(), after.permissions());
    assert_eq!(before.modified().unwrap(), after.modified().unwrap());
}

/// An image of a container keeps a clone in `/usr/src`.
#[test]
fn only_what_a_program_needs_of_usr_is_read() {
    if !is_available("files of the system that a submission reads") {
        return;
    }
    let alone = || sandbox::Limits::new(super::LONG).readable(super::this());
    let lists = |folder, limits| said(&run(child("reads", folder), &limits)).contains("list: Ok");
    assert!(lists("/usr/lib", alone()) && !lists("/usr/bin", alone()));
    assert!(lists("/usr/bin", alone().processes(64)));
    for folder in ["/usr", "/usr/src", "/usr/local"] {
        assert!(!lists(folder, alone().processes(64)), "{folder}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_is_only_read_stays_free_for_others() {
    if !is_available("a submission that sets attributes or leases") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("another's.rs");
    fs::write(&file, "kept").unwrap();
    for limits in [limits(), limits().processes(64)] {
        let reaches = child("reaches_others_by_a_file", &file);
        let said = said(&run(reaches, &limits.readable(folder.path())));
        assert!(said.contains("refused: [1, 1, 1, 1]"), "{said}");
    }
}

#[test]
fn nothing_connects() {
    if !is_available("a submission's network") {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let said = said(&run(child("connects", address), &limits()));
    assert!(
        said.contains("\nErr(PermissionDenied)") || said.contains("Err(PermissionDenied)\n"),
        "{said}"
    );
    assert!(said.contains("pair: Err(PermissionDenied)"), "{said}");
}

#[test]
fn a_missing_file_is_an_error() {
    let limits = limits().readable("/no/such/folder");
    let outcome = sandbox::run(shell("true"), &limits);
    if sandbox::available().is_ok() {
        assert_eq!(outcome.unwrap_err().kind(), std::io::ErrorKind::NotFound);
    }
    let no_program = sandbox::run(Command::new("/no/such/program"), &super::limits());
    assert_eq!(no_program.unwrap_err().kind(), std::io::ErrorKind::NotFound);
}
