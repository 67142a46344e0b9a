//! One reading function per file format.

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};

use classroom::spec::{Spec, WrongFile};
use cli::tokenizer::TextTokenizer;
use data::picture::{Preprocessor, read_flattened};
use kernels::dispatch::Table;
use models::checkpoint::{TensorFile, shards};
use models::config::ConfigFile;
use results::{OpResults, Results, SweepResults};
use simt::case::{Element, npy as numpy};
use simt::{Arg, Buffer, Case, Dim, Kernel, Module, Options, Schedule};
use tempfile::TempDir;

thread_local! {
    static FOLDER: OnceCell<TempDir> = const { OnceCell::new() };
}

/// Calls `read` with a file of this name and these bytes, in memory where the system has such a folder.
fn with_file(name: &str, bytes: &[u8], read: impl FnOnce(&Path)) {
    FOLDER.with(|folder| {
        let folder = folder.get_or_init(|| {
            let memory = Path::new("/dev/shm");
            let made = if memory.is_dir() {
                tempfile::tempdir_in(memory)
            } else {
                tempfile::tempdir()
            };
            made.unwrap_or_else(|e| panic!("a temporary folder: {e}"))
        });
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        read(&path);
    });
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn ptx(bytes: &[u8]) {
    if let Ok(module) = Module::parse(&text(bytes)) {
        for name in module.entries() {
            let _ = module.kernel(name);
        }
    }
}

/// Bytes before the text of a launch: grid, block, shared memory, schedule and seed.
const HEAD: usize = 8;

/// Launches each kernel of a text; the first bytes choose the launch.
pub fn launch(bytes: &[u8]) {
    let Some((head, rest)) = bytes.split_first_chunk::<HEAD>() else {
        return;
    };
    if let Ok(module) = Module::parse(&text(rest)) {
        let kernels = module.entries().filter_map(|name| module.kernel(name).ok());
        kernels.for_each(|kernel| launch_one(&kernel, head));
    }
}

fn launch_one(kernel: &Kernel, head: &[u8; HEAD]) {
    let [gx, gy, bx, by, bz, smem, schedule, seed] = head.map(u32::from);
    let dim = Dim {
        grid: [gx % 4, 1 + gy % 2, 1],
        block: [bx, 1 + by % 8, 1 + bz % 4],
        smem: 1024 * smem,
    };
    let schedules = [
        Schedule::PostDominator,
        Schedule::MinPc,
        Schedule::MaxPc,
        Schedule::Random,
    ];
    let options = Options {
        fuel: 3_000,
        launch_fuel: 20_000,
        memory: 64 << 20,
        schedule: schedules[schedule as usize % 4],
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

pub fn cases(bytes: &[u8]) {
    let _ = Case::parse_all(&text(bytes));
}

pub fn npy(bytes: &[u8]) {
    let _ = numpy::read("array.npy", bytes, Element::F32);
}

/// The configuration of any of the three models.
pub fn config(bytes: &[u8]) {
    if let Ok(file) = ConfigFile::parse(Path::new("config.json"), &text(bytes)) {
        let _ = models::lm::Config::from_file(&file);
        let _ = models::vit::Config::from_file(&file);
        let _ = models::gnn::Config::from_file(&file);
    }
}

/// A tokenizer, and what it makes of a text.
pub fn tokenizer(bytes: &[u8]) {
    with_file("tokenizer.json", bytes, |path| {
        if let Ok(tokenizer) = TextTokenizer::open(path) {
            let tokens = tokenizer.encode("The sea, größer than 7.\n", true, usize::MAX);
            let _ = tokens.map(|tokens| tokenizer.decode(&tokens));
        }
    });
}

pub fn preprocessor(bytes: &[u8]) {
    with_file("preprocessor_config.json", bytes, |path| {
        let _ = Preprocessor::read(path);
    });
}

pub fn picture(bytes: &[u8]) {
    with_file("image.png", bytes, |path| {
        let _ = read_flattened(path);
    });
}

pub fn safetensors(bytes: &[u8]) {
    with_file("model.safetensors", bytes, |path| {
        let _ = TensorFile::read(path);
    });
}

pub fn index(bytes: &[u8]) {
    with_file("model.safetensors.index.json", bytes, |path| {
        let _ = shards(path);
    });
}

pub fn csv(bytes: &[u8]) {
    with_file("edges.csv", bytes, |path| {
        let _ = data::edges::read_csv(path);
        let _ = data::edges::read_csv_of(path, 3);
    });
}

/// Files of a TU data set, in this order, with a zero byte between them.
const TU: [&str; 6] = [
    "A",
    "graph_indicator",
    "graph_labels",
    "node_labels",
    "edge_labels",
    "node_attributes",
];

pub fn graph(bytes: &[u8]) {
    let mut parts = bytes.split(|&byte| byte == 0);
    with_file("SET_A.txt", parts.next().unwrap_or_default(), |path| {
        let folder = path.parent().unwrap_or(Path::new("."));
        let file = |name: &str| -> PathBuf { folder.join(format!("SET_{name}.txt")) };
        for name in &TU[1..] {
            match parts.next() {
                Some(part) => _ = fs::write(file(name), part),
                None => _ = fs::remove_file(file(name)),
            }
        }
        let _ = data::tu::read(folder);
    });
}

pub fn table(bytes: &[u8]) {
    if let Ok(table) = Table::parse(&text(bytes)) {
        let _ = table.text();
    }
}

pub fn exercise(bytes: &[u8]) {
    let text = text(bytes);
    if let Ok(spec) = toml::from_str::<Spec>(&text) {
        let _ = spec.check();
    }
    let _ = toml::from_str::<WrongFile>(&text);
}

pub fn record(bytes: &[u8]) {
    with_file("record.json", bytes, |path| {
        let _ = Results::load(path);
        let _ = OpResults::load(path);
        let _ = SweepResults::load(path);
    });
}
