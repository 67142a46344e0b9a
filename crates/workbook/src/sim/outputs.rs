//! The files that `workbook sim` writes.

use std::path::{Path, PathBuf};

use anyhow::Result;
use cli::files::Output;
use data::BadInput;
use serde_json::json;
use simt::case::{Argument, Case, Contents, Fill, Operands};
use simt::{Report, Watch};

use super::args::SimArgs;
use super::text::bad_input;

/// Output files, checked before any work.
pub struct Outputs {
    json: Option<Output>,
    trace: Option<Output>,
    dumps: Vec<(usize, Output)>,
}

impl Outputs {
    /// # Errors
    /// For a file that cannot be written, that is another output or that `case` reads; for an option that is not a
    /// number and a file.
    pub fn new(args: &SimArgs, case: &Case) -> Result<Self, BadInput> {
        let output = |path: &Option<PathBuf>| path.as_deref().map(Output::new).transpose();
        let dump = |text: &String| {
            let split = text.split_once(':');
            let named = split.filter(|(_, file)| !file.is_empty());
            let parts = named.and_then(|(k, file)| Some((k.parse().ok()?, file)));
            let (argument, file) = parts.ok_or_else(|| {
                BadInput::new("--dump", "K:FILE.npy, K the number of an argument", text)
            })?;
            Ok((argument, Output::new(file.as_ref())?))
        };
        let dumps = args
            .dump
            .iter()
            .map(dump)
            .collect::<Result<_, BadInput>>()?;
        let all = Self {
            json: output(&args.json)?,
            trace: output(&args.trace)?,
            dumps,
        };
        let dumps = all.dumps.iter().map(|(_, output)| output);
        let kernel = args.file()?;
        let reports = all.json.iter().chain(&all.trace);
        Output::distinct(reports.clone().chain(dumps), &[kernel])?;
        // A dump may replace the array that its buffer was read from.
        Output::distinct(reports, &arrays(case).collect::<Vec<_>>())?;
        Ok(all)
    }

    /// Checks that the arguments to save are buffers.
    pub fn check(&self, operands: &Operands) -> Result<(), BadInput> {
        let buffers: Vec<String> = (0..operands.args.len())
            .filter(|&k| operands.buffer(k).is_some())
            .map(|k| k.to_string())
            .collect();
        let expected = if buffers.is_empty() {
            "an argument that is a buffer".into()
        } else {
            format!("the number of a buffer ({})", buffers.join(", "))
        };
        match self
            .dumps
            .iter()
            .find(|(k, _)| operands.buffer(*k).is_none())
        {
            Some((k, _)) => Err(BadInput::new("--dump", expected, k)),
            None => Ok(()),
        }
    }

    /// Writes them all, and names what it wrote of the buffers.
    pub fn write(
        &self,
        report: &Report,
        operands: &Operands,
        watch: Option<Watch>,
        ptx: &str,
    ) -> Result<String> {
        if let Some(output) = &self.json {
            output.write(serde_json::to_string_pretty(report)?.as_bytes())?;
        }
        if let (Some(output), Some(watch)) = (&self.trace, watch) {
            output.write(
                json!({
                    "entry": report.entry,
                    "grid": report.grid,
                    "block": report.block,
                    "watched": { "block": watch.block, "warp": watch.warp },
                    "steps": report.trace,
                    "ptx": ptx,
                })
                .to_string()
                .as_bytes(),
            )?;
        }
        let mut wrote = String::new();
        for (argument, output) in &self.dumps {
            output.write(&operands.npy(*argument).map_err(bad_input)?)?;
            let buffer = operands.buffer(*argument);
            let name = buffer.map(|b| operands.name(b));
            let name = name.unwrap_or_default();
            wrote += &format!("wrote {name} to {}\n", output.path().display());
        }
        Ok(wrote)
    }
}

/// The .npy files that the arguments are read from.
fn arrays(case: &Case) -> impl Iterator<Item = &Path> {
    case.args.iter().filter_map(|argument| match argument {
        Argument::Buffer {
            contents:
                Contents {
                    fill: Fill::File(file),
                    ..
                },
            ..
        } => Some(file.as_path()),
        _ => None,
    })
}
