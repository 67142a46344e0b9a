use super::*;

fn exercises() -> Vec<Exercise> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../exercises");
    crate::exercise::all(&root).unwrap()
}

#[test]
fn programs_at_the_same_time_keep_all_progress() {
    let exercises = exercises();
    let folder = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for exercise in &exercises {
            let folder = folder.path();
            scope.spawn(move || {
                let mut learner = Learner::open(folder).unwrap();
                learner.pass(exercise).unwrap();
                learner.hint(exercise).unwrap();
            });
        }
    });
    let progress = Progress::read(folder.path()).unwrap();
    assert_eq!(progress.passed.len(), exercises.len());
    assert_eq!(progress.hints.len(), exercises.len());
}

#[test]
fn resets_at_the_same_time_keep_every_text() {
    let exercise = &exercises()[0];
    let folder = tempfile::tempdir().unwrap();
    let learner = Learner::open(folder.path()).unwrap();
    fs::write(learner.file(exercise), "my text").unwrap();
    let reset = || Learner::open(folder.path()).unwrap().reset(exercise);
    let kept: Vec<PathBuf> = std::thread::scope(|scope| {
        let resets: Vec<_> = (0..8).map(|_| scope.spawn(reset)).collect();
        let kept = resets.into_iter().map(|reset| reset.join().unwrap());
        kept.filter_map(Result::unwrap).collect()
    });
    assert_eq!(kept.len(), 1);
    assert_eq!(fs::read_to_string(&kept[0]).unwrap(), "my text");
    let starter = fs::read_to_string(learner.file(exercise)).unwrap();
    assert_eq!(starter, exercise.starter);
}

#[test]
fn a_reset_replaces_no_other_file() {
    let exercise = &exercises()[0];
    let folder = tempfile::tempdir().unwrap();
    let mut learner = Learner::open(folder.path()).unwrap();
    let file = learner.file(exercise);
    fs::write(&file, "my text").unwrap();
    let new = folder.path().join(format!("{}.new", exercise.file()));
    fs::write(&new, "mine, too").unwrap();
    let old = learner.reset(exercise).unwrap().unwrap();
    assert_eq!(fs::read_to_string(old).unwrap(), "my text");
    assert_eq!(fs::read_to_string(new).unwrap(), "mine, too");
}

#[test]
fn a_folder_in_place_of_a_file_is_refused() {
    let exercise = &exercises()[0];
    let folder = tempfile::tempdir().unwrap();
    let mut learner = Learner::open(folder.path()).unwrap();
    fs::create_dir(learner.file(exercise)).unwrap();
    let error = learner.start(exercise).unwrap_err().to_string();
    assert!(
        error.ends_with("expected a regular file, found a folder"),
        "{error}"
    );
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Learner::open(&file).unwrap_err().to_string();
    assert!(
        error.ends_with("file: expected a folder, found a file"),
        "{error}"
    );
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_nowhere_is_not_replaced() {
    let exercise = &exercises()[0];
    let folder = tempfile::tempdir().unwrap();
    let mut learner = Learner::open(folder.path()).unwrap();
    let file = learner.file(exercise);
    std::os::unix::fs::symlink("nowhere", &file).unwrap();
    for error in [learner.start(exercise).err(), learner.reset(exercise).err()] {
        let error = error.unwrap().to_string();
        assert!(
            error.ends_with("found a link that leads nowhere"),
            "{error}"
        );
    }
    assert!(file.is_symlink());
}

/// A progress that was edited, or that has no end.
#[test]
fn an_odd_progress_is_no_panic() {
    let exercises = exercises();
    let exercise = &exercises[0];
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(PROGRESS);
    let text = format!("{{\"hints\": {{{:?}: {}}}}}", exercise.id, u64::MAX);
    fs::write(&file, text).unwrap();
    let mut learner = Learner::open(folder.path()).unwrap();
    assert_eq!(learner.hint(exercise).unwrap().0, 3);
    #[cfg(unix)]
    {
        fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &file).unwrap();
        let bad = Learner::open(folder.path()).unwrap_err().to_string();
        let expected = "expected a regular file, found a pipe or a device";
        assert!(bad.ends_with(expected), "{bad}");
    }
}

/// A file with a hole takes no space on the disk.
#[test]
fn a_progress_has_a_size() {
    let folder = tempfile::tempdir().unwrap();
    let sparse = fs::File::create(folder.path().join(PROGRESS)).unwrap();
    sparse.set_len(6 << 30).unwrap();
    let large = Learner::open(folder.path()).unwrap_err().to_string();
    assert!(
        large.ends_with("expected at most 1048576 bytes, found 6442450944"),
        "{large}"
    );
}
