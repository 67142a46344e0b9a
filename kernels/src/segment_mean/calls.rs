//! Calls of `segment_mean`.

use operands::Segments;

use crate::calls::List;

/// Nodes of each graph, and channels.
const SHAPES: [(&[u32], usize); 3] = [(&[5, 1, 30], 64), (&[12, 0, 7], 33), (&[1500, 40], 48)];

pub fn add(list: &mut List) {
    for (lengths, c) in SHAPES {
        let shape = format!("{lengths:?} nodes of {c}");
        list.function("segment_mean", &shape, move |f, i| {
            let nodes = lengths.iter().sum::<u32>() as usize;
            let x = i.tensor(&[nodes, c])?;
            let of_nodes = |(g, &nodes): (usize, &u32)| (0..nodes).map(move |_| g as u32);
            let index: Vec<u32> = lengths.iter().enumerate().flat_map(of_nodes).collect();
            (f.segment_mean)(&x, &Segments::new(lengths.len(), &index, x.device())?)
        });
    }
}
