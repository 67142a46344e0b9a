//! Launches with CUDA's launch attributes.

use crate::error::Result;
use crate::machine::{self, Arg, Buffer, Dim, Earlier, Launched, Options, Ran};
use crate::{Kernel, Report};

/// A launch of a kernel.
///
/// [`Kernel::launch`] is enough for one without clusters of its own.
#[derive(Debug, Clone, Copy)]
pub struct Launch<'a> {
    kernel: &'a Kernel,
    dim: Dim,
    args: &'a [Arg],
    cluster: Option<[u32; 3]>,
    programmatic: bool,
}

impl<'a> Launch<'a> {
    /// A launch whose clusters are those that the kernel requires.
    pub fn new(kernel: &'a Kernel, dim: Dim, args: &'a [Arg]) -> Self {
        Self {
            kernel,
            dim,
            args,
            cluster: None,
            programmatic: false,
        }
    }

    /// The same in clusters of so many blocks.
    pub fn in_clusters(self, cluster: [u32; 3]) -> Self {
        Self {
            cluster: Some(cluster),
            ..self
        }
    }

    /// The same as a programmatic dependent launch: in a row of launches it may start as soon as each block of the
    /// launch before has executed `griddepcontrol.launch_dependents` or returned.
    pub fn programmatic(self) -> Self {
        Self {
            programmatic: true,
            ..self
        }
    }

    /// Runs it over `buffers`, which it leaves changed.
    ///
    /// # Errors
    /// [`Error::Launch`](crate::Error::Launch) for a launch that no GPU takes, or arguments that are not the parameters.
    pub fn run(&self, buffers: &mut [Buffer], options: &Options) -> Result<Report> {
        let (report, _) = machine::launch(self.launched(false, &[]), buffers, options)?;
        Ok(report)
    }

    fn launched<'b>(&'b self, records: bool, earlier: &'b [Earlier]) -> Launched<'b> {
        Launched {
            kernel: &self.kernel.code,
            variables: &self.kernel.variables,
            dim: self.dim,
            cluster: self.cluster,
            args: self.args,
            records,
            earlier,
        }
    }
}

/// Runs launches one after the other over `buffers`, which they leave changed, and reports each.
///
/// Results are those of launches that wait for each other. What a programmatic launch accesses while an earlier one,
/// which may still be in flight, accesses it too is a race of its report: a read or write before
/// `griddepcontrol.wait` of bytes that the launch before writes, and a write of bytes that it reads. A launch whose
/// threads all return without `griddepcontrol.launch_dependents` ends before the next one starts.
///
/// ```
/// use simt::{Arg, Buffer, Dim, Launch, Module, Options};
///
/// let text = "
/// .version 8.4
/// .target sm_90
/// .address_size 64
/// .visible .entry increase(.param .u64 x)
/// {
///     .reg .u32 %n;
///     .reg .u64 %x;
///     ld.param.u64 %x, [x];
///     griddepcontrol.launch_dependents;
///     ld.global.u32 %n, [%x];
///     griddepcontrol.wait;
///     add.u32 %n, %n, 1;
///     st.global.u32 [%x], %n;
///     ret;
/// }";
/// let kernel = Module::parse(text)?.kernel("increase")?;
/// let (dim, args) = (Dim { grid: [1; 3], block: [1; 3], smem: 0 }, [Arg::Buffer(0)]);
/// let first = Launch::new(&kernel, dim, &args);
/// let mut buffers = [Buffer::u32s("x", &[5])];
/// let reports = simt::run(&[first, first.programmatic()], &mut buffers, &Options::default())?;
/// assert_eq!(buffers[0].to_u32s(), [7]);
/// assert!(reports[0].is_clean());
/// assert_eq!(
///     reports[1].findings[0].to_string(),
///     "line 11: `ld.global.u32`: thread 0 of block 0: reads byte 0 of x before griddepcontrol.wait; launch 0 \
///      (`increase`), which may be in flight, writes it in line 14"
/// );
/// # Ok::<(), simt::Error>(())
/// ```
///
/// # Errors
/// As [`Launch::run`] for the first launch that is refused; those before it have run.
pub fn run(launches: &[Launch], buffers: &mut [Buffer], options: &Options) -> Result<Vec<Report>> {
    let records = launches.iter().any(|launch| launch.programmatic);
    let (mut reports, mut ran) = (vec![], vec![]);
    for launch in launches {
        let earlier = ran
            .last()
            .map_or(&[][..], |last: &Ran| &last.recorded.written);
        let launched = launch.launched(records, earlier);
        let (report, recorded) = machine::launch(launched, buffers, options)?;
        reports.push(report);
        ran.push(Ran {
            kernel: &launch.kernel.code,
            programmatic: launch.programmatic,
            recorded,
        });
    }
    for (report, findings) in reports
        .iter_mut()
        .zip(machine::check_overlap(&ran, buffers))
    {
        report.findings.extend(findings);
        report.findings.sort_by_key(|f| (f.line, f.class));
    }
    Ok(reports)
}
