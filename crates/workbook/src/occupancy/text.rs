//! Output of `workbook occupancy`.

use models::trace::table::{Line, aligned};
use occupancy::{Block, Change, Limit, Raise, Sm, WARP, bytes_in_flight};

use super::kernel::Known;
use data::counted;

/// SMs of an H200, as the driver reports them.
const H200_SMS: u32 = 132;
/// An assumed latency of an H200's memory in seconds, that of the chapter on level 4.
const LATENCY: f64 = 0.7e-6;
/// The bytes of the widest load of a thread.
const WIDEST: f64 = 16.;

/// The block, the table, and what follows from it.
pub fn all(known: &Known, sm: &Sm, block: &Block) -> String {
    let mut text = header(known, sm, block);
    text += &aligned(&table(sm, block));
    text += &format!("\n{}\n", verdict(sm, block));
    text += &format!("to raise it: {}\n", raised(sm, block));
    if let Some(line) = in_flight(sm, block) {
        text += &line;
    }
    text += &format!(
        "note: a warp takes registers in units of 256, a block shared memory in units of {} bytes, and {} more\n",
        sm.shared_unit, sm.reserved
    );
    for note in &known.notes {
        text += &format!("note: {note}\n");
    }
    text
}

/// `8.6`
pub fn capability(sm: &Sm) -> String {
    format!("{}.{}", sm.capability.0, sm.capability.1)
}

fn header(known: &Known, sm: &Sm, block: &Block) -> String {
    let name = known.name.as_deref().unwrap_or("a block");
    format!(
        "{name}: {}, {} per thread, {} of shared memory\nan SM of compute capability {}\n\n",
        counted(block.threads, "thread"),
        counted(block.registers, "register"),
        counted(block.shared, "byte"),
        capability(sm),
    )
}

/// One line per limit: what a block takes, what the SM has, and the blocks and warps that fit.
fn table(sm: &Sm, block: &Block) -> Vec<Line> {
    let head = ["limit", "a block takes", "an SM has", "blocks", "warps"];
    let limits = sm.limits(block);
    let line = |limit: Limit| {
        let by = sm.blocks_by(limit, block);
        let number = |n: Option<u32>| n.map_or("–".into(), |n| n.to_string());
        let words = if limits.contains(&limit) {
            "<- limits"
        } else {
            ""
        };
        Line {
            cells: vec![
                name(limit).into(),
                sm.taken(limit, block).to_string(),
                sm.available(limit).to_string(),
                number(by),
                number(by.map(|blocks| blocks * block.warps())),
            ],
            words: vec![words.into()],
        }
    };
    let head = Line::of(head.map(str::to_owned));
    [head].into_iter().chain(Limit::ALL.map(line)).collect()
}

fn name(limit: Limit) -> &'static str {
    match limit {
        Limit::Warps => "warp slots",
        Limit::Blocks => "block slots",
        Limit::Registers => "registers",
        Limit::Shared => "bytes of shared memory",
    }
}

fn verdict(sm: &Sm, block: &Block) -> String {
    let (blocks, warps) = (sm.resident_blocks(block), sm.resident_warps(block));
    if blocks == 0 {
        return "occupancy: none, because no block fits and the launch fails".into();
    }
    format!(
        "occupancy: {}%, {warps} of {} warps in {} per SM",
        (1000. * sm.occupancy(block)).round() / 10.,
        sm.warps,
        counted(blocks, "block"),
    )
}

/// The changes that help.
fn raised(sm: &Sm, block: &Block) -> String {
    if sm.resident_warps(block) == sm.warps {
        return "nothing, because every warp slot is taken".into();
    }
    let raises: Vec<String> = sm.raises(block).iter().map(change).collect();
    if raises.is_empty() {
        // More than one of these stands in the way of one more block.
        let limits: Vec<&str> = sm.limits(block).into_iter().map(name).collect();
        return format!(
            "no change of one number alone: {} limit together",
            limits.join(" and ")
        );
    }
    raises.join(", or ")
}

fn change(raise: &Raise) -> String {
    let registers = |n| format!("{} per thread", counted(n, "register"));
    let shared = |n| format!("{} of shared memory", counted(n, "byte"));
    let change = match raise.change {
        Change::Registers(n) => format!("at most {}", registers(n)),
        Change::Shared(n) => format!("at most {}", shared(n)),
        Change::Threads(n) => format!("{} per block", counted(n, "thread")),
        Change::Both {
            registers: n,
            shared: bytes,
        } => format!("at most {} and {}", registers(n), shared(bytes)),
    };
    format!("{change} ({} warps)", raise.warps)
}

/// Little's law, for the one GPU whose bandwidth is recorded.
fn in_flight(sm: &Sm, block: &Block) -> Option<String> {
    let threads = f64::from(sm.resident_warps(block) * WARP);
    if sm.capability != (9, 0) || threads == 0. {
        return None;
    }
    let bandwidth = cli::h200().bandwidth;
    let needed = bytes_in_flight(bandwidth * 1e12, LATENCY, H200_SMS);
    let loads = (needed / threads / WIDEST).ceil() as u32;
    Some(format!(
        "Little's law: {bandwidth} TB/s × {} µs = {:.1} KB in flight per SM keep the memory of an H200 busy,\n  \
         {:.1} bytes per thread or {} of 16 bytes; the latency is an assumption\n",
        LATENCY * 1e6,
        needed / 1e3,
        needed / threads,
        counted(loads, "load"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_numbers_are_named() {
        let sm = Sm::of(9, 0).expect("an SM of compute capability 9.0");
        let blocks = (1..=32).flat_map(|warps| {
            (32..=255).step_by(16).flat_map(move |registers| {
                (0..7).map(move |n| Block {
                    threads: 32 * warps,
                    registers,
                    shared: n * 38_000,
                })
            })
        });
        let said: Vec<String> = blocks.map(|block| raised(&sm, &block)).collect();
        let several = said.iter().find(|said| said.starts_with("no change of"));
        let several = several.expect("a block for which one change is too little");
        let names = several.strip_prefix("no change of one number alone: ");
        let names = names.and_then(|names| names.strip_suffix(" limit together"));
        assert!(
            names.is_some_and(|names| names.contains(" and ")),
            "{several}"
        );
    }
}
