//! Random images of ten shapes, the classes of the small vision transformer.
//!
//! Position, size, rotation and both colours are random, and either may be brighter. So no single pixel tells
//! the class, and a linear model of the pixels stays near chance.

use image::{Rgb, RgbImage};
use rand::{Rng, RngExt};

/// The names of the classes, in the order of the model's outputs.
pub const CLASSES: [&str; 10] = [
    "circle",
    "ring",
    "square",
    "triangle",
    "star",
    "cross",
    "crescent",
    "heart",
    "arrow",
    "hourglass",
];

/// Height and width of a training image in pixels.
pub const SIDE: u32 = 32;

/// A pixel is the mean of `SAMPLES × SAMPLES` points.
const SAMPLES: u32 = 3;

/// Draws an image of `CLASSES[class]`, [`SIDE`] × [`SIDE`].
///
/// # Panics
/// If `class` is not in `0..10`.
pub fn draw(class: usize, rng: &mut impl Rng) -> RgbImage {
    draw_at(class, SIDE, rng)
}

/// Does the same as [`draw`] at `side` × `side` pixels.
///
/// # Panics
/// If `class` is not in `0..10`.
pub fn draw_at(class: usize, side: u32, rng: &mut impl Rng) -> RgbImage {
    let inside = INSIDE[class];
    let pose = Pose::random(rng);
    let [foreground, background] = colours(rng);
    let slope = [0; 2].map(|_| rng.random_range(-0.08..0.08));
    let mut noise = vec![0; (side * side * 3) as usize];
    rng.fill_bytes(&mut noise);
    RgbImage::from_fn(side, side, |x, y| {
        let a = pose.coverage(inside, x, y, side);
        let [u, v] = [x, y].map(|i| (i as f32 + 0.5) / side as f32 - 0.5);
        let gradient = slope[0] * u + slope[1] * v;
        let noise = &noise[((y * side + x) * 3) as usize..][..3];
        Rgb([0, 1, 2].map(|c| {
            let plain = a * foreground[c] + (1.0 - a) * (background[c] + gradient);
            let noisy = plain + NOISE * (f32::from(noise[c]) / 127.5 - 1.0);
            (noisy * 255.0).round() as u8 // `as` saturates: below 0 is 0, above 255 is 255
        }))
    })
}

/// Maximum change of a channel by noise, as a fraction of the range.
const NOISE: f32 = 0.02;

/// Position of the shape; lengths are fractions of the image's side.
struct Pose {
    centre: [f32; 2],
    radius: f32,
    cos: f32,
    sin: f32,
}

impl Pose {
    /// Draws a random pose; the circle around the shape is inside the image.
    fn random(rng: &mut impl Rng) -> Self {
        let radius = rng.random_range(0.29..0.43);
        let centre = [0; 2].map(|_| rng.random_range(radius..1.0 - radius));
        let (sin, cos) = rng.random_range(0.0..std::f32::consts::TAU).sin_cos();
        Self {
            centre,
            radius,
            cos,
            sin,
        }
    }

    /// Returns the share of pixel (x, y) that the shape covers, in 0..=1.
    fn coverage(&self, inside: fn(f32, f32) -> bool, x: u32, y: u32, side: u32) -> f32 {
        let pixel = 1.0 / side as f32;
        let dx = (x as f32 + 0.5) * pixel - self.centre[0];
        let dy = (y as f32 + 0.5) * pixel - self.centre[1];
        if dx.hypot(dy) > self.radius + pixel {
            return 0.0;
        }
        let offset = |s| ((s as f32 + 0.5) / SAMPLES as f32 - 0.5) * pixel;
        let mut hits = 0;
        for sy in 0..SAMPLES {
            for sx in 0..SAMPLES {
                let u = (dx + offset(sx)) / self.radius;
                let v = (dy + offset(sy)) / self.radius;
                hits += u32::from(inside(
                    self.cos * u + self.sin * v,
                    self.cos * v - self.sin * u,
                ));
            }
        }
        hits as f32 / (SAMPLES * SAMPLES) as f32
    }
}

/// Draws foreground and background in 0..=1, at least 0.35 apart in lightness; either may be darker.
fn colours(rng: &mut impl Rng) -> [[f32; 3]; 2] {
    let dark = rng.random_range(0.1..0.5);
    let light = rng.random_range(dark + 0.35..0.95);
    let mut pair = [dark, light].map(|lightness| {
        let tint = [0; 3].map(|_| rng.random_range(-0.2..0.2_f32));
        let mean = tint.iter().sum::<f32>() / 3.0;
        tint.map(|t| lightness + t - mean)
    });
    if rng.random() {
        pair.swap(0, 1);
    }
    pair
}

/// Whether (x, y) is inside the shape, per class; every shape is in the circle of radius 1.
const INSIDE: [fn(f32, f32) -> bool; 10] = [
    circle, ring, square, triangle, star, cross, crescent, heart, arrow, hourglass,
];

fn disc(x: f32, y: f32, radius: f32) -> bool {
    x * x + y * y <= radius * radius
}

fn circle(x: f32, y: f32) -> bool {
    disc(x, y, 0.9)
}

fn ring(x: f32, y: f32) -> bool {
    disc(x, y, 0.95) && !disc(x, y, 0.5)
}

fn square(x: f32, y: f32) -> bool {
    x.abs().max(y.abs()) <= 0.7
}

fn triangle(x: f32, y: f32) -> bool {
    y >= -0.5 && 3.0_f32.sqrt() * x.abs() + y <= 1.0
}

/// The pentagram: a point is inside if it is on the inner side of at least four of the five lines.
fn star(x: f32, y: f32) -> bool {
    const NORMALS: [[f32; 2]; 5] = [
        [1.0, 0.0],
        [0.309_017, 0.951_056_5],
        [0.309_017, -0.951_056_5],
        [-0.809_017, 0.587_785_25],
        [-0.809_017, -0.587_785_25],
    ];
    let outside = NORMALS.iter().filter(|[a, b]| a * x + b * y > 0.309_017);
    outside.count() <= 1
}

fn cross(x: f32, y: f32) -> bool {
    x.abs().min(y.abs()) <= 0.25 && x.abs().max(y.abs()) <= 0.95
}

fn crescent(x: f32, y: f32) -> bool {
    disc(x, y, 0.95) && !disc(x - 0.5, y, 0.75)
}

/// Two discs, and below them the corner between their tangents from (0, −1).
fn heart(x: f32, y: f32) -> bool {
    let x = x.abs();
    let corner = 0.7812 * x <= 0.6243 * (y + 1.0) && y <= 0.3 - 0.355 * x;
    corner || disc(x - 0.45, y - 0.3, 0.46)
}

fn arrow(x: f32, y: f32) -> bool {
    let shaft = x > -0.95 && y.abs() <= 0.2;
    let head = x > 0.05 && y.abs() <= 0.85 * (0.95 - x);
    x <= 0.1 && shaft || head
}

fn hourglass(x: f32, y: f32) -> bool {
    y.abs() <= 0.75 && x.abs() <= 0.08 + 0.72 * y.abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn a_seed_fixes_every_image() {
        for (class, name) in CLASSES.iter().enumerate() {
            let [a, b, c] = [1, 1, 2].map(|s| draw(class, &mut ChaCha8Rng::seed_from_u64(s)));
            assert_eq!(a.dimensions(), (SIDE, SIDE));
            assert_eq!(a, b, "{name}");
            assert_ne!(a, c, "{name}");
        }
    }

    #[test]
    fn shapes_lie_in_the_unit_circle_and_differ() {
        let grid =
            || (-60..=60).flat_map(|i| (-60..=60).map(move |j| (i as f32 / 50.0, j as f32 / 50.0)));
        for (a, inside) in INSIDE.iter().enumerate() {
            let mut points = grid().filter(|&(x, y)| inside(x, y));
            assert!(points.all(|(x, y)| x.hypot(y) <= 1.02), "{}", CLASSES[a]);
            for other in &INSIDE[..a] {
                let apart = grid().filter(|&(x, y)| inside(x, y) != other(x, y)).count();
                assert!(apart > 500, "{}: {apart} points apart", CLASSES[a]);
            }
        }
    }

    #[test]
    fn colours_contrast_either_way() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut brighter = 0;
        for _ in 0..1000 {
            let [f, b] = colours(&mut rng).map(|c| c.iter().sum::<f32>() / 3.0);
            assert!((f - b).abs() > 0.34);
            brighter += i32::from(f > b);
        }
        assert!((400..600).contains(&brighter), "{brighter}");
    }

    #[test]
    fn the_shape_is_in_the_image() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        for (class, inside) in INSIDE.into_iter().enumerate() {
            let pose = Pose::random(&mut rng);
            let area: f32 = (0..64 * 64)
                .map(|i| pose.coverage(inside, i % 64, i / 64, 64))
                .sum();
            let disc = std::f32::consts::PI * (64.0 * pose.radius).powi(2);
            assert!(
                area > 0.2 * disc && area < disc,
                "{}: {area}",
                CLASSES[class]
            );
        }
    }
}
