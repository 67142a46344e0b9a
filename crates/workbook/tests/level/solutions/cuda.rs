
static MEAN: level_kit::KernelFile = level_kit::kernel_file!("kernels/mean.cu");

/// Means of the rows of each graph, by `kernels/mean.cu` in f32.
fn segment_mean_cuda(x: &Tensor, segments: &Segments) -> Result<Tensor> {
    if x.dtype() != candle_core::DType::F32 {
        return Level1.segment_mean(x, segments);
    }
    let (graphs, c) = (segments.num_segments, x.dim(1)?);
    let y = level_kit::output((graphs, c), x.dtype(), x.device())?;
    let launch = MEAN.launch("segment_mean")?.grid(graphs, 1, 1).block(64, 1, 1);
    // SAFETY: the entry's parameters are x, the offsets, y and C; it stays inside of them.
    unsafe { launch.read(x).read(&segments.offsets).write(&y).u32(c).run()? };
    Ok(y)
}
