//! The text of a kernel file and its PTX, for tests that the constants of a launch are those of the kernel.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of this package, for tests that read its files.
pub fn kernels_folder() -> PathBuf {
    // On a machine without the repository, `run.sh` says where the folders of the tests are.
    let package = std::env::var_os("CARGO_MANIFEST_DIR");
    let package = package.unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&package).join("../kernels")
}

/// A `.cu` with the headers that it includes, and its PTX for one target.
pub struct KernelFile {
    source: String,
    ptx: String,
}

impl KernelFile {
    /// `read("rope/level4", "sm_75")`
    pub fn read(stem: &str, target: &str) -> Self {
        let kernels = kernels_folder();
        let mut source = String::new();
        append(&kernels.join("src"), &format!("{stem}.cu"), &mut source);
        let ptx = text(&kernels.join(format!("generated/{stem}.{target}.ptx")));
        Self { source, ptx }
    }

    /// The `.maxntid` of an entry: the product of its `__launch_bounds__`.
    pub fn max_threads(&self, entry: &str) -> usize {
        directive(&self.ptx, entry, ".maxntid")
    }

    /// The first expression that a constant of this name has: `D + 8` of `constexpr int PITCH = D + 8;`
    pub fn expression(&self, name: &str) -> &str {
        let (_, after) = (self.source.split_once(&format!(" {name} = ")))
            .unwrap_or_else(|| panic!("no constant {name}"));
        let end = after.find([',', ';']).expect("the end of an expression");
        &after[..end]
    }

    /// A constant that is a number, or a product of numbers and of such constants.
    pub fn constant(&self, name: &str) -> usize {
        let factors = self.expression(name).split('*').map(str::trim);
        let value = |factor: &str| factor.parse().unwrap_or_else(|_| self.constant(factor));
        factors.map(value).product()
    }

    /// Whether a line of the source is `line`: the call of a macro that makes an entry.
    pub fn has_line(&self, line: &str) -> bool {
        self.source.lines().any(|l| l == line)
    }
}

/// The product of the numbers after a directive of an entry in a PTX text: 256 of `.maxntid 128, 2, 1`.
pub fn directive(ptx: &str, entry: &str, name: &str) -> usize {
    let (_, after) =
        (ptx.split_once(&format!(".entry {entry}("))).unwrap_or_else(|| panic!("no entry {entry}"));
    let (head, _) = after.split_once('{').expect("a body");
    let (_, after) = head.split_once(&format!("{name} ")).expect("the directive");
    let (numbers, _) = after.split_once('\n').expect("a line");
    let numbers = numbers.split(',').map(|n| n.trim().parse::<usize>());
    numbers.map(|n| n.expect("a number")).product()
}

/// Appends a file, then the files that it includes.
fn append(folder: &Path, file: &str, source: &mut String) {
    let text = text(&folder.join(file));
    source.push_str(&text);
    for line in text.lines() {
        if let Some(included) = line.strip_prefix("#include \"") {
            append(folder, included.trim_end_matches('"'), source);
        }
    }
}

fn text(path: &PathBuf) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}
