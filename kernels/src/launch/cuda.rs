//! Launches on a GPU by the driver.

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, LazyLock, RwLock};

use candle_core::cuda_backend::WrapErr;
use candle_core::cuda_backend::cudarc::driver::{
    CudaContext, CudaFunction, CudaModule, CudaStream, DevicePtr, DeviceRepr, LaunchConfig,
    PushKernelArg, SyncOnDrop, sys,
};
use candle_core::{CudaDevice, CudaStorage, DType, Device, Result, Storage, StorageRef, Tensor};
use half::bf16;
use trace::Launched;

use super::chain;
use super::noted::launched;
use super::structure::Structure;
use super::tensor_map::{TensorMap, of_heads, of_matrix};
use super::{Arg, Launch, Module, Target};
use crate::error::mismatch;

/// A kernel that the driver has compiled for one GPU.
#[derive(Clone)]
struct Loaded {
    function: CudaFunction,
    registers: u32,
    static_smem: u32,
    /// Whether its PTX has `griddepcontrol`, which needs compute capability 9.0.
    can_overlap: bool,
}

/// The addresses of a context and a module. A loaded module keeps its context alive, and a [`Module`] is static, so no
/// address is used again for another one.
type Key = (usize, usize);

/// The functions of a module, by entry.
static FUNCTIONS: LazyLock<RwLock<HashMap<Key, HashMap<String, Loaded>>>> =
    LazyLock::new(RwLock::default);
static MODULES: LazyLock<RwLock<HashMap<Key, Arc<CudaModule>>>> = LazyLock::new(RwLock::default);

fn key(context: &CudaContext, module: &'static Module) -> Key {
    (context.cu_ctx().addr(), std::ptr::from_ref(module).addr())
}

/// The value of an argument; the driver takes its address.
enum Value {
    Address(u64),
    Map(TensorMap),
    U32(u32),
    F32(f32),
    Struct(Box<Structure>),
}

// SAFETY: the driver copies the bytes of the kernel's parameter from its start, and it begins with them.
unsafe impl DeviceRepr for Structure {}

impl Value {
    /// All of `fields` as one value.
    fn structure(kernel: &str, fields: &[Self]) -> Result<Self> {
        let mut all = Box::new(Structure::new());
        for field in fields {
            match field {
                Self::Address(x) => all.push(kernel, &x.to_ne_bytes(), 8)?,
                Self::Map(x) => all.push(kernel, &x.bytes(), 64)?,
                Self::U32(x) => all.push(kernel, &x.to_ne_bytes(), 4)?,
                Self::F32(x) => all.push(kernel, &x.to_ne_bytes(), 4)?,
                Self::Struct(_) => return Err(mismatch(kernel, "fields", "a struct of its own")),
            }
        }
        Ok(Self::Struct(all))
    }
}

/// Launches on the stream of the tensors' device.
pub(super) fn execute(launch: &Launch) -> Result<()> {
    let device = device(launch)?;
    let stream = device.cuda_stream();
    let loaded = load(stream.context(), launch)?;
    let storages: Vec<Option<StorageRef>> = launch.args.iter().map(storage).collect();
    let mut synchronised = Vec::with_capacity(launch.args.len());
    let mut values = Vec::with_capacity(launch.args.len());
    for (arg, storage) in launch.args.iter().zip(&storages) {
        let mut address = |x: &Tensor| -> Result<u64> {
            let Some(storage) = storage else {
                return Err(mismatch(&launch.entry, "a tensor on a GPU", "none"));
            };
            let (address, sync) = address(x, storage, &stream)?;
            synchronised.push(sync);
            Ok(address)
        };
        let kernel = &*launch.entry;
        values.push(match *arg {
            Arg::Read(x) | Arg::View(x) | Arg::Write(x) | Arg::Constant(x) | Arg::Update(x) => {
                Value::Address(address(x)?)
            }
            Arg::Boxes(x, size) => Value::Map(of_matrix(kernel, x, address(x)?, size)?),
            Arg::Heads(x, heads, n) => Value::Map(of_heads(kernel, x, address(x)?, heads, n)?),
            Arg::U32(x) => Value::U32(x),
            Arg::F32(x) => Value::F32(x),
            Arg::Null => Value::Address(0),
        });
    }
    if launch.is_struct {
        values = vec![Value::structure(&launch.entry, &values)?];
    }
    let programmatic = launch.programmatic && loaded.can_overlap;
    if programmatic && chain::follows(&stream)? {
        overlapping(launch, &loaded.function, &stream, &mut values)?;
    } else {
        in_order(launch, &loaded.function, &stream, &values)?;
    }
    chain::note(programmatic, &stream)?;
    launched(|| Launched {
        kernel: launch.entry.clone(),
        grid: launch.grid,
        block: launch.block,
        smem: launch.smem + loaded.static_smem,
        registers: Some(loaded.registers),
    });
    Ok(())
}

/// See [`Launch::clusters_at_once`].
pub(super) fn clusters_at_once(launch: &Launch) -> Result<usize> {
    use sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED as LARGE;
    let device = device(launch)?;
    let stream = device.cuda_stream();
    stream.context().bind_to_thread().w()?;
    let function = load(stream.context(), launch)?.function;
    function.set_attribute(LARGE, 1).w()?;
    let count = function.occupancy_max_active_clusters(config(launch), &stream);
    Ok(count.w()? as usize)
}

fn config(launch: &Launch) -> LaunchConfig {
    let [grid, block] = [launch.grid, launch.block].map(|[x, y, z]| (x, y, z));
    LaunchConfig {
        grid_dim: grid,
        block_dim: block,
        shared_mem_bytes: launch.smem,
    }
}

/// Queues a launch that waits for all before it.
fn in_order(
    launch: &Launch,
    function: &CudaFunction,
    stream: &Arc<CudaStream>,
    values: &[Value],
) -> Result<()> {
    let mut builder = stream.launch_builder(function);
    for value in values {
        match value {
            Value::Address(x) => builder.arg(x),
            Value::Map(x) => builder.arg(x),
            Value::U32(x) => builder.arg(x),
            Value::F32(x) => builder.arg(x),
            Value::Struct(x) => builder.arg(&**x),
        };
    }
    // SAFETY: every address is that of a live tensor of this device, kept alive by `launch` until the launch is queued
    // and by the stream-ordered allocator until the kernel has run. That the arguments are the entry's and that the kernel
    // stays inside its tensors is what `Launch::run` asks of its caller, and `Launch::launch` of this crate.
    unsafe { builder.launch(config(launch)) }.w()?;
    Ok(())
}

/// Queues a launch that may start before the one before it has ended.
fn overlapping(
    launch: &Launch,
    function: &CudaFunction,
    stream: &CudaStream,
    values: &mut [Value],
) -> Result<()> {
    use sys::CUlaunchAttributeID_enum::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION as OVERLAP;
    let mut addresses: Vec<*mut c_void> = values
        .iter_mut()
        .map(|value| match value {
            Value::Address(x) => (&raw mut *x).cast(),
            Value::Map(x) => (&raw mut *x).cast(),
            Value::U32(x) => (&raw mut *x).cast(),
            Value::F32(x) => (&raw mut *x).cast(),
            Value::Struct(x) => (&raw mut **x).cast(),
        })
        .collect();
    let mut attributes = [sys::CUlaunchAttribute {
        id: OVERLAP,
        pad: [0; 4],
        value: sys::CUlaunchAttributeValue {
            programmaticStreamSerializationAllowed: 1,
        },
    }];
    let ([grid_x, grid_y, grid_z], [x, y, z]) = (launch.grid, launch.block);
    let config = sys::CUlaunchConfig {
        gridDimX: grid_x,
        gridDimY: grid_y,
        gridDimZ: grid_z,
        blockDimX: x,
        blockDimY: y,
        blockDimZ: z,
        sharedMemBytes: launch.smem,
        hStream: stream.cu_stream(),
        attrs: attributes.as_mut_ptr(),
        numAttrs: 1,
    };
    stream.context().bind_to_thread().w()?;
    // SAFETY: as of the launch in order; `addresses` has the address of a value for each parameter, and these and the
    // attribute live until the call returns. What may start early is what `Launch::programmatic` asks of the kernel.
    unsafe {
        sys::cuLaunchKernelEx(
            &raw const config,
            function.cu_function(),
            addresses.as_mut_ptr(),
            ptr::null_mut(),
        )
    }
    .result()
    .w()
}

/// Returns the device of the first tensor.
///
/// # Errors
/// When a tensor is on another device.
fn device(launch: &Launch) -> Result<CudaDevice> {
    let tensors = launch
        .args
        .iter()
        .filter_map(|arg| Some(tensor(arg)?.device()));
    let mut found = None;
    for device in tensors {
        match (device, &found) {
            (Device::Cuda(cuda), None) => found = Some(cuda.clone()),
            (Device::Cuda(cuda), Some(first)) if cuda.id() == first.id() => {}
            (other, _) => {
                let found = format!("{:?}", other.location());
                return Err(mismatch(&launch.entry, "all tensors on one GPU", found));
            }
        }
    }
    found.ok_or_else(|| mismatch(&launch.entry, "a tensor on a GPU", "none"))
}

fn tensor<'a>(arg: &Arg<'a>) -> Option<&'a Tensor> {
    match arg {
        Arg::Read(x)
        | Arg::View(x)
        | Arg::Write(x)
        | Arg::Constant(x)
        | Arg::Update(x)
        | Arg::Boxes(x, _)
        | Arg::Heads(x, ..) => Some(x),
        Arg::Null | Arg::U32(_) | Arg::F32(_) => None,
    }
}

fn storage<'a>(arg: &Arg<'a>) -> Option<StorageRef<'a>> {
    Some(tensor(arg)?.storage_and_layout().0)
}

/// Returns the address of the tensor's first element.
pub(crate) fn address<'a>(
    x: &Tensor,
    storage: &'a Storage,
    stream: &'a Arc<CudaStream>,
) -> Result<(u64, SyncOnDrop<'a>)> {
    fn of<'a, T: candle_core::cuda_backend::CudaDType + 'a>(
        cuda: &'a CudaStorage,
        stream: &'a Arc<CudaStream>,
    ) -> Result<(u64, SyncOnDrop<'a>)> {
        Ok(cuda.as_cuda_slice::<T>()?.device_ptr(stream))
    }
    let Storage::Cuda(cuda) = storage else {
        return Err(mismatch("launch", "a tensor on a GPU", "another device"));
    };
    let (start, sync) = match x.dtype() {
        DType::F32 => of::<f32>(cuda, stream),
        DType::BF16 => of::<bf16>(cuda, stream),
        DType::F64 => of::<f64>(cuda, stream),
        DType::U32 => of::<u32>(cuda, stream),
        DType::U8 => of::<u8>(cuda, stream),
        other => Err(mismatch(
            "launch",
            "f32, f64, bf16, u32 or u8",
            other.as_str(),
        )),
    }?;
    let offset = x.layout().start_offset() * x.dtype().size_in_bytes();
    Ok((start + offset as u64, sync))
}

/// Returns an entry's function, which the driver compiles at its first use.
fn load(context: &Arc<CudaContext>, launch: &Launch) -> Result<Loaded> {
    let (key, entry) = (key(context, launch.module), &*launch.entry);
    if let Ok(functions) = FUNCTIONS.read()
        && let Some(loaded) = functions.get(&key).and_then(|of| of.get(entry))
    {
        return Ok(loaded.clone());
    }
    let loaded = compile(context, launch.module, entry)?;
    if let Ok(mut functions) = FUNCTIONS.write() {
        let of_module = functions.entry(key).or_default();
        of_module.insert(entry.to_owned(), loaded.clone());
    }
    Ok(loaded)
}

fn compile(context: &Arc<CudaContext>, module: &'static Module, entry: &str) -> Result<Loaded> {
    use sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN as MAX_SMEM;
    use sys::CUfunction_attribute_enum::{
        CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES as DYNAMIC,
        CU_FUNC_ATTRIBUTE_NUM_REGS as REGISTERS, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES as STATIC,
    };
    let function = compiled(context, module)?.load_function(entry).w()?;
    let static_smem = function.get_attribute(STATIC).w()?;
    // Beyond 48 KiB a kernel must opt in; it may use the GPU's maximum per block.
    let dynamic = context.attribute(MAX_SMEM).w()? - static_smem;
    function.set_attribute(DYNAMIC, dynamic).w()?;
    Ok(Loaded {
        registers: function.get_attribute(REGISTERS).w()? as u32,
        static_smem: static_smem as u32,
        can_overlap: can_overlap(context, module)?,
        function,
    })
}

/// Whether the text that this GPU runs is for compute capability 9.0 or more.
fn can_overlap(context: &CudaContext, module: &Module) -> Result<bool> {
    let (major, minor) = context.compute_capability().w()?;
    let target = Target::of(module.text_for((major as u32, minor as u32))?);
    Ok(target.is_some_and(|target| target.capability >= (9, 0)))
}

/// Compiles all entries of a module at once.
fn compiled(context: &Arc<CudaContext>, module: &'static Module) -> Result<Arc<CudaModule>> {
    let key = key(context, module);
    let known = MODULES.read().ok().and_then(|m| m.get(&key).cloned());
    if let Some(compiled) = known {
        return Ok(compiled);
    }
    let (major, minor) = context.compute_capability().w()?;
    let text = module.text_for((major as u32, minor as u32))?;
    let compiled = context.load_module(text.into()).w()?;
    if let Ok(mut modules) = MODULES.write() {
        modules.insert(key, compiled.clone());
    }
    Ok(compiled)
}
