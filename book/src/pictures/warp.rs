//! One warp in the simulator, with the address of each of its lanes.

use anyhow::{Context, Result, ensure};
use simt::{Arg, Buffer, Counts, Dim, Module, Options, Watch};

/// Lanes of a warp.
pub const LANES: usize = 32;

/// The first access of a form that a warp made, and what the launch cost.
pub struct Access {
    /// The 4-byte word of each lane, from the start of the buffer or of shared memory.
    pub words: Vec<usize>,
    /// Counters of the launch.
    pub counts: Counts,
}

/// Runs `entry` of `ptx` as one warp; `form` is the instruction that is looked at, `ld.global.f32`.
pub fn access(
    ptx: &str,
    entry: &str,
    form: &str,
    buffers: &mut [Buffer],
    args: &[Arg],
) -> Result<Access> {
    let report = launch(ptx, entry, buffers, args)?;
    let step = report.trace.iter().find(|step| step.form == form);
    let [access] = &step
        .with_context(|| format!("{entry}: expected `{form}`, found none"))?
        .accesses[..]
    else {
        anyhow::bail!("{entry}: expected `{form}` to access one space");
    };
    let words = access
        .offsets
        .iter()
        .map(|at| Ok(usize::try_from(*at)? / 4));
    Ok(Access {
        words: words.collect::<Result<_>>()?,
        counts: report.total,
    })
}

/// Runs `entry` of `ptx` as one warp, which must do nothing wrong.
pub fn launch(
    ptx: &str,
    entry: &str,
    buffers: &mut [Buffer],
    args: &[Arg],
) -> Result<simt::Report> {
    let dim = Dim {
        grid: [1; 3],
        block: [LANES as u32, 1, 1],
        smem: 0,
    };
    let options = Options {
        trace: Some(Watch {
            block: [0; 3],
            warp: 0,
            steps: 100,
        }),
        ..Options::default()
    };
    let kernel = Module::parse(ptx)?.kernel(entry)?;
    let report = kernel.launch(dim, buffers, args, &options)?;
    ensure!(
        report.is_clean(),
        "{entry}: expected no findings, found {:?}",
        report.findings
    );
    Ok(report)
}
