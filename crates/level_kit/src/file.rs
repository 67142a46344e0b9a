//! Kernels in files of a level's crate, and their launches.

use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use candle_core::{CpuStorage, DType, Device, Error, Result, Storage, Tensor};
use kernels::launch::{Launch, Module, is_noted, is_simulated, simulated};
use simt::Options;

use crate::fault::{below, defect, of_file};

/// Warp instructions of blocks with a finding after which a launch ends. A wrong address may be the end of a long loop, and the
/// finding must not wait for a time limit.
pub const FAULTY_FUEL: u64 = 20_000;

/// Compiles the CUDA text of a file to PTX; the error is one line with file and line.
pub type Compile = fn(&Path, &str) -> std::result::Result<String, String>;

static COMPILER: OnceLock<Compile> = OnceLock::new();

/// Sets the compiler for files that end in `.cu`. The first call counts.
pub fn set_compiler(compile: Compile) {
    COMPILER.get_or_init(|| compile);
}

/// A file of kernels in PTX, or in CUDA C++ if its name ends in `.cu`. It is read at its first launch, so that an edit of the
/// file needs no compilation of the crate.
///
/// ```no_run
/// use candle_core::{Result, Tensor};
/// use level_kit::{KernelFile, kernel_file, output};
///
/// static DOUBLE: KernelFile = kernel_file!("kernels/double.ptx");
///
/// /// 2·x: x (N) → (N)
/// fn double(x: &Tensor) -> Result<Tensor> {
///     let n = x.elem_count();
///     let y = output(x.shape(), x.dtype(), x.device())?;
///     let launch = DOUBLE.launch("double_f32")?.grid(n.div_ceil(256), 1, 1).block(256, 1, 1);
///     // SAFETY: the entry's parameters are x, y and the number of elements, and it stays inside x and y.
///     unsafe { launch.read(x).write(&y).u32(n).run()? };
///     Ok(y)
/// }
/// # let _ = double;
/// ```
pub struct KernelFile {
    folder: &'static str,
    file: &'static str,
    module: Mutex<Option<&'static Module>>,
}

impl KernelFile {
    /// The file `file` below `folder`; [`kernel_file!`](crate::kernel_file) knows the folder.
    pub const fn new(folder: &'static str, file: &'static str) -> Self {
        Self {
            folder,
            file,
            module: Mutex::new(None),
        }
    }

    /// Begins a launch of the kernel `entry`: one block of 32 threads, without arguments.
    ///
    /// # Errors
    /// The file cannot be read, or it is CUDA C++ that does not compile.
    #[track_caller]
    pub fn launch<'a>(&'static self, entry: &'static str) -> Result<KernelLaunch<'a>> {
        let begun = Location::caller();
        let module = self.module()?;
        Ok(KernelLaunch {
            file: self.file,
            folder: self.folder,
            begun,
            module,
            entry,
            device: None,
            count: 0,
            reads: vec![],
            writes: vec![],
            grid: [1; 3],
            launch: Launch::new(module, entry),
        })
    }

    /// The kernels' text as a module, which lives as long as the process.
    fn module(&self) -> Result<&'static Module> {
        let mut module = self.module.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = *module {
            return Ok(module);
        }
        let text = self.ptx().map_err(Error::Msg)?;
        let texts: &'static [&'static str] = Box::leak(Box::new([&*text.leak()]));
        Ok(*module.insert(Box::leak(Box::new(Module::new(self.file, texts)))))
    }

    fn ptx(&self) -> std::result::Result<String, String> {
        let path: PathBuf = [self.folder, self.file].iter().collect();
        let text = std::fs::read_to_string(&path)
            .map_err(|e| match e.kind() {
                std::io::ErrorKind::NotFound => "no such file".into(),
                _ => e.to_string(),
            })
            .map_err(|why| format!("cannot read `{}`: {why}", path.display()))?;
        if path.extension().is_none_or(|extension| extension != "cu") {
            return Ok(text);
        }
        match COMPILER.get() {
            // Like all other errors, it names the file by its path in the crate.
            Some(compile) => compile(&path, &text).map_err(|error| {
                let below = error.strip_prefix(&*path.to_string_lossy());
                below.map_or(error.clone(), |rest| format!("{}{rest}", self.file))
            }),
            None => Err(format!(
                "{}: expected a compiler for CUDA, found none",
                self.file
            )),
        }
    }
}

/// A launch of a kernel of a [`KernelFile`]; arguments have the order of the entry's `.param` list.
#[must_use = "nothing runs before `run`"]
pub struct KernelLaunch<'a> {
    file: &'static str,
    folder: &'static str,
    /// Where [`KernelFile::launch`] was called.
    begun: &'static Location<'static>,
    module: &'static Module,
    entry: &'static str,
    /// The device of the tensors.
    device: Option<Device>,
    /// Arguments so far.
    count: usize,
    /// Tensors on a CPU that the kernel reads, and the numbers of their arguments.
    reads: Vec<(usize, &'a Tensor)>,
    writes: Vec<&'a Tensor>,
    grid: [usize; 3],
    launch: Launch<'a>,
}

macro_rules! sizes {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $of:ty),*))*) => {
        $($(#[$doc])*
        pub fn $name(mut self, $($arg: $of),*) -> Self {
            self.launch = self.launch.$name($($arg),*);
            self
        })*
    };
}

impl<'a> KernelLaunch<'a> {
    sizes! {
        /// Sets the threads per block along x, y, z.
        block(x: usize, y: usize, z: usize)
        /// Sets the dynamic shared memory per block in bytes.
        smem(bytes: usize)
    }

    /// Sets the blocks along x, y, z.
    pub fn grid(self, x: usize, y: usize, z: usize) -> Self {
        Self {
            grid: [x, y, z],
            launch: self.launch.grid(x, y, z),
            ..self
        }
    }

    /// The same launch with one more argument.
    fn with(self, add: impl FnOnce(Launch<'a>) -> Launch<'a>) -> Self {
        Self {
            count: self.count + 1,
            launch: add(self.launch),
            ..self
        }
    }

    /// The same with a tensor, whose device is that of the launch if it is the first.
    fn with_tensor(self, x: &Tensor, add: impl FnOnce(Launch<'a>) -> Launch<'a>) -> Self {
        let mut with = self.with(add);
        with.device.get_or_insert_with(|| x.device().clone());
        with
    }

    /// Adds an argument of type `.u32`.
    pub fn u32(self, x: usize) -> Self {
        self.with(|launch| launch.u32(x))
    }

    /// Adds an argument of type `.f32`.
    pub fn f32(self, x: f64) -> Self {
        self.with(|launch| launch.f32(x))
    }

    /// Adds an argument: the address of a contiguous tensor that the kernel reads. In the simulator, a store into it is an
    /// error.
    pub fn read(self, x: &'a Tensor) -> Self {
        let is_compared = [DType::F32, DType::BF16, DType::U32, DType::U8].contains(&x.dtype());
        if !x.device().is_cpu() || !is_compared {
            return self.with_tensor(x, |launch| launch.read(x));
        }
        // Its stores are copied back, so that `run` can see them.
        let mut with = self.with_tensor(x, |launch| launch.update(x));
        with.reads.push((with.count, x));
        with
    }

    /// Adds an argument: the address of a view's first element; its strides are further arguments.
    pub fn view(self, x: &'a Tensor) -> Self {
        self.with_tensor(x, |launch| launch.view(x))
    }

    /// Adds an argument: the address of a contiguous tensor that the kernel writes.
    pub fn write(self, x: &'a Tensor) -> Self {
        let mut with = self.with_tensor(x, |launch| launch.write(x));
        with.writes.push(x);
        with
    }

    /// Adds an argument: the address of a contiguous tensor that the kernel reads, or null.
    pub fn read_or_null(self, x: Option<&'a Tensor>) -> Self {
        match x {
            Some(x) => self.read(x),
            None => self.with(|launch| launch.read_or_null(None)),
        }
    }

    /// Runs the kernel: on a GPU if the tensors are there, otherwise in the simulator. A grid without blocks is
    /// an error, unless the tensors that the kernel writes are empty: then nothing runs.
    ///
    /// # Errors
    /// Those of [`Launch::run`] at the line of the launch, `src/ops.rs:50: …`, with a store into a tensor that was passed with
    /// [`read`](Self::read), and a defect that the simulator finds at the kernel's: `kernels/norm.ptx: line 7: …`.
    ///
    /// # Safety
    /// The arguments must have the order and the types of the entry's `.param` list, and the kernel must read and write only
    /// inside its tensors: nothing checks this on a GPU. In the simulator, accesses outside are findings and do no harm.
    #[track_caller]
    pub unsafe fn run(self) -> Result<()> {
        let Self {
            file,
            folder,
            begun,
            module,
            entry,
            device,
            reads,
            writes,
            grid,
            launch,
            ..
        } = self;
        let places = [begun, Location::caller()].map(|place| below(folder, place));
        if grid.contains(&0) && writes.iter().any(|y| y.elem_count() > 0) {
            let [x, y, z] = grid;
            return Err(Error::Msg(format!(
                "{}: {file}: grid ({x}, {y}, {z}) has no blocks, so nothing is written: expected at least one (`div_ceil` rounds up)",
                places[1]
            )));
        }
        let on_host = device.is_none_or(|device| device.is_cpu());
        let run = || {
            let before = only_read(&reads, &writes);
            // SAFETY: the caller's promise.
            unsafe { launch.run() }
                .map_err(|error| of_file(file, module, entry, &places, &error))?;
            match before.iter().find(|(_, x, was)| !is_same(was, x)) {
                Some((number, ..)) => Err(Error::Msg(format!(
                    "{}: {file}: expected `write` for argument {number}, because {entry} stores into it, found `read`",
                    places[1]
                ))),
                None => Ok(()),
            }
        };
        if !on_host || is_simulated() {
            return run();
        }
        // A caller that lists the launches says so itself.
        if !is_noted() {
            SIMULATED.get_or_init(|| file);
        }
        // The first finding is the error.
        let options = Options {
            faulty_fuel: FAULTY_FUEL,
            ..Options::default()
        };
        let (ran, reports) = simulated(options, run);
        if let Some(line) = defect(folder, file, &reports) {
            return Err(Error::Msg(line));
        }
        ran
    }
}

static SIMULATED: OnceLock<&str> = OnceLock::new();

/// The first file of kernels that the simulator ran because the tensors were on a CPU, if there was one.
pub fn simulated_file() -> Option<&'static str> {
    SIMULATED.get().copied()
}

/// A copy of what a tensor on a CPU holds, with the number of its argument.
type Before<'a> = (usize, &'a Tensor, CpuStorage);

/// Copies of the tensors in `reads` whose memory is not that of one in `writes`.
fn only_read<'a>(reads: &[(usize, &'a Tensor)], writes: &[&Tensor]) -> Vec<Before<'a>> {
    let memory = |x: &Tensor| std::ptr::from_ref(&*x.storage_and_layout().0).addr();
    let written: Vec<usize> = writes.iter().map(|y| memory(y)).collect();
    let is_only_read = |(_, x): &&(usize, &Tensor)| !written.contains(&memory(x));
    let copied = |(number, x): &(usize, &'a Tensor)| match &*x.storage_and_layout().0 {
        Storage::Cpu(host) => Some((*number, *x, host.clone())),
        _ => None,
    };
    reads
        .iter()
        .filter(is_only_read)
        .filter_map(copied)
        .collect()
}

/// Whether a tensor on a CPU holds the same bits as before.
fn is_same(before: &CpuStorage, x: &Tensor) -> bool {
    let (now, _) = x.storage_and_layout();
    let Storage::Cpu(now) = &*now else {
        return true;
    };
    match (before, now) {
        (CpuStorage::U8(a), CpuStorage::U8(b)) => a == b,
        (CpuStorage::U32(a), CpuStorage::U32(b)) => a == b,
        (CpuStorage::F32(a), CpuStorage::F32(b)) => {
            a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
        }
        (CpuStorage::BF16(a), CpuStorage::BF16(b)) => {
            a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_into_a_tensor_that_is_read_is_an_error() -> Result<()> {
        let (x, y) = (x(3)?, Tensor::zeros(3, DType::F32, &Device::Cpu)?);
        let launch = DOUBLE.launch("double_f32")?;
        // SAFETY: x, y and 3 are the entry's parameters, and it stays inside x and y.
        let ran = unsafe { launch.read(&x).read(&y).u32(3).run() };
        let error = ran.err().map_or(String::new(), |error| error.to_string());
        let expected = "tests/double.ptx: expected `write` for argument 2, because double_f32 stores into it, found `read`";
        assert!(
            error.ends_with(expected) && error.contains("file.rs:"),
            "{error}"
        );
        // A tensor may be both.
        let launch = DOUBLE.launch("double_f32")?;
        // SAFETY: the same.
        unsafe { launch.read(&x).write(&x).u32(3).run()? };
        assert_eq!(x.to_vec1::<f32>()?, [0., 2., 4.]);
        Ok(())
    }

    #[test]
    fn a_grid_without_blocks_writes_only_what_is_empty() -> Result<()> {
        let run = |n: usize| {
            let (x, y) = (x(n)?, Tensor::zeros(n, DType::F32, &Device::Cpu)?);
            let launch = DOUBLE.launch("double_f32")?.grid(n / 32, 1, 1);
            // SAFETY: x, y and n are the entry's parameters, and it stays inside x and y.
            unsafe { launch.read(&x).write(&y).u32(n).run() }
        };
        run(0)?;
        run(32)?;
        let error = run(7)
            .err()
            .map_or(String::new(), |error| error.to_string());
        let expected = "tests/double.ptx: grid (0, 1, 1) has no blocks, so nothing is written: expected at least one (`div_ceil` rounds up)";
        assert!(
            error.ends_with(expected) && error.contains("file.rs:"),
            "{error}"
        );
        Ok(())
    }

    static DOUBLE: KernelFile = crate::kernel_file!("tests/double.ptx");
    static CUDA: KernelFile = crate::kernel_file!("tests/double.cu");
    static MISSING: KernelFile = crate::kernel_file!("tests/none.ptx");

    fn double(x: &Tensor, n: usize) -> Result<Tensor> {
        let y = crate::output(x.shape(), x.dtype(), x.device())?;
        let launch = DOUBLE.launch("double_f32")?.grid(n.div_ceil(32), 1, 1);
        // SAFETY: x, y and n are the entry's parameters; the simulator reports accesses outside.
        unsafe { launch.read(x).write(&y).u32(n).run()? };
        Ok(y)
    }

    fn x(n: usize) -> Result<Tensor> {
        Tensor::arange(0f32, n as f32, &Device::Cpu)
    }

    #[test]
    fn a_kernel_on_a_cpu_is_simulated() -> Result<()> {
        let y = double(&x(70)?, 70)?.to_vec1::<f32>()?;
        assert!(
            y.iter().enumerate().all(|(i, y)| *y == 2. * i as f32),
            "{y:?}"
        );
        let (y, reports) = simulated(Options::default(), || double(&x(5)?, 5));
        assert_eq!(y?.to_vec1::<f32>()?, [0., 2., 4., 6., 8.]);
        assert_eq!(reports.len(), 1, "a simulation around it gets the report");
        Ok(())
    }

    #[test]
    fn a_defect_is_an_error_with_file_and_line() -> Result<()> {
        let error = double(&x(5)?, 6).unwrap_err().to_string();
        let expected = "tests/double.ptx: line 26: `ld.global.f32`";
        assert!(error.starts_with(expected), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        Ok(())
    }

    #[test]
    fn a_file_or_an_entry_that_is_missing_is_named() -> Result<()> {
        let error = MISSING.launch("f").err().map(|e| e.to_string());
        assert!(error.is_some_and(|e| e.contains("none.ptx`: no such file")));
        let y = Tensor::zeros(1, DType::F32, &Device::Cpu)?;
        let begun = line!() + 2;
        // SAFETY: there is no such entry, so that nothing runs.
        let error = unsafe { DOUBLE.launch("halve")?.write(&y).run() };
        let error = error.err().map(|e| e.to_string());
        let expected = "tests/double.ptx: expected a kernel of this file (double_f32), found halve";
        let place = format!("{}:{}: ", file!(), begun);
        assert!(error.is_some_and(|e| place.ends_with(e.strip_suffix(expected).unwrap_or("-"))));
        let ran = line!() + 2;
        // SAFETY: the simulator refuses it.
        let error = unsafe { DOUBLE.launch("double_f32")?.write(&y).run() };
        let error = error.err().map_or(String::new(), |e| e.to_string());
        let expected =
            format!("file.rs:{ran}: tests/double.ptx: double_f32: arguments: expected 3 ");
        assert!(error.contains(&expected), "{error}");
        let two = ".visible .entry a(\n.param .u64 x)\n// .entry b(\n.entry c\n(";
        assert_eq!(crate::fault::entries(two), ["a", "c"]);
        Ok(())
    }

    /// The file has the PTX of `double.ptx` after the word `cuda`, and the compiler of this test removes that.
    #[test]
    fn cuda_is_compiled_first() -> Result<()> {
        set_compiler(|_, text| {
            text.strip_prefix("cuda\n")
                .map(str::to_owned)
                .ok_or("no".into())
        });
        let (x, y) = (x(3)?, Tensor::zeros(3, DType::F32, &Device::Cpu)?);
        // SAFETY: x, y and 3 are the entry's parameters, and it stays inside x and y.
        unsafe { CUDA.launch("double_f32")?.read(&x).write(&y).u32(3).run()? };
        assert_eq!(y.to_vec1::<f32>()?, [0., 2., 4.]);
        Ok(())
    }
}
