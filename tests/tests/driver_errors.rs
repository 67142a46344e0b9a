//! Errors of CUDA's driver: a program ends with one line that says what to do, and exit code 1.
//!
//! After some of these errors a process can use the GPU no more, so each happens in a child: this program again, with
//! the error's name in the environment.

use std::process::{Command, ExitCode, exit};

use candle_core::{DType, Device, Result, Tensor, bail};
use kernels::launch::{Launch, Module};
use replay::Replay;

/// Names the error that a child is to make.
const ERROR: &str = "CANDLEPOWER_DRIVER_ERROR";

/// Adds 1 to an element, and fails if it is 7.
const FAILS_AT_7: &str = "
.version 7.0
.target sm_75
.address_size 64
.visible .entry add_one(.param .u64 x, .param .u64 y) {
  .reg .f32 %f; .reg .pred %p; .reg .b64 %x, %y;
  ld.param.u64 %x, [x];
  ld.param.u64 %y, [y];
  cvta.to.global.u64 %x, %x;
  cvta.to.global.u64 %y, %y;
  ld.global.f32 %f, [%x];
  setp.eq.f32 %p, %f, 0f40E00000;
  @%p trap;
  add.f32 %f, %f, 0f3F800000;
  st.global.f32 [%y], %f;
  ret;
}
";
static FAILS: Module = Module::new("fails_at_7", &[FAILS_AT_7]);

static NEWER: Module = Module::new(
    "newer",
    &[
        ".version 99.0\n.target sm_75\n.address_size 64\n.visible .entry add_one(.param .u64 x, .param .u64 y) { ret; }\n",
    ],
);
static WRONG: Module = Module::new(
    "wrong",
    &[
        ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry add_one(.param .u64 x, .param .u64 y) { add; }\n",
    ],
);

/// x + 1 for one element, by the entry `add_one` of `module`.
fn add_one(module: &'static Module, x: &Tensor) -> Result<Tensor> {
    let y = x.zeros_like()?;
    // SAFETY: the entries take an address to read and one to write, of one f32 each, as x and y are.
    unsafe {
        Launch::new(module, "add_one")
            .block(1, 1, 1)
            .read(x)
            .write(&y)
            .run()?
    };
    Ok(y)
}

fn number(value: f32, device: &Device) -> Result<Tensor> {
    Tensor::new(&[value], device)
}

/// Makes the error called `name`.
fn fail(name: &str) -> Result<()> {
    let device = tests::own_gpu()?;
    match name {
        "memory" => {
            let mut all = vec![];
            loop {
                all.push(Tensor::zeros(1 << 34, DType::F32, &device)?);
                device.synchronize()?;
            }
        }
        "newer" => drop(add_one(&NEWER, &number(1., &device)?)?),
        "wrong" => drop(add_one(&WRONG, &number(1., &device)?)?),
        "trap" => {
            add_one(&FAILS, &number(7., &device)?)?;
            device.synchronize()?;
        }
        "graph" => {
            #[cfg(feature = "cuda")]
            if let Device::Cuda(cuda) = &device {
                // SAFETY: events keep streams apart that share a tensor; this test computes on one stream.
                unsafe { cuda.disable_event_tracking() };
            }
            let mut replay = Replay::default();
            let mut run = |value| {
                let x = number(value, &device)?;
                let y = replay.run(&device, &[&x], |x| add_one(&FAILS, &x[0]))?;
                y.to_vec1::<f32>()
            };
            for value in [1., 2.] {
                assert_eq!(run(value)?, [value + 1.]);
            }
            run(7.)?;
        }
        _ => bail!("no error {name}"),
    }
    bail!("{name}: the driver refused nothing")
}

/// Runs the test called `test` again as a child that makes the error `name`: its one line has to begin as `start` does.
#[track_caller]
fn is_one_line(test: &str, name: &str, start: &str) {
    if let Ok(name) = std::env::var(ERROR) {
        let code = cli::exit::run(|| Ok(fail(&name)?));
        exit(if code == ExitCode::from(cli::exit::FAILURE) {
            1
        } else {
            99
        });
    }
    if tests::is_sanitized() {
        return tests::skip(test, "a sanitizer reports the error that the test makes");
    }
    let program = std::env::current_exe().expect("this program's path");
    let child = Command::new(program)
        .args(["--exact", test, "--nocapture"])
        .env(ERROR, name)
        .output();
    let child = child.expect("a child");
    let said = String::from_utf8_lossy(&child.stderr);
    let lines: Vec<&str> = said.lines().collect();
    assert!(
        matches!(lines[..], [line] if line.starts_with(&format!("error: {start}"))),
        "{said}"
    );
    assert_eq!(child.status.code(), Some(1), "{said}");
}

#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn more_memory_than_the_gpu_has() {
    is_one_line(
        "more_memory_than_the_gpu_has",
        "memory",
        "the GPU has too little free memory: ",
    );
}

#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn ptx_newer_than_the_driver() {
    is_one_line(
        "ptx_newer_than_the_driver",
        "newer",
        "the GPU's driver is older than a kernel's PTX: ",
    );
}

#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn ptx_that_the_driver_cannot_read() {
    is_one_line(
        "ptx_that_the_driver_cannot_read",
        "wrong",
        "the driver cannot assemble a kernel's PTX: ",
    );
}

#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn a_kernel_that_traps() {
    is_one_line(
        "a_kernel_that_traps",
        "trap",
        "a kernel failed on the GPU: ",
    );
}

#[test]
#[cfg_attr(
    not(feature = "cuda"),
    ignore = "needs a GPU: build with --features cuda"
)]
fn a_kernel_that_traps_inside_a_graph() {
    is_one_line(
        "a_kernel_that_traps_inside_a_graph",
        "graph",
        "a kernel failed on the GPU: ",
    );
}
