//! Calls of `patch_embed`.

use operands::Linear;

use crate::calls::List;

/// Images, side, side of a patch, channels.
const SHAPES: [[usize; 4]; 2] = [[1, 24, 8, 64], [2, 21, 7, 33]];

pub fn add(list: &mut List) {
    for [b, side, patch, c] in SHAPES {
        let shape = format!("{b} of {side}×{side} by {patch}, {c} channels");
        let tokens = 1 + (side / patch).pow(2);
        list.function("patch_embed", &shape, move |f, i| {
            let pixels = i.tensor(&[b, 3, side, side])?;
            let (w, bias) = (i.tensor(&[c, 3, patch, patch])?, i.tensor(&[c])?);
            let (class, positions) = (i.tensor(&[1, 1, c])?, i.tensor(&[1, tokens, c])?);
            (f.patch_embed)(&pixels, &Linear::new(w, Some(bias)), &class, &positions)
        });
    }
}
