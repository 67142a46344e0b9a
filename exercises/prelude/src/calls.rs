//! The submission's side: its functions by name.

use std::collections::HashMap;
use std::io::Write;
use std::process::ExitCode;

use candle_core::{Error, Result};

use crate::channel::Channel;
use crate::sent::Sent;

/// A function from the bytes of its arguments to those of its result.
type Call = Box<dyn Fn(&[u8]) -> Result<Vec<u8>>>;

/// Functions that a check may call.
#[derive(Default)]
pub struct Calls(HashMap<&'static str, Call>);

impl Calls {
    /// Adds a function.
    pub fn add<A: Sent, R: Sent>(
        &mut self,
        name: &'static str,
        call: impl Fn(A) -> Result<R> + 'static,
    ) {
        let call = move |mut arguments: &[u8]| {
            let arguments = A::take(&mut arguments)
                .ok_or_else(|| Error::msg(format!("{name}: check.rs sends other arguments")))?;
            let mut result = vec![];
            call(arguments)?.put(&mut result);
            Ok(result)
        };
        self.0.insert(name, Box::new(call));
    }
}

/// Runs the program of a submission: answers the calls of its check until there are no more. `file` is the name of the
/// submission's file.
pub fn serve(calls: fn(&mut Calls), file: &str) -> ExitCode {
    let mut own = Calls::default();
    let Ok(mut channel) = Channel::take() else {
        return ExitCode::FAILURE;
    };
    // A program that starts without `unsafe` stays one.
    if let Err(error) = sandbox::stay_this_program() {
        let _ = writeln!(std::io::stderr(), "the sandbox: {error}");
        return ExitCode::FAILURE;
    }
    // The check waits for this message before it reads how large the process is.
    if channel.send(&[]).is_err() {
        return ExitCode::FAILURE;
    }
    calls(&mut own);
    while let Ok(Some(request)) = channel.receive() {
        let answer = own.answer(&request, file);
        let mut bytes = vec![];
        answer.put(&mut bytes);
        if channel.send(&bytes).is_err() {
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

impl Calls {
    /// The bytes of a result, or `LINE WHY`.
    fn answer(&self, mut request: &[u8], file: &str) -> std::result::Result<Vec<u8>, String> {
        let name = String::take(&mut request).unwrap_or_default();
        let Some(call) = self.0.get(&*name) else {
            return Err(format!("0 calls.rs has no function {name:?}"));
        };
        call(request).map_err(|error| {
            // candle appends a backtrace to its message.
            let text = error.to_string();
            let why = text.lines().next().unwrap_or("without a reason");
            let line = line(&text, file);
            format!("{line} candle refuses an operation: {why}")
        })
    }
}

/// Returns the line of the first backtrace frame in `file`, `at /…/FILE:19:5`, or 0.
fn line(backtrace: &str, file: &str) -> u32 {
    let place = backtrace.split_once(&format!("/{file}:"));
    let line = place.and_then(|(_, rest)| rest.split(':').next());
    line.and_then(|line| line.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_found_by_its_name() {
        let mut calls = Calls::default();
        calls.add("double", |(x,): (u32,)| Ok(2 * x));
        calls.add("refuse", |(): ()| {
            Err::<u8, _>(Error::msg("no\nat /a/b.rs:19:5"))
        });
        let answer = |name: &str, arguments: &[u8]| {
            let mut request = vec![];
            name.to_owned().put(&mut request);
            request.extend(arguments);
            calls.answer(&request, "b.rs")
        };
        assert_eq!(answer("double", &[3, 0, 0, 0]), Ok(vec![6, 0, 0, 0]));
        assert!(
            answer("double", &[3])
                .unwrap_err()
                .contains("other arguments")
        );
        assert!(
            answer("treble", &[])
                .unwrap_err()
                .contains("no function \"treble\"")
        );
        assert_eq!(
            answer("refuse", &[]).unwrap_err(),
            "19 candle refuses an operation: no"
        );
    }
}
