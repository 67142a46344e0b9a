use super::*;

fn tensor() -> Result<Tensor> {
    Tensor::new(1f32, &Device::Cpu)
}

fn launch(kernel: &'static str) -> Launched {
    Launched {
        kernel: kernel.into(),
        grid: [3, 1, 1],
        block: [32, 1, 1],
        smem: 0,
        registers: None,
    }
}

/// Tests that count tensors take turns, because the count is per process.
static COUNTING: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[test]
fn an_op_counts_its_tensors_without_probes() -> Result<()> {
    let _turn = COUNTING.lock();
    let (_, events) = record(&Device::Cpu, || {
        let _outer = span("outer");
        let x = tensor()?; // 1
        for _ in 0..3 {
            let _inner = span("inner");
            let _y = (&x + &x)?; // 2, 3, 4
        }
        x.reshape((1, 1)) // 5
    })?;
    let counts: Vec<_> = events.iter().map(|e| (e.depth, e.tensors)).collect();
    assert_eq!(counts, [(0, 5), (1, 1), (1, 1), (1, 1)]);
    assert!(events[0].time >= events[1].time);
    Ok(())
}

#[test]
fn a_launch_belongs_to_the_innermost_op() -> Result<()> {
    let _turn = COUNTING.lock();
    let (_, events) = record(&Device::Cpu, || {
        launched(|| launch("without an op"));
        let _outer = span("outer");
        launched(|| launch("first"));
        {
            let _inner = span("inner");
            launched(|| launch("inside"));
        }
        launched(|| launch("last"));
        Ok(())
    })?;
    let kernels = |i: usize| -> Vec<_> {
        events[i]
            .launches
            .iter()
            .map(|l| l.kernel.clone())
            .collect()
    };
    assert_eq!(kernels(0), ["first", "last"]);
    assert_eq!(kernels(1), ["inside"]);
    Ok(())
}

/// A function that picks a kernel with a reason, and the kernel's own function, are one op.
#[test]
fn a_span_directly_inside_one_of_the_same_name_is_that_one() -> Result<()> {
    let _turn = COUNTING.lock();
    let (_, events) = record(&Device::Cpu, || {
        let _picked = span_because("linear_level4", || "measured".into());
        {
            let _same = span("linear_level4");
            launched(|| launch("linear_f32_level4"));
        }
        launched(|| launch("after"));
        let _between = span("candle");
        let _again = span("linear_level4");
        Ok(())
    })?;
    let found: Vec<_> = events.iter().map(|e| (e.kernel, e.depth)).collect();
    let expected = [("linear_level4", 0), ("candle", 1), ("linear_level4", 2)];
    assert_eq!(found, expected);
    assert_eq!(events[0].why.as_deref(), Some("measured"));
    let launches: Vec<_> = events[0]
        .launches
        .iter()
        .map(|l| l.kernel.clone())
        .collect();
    assert_eq!(launches, ["linear_f32_level4", "after"]);
    Ok(())
}

#[test]
fn needs_belong_to_one_op() -> Result<()> {
    let _turn = COUNTING.lock();
    let work = |bytes| Needs { bytes, flops: 7 };
    let (_, events) = record(&Device::Cpu, || {
        needs(work(1));
        {
            let _outer = span("outer");
            let _inner = span("inner");
        }
        needs(work(2));
        needs(work(3));
        let _next = span("next");
        Ok(())
    })?;
    let found: Vec<_> = events.iter().map(|e| e.needs).collect();
    assert_eq!(found, [Some(work(1)), None, Some(work(3))]);
    Ok(())
}

#[test]
fn forget_keeps_only_ops_in_progress() -> Result<()> {
    let _turn = COUNTING.lock();
    let (_, events) = record(&Device::Cpu, || {
        drop(span("warm-up"));
        forget();
        let _outer = span("outer");
        drop(span("inner"));
        forget();
        Ok(())
    })?;
    let kernels: Vec<_> = events.iter().map(|e| e.kernel).collect();
    assert_eq!(kernels, ["outer", "inner"]);
    Ok(())
}

#[test]
fn nothing_is_kept_without_a_recording() -> Result<()> {
    let _turn = COUNTING.lock();
    let (_, made) = count_tensors(|| {
        needs(Needs::default());
        let _span = span("unseen");
        launched(|| panic!("a launch that nobody records"));
        tensor()
    })?;
    assert_eq!(made, 1);
    let (_, events) = record(&Device::Cpu, || Ok(()))?;
    assert!(events.is_empty());
    Ok(())
}

#[test]
fn a_failing_program_ends_its_recording() -> Result<()> {
    let _turn = COUNTING.lock();
    let failed = record(&Device::Cpu, || -> Result<()> {
        let _span = span("fails");
        candle_core::bail!("no")
    });
    assert!(failed.is_err());
    let (_, made) = count_tensors(|| {
        let _span = span("unseen");
        tensor()
    })?;
    assert_eq!(made, 1);
    Ok(())
}

#[test]
fn recordings_do_not_nest_and_end_with_a_panic() -> Result<()> {
    let _turn = COUNTING.lock();
    let inner = || record(&Device::Cpu, || Ok(span("inner"))).map(drop);
    let (error, events) = record(&Device::Cpu, || {
        let _outer = span("outer");
        Ok(inner().unwrap_err().to_string())
    })?;
    assert!(error.starts_with("ops: expected one recording"), "{error}");
    assert_eq!(events.len(), 1);
    let panics = || {
        record(&Device::Cpu, || -> Result<()> {
            panic!("an op that panics")
        })
    };
    assert!(std::panic::catch_unwind(panics).is_err());
    inner()
}
