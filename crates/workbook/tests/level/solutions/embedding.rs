
static EMBEDDING: level_kit::KernelFile = level_kit::kernel_file!("kernels/embedding.ptx");

/// One row of w for each id, with the kernel of `kernels/embedding.ptx` in f32.
fn embedding_ptx(ids: &Tensor, weight: &Weight) -> Result<Tensor> {
    let w = weight.tensor();
    if w.dtype() != candle_core::DType::F32 {
        return Level1.embedding(ids, weight);
    }
    let ((b, t), c) = (ids.dims2()?, w.dim(1)?);
    let y = level_kit::output((b, t, c), w.dtype(), w.device())?;
    let launch = EMBEDDING.launch("embedding")?.grid(b * t, 1, 1).block(64, 1, 1);
    // SAFETY: the entry's parameters are ids, w, y and C; it stays inside of ids, w and y.
    unsafe { launch.read(ids).read(w).write(&y).u32(c).run()? };
    Ok(y)
}
