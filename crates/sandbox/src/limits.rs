use std::path::{Path, PathBuf};
use std::time::Duration;

/// Resources that a program may use. The defaults are those of a small program that computes: 2 GiB, no file, no process.
#[derive(Debug, Clone)]
pub struct Limits {
    pub(crate) wall: Duration,
    pub(crate) cpu: Option<Duration>,
    pub(crate) memory: u64,
    pub(crate) processes: u64,
    pub(crate) file_size: u64,
    pub(crate) open_files: u64,
    pub(crate) output: usize,
    pub(crate) readable: Vec<PathBuf>,
    pub(crate) writable: Option<PathBuf>,
    pub(crate) confined: bool,
}

impl Limits {
    /// Limits with `wall` as the wall-clock time after which the program is killed.
    pub fn new(wall: Duration) -> Self {
        Self {
            wall,
            cpu: None,
            memory: 2 << 30,
            processes: 0,
            file_size: 1 << 28,
            open_files: 256,
            output: 1 << 20,
            readable: vec![],
            writable: None,
            confined: true,
        }
    }

    /// Sets the CPU time of all threads of a process together. By default it is what all processors can spend within the
    /// wall-clock time.
    pub fn cpu(mut self, cpu: Duration) -> Self {
        self.cpu = Some(cpu);
        self
    }

    /// Sets the bytes of address space of each process. An allocation beyond it fails; it does not kill.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.memory = bytes;
        self
    }

    /// Allows child processes: at most `count` processes and threads at a time. Without it there are threads only. It is
    /// for a compiler: its linker also changes modes of files and sends signals, which other programs may not.
    pub fn processes(mut self, count: u64) -> Self {
        self.processes = count;
        self
    }

    /// Sets the bytes of the largest file that may be written.
    pub fn file_size(mut self, bytes: u64) -> Self {
        self.file_size = bytes;
        self
    }

    /// Sets the number of files, pipes and folders that may be open at a time.
    pub fn open_files(mut self, count: u64) -> Self {
        self.open_files = count;
        self
    }

    /// Sets the bytes of stdout and of stderr that are kept, half of them from the end.
    pub fn output(mut self, bytes: usize) -> Self {
        self.output = bytes;
        self
    }

    /// Adds a file or folder that may be read and executed. The system's folders of libraries and the loader's settings in
    /// `/etc` always may, and with [`processes`](Self::processes) those of programs and headers; the rest of `/etc` and
    /// `/usr`, `/proc`, home folders and everything else may not.
    pub fn readable(mut self, path: impl AsRef<Path>) -> Self {
        self.readable.push(path.as_ref().into());
        self
    }

    /// Sets the one folder that may be written.
    pub fn writable(mut self, folder: impl AsRef<Path>) -> Self {
        self.writable = Some(folder.as_ref().into());
        self
    }

    /// The folder that a program with these limits may read, because the system or the caller needs it, and that holds `path`;
    /// `None` where it has no sandbox, and could read everything.
    pub fn exposes(&self, path: &Path) -> Option<PathBuf> {
        let path = path.canonicalize().ok()?;
        let is_jailed = self.confined && crate::available().is_ok();
        let system = crate::jail::system(self.processes > 0).map(Into::into);
        let mut all = system.chain(self.readable.clone()).filter(|_| is_jailed);
        all.find(|folder: &PathBuf| folder.canonicalize().is_ok_and(|f| path.starts_with(f)))
    }

    /// Leaves files, the network and other processes within reach, for a program that its own author starts: only the
    /// limits hold.
    pub fn unconfined(mut self) -> Self {
        self.confined = false;
        self
    }

    /// Seconds of CPU time.
    #[cfg_attr(not(unix), expect(dead_code))]
    pub(crate) fn cpu_seconds(&self) -> u64 {
        let cpu = self.cpu.unwrap_or_else(|| {
            let processors = std::thread::available_parallelism().map_or(1, usize::from);
            self.wall * u32::try_from(processors).unwrap_or(u32::MAX)
        });
        cpu.as_secs() + u64::from(cpu.subsec_nanos() > 0)
    }
}
