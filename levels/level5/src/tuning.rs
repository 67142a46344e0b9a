//! What is measured on a device, and the table that comes of it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use candle_core::{DType, Device, Result, bail};
use kernels::dispatch::tune::{Axis, Grid, Measured, tune};
use kernels::dispatch::{Facts, Layout, Op, Problem, Rule, Table, folder};
use kernels::matmul::level5::REGISTRY;
use models::{Heads, presets};

/// Problems that [`table`] measures.
///
/// # Errors
/// When the driver does not answer.
pub fn problems(device: &Device) -> Result<usize> {
    let facts = Facts::of(device)?;
    Ok(grids()
        .iter()
        .map(|grid| grid.problems(facts).count())
        .sum())
}

/// Measures all of [`grids`] on `device`; `seen` is told of every problem.
///
/// # Errors
/// What a kernel or the driver says.
pub fn table(device: &Device, seen: impl FnMut(&Measured)) -> Result<Table> {
    let facts = Facts::of(device)?;
    let rules = tune(device, &grids(), seen)?;
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    Ok(Table {
        schema: kernels::dispatch::SCHEMA,
        device: facts.name.clone(),
        driver: facts.driver.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
        date: now.chars().take_while(|c| *c != 'T').collect(),
        rules,
    })
}

/// Where the table of `device` is looked for; none where the system has no folder for caches.
///
/// # Errors
/// When the driver does not answer.
pub fn place(device: &Device) -> Result<Option<PathBuf>> {
    let name = Table::file_name(Facts::of(device)?);
    Ok(folder().map(|folder| folder.join(name)))
}

/// The name of the kernel that is picked for a product of matrices.
///
/// # Errors
/// When the driver does not answer, or no kernel can.
pub fn picked(problem: &Problem, device: &Device) -> Result<&'static str> {
    Ok(REGISTRY.pick(problem, Facts::of(device)?)?.entry.name)
}

/// Small products of every shape, and the products of the presets.
pub fn grids() -> Vec<Grid> {
    let mut grids = small();
    for dtype in [DType::F32, DType::BF16] {
        grids.extend(weights().into_iter().map(|w| of_weight(w, dtype)));
        grids.extend(any_weight(dtype));
        grids.extend(attention_and_norms(dtype));
    }
    grids
}

/// Of a single matrix, and of batches.
fn small() -> Vec<Grid> {
    let grid = |batches: &[usize], sizes: &[usize]| Grid {
        op: Op::Matmul,
        dtype: DType::F32,
        batch: Axis::up_to(batches),
        m: Axis::up_to(sizes),
        n: Axis::up_to(sizes),
        k: Axis::up_to(sizes),
    };
    vec![
        grid(&[1], &[1, 4, 8, 16, 32, 64, 128, 256, 384, 512]),
        grid(&[8, 64, 512], &[16, 32, 64, 128, 256]),
    ]
}

/// What the small products are held against a library on: squares, tall and flat ones, rows, batches, and the
/// products of the presets as plain matrices.
pub fn shapes() -> Vec<Problem> {
    let squares = [1, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512].map(|n| [1, n, n, n]);
    let others = [
        [1, 1, 512, 512],
        [1, 4, 256, 256],
        [1, 512, 16, 64],
        [1, 16, 512, 64],
        [1, 32, 32, 512],
        [8, 64, 64, 64],
        [64, 16, 16, 16],
        [64, 32, 32, 32],
        [64, 64, 64, 64],
        [64, 128, 128, 128],
        [512, 16, 16, 16],
        [512, 32, 32, 32],
        [512, 64, 64, 64],
    ];
    let few = |&(_, n, k): &Weight| n * k < 1 << 18;
    let presets = weights().into_iter().filter(few);
    let presets = presets.flat_map(|(_, n, k)| [1, 4, 128, 197].map(|m| [1, m, n, k]));
    let mut shapes: Vec<_> = squares.into_iter().chain(others).chain(presets).collect();
    shapes.dedup();
    let problem = |[batch, m, n, k]: [usize; 4]| Problem {
        op: Op::Matmul,
        batch,
        m,
        n,
        k,
        dtype: DType::F32,
        layout: [Layout::Rows; 2],
    };
    shapes.into_iter().map(problem).collect()
}

/// Rows of x that are measured with a weight: decoded tokens, graphs' nodes, a picture, prompts, a batch of pictures.
const ROWS: [usize; 9] = [1, 4, 8, 32, 128, 197, 512, 4096, 8192];

type Weight = (Op, usize, usize);

fn of_weight((op, n, k): Weight, dtype: DType) -> Grid {
    Grid {
        op,
        dtype,
        batch: Axis::up_to(&[1]),
        m: Axis::up_to(&ROWS).and_above(),
        n: Axis::only(n),
        k: Axis::only(k),
    }
}

/// For weights that no preset has.
fn any_weight(dtype: DType) -> [Grid; 3] {
    let sizes = [128, 512, 2048];
    [Op::Linear, Op::LinearGelu, Op::LinearSwiglu].map(|op| Grid {
        op,
        dtype,
        batch: Axis::up_to(&[1]),
        m: Axis::up_to(&[1, 4, 8, 64, 512, 4096]).and_above(),
        n: Axis::up_to(&sizes).and_above(),
        k: Axis::up_to(&sizes).and_above(),
    })
}

/// Of a picture's heads, and of rows of any length.
fn attention_and_norms(dtype: DType) -> [Grid; 3] {
    let norm = |op| Grid {
        op,
        dtype,
        batch: Axis::up_to(&[1]),
        m: Axis::up_to(&[1, 32, 512, 4096]).and_above(),
        n: Axis::up_to(&[128, 512, 1024]).and_above(),
        k: Axis::up_to(&[1]),
    };
    let attention = Grid {
        op: Op::Attention,
        dtype,
        batch: Axis::up_to(&[6, 12, 192]).and_above(),
        m: Axis::up_to(&[64, 197]).and_above(),
        n: Axis::up_to(&[1]).and_above(), // as many keys as queries
        k: Axis::up_to(&[32, 64, 128]),
    };
    [norm(Op::AddRmsNorm), norm(Op::AddLayerNorm), attention]
}

/// The (N, K) of every preset, each once.
fn weights() -> Vec<Weight> {
    let names = |i: usize| presets::NAMES[i].1.iter();
    let lms = names(0).filter_map(|name| presets::lm(name)).flat_map(|c| {
        let attention = attention(c.hidden_size, c.heads);
        let mlp = [
            (Op::LinearSwiglu, c.intermediate_size, c.hidden_size),
            (Op::Linear, c.hidden_size, c.intermediate_size),
        ];
        let head = (Op::Linear, c.vocab_size, c.hidden_size);
        [&attention[..], &mlp, &[head]].concat()
    });
    let vits = names(1)
        .filter_map(|name| presets::vit(name))
        .flat_map(|c| {
            let heads = Heads::full(c.num_attention_heads, c.hidden_size / c.num_attention_heads);
            let head = (Op::Linear, c.labels.len(), c.hidden_size);
            let mlp = mlp(c.hidden_size, c.intermediate_size);
            [&attention(c.hidden_size, heads)[..], &mlp, &[head]].concat()
        });
    let gnns = names(2)
        .filter_map(|name| presets::gnn(name))
        .flat_map(|c| {
            let ends = [
                (Op::Linear, c.hidden_size, c.node_features),
                (Op::Linear, 4 * c.hidden_size, c.hidden_size), // q, k, v and skip
                (Op::Linear, c.num_classes, c.hidden_size),
            ];
            [&mlp(c.hidden_size, c.intermediate_size)[..], &ends].concat()
        });
    let mut weights = vec![];
    for weight in lms.chain(vits).chain(gnns) {
        if !weights.contains(&weight) {
            weights.push(weight);
        }
    }
    weights
}

/// q, k and v in one, and what follows them.
fn attention(hidden: usize, heads: Heads) -> [Weight; 2] {
    let q = heads.num_heads * heads.head_dim;
    let kv = heads.num_kv_heads * heads.head_dim;
    [(Op::Linear, q + 2 * kv, hidden), (Op::Linear, hidden, q)]
}

fn mlp(hidden: usize, intermediate: usize) -> [Weight; 2] {
    [
        (Op::LinearGelu, intermediate, hidden),
        (Op::Linear, hidden, intermediate),
    ]
}

/// Writes `table` to `path`, whole or not at all.
///
/// # Errors
/// When the folder cannot be made or the file not be written.
pub fn save(table: &Table, path: &Path) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let beside = path.with_extension("json.part");
    std::fs::write(&beside, table.text()?)?;
    std::fs::rename(beside, path)
}

/// A line for each operation and kernel: in how many rules it wins, and by how much over what runs without a
/// table.
///
/// # Errors
/// When `out` is closed.
pub fn summary(table: &Table, took: Duration, out: &mut impl Write) -> std::io::Result<()> {
    let Table { device, rules, .. } = table;
    writeln!(
        out,
        "{device}: {} rules in {:.0} s",
        rules.len(),
        took.as_secs_f64()
    )?;
    let mut wins: Vec<(&Rule, Vec<f64>)> = vec![];
    for rule in rules {
        let gain = rule.untuned_us / rule.us;
        let same = |(r, _): &&mut (&Rule, _)| {
            (r.op, &r.dtype, &r.kernel) == (rule.op, &rule.dtype, &rule.kernel)
        };
        match wins.iter_mut().find(same) {
            Some((_, gains)) => gains.push(gain),
            None => wins.push((rule, vec![gain])),
        }
    }
    wins.sort_by_key(|(rule, _)| (rule.op.to_string(), rule.dtype.clone()));
    writeln!(
        out,
        "{:<14} {:<5} {:<30} {:>5} {:>8} {:>8}",
        "op", "dtype", "kernel", "rules", "median", "best"
    )?;
    for (rule, mut gains) in wins {
        gains.sort_by(f64::total_cmp);
        let (median, best) = (gains[gains.len() / 2], gains[gains.len() - 1]);
        let (op, dtype, kernel, n) = (rule.op.to_string(), &rule.dtype, &rule.kernel, gains.len());
        writeln!(
            out,
            "{op:<14} {dtype:<5} {kernel:<30} {n:>5} {median:>7.2}× {best:>7.2}×"
        )?;
    }
    Ok(())
}

/// Measures `device`, prints the summary to `out` and writes the table to `path`, or where there is none, to its
/// [`place`]; with `any` as the table of all devices of its kind.
///
/// # Errors
/// What a kernel, the driver or the file system says.
pub fn run(
    device: &Device,
    path: Option<PathBuf>,
    any: bool,
    seen: impl FnMut(&Measured),
    out: &mut impl Write,
) -> Result<()> {
    let path = path.map_or_else(|| place(device), |path| Ok(Some(path)))?;
    let Some(path) = path else {
        bail!("--json: no folder for caches on this system")
    };
    let start = Instant::now();
    let mut table = table(device, seen)?;
    if any {
        table = table.of_any(Facts::of(device)?);
    }
    save(&table, &path)?;
    summary(&table, start.elapsed(), out)?;
    writeln!(out, "{}", path.display())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_product_of_the_presets_is_measured() {
        let weights = weights();
        for weight in [
            (Op::Linear, 1536, 512),       // qkv of readme
            (Op::LinearSwiglu, 1536, 576), // smollm
            (Op::Linear, 49152, 576),      // its head
            (Op::Linear, 960, 576),        // three of nine heads have keys
            (Op::LinearGelu, 3072, 768),   // b16
            (Op::Linear, 512, 128),        // q, k, v and skip of base
        ] {
            assert!(weights.contains(&weight), "{weight:?}");
        }
        let mut once = weights.clone();
        once.dedup();
        assert_eq!(once, weights);
        let facts = Facts::any_gpu((9, 0), 132);
        for grid in grids() {
            assert!(grid.problems(&facts).count() > 0, "{grid:?}");
        }
    }

    fn table(rules: Vec<Rule>) -> Table {
        Table {
            schema: kernels::dispatch::SCHEMA,
            device: "a CPU".into(),
            driver: None,
            version: "1.2".into(),
            date: "2026-11-21".into(),
            rules,
        }
    }

    fn rule(kernel: &str, us: f64) -> Rule {
        let any = kernels::dispatch::Range(0, 9);
        Rule {
            op: Op::Matmul,
            dtype: "f32".into(),
            batch: any,
            m: any,
            n: any,
            k: any,
            kernel: kernel.into(),
            us,
            next: String::new(),
            next_us: 0.,
            untuned: "candle".into(),
            untuned_us: 6.,
        }
    }

    #[test]
    fn a_summary_counts_what_won() -> std::io::Result<()> {
        let table = table(vec![
            rule("small", 2.),
            rule("candle", 6.),
            rule("small", 3.),
        ]);
        let mut text = vec![];
        summary(&table, Duration::from_secs(7), &mut text)?;
        let text = String::from_utf8(text).expect("text");
        let line = |words: &str| {
            let same = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ") == words;
            assert!(text.lines().any(same), "{words} in\n{text}");
        };
        line("a CPU: 3 rules in 7 s");
        line("matmul f32 small 2 3.00× 3.00×");
        line("matmul f32 candle 1 1.00× 1.00×");
        Ok(())
    }

    #[test]
    fn a_table_is_written_whole_where_it_is_looked_for() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("a folder/a-cpu.json");
        let table = table(vec![rule("small", 2.)]);
        save(&table, &path)?;
        assert_eq!(Table::load(&path), Ok(Some(table)));
        let files = std::fs::read_dir(path.parent().expect("a folder"))?;
        assert_eq!(files.count(), 1, "nothing beside it");
        Ok(())
    }
}
