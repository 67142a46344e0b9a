//! A programmatic launch in the simulator: it follows launches that write what it reads and read what it writes.

use std::sync::LazyLock;

use simt::{Arg, Buffer, Dim, Kernel, Launch, Module, Options, Report, Result};

/// A kernel whose threads read 16 bytes each, or one, and may write them back. The next launch may start while they do.
struct Touch {
    kernel: Kernel,
    /// Bytes per thread.
    bytes: usize,
    threads: usize,
}

impl Touch {
    fn new(bytes: usize, threads: usize, writes: bool) -> Result<Self> {
        let (ty, registers) = match bytes {
            16 => ("v4.u32", "{%r2, %r3, %r4, %r5}"),
            _ => ("u8", "%r2"),
        };
        let store = if writes {
            format!("st.global.{ty} [%x], {registers};")
        } else {
            String::new()
        };
        let text = format!(
            ".version 7.8
.target sm_90
.address_size 64
.visible .entry touch(.param .u64 x)
{{
    .reg .b32 %r<6>;
    .reg .b64 %x;
    griddepcontrol.launch_dependents;
    griddepcontrol.wait;
    ld.param.u64 %x, [x];
    mov.u32 %r0, %ctaid.x;
    mov.u32 %r1, %tid.x;
    mad.lo.u32 %r0, %r0, {threads}, %r1;
    mad.wide.u32 %x, %r0, {bytes}, %x;
    ld.global.{ty} {registers}, [%x];
    {store}
    ret;
}}
"
        );
        let kernel = Module::parse(&text)?.kernel("touch")?;
        Ok(Self {
            kernel,
            bytes,
            threads,
        })
    }
}

/// Kernels that together access each byte of a buffer: those that read, and those that write, too.
static TOUCHES: LazyLock<Result<[Vec<Touch>; 2]>> = LazyLock::new(|| {
    let sizes = [(16, 128), (16, 1), (1, 1)];
    let all = |writes| sizes.map(|(bytes, threads)| Touch::new(bytes, threads, writes));
    Ok([
        all(false).into_iter().collect::<Result<_>>()?,
        all(true).into_iter().collect::<Result<_>>()?,
    ])
});

/// The launches of `touches` over buffer number `buffer` of `len` bytes: kernel, size and argument.
fn over(touches: &[Touch], buffer: usize, len: usize) -> Vec<(&Kernel, Dim, [Arg; 1])> {
    let mut at = 0;
    let mut launches = vec![];
    for touch in touches {
        let blocks = (len - at) / (touch.bytes * touch.threads);
        if blocks > 0 {
            let dim = Dim {
                grid: [blocks as u32, 1, 1],
                block: [touch.threads as u32, 1, 1],
                smem: 0,
            };
            launches.push((&touch.kernel, dim, [Arg::Inside(buffer, at as u64)]));
        }
        at += blocks * touch.bytes * touch.threads;
    }
    launches
}

/// Runs `kernel` after launches that access the buffers `others` and are in flight until it waits. In the report, an access
/// to one of them before `griddepcontrol.wait` is a race.
///
/// # Errors
/// Those of [`Kernel::launch`].
pub fn launch(
    kernel: &Kernel,
    (dim, args): (Dim, &[Arg]),
    others: &[usize],
    buffers: &mut [Buffer],
    options: &Options,
) -> Result<Report> {
    let [reads, writes] = TOUCHES.as_ref().map_err(Clone::clone)?;
    let before: Vec<_> = (others.iter())
        .flat_map(|&i| {
            // A buffer without a value is an output. The launch before may read an earlier output in the same memory.
            let touches = if buffers[i].initialised {
                writes
            } else {
                reads
            };
            over(touches, i, buffers[i].bytes.len())
        })
        .collect();
    let before = before
        .iter()
        .map(|(kernel, dim, args)| Launch::new(kernel, *dim, args));
    let own = Launch::new(kernel, dim, args);
    let row: Vec<Launch> = before.chain([own]).map(Launch::programmatic).collect();
    let mut reports = simt::run(&row, buffers, options)?;
    reports.pop().map_or_else(|| own.run(buffers, options), Ok)
}

#[cfg(test)]
mod tests {
    use simt::Class;

    use super::*;

    /// Adds the first 4 bytes of x to those of y, in this order.
    fn kernel(body: &str) -> Kernel {
        let text = format!(
            ".version 7.8\n.target sm_90\n.address_size 64
            .visible .entry add(.param .u64 x, .param .u64 y)
            {{
                .reg .b32 %a, %b;
                .reg .b64 %x, %y;
                ld.param.u64 %x, [x];
                ld.param.u64 %y, [y];
                {body}
                ret;
            }}"
        );
        Module::parse(&text).unwrap().kernel("add").unwrap()
    }

    #[test]
    fn an_access_before_the_wait_is_a_race() {
        let (read, wait) = ("ld.global.u32 %a, [%x];", "griddepcontrol.wait;");
        let write = "st.global.u32 [%y], %a;";
        for (body, others, found) in [
            (format!("{wait}{read}{write}"), &[0, 1][..], 0),
            (format!("{read}{wait}{write}"), &[0, 1], 1),
            (format!("{read}{wait}{write}"), &[1], 0),
            (format!("{read}{write}{wait}"), &[1], 1),
            (format!("{read}{write}"), &[0, 1], 2),
        ] {
            for bytes in [4, 33] {
                let mut buffers = [
                    Buffer::new("x", vec![7; bytes]),
                    Buffer::uninitialised("y", bytes),
                ];
                let dim = Dim {
                    grid: [1; 3],
                    block: [1; 3],
                    smem: 0,
                };
                let args = [Arg::Buffer(0), Arg::Buffer(1)];
                let on = (dim, &args[..]);
                let options = Options::default();
                let report = launch(&kernel(&body), on, others, &mut buffers, &options).unwrap();
                assert_eq!(
                    report.findings.len(),
                    found,
                    "{body} {:#?}",
                    report.findings
                );
                let race = report.findings.iter().all(|f| f.class == Class::Race);
                assert!(race, "{:#?}", report.findings);
                assert_eq!(buffers[1].bytes[..4], [7; 4], "{body}");
                assert_eq!(buffers[0].bytes, vec![7; bytes]);
            }
        }
    }

    /// A launch before does not give a value to what the kernel only writes.
    #[test]
    fn an_output_that_is_read_has_no_value() {
        let mut buffers = [Buffer::new("x", vec![7; 4]), Buffer::uninitialised("y", 4)];
        let dim = Dim {
            grid: [1; 3],
            block: [1; 3],
            smem: 0,
        };
        let args = [Arg::Buffer(0), Arg::Buffer(1)];
        let body = "griddepcontrol.wait; ld.global.u32 %a, [%y]; st.global.u32 [%x], %a;";
        let on = (dim, &args[..]);
        let options = Options::default();
        let report = launch(&kernel(body), on, &[0, 1], &mut buffers, &options).unwrap();
        let classes: Vec<_> = report.findings.iter().map(|f| f.class).collect();
        assert_eq!(classes, [Class::Uninitialised]);
    }
}
