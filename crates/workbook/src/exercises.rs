//! `workbook exercises`: the exercises on the command line.

mod debrief;
mod learn;
mod level;
mod outputs;
mod package;
mod sheet;
mod teach;
mod tools;
mod watch;

use std::env;
use std::path::{Path, PathBuf, absolute};
use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand};
use classroom::check::TO_COMPILE;
use classroom::page::{ALIAS, COMMAND, quoted};
use classroom::{Exercise, exercise};
use cli::args::whole;
use cli::files;
use data::BadInput;

pub use level::{without_kernels, wrong_methods};

/// Do the exercises of the book. Without a command, lists them
#[derive(Args)]
pub struct ExercisesArgs {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    place: Place,
}

/// Folders of the exercises and of the learner.
#[derive(Args)]
struct Place {
    /// Your own folder [default: my-exercises, here or in a parent folder]
    #[arg(long, value_name = "DIR", global = true)]
    dir: Option<PathBuf>,
    /// Folder to take the exercises from, such as a handout
    #[arg(long, value_name = "DIR", global = true)]
    exercises: Option<PathBuf>,
}

impl Place {
    /// Returns the learner's folder.
    fn dir(&self) -> PathBuf {
        self.dir.clone().unwrap_or_else(own_folder)
    }

    fn exercises(&self) -> Result<Vec<Exercise>> {
        let root = match &self.exercises {
            Some(root) => root.clone(),
            None => files::find("exercises/prelude/Cargo.toml")?
                .ancestors()
                .nth(2)
                .map(Into::into)
                .unwrap_or_default(),
        };
        Ok(exercise::all(&root).map_err(|bad| self.with_handout(bad))?)
    }

    /// Adds advice to get a handout, for an archive without exercises.
    fn with_handout(&self, bad: BadInput) -> BadInput {
        if self.exercises.is_some() || !exercise::are_missing(&bad) {
            return bad;
        }
        let found = format!(
            "none; where the exercises were left out, use your teacher's handout: `{ALIAS} --exercises HANDOUT list`"
        );
        BadInput::new(bad.what, bad.expected, found)
    }

    /// Returns the location of an exercise's page.
    fn page(&self, exercise: &Exercise) -> String {
        match &self.exercises {
            Some(handout) => {
                let page = handout.join("pages").join(format!("{}.md", exercise.id));
                format!("its page is {}", page.display())
            }
            None => {
                let name = exercise.name();
                format!(
                    "its page in the book (`cargo run --release -p book -- serve`) is exercises/{name}.html"
                )
            }
        }
    }

    /// Returns the start of a command that works here, with the current folders.
    fn command(&self) -> String {
        let before = |path: &Path| match path.as_os_str().as_encoded_bytes() {
            [b'-', ..] => '=',
            _ => ' ',
        };
        let option = |name: &str, path: &Option<PathBuf>| {
            let path = path
                .as_ref()
                .map(|path| format!(" --{name}{}{}", before(path), quoted(path)));
            path.unwrap_or_default()
        };
        let begin = if has_alias() { ALIAS } else { COMMAND };
        let dir = option("dir", &self.dir);
        format!("{begin}{dir}{}", option("exercises", &self.exercises))
    }

    /// Checks that a file given by its path is in the learner's folder.
    fn has(&self, name: &str) -> Result<(), BadInput> {
        let whole = |path: &Path| path.canonicalize().or_else(|_| absolute(path)).ok();
        let (own, named) = (self.dir(), Path::new(name).parent());
        match named.filter(|folder| *folder != Path::new("")) {
            Some(folder) if whole(folder) != whole(&own) => {
                let (own, folder) = (own.display(), quoted(folder));
                let expected = format!("a file in {own}, or `--dir {folder}`");
                Err(BadInput::new(name, expected, "a file in another folder"))
            }
            _ => Ok(()),
        }
    }
}

/// Whether cargo knows the alias here, which is in the repository.
fn has_alias() -> bool {
    let here = env::current_dir().unwrap_or_default();
    let files = [".cargo/config.toml", "exercises/prelude/Cargo.toml"];
    let is_root = |folder: &Path| files.iter().all(|file| folder.join(file).is_file());
    here.ancestors().any(is_root)
}

#[derive(Subcommand)]
enum Command {
    /// List all exercises and mark those you have solved
    List,
    /// Start an exercise: copy its file to your folder and print its task
    Start(Named),
    /// Check your file each time you save it; when it passes, start the next exercise
    Watch {
        #[command(flatten)]
        named: Named,
        /// Poll the file twice a second, for folders without change notifications (WSL, network drives)
        #[arg(long)]
        poll: bool,
    },
    /// Check your file: one line says what is wrong, and where
    Check {
        #[command(flatten)]
        named: Named,
        /// Repeat a check with the same random numbers
        #[arg(long, value_name = "N", value_parser = whole::<u64>)]
        seed: Option<u64>,
    },
    /// Show the next of three hints
    Hint(Named),
    /// Restore the starter file of an exercise; your text is kept in FILE.old
    Reset(Named),
    /// Print the solution, after you have passed
    Solution {
        #[command(flatten)]
        named: Named,
        /// Print it even if you have not passed
        #[arg(long)]
        reveal: bool,
    },
    /// Build a level of your own: new, check, watch, hint, report; for teachers: handout, grade
    Level(level::LevelArgs),
    /// For teachers: write the exercises without their solutions into a new folder
    Handout {
        /// Folder to create
        #[arg(value_name = "DIR")]
        to: PathBuf,
        /// Only exercises of this session of the syllabus
        #[arg(long, value_name = "N")]
        session: Option<u8>,
        /// Only this exercise; may be given several times
        #[arg(long, value_name = "EXERCISE")]
        only: Vec<String>,
        /// Leave out the hints: the pages have none, and `hint` gives none
        #[arg(long)]
        no_hints: bool,
    },
    /// For teachers: check a folder of submissions, or one folder per student
    #[command(after_help = BY)]
    Grade(GradeArgs),
    /// The check of one submission, as JSON: what `grade` runs, with a time limit
    #[command(hide = true)]
    Verdict {
        name: String,
        file: PathBuf,
        #[arg(long)]
        limit: f32,
        #[arg(long, value_parser = whole::<u64>)]
        seed: u64,
    },
}

impl Command {
    /// Returns the exercise that a learner names.
    fn exercise(&self) -> Option<&str> {
        let named = match self {
            Self::Start(named) | Self::Hint(named) | Self::Reset(named) => named,
            Self::Watch { named, .. }
            | Self::Check { named, .. }
            | Self::Solution { named, .. } => named,
            _ => return None,
        };
        named.name.as_deref()
    }
}

/// An exercise.
#[derive(Args)]
struct Named {
    /// Number or name of the exercise, or your file [default: the one you started last; for `start` and `watch`, the next once it is solved]
    #[arg(value_name = "EXERCISE")]
    name: Option<String>,
}

/// Arguments of `grade`.
#[derive(Args)]
struct GradeArgs {
    /// Folder of submissions, named as `start` names them, or of one folder per student (subfolders are searched one level deep)
    #[arg(value_name = "DIR")]
    submissions: PathBuf,
    /// Write the grades as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the grades as CSV: a row for each student and exercise
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Write the grades as JUnit
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[arg(long, value_name = "SECONDS", default_value_t = 10., value_parser = seconds, help = of_limit())]
    limit: f32,
    /// Only exercises of this session of the syllabus
    #[arg(long, value_name = "N")]
    session: Option<u8>,
    /// Only this exercise; may be given several times
    #[arg(long, value_name = "EXERCISE")]
    only: Vec<String>,
    /// Only the graded task of each session
    #[arg(long)]
    graded: bool,
    /// Run submissions in Rust even where this machine has no sandbox for them
    #[arg(long)]
    unsandboxed: bool,
    /// Seed of the random numbers of all checks, to repeat them
    #[arg(long, value_name = "N", value_parser = whole::<u64>)]
    seed: Option<u64>,
}

impl GradeArgs {
    /// Whether all exercises are graded.
    fn has_all(&self) -> bool {
        self.session.is_none() && self.only.is_empty() && !self.graded
    }
}

/// Explains the field `by` of the files.
const BY: &str = "\
In the files, `passed` says whether a submission passed, and `by` names the part of the check that rejected it:
  outside    the text outside the regions is not that of the starter
  text       it does not parse or compile, or contains a forbidden word
  output     a wrong result
  limit      a cost, such as memory transactions, is above its limit
  question   an answer or a prediction is wrong
  check      the check of an exercise in Rust failed
  time       it ran longer than --limit
  crash      it ended before the check did
  missing    no file has the name of the exercise's file
  unchecked  this machine cannot check it, for example CUDA without NVRTC, or the exercise itself has a mistake
Other names are those of faults that the simulator found, such as race or out-of-bounds. `line` says what is wrong, and where.";

/// Returns the help of `--limit`.
fn of_limit() -> String {
    let compile = TO_COMPILE.as_secs();
    format!(
        "Time limit for each submission, in seconds; Rust submissions get {compile} more for each of two compilations"
    )
}

fn seconds(text: &str) -> Result<f32, String> {
    let number = text
        .parse()
        .ok()
        .filter(|s: &f32| (0.001..=3600.).contains(s));
    number.ok_or_else(|| "expected a number of seconds from 0.001 to 3600".into())
}

/// Default name of the learner's folder.
const FOLDER: &str = classroom::class::OWN_FOLDER;

/// Finds the learner's folder: the current folder, or [`FOLDER`] in it or in a parent; otherwise a new
/// [`FOLDER`] here.
fn own_folder() -> PathBuf {
    let begun = |dir: &PathBuf| dir.join(classroom::PROGRESS).is_file();
    let around = env::current_dir().map_or(0, |here| here.ancestors().count());
    let folders = (0..around).map(|up| Path::new(&"../".repeat(up)).join(FOLDER));
    let here = std::iter::once(PathBuf::from("."));
    here.chain(folders)
        .find(begun)
        .unwrap_or_else(|| FOLDER.into())
}

/// Time limit of a submission checked by a learner.
const LIMIT: Duration = Duration::from_secs(10);

/// Runs the command in `args`; returns whether all checks passed.
pub fn run(args: &ExercisesArgs) -> Result<bool> {
    let place = &args.place;
    let exercises = match &args.command {
        // A level of the learner's own needs none.
        Some(Command::Level(_)) => vec![],
        _ => place.exercises()?,
    };
    let name = args.command.as_ref().and_then(Command::exercise);
    place.has(name.unwrap_or_default())?;
    match &args.command {
        None | Some(Command::List) => learn::list(&exercises, place),
        Some(Command::Level(level)) => level::run(level, place),
        Some(Command::Start(_)) => learn::start(&exercises, place, name),
        Some(Command::Watch { poll, .. }) => watch::watch(&exercises, place, name, *poll),
        Some(Command::Check { seed, .. }) => learn::check(&exercises, place, name, *seed),
        Some(Command::Hint(_)) => learn::hint(&exercises, place, name),
        Some(Command::Reset(_)) => learn::reset(&exercises, place, name),
        Some(Command::Solution { reveal, .. }) => learn::solution(&exercises, place, name, *reveal),
        Some(Command::Handout {
            to,
            session,
            only,
            no_hints,
        }) => teach::handout(&exercises, to, *session, only, !no_hints),
        Some(Command::Grade(grade)) => teach::grade(&exercises, place, grade),
        Some(Command::Verdict {
            name,
            file,
            limit,
            seed,
        }) => {
            let limit = Duration::from_secs_f32(*limit);
            teach::verdict(&exercises, name, file, limit, *seed)
        }
    }
}
