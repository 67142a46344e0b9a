//! `workbook exercises`: the exercises on a command line.

mod learn;
mod teach;
mod tools;
mod watch;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use clap::{Args, Subcommand};
use classroom::{Exercise, exercise};
use cli::files;

/// Do the exercises of the book: without a command, lists them
#[derive(Args)]
pub struct ExercisesArgs {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    place: Place,
}

/// Where things are.
#[derive(Args)]
struct Place {
    /// Your own folder [default: my-exercises, here or in a folder around it]
    #[arg(long, value_name = "DIR", global = true)]
    dir: Option<PathBuf>,
    /// Exercises from elsewhere, such as a handout
    #[arg(long, value_name = "DIR", global = true)]
    exercises: Option<PathBuf>,
}

impl Place {
    /// The learner's folder.
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
        Ok(exercise::all(&root)?)
    }
}

#[derive(Subcommand)]
enum Command {
    /// All exercises, and which you have solved
    List,
    /// Begin an exercise: put its file into your folder and print its task
    Start(Named),
    /// Check your file whenever you save it, and go on to the next exercise when it passes
    Watch {
        /// Look at the file twice a second: for folders where the system sends no notice (WSL, networks)
        #[arg(long)]
        poll: bool,
    },
    /// Check your file: one line says what is wrong and where
    Check {
        #[command(flatten)]
        named: Named,
        /// Repeat the random numbers of a check
        #[arg(long, value_name = "N")]
        seed: Option<u64>,
    },
    /// The next of three hints
    Hint(Named),
    /// Begin an exercise again; what you wrote stays in FILE.old
    Reset(Named),
    /// Print the solution, once you have passed
    Solution {
        #[command(flatten)]
        named: Named,
        /// Also if you have not passed
        #[arg(long)]
        reveal: bool,
    },
    /// For teachers: write the exercises without their solutions into a new folder
    Handout {
        /// The new folder
        #[arg(value_name = "DIR")]
        to: PathBuf,
        /// Only the exercises of one session of the syllabus
        #[arg(long, value_name = "N")]
        session: Option<u8>,
    },
    /// For teachers: check a folder of submissions, or a folder of students' folders
    Grade(GradeArgs),
    /// The check of one submission, as JSON: what `grade` runs, with a time limit
    #[command(hide = true)]
    Verdict {
        name: String,
        file: PathBuf,
        #[arg(long)]
        limit: f32,
        #[arg(long)]
        seed: u64,
    },
}

/// An exercise.
#[derive(Args)]
struct Named {
    /// Its number or name [default: the one in hand]
    #[arg(value_name = "EXERCISE")]
    name: Option<String>,
}

/// What `grade` takes.
#[derive(Args)]
struct GradeArgs {
    /// Submissions, named as `start` names them; or a folder for each student, with them in it or in a folder in that
    #[arg(value_name = "DIR")]
    submissions: PathBuf,
    /// Write the grades as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the grades as JUnit
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Seconds that a submission may run
    #[arg(long, value_name = "SECONDS", default_value_t = 10., value_parser = seconds)]
    limit: f32,
    /// Only the exercises of one session of the syllabus
    #[arg(long, value_name = "N")]
    session: Option<u8>,
    /// Only this exercise; may be given several times
    #[arg(long, value_name = "EXERCISE")]
    only: Vec<String>,
    /// Only the graded task of each session
    #[arg(long)]
    graded: bool,
    /// Of the random numbers of all checks, to repeat them
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

fn seconds(text: &str) -> Result<f32, String> {
    let number = text
        .parse()
        .ok()
        .filter(|s: &f32| (0.001..=3600.).contains(s));
    number.ok_or_else(|| "expected seconds, from 0.001 to 3600".into())
}

/// The learner's folder, where none is named.
const FOLDER: &str = "my-exercises";

/// Where the learner has begun: this folder, or [`FOLDER`] in it or in one around it. A new [`FOLDER`] here for who has not.
fn own_folder() -> PathBuf {
    let begun = |dir: &PathBuf| dir.join(classroom::PROGRESS).is_file();
    let around = std::env::current_dir().map_or(0, |here| here.ancestors().count());
    let folders = (0..around).map(|up| Path::new(&"../".repeat(up)).join(FOLDER));
    let here = std::iter::once(PathBuf::from("."));
    here.chain(folders)
        .find(begun)
        .unwrap_or_else(|| FOLDER.into())
}

/// What a submission may run when a learner checks it.
const LIMIT: Duration = Duration::from_secs(10);

/// Does what `args` say; whether nothing is wrong with what was checked.
pub fn run(args: &ExercisesArgs) -> Result<bool> {
    let exercises = args.place.exercises()?;
    let dir = &args.place.dir();
    match &args.command {
        None | Some(Command::List) => learn::list(&exercises, dir),
        Some(Command::Start(named)) => {
            learn::start(&exercises, dir, &args.place, named.name.as_deref())
        }
        Some(Command::Watch { poll }) => watch::watch(&exercises, dir, *poll),
        Some(Command::Check { named, seed }) => {
            learn::check(&exercises, dir, &args.place, named.name.as_deref(), *seed)
        }
        Some(Command::Hint(named)) => learn::hint(&exercises, dir, named.name.as_deref()),
        Some(Command::Reset(named)) => learn::reset(&exercises, dir, named.name.as_deref()),
        Some(Command::Solution { named, reveal }) => {
            learn::solution(&exercises, dir, named.name.as_deref(), *reveal)
        }
        Some(Command::Handout { to, session }) => teach::handout(exercises, to, *session),
        Some(Command::Grade(grade)) => teach::grade(&exercises, &args.place, grade),
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
