//! Loads and stores that `ptxas` makes of `wmma.load` and `wmma.store`. PTX leaves them open; these are the machine code of
//! sm_90, disassembled for each shape, layout and space.

use crate::ast::Space;
use crate::code::{Element, WmmaMemory};

use super::fragment::{bytes, sizes};

/// A request of a warp.
pub(super) struct Request {
    /// Line of the matrix in memory, and the place in it, of each lane's first element.
    pub at: [(usize, usize); 32],
    /// Lanes that take part.
    pub mask: u32,
    /// Bytes per lane.
    pub bytes: u32,
    /// Whether it loads rows of 16 bytes as `ldmatrix` does.
    pub of_rows: bool,
}

/// Returns the requests of an instruction.
pub(super) fn requests(memory: &WmmaMemory) -> Vec<Request> {
    let (m, n, k) = sizes(memory.shape);
    // Lane l has neighbours along `fast`, in the lines l / 4, l / 4 + 8 … of `slow`.
    let (slow, fast) = match memory.matrix {
        'a' => (m, k),
        'b' => (n, k),
        _ if m == 8 => (n, m),
        _ => (m, n),
    };
    let size = bytes(memory.element) as usize;
    let neighbours = match memory.element {
        Element::Tf32 => 1,
        Element::S8 | Element::U8 => 4,
        _ => 2,
    };
    let is_factor = matches!(memory.matrix, 'a' | 'b');
    let of_columns = memory.matrix == 'b' || !is_factor && m == 8;
    let is_along = memory.column_major == of_columns;
    let is_block = size == 2 || is_along && size == 1;
    if is_factor && is_block && memory.at.space == Space::Shared {
        of_rows((slow, fast), 16 / size, is_along)
    } else if is_along || size == 2 {
        // A block that lies across is transposed in registers.
        let (lines, places) = if is_along { (slow, fast) } else { (fast, slow) };
        let at = |line: usize, place: usize, l: usize| (line + l / 4, place + l % 4 * neighbours);
        let steps = each(lines, 8, places, 4 * neighbours);
        let requests = steps.map(|(line, place)| Request {
            at: std::array::from_fn(|l| at(line, place, l)),
            mask: !0,
            bytes: (neighbours * size) as u32,
            of_rows: false,
        });
        requests.collect()
    } else {
        let steps = each(slow, 8, fast, 4 * neighbours);
        let elements = steps.flat_map(|step| (0..neighbours).map(move |e| (step, e)));
        let requests = elements.map(|((place, line), e)| Request {
            at: std::array::from_fn(|l| (line + l % 4 * neighbours + e, place + l / 4)),
            mask: !0,
            bytes: size as u32,
            of_rows: false,
        });
        requests.collect()
    }
}

/// Loads of up to four blocks of eight rows, for each 16 lines of `slow`; a row has `row` elements.
fn of_rows((slow, fast): (usize, usize), row: usize, is_along: bool) -> Vec<Request> {
    let parts = (0..slow).step_by(16);
    let requests = parts.map(|first| {
        let blocks: Vec<_> = each(16.min(slow - first), 8, fast, row).collect();
        let at = |l: usize| {
            let (line, place) = blocks[l / 8 % blocks.len()];
            if is_along {
                (first + line + l % 8, place)
            } else {
                (place + l % 8, first + line)
            }
        };
        Request {
            at: std::array::from_fn(at),
            mask: u32::MAX >> (32 - 8 * blocks.len()),
            bytes: 16,
            of_rows: true,
        }
    });
    requests.collect()
}

/// The first line and place of each part of a matrix.
fn each(
    lines: usize,
    by: usize,
    places: usize,
    step: usize,
) -> impl Iterator<Item = (usize, usize)> {
    let lines = (0..lines).step_by(by);
    lines.flat_map(move |line| (0..places).step_by(step).map(move |place| (line, place)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Address;

    fn memory(form: &str, element: Element, space: Space) -> WmmaMemory {
        let parts: Vec<&str> = form.split('.').collect();
        let shape = match parts[2] {
            "m32n8" => (32, 8, 16),
            "m8n32" => (8, 32, 16),
            _ if element == Element::Tf32 => (16, 16, 8),
            _ => (16, 16, 16),
        };
        WmmaMemory {
            matrix: parts[0].chars().next().unwrap(),
            shape,
            element,
            column_major: parts[1] == "col",
            at: Address {
                space,
                base: None,
                offset: 0,
            },
            stride: None,
            regs: vec![],
            store: false,
        }
    }

    /// Requests and bytes per lane in the machine code: `LDG.E.64` has 8, `LDSM.16.M88` rows of 16.
    #[test]
    fn requests_are_those_of_the_machine_code() {
        use Element::{F16, F32, Tf32, U8};
        for (form, element, global, shared) in [
            ("a.row.m16n16", F16, (4, 4), (1, 16)),
            ("a.col.m16n16", F16, (4, 4), (1, 16)),
            ("b.row.m16n16", F16, (4, 4), (1, 16)),
            ("a.row.m32n8", F16, (8, 4), (2, 16)),
            ("b.row.m32n8", F16, (2, 4), (1, 16)),
            ("b.row.m8n32", F16, (8, 4), (2, 16)),
            ("a.row.m16n16", U8, (2, 4), (1, 16)),
            ("a.col.m16n16", U8, (8, 1), (8, 1)),
            ("b.row.m16n16", U8, (8, 1), (8, 1)),
            ("b.col.m8n32", U8, (4, 4), (2, 16)),
            ("a.row.m8n32", U8, (1, 4), (1, 16)),
            ("a.row.m16n16", Tf32, (4, 4), (4, 4)),
            ("a.col.m16n16", Tf32, (4, 4), (4, 4)),
            ("c.row.m16n16", F16, (4, 4), (4, 4)),
            ("c.col.m16n16", F16, (4, 4), (4, 4)),
            ("d.row.m16n16", F32, (4, 8), (4, 8)),
            ("d.col.m16n16", F32, (8, 4), (8, 4)),
            ("d.col.m8n32", F32, (4, 8), (4, 8)),
            ("d.row.m8n32", F32, (8, 4), (8, 4)),
        ] {
            for (space, expected) in [(Space::Global, global), (Space::Shared, shared)] {
                let all = requests(&memory(form, element, space));
                let found = (all.len(), all[0].bytes);
                assert_eq!(found, expected, "{form} {element:?} {space:?}");
            }
        }
    }

    /// Whatever the layout, a fragment is each element of its matrix once.
    #[test]
    fn requests_touch_each_element_once() {
        for element in [Element::F16, Element::U8, Element::Tf32, Element::F32] {
            for form in ["a.row", "a.col", "b.row", "b.col", "d.row", "d.col"] {
                let is_factor = !form.starts_with('d');
                if is_factor == (element == Element::F32) || !is_factor && element != Element::F32 {
                    continue;
                }
                for (shape, space) in ["m16n16", "m32n8", "m8n32"]
                    .into_iter()
                    .flat_map(|s| [(s, Space::Global), (s, Space::Shared)])
                {
                    let memory = memory(&format!("{form}.{shape}"), element, space);
                    let mut touched = vec![];
                    for request in requests(&memory) {
                        let lanes = (0..32).filter(|l| request.mask >> l & 1 == 1);
                        for (line, place) in lanes.map(|l| request.at[l]) {
                            let many = (request.bytes / bytes(element)) as usize;
                            touched.extend((0..many).map(|k| (line, place + k)));
                        }
                    }
                    touched.sort_unstable();
                    let (m, n, k) = memory.shape;
                    let (rows, columns) = match memory.matrix {
                        'a' => (m, k),
                        'b' => (k, n),
                        _ => (m, n),
                    };
                    let lines = if memory.column_major { columns } else { rows } as usize;
                    let places = (rows * columns) as usize / lines;
                    let all: Vec<_> = (0..lines)
                        .flat_map(|line| (0..places).map(move |place| (line, place)))
                        .collect();
                    assert_eq!(touched, all, "{form}.{shape} {element:?} {space:?}");
                }
            }
        }
    }
}
