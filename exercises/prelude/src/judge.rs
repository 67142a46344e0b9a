//! The check's side: calls of the submission, and the verdict.

use std::error::Error;
use std::fmt;
use std::io::ErrorKind;
use std::process::ExitCode;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::channel::{Channel, MOST};
use crate::sent::Sent;
use crate::{Fresh, Verdict};

/// A submission in another process.
pub struct Submission {
    channel: Channel,
    process: u32,
    /// Peak of its memory before its first call.
    peak: Option<u64>,
}

/// The submission's process has ended, or its answer is none.
#[derive(Debug)]
struct NoAnswer;

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("it gave no answer")
    }
}

impl Error for NoAnswer {}

/// candle has refused an operation, at this line.
#[derive(Debug)]
struct Refused(String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Refused {}

impl Submission {
    /// Calls a function of `calls.rs`.
    ///
    /// # Errors
    /// The submission's process has ended, its result is too large, or candle refuses one of its operations.
    pub fn call<R: Sent>(&mut self, name: &str, arguments: impl Sent) -> Result<R, Box<dyn Error>> {
        let mut request = vec![];
        name.to_owned().put(&mut request);
        arguments.put(&mut request);
        self.channel.send(&request).map_err(|_| NoAnswer)?;
        let answer = match self.channel.receive() {
            Err(e) if e.kind() == ErrorKind::InvalidData => {
                let mib = MOST >> 20;
                return Err(
                    format!("{name}: expected a result of at most {mib} MiB, found more").into(),
                );
            }
            answer => answer.map_err(|_| NoAnswer)?,
        };
        let answer = Result::<Vec<u8>, String>::take(&mut &*answer.ok_or(NoAnswer)?);
        let result = answer.ok_or(NoAnswer)?.map_err(Refused)?;
        Ok(R::take(&mut &*result).ok_or(NoAnswer)?)
    }

    /// The bytes by which the peak of its memory has grown since it started, whatever it keeps them in; `None` where the
    /// kernel does not tell.
    pub fn grown(&self) -> Option<usize> {
        let grown = peak(self.process)?.saturating_sub(self.peak?);
        usize::try_from(grown).ok()
    }
}

/// Peak of the resident bytes of a process: `VmHWM` of Linux.
fn peak(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().ok()?;
    Some(1024 * kib)
}

/// Prints what the submission costs next to what costs more: `At {at}: {before} → yours`, and a line per counter with its
/// value before and now. The learner sees them after a pass.
pub fn compare(at: &str, before: &str, counters: &[(&str, usize, usize)]) {
    for line in lines(at, before, counters) {
        eprintln!("\nnote: {line}");
    }
}

fn lines(at: &str, before: &str, counters: &[(&str, usize, usize)]) -> Vec<String> {
    let mut rows = vec![(format!("At {at}:"), format!("{before} → yours"))];
    for (what, before, own) in counters {
        rows.push((format!("  {what}"), format!("{before} → {own}")));
    }
    let wide = |texts: Vec<&String>| texts.iter().map(|text| text.chars().count()).max();
    let left = wide(rows.iter().map(|row| &row.0).collect()).unwrap_or(0);
    let right = wide(rows.iter().map(|row| &row.1).collect()).unwrap_or(0);
    let row = |(name, value): &(String, String)| format!("{name:left$}  {value:>right$}");
    let mut lines: Vec<String> = rows.iter().map(row).collect();
    if counters.iter().all(|(_, before, own)| before == own) {
        lines.push("The costs are the same, because the fault is in the result.".into());
    }
    lines
}

/// Runs the program of a check. Its arguments are the seed and the submission's process id. The last line that it prints
/// is `verdict: passed`, `verdict: failed LINE WHY` or `verdict: none`.
pub fn judge(check: fn(&mut Fresh, &mut Submission) -> Verdict) -> ExitCode {
    let mut numbers = std::env::args().skip(1).map(|number| number.parse().ok());
    let (Some(Some(seed)), Some(Some(process)), Ok(mut channel)) =
        (numbers.next(), numbers.next(), Channel::take())
    else {
        return ExitCode::FAILURE;
    };
    // A submission sends an empty message once it has started. If it ended before, its first call says so.
    let _ = channel.receive();
    let process = u32::try_from(process).unwrap_or_default();
    let peak = peak(process);
    let mut submission = Submission {
        channel,
        process,
        peak,
    };
    let verdict = match check(&mut Fresh(ChaCha8Rng::seed_from_u64(seed)), &mut submission) {
        Ok(()) => "passed".to_owned(),
        Err(error) if error.is::<NoAnswer>() => "none".into(),
        Err(error) if error.is::<Refused>() => format!("failed {error}"),
        Err(error) => format!("failed 0 {error}"),
    };
    // A line break would end the line of the verdict.
    eprintln!("\nverdict: {}", verdict.replace(['\n', '\r'], " "));
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    #[test]
    fn counters_are_aligned() {
        let expected = ["At C = 4:  naive → yours", "  tensors         10 → 2"];
        let lines = |own| super::lines("C = 4", "naive", &[("tensors", 10, own)]);
        assert_eq!(lines(2), expected);
        assert_eq!(lines(10).len(), 3);
    }
}
