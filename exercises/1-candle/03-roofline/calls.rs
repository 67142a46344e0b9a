// How the check calls the submission. A cost is sent as FLOPs and bytes, a GPU as its three limits.

use exercise::Calls;
use submission::{Cost, Dtype, Gpu, Limit, matmul, rms_norm, time};

fn dtype(bf16: bool) -> Dtype {
    if bf16 { Dtype::Bf16 } else { Dtype::F32 }
}

pub fn calls(calls: &mut Calls) {
    calls.add("matmul", |(m, n, k, bf16): (usize, usize, usize, bool)| {
        let Cost { flops, bytes } = matmul(m, n, k, dtype(bf16));
        Ok((flops, bytes))
    });
    calls.add("rms_norm", |(rows, columns, bf16): (usize, usize, bool)| {
        let Cost { flops, bytes } = rms_norm(rows, columns, dtype(bf16));
        Ok((flops, bytes))
    });
    calls.add("time", |((flops, bytes), launches, [teraflops, terabytes, launch]): ((f64, f64), usize, [f64; 3])| {
        let (time, limit) = time(Cost { flops, bytes }, launches, Gpu { teraflops, terabytes, launch });
        let limit = match limit {
            Limit::Arithmetic => "arithmetic",
            Limit::Memory => "memory",
            Limit::Launch => "launch",
        };
        Ok((time, limit.to_owned()))
    });
}
