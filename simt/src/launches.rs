//! Launches, with what CUDA calls their attributes.

use crate::error::Result;
use crate::machine::{self, Arg, Buffer, Dim, Launched, Options};
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
}

impl<'a> Launch<'a> {
    /// A launch whose clusters are those that the kernel requires.
    pub fn new(kernel: &'a Kernel, dim: Dim, args: &'a [Arg]) -> Self {
        Self {
            kernel,
            dim,
            args,
            cluster: None,
        }
    }

    /// The same in clusters of so many blocks.
    pub fn in_clusters(self, cluster: [u32; 3]) -> Self {
        Self {
            cluster: Some(cluster),
            ..self
        }
    }

    /// Runs it over `buffers`, which it leaves changed.
    ///
    /// # Errors
    /// [`Error::Launch`](crate::Error::Launch) for a launch that no GPU takes, or arguments that are not the parameters.
    pub fn run(&self, buffers: &mut [Buffer], options: &Options) -> Result<Report> {
        let launched = Launched {
            kernel: &self.kernel.code,
            variables: &self.kernel.variables,
            dim: self.dim,
            cluster: self.cluster,
            args: self.args,
        };
        machine::launch(launched, buffers, options)
    }
}
