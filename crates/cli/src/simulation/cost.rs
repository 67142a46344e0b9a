//! Costs of a run's kernels, from the simulator's counters.

use simt::{Counts, Report};

use models::trace::table::{Line, aligned, digits, si};

/// Bytes of a sector of global memory.
const SECTOR: u64 = 32;

/// The sum of all launches of one kernel.
pub struct Cost {
    /// Name of the kernel.
    pub kernel: String,
    launches: usize,
    counts: Counts,
}

impl Cost {
    fn new(kernel: &str) -> Self {
        Self {
            kernel: kernel.into(),
            launches: 0,
            counts: Counts::default(),
        }
    }

    /// Returns one cost per kernel, in the order of first launches.
    pub fn by_kernel(reports: &[Report]) -> Vec<Self> {
        let mut costs: Vec<Self> = vec![];
        for report in reports {
            let known = costs.iter().position(|cost| cost.kernel == report.entry);
            let i = known.unwrap_or_else(|| {
                costs.push(Self::new(&report.entry));
                costs.len() - 1
            });
            costs[i].add(1, &report.total);
        }
        costs
    }

    fn add(&mut self, launches: usize, counts: &Counts) {
        self.launches += launches;
        self.counts.add(counts);
    }

    /// FLOPs per byte of touched sectors of global memory; 0 if there are none.
    pub fn intensity(&self) -> f64 {
        match self.counts.global_sectors() {
            0 => 0.,
            n => self.counts.flops as f64 / (SECTOR * n) as f64,
        }
    }

    fn line(&self) -> Line {
        let c = &self.counts;
        let pairs = [
            (c.global_load_requests, c.global_store_requests),
            (c.global_load_sectors, c.global_store_sectors),
            (c.shared_load_wavefronts, c.shared_store_wavefronts),
            (c.flops, 0),
        ];
        let mut cells = vec![self.kernel.clone(), self.launches.to_string()];
        cells.extend(pairs.map(|(a, b)| si((a + b) as f64)));
        cells.push(digits(self.intensity()));
        Line::of(cells)
    }
}

/// Explanation of the columns, below the table.
pub const LEGEND: &str = "\
requests, sectors: loads and stores of global memory, counted per warp, and the 32-byte sectors they touch.
wavefronts: passes over the banks of shared memory. FLOPs: counted as executed, padding included. FLOP/B: FLOPs per
byte of these sectors, whether it comes from a cache or from memory. The simulator measures no time.
";

/// Titles of the columns.
const TITLES: [&str; 7] = [
    "simulated kernel",
    "launches",
    "requests",
    "sectors",
    "wavefronts",
    "FLOPs",
    "FLOP/B",
];

/// Formats one line per kernel, and their sum.
pub fn table(costs: &[Cost]) -> String {
    let mut all = Cost::new("all");
    costs.iter().for_each(|c| all.add(c.launches, &c.counts));
    let mut lines = vec![Line::of(TITLES.map(str::to_string))];
    lines.extend(costs.iter().map(Cost::line));
    lines.push(all.line());
    aligned(&lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(entry: &str, sectors: u64, flops: u64) -> Report {
        Report {
            entry: entry.into(),
            total: Counts {
                global_load_requests: 1,
                global_load_sectors: sectors,
                global_store_sectors: sectors,
                shared_store_wavefronts: 1500,
                flops,
                ..Counts::default()
            },
            ..Report::default()
        }
    }

    #[test]
    fn launches_are_added_up_by_kernel() {
        let costs = Cost::by_kernel(&[
            report("copy", 8, 0),
            report("norm", 4, 1024),
            report("copy", 8, 0),
        ]);
        let expected = "\
simulated kernel  launches  requests  sectors  wavefronts   FLOPs  FLOP/B
copy                     2         2       32      3.00 k       0    0.00
norm                     1         1        8      1.50 k  1.02 k    4.00
all                      3         3       40      4.50 k  1.02 k    0.80
";
        assert_eq!(table(&costs), expected);
        assert_eq!(costs[1].intensity(), 4.);
    }

    #[test]
    fn a_kernel_without_global_memory_has_no_intensity() {
        assert_eq!(Cost::by_kernel(&[report("none", 0, 7)])[0].intensity(), 0.);
    }

    #[test]
    fn the_table_and_its_legend_fit_a_terminal() {
        let name = "attention_decode_d128x4_bf16_level4";
        let table = table(&Cost::by_kernel(&[report(name, 1 << 40, 1 << 60)]));
        for line in table.lines().chain(LEGEND.lines()) {
            assert!(line.chars().count() <= 120, "{line}");
        }
    }
}
