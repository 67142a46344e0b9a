//! The memories of a GPU and of a CPU, from the nearest to the farthest, and who shares each.

use super::canvas::Canvas;

/// Name, and who shares it.
type Memory = (&'static str, &'static str);

const GPU: [Memory; 4] = [
    ("registers", "one thread"),
    ("shared memory and L1", "the blocks on one SM"),
    ("L2", "all SMs"),
    ("device memory", "all SMs, and the host over a bus"),
];
const CPU: [Memory; 4] = [
    ("registers", "one core"),
    ("L1 and L2", "one core"),
    ("L3", "several cores"),
    ("main memory", "all cores, and the GPU over a bus"),
];
const ROW: f64 = 58.;

/// Two towers that widen downwards.
pub fn draw() -> Canvas {
    let mut canvas = Canvas::new(
        "hierarchy",
        44. + 4. * ROW + 26.,
        "Memories of a GPU and of a CPU",
        "Two towers of four memories. GPU: registers of a thread, shared memory and L1 of an SM, L2 of the GPU, \
         device memory. CPU: registers, L1 and L2 of a core, L3 of several cores, main memory. Each is larger, slower and shared by \
         more than the one above.",
    );
    tower(&mut canvas, 185., "GPU", &GPU);
    tower(&mut canvas, 555., "CPU", &CPU);
    let foot = 44. + 4. * ROW + 16.;
    for middle in [185., 555.] {
        let text = "downwards: larger, farther, shared by more";
        canvas.text([middle, foot], "small middle", text);
    }
    canvas
}

fn tower(canvas: &mut Canvas, middle: f64, name: &str, memories: &[Memory]) {
    canvas.text([middle, 24.], "strong middle", name);
    for (i, (memory, of)) in memories.iter().enumerate() {
        let width = 190. + 50. * i as f64;
        let y = 38. + i as f64 * ROW;
        let class = ["box c-soft", "box b-soft", "box a-soft", "box"][i];
        canvas.rect([middle - width / 2., y, width, ROW - 8.], class);
        canvas.text([middle, y + 21.], "middle strong", *memory);
        canvas.text([middle, y + 39.], "middle small", *of);
    }
}
