//! Launches each kernel of a text; the first bytes choose the launch.

#![no_main]

use libfuzzer_sys::fuzz_target;
use simt::{Arg, Buffer, Dim, Kernel, Module, Options, Schedule};

/// Grid, block, shared memory, schedule and seed.
const HEAD: usize = 8;

fuzz_target!(|bytes: &[u8]| {
    let Some((head, text)) = bytes.split_first_chunk::<HEAD>() else {
        return;
    };
    let Ok(module) = Module::parse(&String::from_utf8_lossy(text)) else {
        return;
    };
    for kernel in module.entries().filter_map(|name| module.kernel(name).ok()) {
        launch(&kernel, head);
    }
});

fn launch(kernel: &Kernel, head: &[u8; HEAD]) {
    let [gx, gy, bx, by, bz, smem, schedule, seed] = head.map(u32::from);
    let dim = Dim {
        grid: [gx % 4, 1 + gy % 2, 1],
        block: [bx, 1 + by % 8, 1 + bz % 4],
        smem: 1024 * smem,
    };
    let options = Options {
        fuel: 3_000,
        launch_fuel: 20_000,
        memory: 64 << 20,
        schedule: [
            Schedule::PostDominator,
            Schedule::MinPc,
            Schedule::MaxPc,
            Schedule::Random,
        ][schedule as usize % 4],
        seed: seed.into(),
        parallel: false,
        ..Options::default()
    };
    let mut buffers = [
        Buffer::u32s("a", &[1; 256]),
        Buffer::uninitialised("b", 1023),
    ];
    let arg = |(i, (_, bytes)): (usize, (&str, u32))| match bytes {
        8 => Arg::Buffer(i % 2),
        n => Arg::Bytes(vec![bx as u8; n as usize]),
    };
    let args: Vec<Arg> = kernel.params().enumerate().map(arg).collect();
    let _ = kernel.launch(dim, &mut buffers, &args, &options);
}
