//! Size and arguments of a launch, and checks that a GPU would accept them.

use crate::code::Kernel;
use crate::error::{Error, Result};
use crate::report::Counts;

use super::Options;
use super::argument::{self, Arg};
use super::global::Buffer;

/// Maximum bytes of shared memory per block, static and dynamic: the limit of an H100.
const MAX_SHARED: u64 = 227 << 10;

/// Maximum bytes of static shared memory (ptxas).
const MAX_DECLARED_SHARED: u64 = 48 << 10;
/// Blocks of a cluster at most: what an H100 grants.
const MAX_CLUSTER: u32 = 16;
/// Threads of a block at most.
const MAX_THREADS: u64 = 1024;

/// The size of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dim {
    /// Number of blocks along x, y and z.
    pub grid: [u32; 3],
    /// Threads per block along x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub smem: u32,
}

/// Checks that a GPU would accept this launch.
pub fn check(kernel: &Kernel, dim: &Dim, buffers: &[Buffer], args: &[Arg]) -> Result<()> {
    let wrong = |what: &str, expected: String, found: String| {
        Err(Error::Launch {
            what: format!("{}: {what}", kernel.name),
            expected,
            found,
        })
    };
    let count = |n: &[u32; 3]| {
        n.iter()
            .fold(1, |all: u64, &n| all.saturating_mul(n.into()))
    };
    let threads = count(&dim.block);
    if threads == 0 || threads > MAX_THREADS {
        return wrong(
            "block",
            format!("1 to {MAX_THREADS} threads"),
            threads.to_string(),
        );
    }
    if dim.block[2] > 64 {
        return wrong(
            "block",
            "at most 64 threads along z".into(),
            dim.block[2].to_string(),
        );
    }
    if dim.grid[1].max(dim.grid[2]) > 0xffff {
        let found = format!("{} and {}", dim.grid[1], dim.grid[2]);
        return wrong(
            "grid",
            "at most 65535 blocks along y and along z".into(),
            found,
        );
    }
    if count(&dim.grid) == 0 || count(&dim.grid) > u64::from(u32::MAX >> 10) {
        return wrong(
            "grid",
            "1 to 4194303 blocks, as many as the simulator takes".into(),
            count(&dim.grid).to_string(),
        );
    }
    if let Some((most, exactly)) = kernel.max_threads {
        if exactly && threads == count(&most) && dim.block != most {
            let axes = |[x, y, z]: [u32; 3]| format!("{x} × {y} × {z} threads");
            return wrong("block", axes(most), axes(dim.block));
        }
        let most = count(&most);
        if threads > most || exactly && threads != most {
            let expected = format!(
                "{} {most} threads",
                if exactly { "exactly" } else { "at most" }
            );
            return wrong("block", expected, threads.to_string());
        }
    }
    let declared = u64::from(kernel.shared_bytes);
    if declared > MAX_DECLARED_SHARED {
        return wrong(
            "shared memory that the kernel declares",
            format!("at most {MAX_DECLARED_SHARED} bytes, and more as dynamic shared memory"),
            declared.to_string(),
        );
    }
    let shared = u64::from(kernel.shared_bytes.next_multiple_of(16)) + u64::from(dim.smem);
    if shared > MAX_SHARED {
        return wrong(
            "shared memory",
            format!("at most {MAX_SHARED} bytes"),
            shared.to_string(),
        );
    }
    argument::check(kernel, buffers, args)
}

/// The size of a launch's clusters, which the kernel or the launch gives; one block of neither.
pub fn cluster_of(kernel: &Kernel, dim: &Dim, given: Option<[u32; 3]>) -> Result<[u32; 3]> {
    let axes = |[x, y, z]: [u32; 3]| format!("{x} × {y} × {z} blocks");
    let wrong = |what: &str, expected: String, found: String| {
        Err(Error::Launch {
            what: format!("{}: {what}", kernel.name),
            expected,
            found,
        })
    };
    let cluster = match (kernel.cluster, given) {
        (Some(required), Some(given)) if required != given => {
            return wrong("cluster", axes(required), axes(given));
        }
        (None, None) if kernel.explicit_cluster => {
            let expected = "a size, because the kernel has .explicitcluster".into();
            return wrong("cluster", expected, "none".into());
        }
        (required, given) => required.or(given).unwrap_or([1; 3]),
    };
    let most = kernel
        .max_cluster
        .map_or(MAX_CLUSTER, |n| n.min(MAX_CLUSTER));
    let blocks = cluster.iter().fold(1, |all: u32, &n| all.saturating_mul(n));
    if blocks == 0 || blocks > most {
        return wrong("cluster", format!("1 to {most} blocks"), axes(cluster));
    }
    let is_whole = dim.grid.iter().zip(cluster).all(|(n, of)| n % of == 0);
    if !is_whole {
        let expected = format!("a multiple of a cluster's {}", axes(cluster));
        return wrong("grid", expected, axes(dim.grid));
    }
    Ok(cluster)
}

/// Whether a launch takes no more memory than it may: see [`Options::memory`]. What all blocks clear together, one after
/// another, has a limit, too, because it takes time without an instruction.
pub fn check_memory(
    kernel: &Kernel,
    dim: &Dim,
    cluster: [u32; 3],
    buffers: impl Iterator<Item = u64>,
    options: &Options,
) -> Result<()> {
    // Registers and local memory include flags for what has been written.
    let registers = 132 * u64::from(kernel.words) + 260 * u64::from(kernel.doubles);
    let warp = registers + 8 * u64::from(kernel.preds) + 64 * u64::from(kernel.local_bytes);
    let warps = u64::from(dim.block.iter().product::<u32>().div_ceil(32));
    let shared = 2 * (u64::from(kernel.shared_bytes) + u64::from(dim.smem));
    let counts = (kernel.code.len() * size_of::<Counts>()) as u64;
    let side_by_side = if options.parallel {
        rayon::current_num_threads() as u64
    } else {
        1
    };
    // Twice, because buffers are copied in and out.
    let buffers: u64 = 2 * buffers.sum::<u64>();
    let blocks = side_by_side * cluster.iter().map(|&n| u64::from(n)).product::<u64>();
    let bytes = (warps * warp + shared + counts)
        .saturating_mul(blocks)
        .saturating_add(buffers);
    let wrong = |what: &str, most: u64, found: u64| {
        Err(Error::Launch {
            what: format!("{}: {what}", kernel.name),
            expected: format!("at most {most} bytes"),
            found: found.to_string(),
        })
    };
    if bytes > options.memory {
        return wrong("memory", options.memory, bytes);
    }
    let grid = dim.grid.iter().map(|&n| u64::from(n)).product::<u64>();
    let cleared = (warps * warp + shared).saturating_mul(grid);
    // A warp instruction writes a register of 128 bytes.
    let most = options.launch_fuel.saturating_mul(128).max(LEAST_CLEARED);
    if cleared > most {
        let what = "registers, local and shared memory of all blocks";
        return wrong(what, most, cleared);
    }
    Ok(())
}

/// Bytes that a launch may always clear: a second's work.
const LEAST_CLEARED: u64 = 4 << 30;

/// Builds the parameter block.
pub fn parameters(kernel: &Kernel, args: &[Arg]) -> Vec<u8> {
    let mut params = vec![0; kernel.param_bytes as usize];
    for (param, arg) in kernel.params.iter().zip(args) {
        let bytes = arg.to_bytes();
        params[param.offset as usize..][..bytes.len()].copy_from_slice(&bytes);
    }
    params
}
