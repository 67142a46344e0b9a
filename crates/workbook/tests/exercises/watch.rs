//! `watch` checks a file whenever it is saved.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use crate::run::{Folder, named};

/// A watch that is killed at the end of the test, and its output line by line.
struct Watch(Child, Receiver<String>);

impl Watch {
    fn start(folder: &Folder, args: &[&str]) -> Self {
        let mut command = folder.command(&[&["watch"], args].concat());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || {
            stdout
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| sender.send(line))
        });
        Self(child, lines)
    }

    /// Waits for a line with `part`.
    fn says(&self, part: &str) {
        loop {
            let line = self.1.recv_timeout(Duration::from_secs(20));
            if line
                .unwrap_or_else(|_| panic!("no line with {part:?}"))
                .contains(part)
            {
                return;
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        self.0.wait().unwrap();
    }
}

fn goes_on_when_a_file_is_saved(args: &[&str]) {
    let folder = Folder::new();
    let [first, second] = &["guard", "columns"].map(named);
    folder.run(&["start", first.name()]).ended(0);
    let watch = Watch::start(&folder, args);
    watch.says(&first.spec.title);
    watch.says("uninitialised");
    // Saved without a change: no output.
    fs::write(folder.file(first), &first.starter).unwrap();
    let solution = first.solution.as_deref().unwrap();
    fs::write(
        folder.file(first),
        solution.replace("    @%out bra       end;\n", ""),
    )
    .unwrap();
    watch.says("out-of-bounds");
    fs::write(folder.file(first), solution).unwrap();
    watch.says(&format!("{}: passed", first.id));
    watch.says(&second.spec.title);
    assert!(folder.file(second).is_file());
}

#[test]
fn with_the_systems_notices() {
    goes_on_when_a_file_is_saved(&[]);
}

#[test]
fn by_polling() {
    goes_on_when_a_file_is_saved(&["--poll"]);
}

/// A watch continues at the learner's current exercise.
#[test]
fn the_place_is_kept() {
    let folder = Folder::new();
    folder.run(&["start", "row-argmax"]).ended(0);
    let watch = Watch::start(&folder, &["--poll"]);
    watch.says("09 Barriers: the first maximum");
    watch.says("not solved yet");
}

/// A watch of a named exercise continues after it.
#[test]
fn an_exercise_can_be_named() {
    let folder = Folder::new();
    folder.run(&["start", "guard"]).ended(0);
    folder
        .run(&["watch", "gaurd"])
        .refused(&["found \"gaurd\"; did you mean guard?"]);
    let [columns, next] = &["columns", "row-argmax"].map(named);
    let watch = Watch::start(&folder, &["columns", "--poll"]);
    watch.says(&columns.spec.title);
    watch.says("08-columns is not solved yet");
    fs::write(folder.file(columns), columns.solution.as_deref().unwrap()).unwrap();
    watch.says("08-columns: passed");
    watch.says(&next.spec.title);
}

/// A watch of a solved exercise stays with it, so that its edits are checked.
#[test]
fn a_solved_exercise_that_is_named_is_watched() {
    let folder = Folder::new();
    let guard = named("guard");
    let solution = guard.solution.as_deref().unwrap();
    folder.run(&["start", "guard"]).ended(0);
    fs::write(folder.file(&guard), solution).unwrap();
    folder.run(&["check"]).ended(0);
    let watch = Watch::start(&folder, &["guard", "--poll"]);
    watch.says("this watch stays with it");
    watch.says("07-guard: passed");
    fs::write(folder.file(&guard), &guard.starter).unwrap();
    watch.says("07-guard still counts as solved");
    fs::write(folder.file(&guard), solution).unwrap();
    watch.says("07-guard: passed");
}

/// Progress that another command writes while a watch runs stays.
#[test]
fn a_watch_keeps_what_others_have_noted() {
    let folder = Folder::new();
    let [first, second] = &["guard", "columns"].map(named);
    folder.run(&["start", first.name()]).ended(0);
    let watch = Watch::start(&folder, &["--poll"]);
    watch.says("not solved yet");
    folder.run(&["hint", second.name()]).ended(0);
    folder.run(&["hint", second.name()]).ended(0);
    fs::write(folder.file(first), first.solution.as_deref().unwrap()).unwrap();
    watch.says(&second.spec.title);
    watch.says("not solved yet");
    assert!(
        folder
            .run(&["hint", second.name()])
            .ended(0)
            .starts_with("Hint 3")
    );
    assert!(
        folder
            .run(&["list"])
            .ended(0)
            .contains(&format!("✓ {}", first.number()))
    );
}

/// A removed file or folder is reported, and the watch ends.
#[test]
fn a_watched_file_may_go() {
    for args in [&[][..], &["--poll"]] {
        let folder = Folder::new();
        folder.run(&["start", "guard"]).ended(0);
        let mut watch = Watch::start(&folder, args);
        watch.says("not solved yet");
        fs::remove_file(folder.file(&named("guard"))).unwrap();
        watch.says(" exercises start 07` creates it again");
        folder.run(&["start", "07"]).ended(0);
        fs::remove_dir_all(folder.path("my-exercises")).unwrap();
        assert_eq!(watch.0.wait().unwrap().code(), Some(2));
    }
}
