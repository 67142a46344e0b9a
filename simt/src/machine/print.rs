//! `printf`, with format and values in memory as `vprintf` takes them.

use crate::ast::Space;
use crate::code::{Reg, Slot};

use super::access::Kind;
use super::block::Block;
use super::coalesce::lanes;

/// Maximum length of a text.
const LONGEST: u64 = 4096;

impl Block<'_> {
    /// Prints for every active lane, in order. Each character costs as much of the limit as an instruction.
    pub fn print(
        &mut self,
        w: usize,
        pc: u32,
        active: u32,
        d: Option<Reg>,
        format: Slot,
        values: Slot,
    ) {
        let at = self.warps[w].wide(values);
        for lane in lanes(active) {
            let format = self.text_at(w, Some(format), lane);
            let line = self.formatted(w, pc, lane, &format, at[lane]);
            // A text of 4096 characters takes about as long as as many instructions.
            let characters = (format.len() + line.len()) as u64;
            self.fuel = self.fuel.saturating_sub(characters);
            if self.printed.len() < self.grid.options.printed {
                self.printed.push_str(&line);
            }
        }
        if let Some(d) = d {
            self.warps[w].set_word(d, active, [1; 32]);
        }
    }

    /// Returns the zero-terminated text at a register's generic address.
    pub fn text_at(&mut self, w: usize, slot: Option<Slot>, lane: usize) -> String {
        let Some(slot) = slot else {
            return String::new();
        };
        let at = self.warps[w].wide(slot)[lane];
        let bytes: Vec<u8> = (0..LONGEST)
            .map_while(|i| self.byte(w, lane, at.wrapping_add(i)).filter(|&b| b != 0))
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Returns the byte at a generic address, if there is one.
    fn byte(&self, w: usize, lane: usize, at: u64) -> Option<u8> {
        use super::global::Found;
        let (space, offset) = Self::space_of(at);
        match space {
            Space::Const => self.grid.kernel.constants.get(offset as usize).copied(),
            Space::Shared => self.shared.memory.bytes.get(offset as usize).copied(),
            Space::Local => {
                let size = self.grid.kernel.local_bytes as usize;
                let inside = (offset as usize) < size;
                inside.then(|| self.warps[w].local[lane * size + offset as usize])
            }
            _ => match self.grid.global.find(offset, 1) {
                Found::Inside(i, offset) => Some(self.grid.global.ranges[i].load(offset, 1) as u8),
                _ => None,
            },
        }
    }

    /// Formats `%d`, `%u`, `%x`, `%c`, `%f`, `%e`, `%g`, `%s` and `%p` with width and precision; other text
    /// is kept.
    fn formatted(&mut self, w: usize, pc: u32, lane: usize, format: &str, mut at: u64) -> String {
        let mut out = String::new();
        let mut rest = format;
        while let Some(i) = rest.find('%') {
            out.push_str(&rest[..i]);
            rest = &rest[i + 1..];
            let flags = rest.len()
                - rest
                    .trim_start_matches(|c: char| "-+ #0123456789.lhz".contains(c))
                    .len();
            let (spec, kind) = (&rest[..flags], rest[flags..].chars().next());
            let Some(kind) = kind else { break };
            rest = &rest[flags + kind.len_utf8()..];
            if kind == '%' {
                out.push('%');
                continue;
            }
            let wide = spec.contains("l") || spec.contains('z') || "fFeEgGsp".contains(kind);
            let size = if wide { 8 } else { 4 };
            at = at.checked_next_multiple_of(size).unwrap_or(at);
            let (space, offset) = Self::space_of(at);
            let fine = self.is_fine(w, pc, lane, space, offset, size as u32, Kind::Read);
            let value = if fine {
                self.read(w, pc, lane, space, offset, size as u32, false)
            } else {
                0
            };
            at = at.wrapping_add(size);
            let text = match kind {
                's' => {
                    let bytes = (0..LONGEST).map_while(|i| {
                        self.byte(w, lane, value.wrapping_add(i))
                            .filter(|&b| b != 0)
                    });
                    String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned()
                }
                _ => number(kind, spec, value, wide),
            };
            pad(&mut out, spec, &text);
        }
        out.push_str(rest);
        out
    }
}

fn number(kind: char, spec: &str, value: u64, wide: bool) -> String {
    let precision = spec
        .split_once('.')
        .and_then(|(_, p)| p.trim_end_matches(|c: char| c.is_alphabetic()).parse().ok())
        .map(|p: usize| p.min(LONGEST as usize));
    let float = f64::from_bits(value);
    match kind {
        'd' | 'i' if wide => (value as i64).to_string(),
        'd' | 'i' => (value as i32).to_string(),
        'u' => value.to_string(),
        'x' => format!("{value:x}"),
        'X' => format!("{value:X}"),
        'p' => format!("{value:#x}"),
        'c' => char::from(value as u8).to_string(),
        'e' | 'E' => format!("{float:.*e}", precision.unwrap_or(6)),
        'g' | 'G' => float.to_string(),
        _ => format!("{float:.*}", precision.unwrap_or(6)),
    }
}

fn pad(out: &mut String, spec: &str, text: &str) {
    let width = spec.split('.').next().unwrap_or("");
    let digits: String = width.chars().filter(char::is_ascii_digit).collect();
    let width: usize = digits.parse::<usize>().unwrap_or(0).min(256);
    match (spec.starts_with('-'), digits.starts_with('0')) {
        (true, _) => out.push_str(&format!("{text:<width$}")),
        (_, true) => out.push_str(&format!("{text:0>width$}")),
        _ => out.push_str(&format!("{text:>width$}")),
    }
}
