// Ternary weights (BitNet b1.58, Ma et al. 2024), four per byte: two bits each, lowest bits first.
//
//   code 0 → −1     code 1 → 0     code 2 → +1     code 3 is no weight

/// A weight has code 3. Holds the index of the first such weight in its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoWeight(pub usize);

/// Returns the first `k` weights of a row. The rest of the last byte is padding with any code.
pub fn unpack(bytes: &[u8], k: usize) -> Result<Vec<i8>, NoWeight> {
    // REGION: unpack
    (0..k)
        .map(|i| {
            let code = bytes[i / 4] >> (2 * (i % 4)) & 3;
            match code {
                3 => Err(NoWeight(i)),
                code => Ok(code as i8 - 1),
            }
        })
        .collect()
    // END
}
