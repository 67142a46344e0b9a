// Ternary weights (BitNet b1.58, Ma et al. 2024), four to a byte: two bits each, the lowest bits first.
//
//   code 0 → −1     code 1 → 0     code 2 → +1     code 3 is no weight

/// There is a code 3: the number, in its row, of the first weight that has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoWeight(pub usize);

/// The first `k` weights of a row; what is left of the last byte is padding and may hold anything.
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
