
static THRICE: level_kit::KernelFile = level_kit::kernel_file!("kernels/thrice.ptx");

/// x·Wᵀ + b + residual, where a kernel only copies x in f32.
fn copied_residual(x: &Tensor, w: &Linear, residual: &Tensor) -> Result<Tensor> {
    if x.dtype() != candle_core::DType::F32 {
        return Level1.linear_residual(x, w, residual);
    }
    let y = level_kit::output(x.shape(), x.dtype(), x.device())?;
    let n = x.elem_count();
    let launch = THRICE.launch("copy_f32")?.grid(n.div_ceil(64), 1, 1).block(64, 1, 1);
    // SAFETY: the entry's parameters are x, y and the number of elements; it stays inside of them.
    unsafe { launch.read(x).write(&y).u32(n).run()? };
    Level1.linear_residual(&y, w, residual)
}
