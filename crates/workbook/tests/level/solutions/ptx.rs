
static RMS_NORM: level_kit::KernelFile = level_kit::kernel_file!("kernels/rms_norm.ptx");

/// norm(x)·Wᵀ + b, with the RMSNorm of `kernels/rms_norm.ptx` in f32.
fn norm_linear_ptx(x: &Tensor, norm: &Norm, w: &Linear) -> Result<Tensor> {
    let Norm::Rms { weight, eps } = norm else {
        return Level1.norm_linear(x, norm, w);
    };
    if x.dtype() != candle_core::DType::F32 {
        return Level1.norm_linear(x, norm, w);
    }
    let c = weight.dim(0)?;
    let y = level_kit::output(x.shape(), x.dtype(), x.device())?;
    let launch = RMS_NORM.launch("rms_norm")?.grid(x.elem_count() / c, 1, 1).block(64, 1, 1);
    // SAFETY: the entry's parameters are x, w, y, C and eps; it stays inside of x, w and y.
    unsafe { launch.read(x).read(weight).write(&y).u32(c).f32(*eps).run()? };
    Level1.linear(&y, w)
}
