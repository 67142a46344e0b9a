//! A PTX kernel of your own on candle's tensors: z = a·x + y, one thread per element. The same launch runs in the
//! simulator, which needs no GPU, and on a GPU. A loop checks both.
//!
//! `cargo run --release -p level5 --example launch_ptx`, with `--features cuda` on a GPU.

use anyhow::{Result, ensure};
use candle_core::{DType, Device, Tensor};
use kernels::launch::{Launch, Module, simulated};

static AXPY: Module = Module::new(
    "launch_ptx", // stands in error messages
    &["
.version 6.3
.target sm_75
.address_size 64
.visible .entry axpy(.param .u64 x, .param .u64 y, .param .u64 z, .param .f32 a, .param .u32 n)
{
    .reg .pred %outside;
    .reg .b32  %block, %threads, %i, %n;
    .reg .b64  %x, %y, %z, %offset;
    .reg .f32  %a, %xi, %yi;

    mov.u32       %block, %ctaid.x;
    mov.u32       %threads, %ntid.x;
    mov.u32       %i, %tid.x;
    mad.lo.u32    %i, %block, %threads, %i;     // i = block * threads + thread
    ld.param.u32  %n, [n];
    setp.ge.u32   %outside, %i, %n;
    @%outside bra done;                         // the last block has threads to spare

    ld.param.u64  %x, [x];
    ld.param.u64  %y, [y];
    ld.param.u64  %z, [z];
    ld.param.f32  %a, [a];
    mul.wide.u32  %offset, %i, 4;               // an f32 has 4 bytes
    add.s64       %x, %x, %offset;
    add.s64       %y, %y, %offset;
    add.s64       %z, %z, %offset;
    ld.global.f32 %xi, [%x];
    ld.global.f32 %yi, [%y];
    fma.rn.f32    %yi, %a, %xi, %yi;
    st.global.f32 [%z], %yi;
done:
    ret;
}"],
);

/// Launches the kernel on `device` and checks z against a loop.
fn check(device: &Device) -> Result<()> {
    const A: f32 = 2.5;
    let n = 1000; // 3 blocks of 256 threads and one that is partly idle
    let x: Vec<f32> = (0..n).map(|i| i as f32 / 7.).collect();
    let y: Vec<f32> = (0..n).map(|i| 1. - i as f32).collect();
    let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| A.mul_add(*x, *y)).collect();

    let (x, y) = (Tensor::new(x, device)?, Tensor::new(y, device)?);
    let z = Tensor::zeros(n, DType::F32, device)?; // memory of its own: the kernel writes there
    let launch = Launch::new(&AXPY, "axpy")
        .grid(n.div_ceil(256), 1, 1)
        .block(256, 1, 1)
        .read(&x) // from here on the parameters, in the kernel's order
        .read(&y)
        .write(&z)
        .f32(A.into())
        .u32(n);
    // SAFETY: these are the parameters of the kernel's `.param` list, and it touches n elements of each tensor.
    unsafe { launch.run() }?;
    let found = z.to_vec1::<f32>()?; // waits for the kernel
    ensure!(found == expected, "expected {expected:?}, found {found:?}");
    Ok(())
}

fn main() -> Result<()> {
    // Every launch of this thread runs in the simulator until the closure returns.
    let (checked, reports) = simulated(simt::Options::default(), || check(&Device::Cpu));
    checked?;
    for report in &reports {
        ensure!(
            report.findings.is_empty(),
            "simulator: {}",
            report.findings[0]
        );
    }
    println!(
        "simulator: equal to the loop, {} launch, no findings",
        reports.len()
    );

    if !cfg!(feature = "cuda") {
        println!("GPU: not run, because this was built without the feature `cuda`");
        return Ok(());
    }
    check(&Device::new_cuda(0)?)?;
    println!("GPU: equal to the loop");
    Ok(())
}
