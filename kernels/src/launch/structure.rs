//! Arguments that a kernel takes as one struct by value, which C++ can index: `Params` of `graph_pass/level5/bf16.cuh` and `f32.cuh`.

use candle_core::Result;

use crate::error::mismatch;

/// The most bytes of a kernel's parameters before CUDA 12.1, which allows 32,764: "CUDA C++ Programming Guide", function
/// parameters.
const MOST: usize = 4096;

/// A struct as C++ lays it out: each field at the next multiple of its own size, all else 0.
#[repr(C, align(64))]
pub struct Structure {
    bytes: [u8; MOST],
    /// Where the last field ends.
    end: usize,
}

impl Structure {
    /// The driver reads the bytes of the parameter from the start.
    pub fn new() -> Self {
        Self {
            bytes: [0; MOST],
            end: 0,
        }
    }

    /// Adds a field. `alignment` is a power of two of at most 64.
    ///
    /// # Errors
    /// If there is no room for it.
    pub fn push(&mut self, kernel: &str, field: &[u8], alignment: usize) -> Result<()> {
        let start = self.end.next_multiple_of(alignment);
        let end = start + field.len();
        let Some(place) = self.bytes.get_mut(start..end) else {
            return Err(mismatch(kernel, format!("at most {MOST} bytes"), end));
        };
        place.copy_from_slice(field);
        self.end = end;
        Ok(())
    }

    /// Where the last field ends.
    #[cfg(test)]
    pub fn end(&self) -> usize {
        self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_as_in_c() -> Result<()> {
        let mut all = Structure::new();
        all.push("k", &[1; 4], 4)?;
        all.push("k", &[2; 8], 8)?;
        all.push("k", &[3; 128], 64)?;
        assert_eq!(all.end(), 192);
        let found: Vec<(usize, u8)> = (all.bytes.iter().copied().enumerate())
            .filter(|&(_, byte)| byte != 0)
            .collect();
        let places = (0..4).chain(8..16).chain(64..192);
        let expected = places.zip([&[1; 4][..], &[2; 8], &[3; 128]].concat());
        assert_eq!(found, expected.collect::<Vec<_>>());
        assert_eq!(std::mem::align_of::<Structure>(), 64);
        all.push("k", &[0; MOST - 192], 64)?;
        let full = all.push("k", &[1], 1).map_err(|e| e.to_string());
        let expected = "k: expected at most 4096 bytes, found 4097";
        assert_eq!(full.err().as_deref(), Some(expected));
        Ok(())
    }
}
