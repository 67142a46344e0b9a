//! Properties of the graph transformer, at every level, on every device.

use candle_core::{Device, Tensor};
use models::{Csr, GraphTransformer, Ops, Result, Weight};
use proptest::prelude::*;
use rand::seq::SliceRandom;
use tests::inputs::{Graphs, graph_transformer, rng, uniform};
use tests::{devices, difference, levels};

/// Runs `property` on every device with every level.
fn everywhere(
    seed: u64,
    property: impl Fn(&GraphTransformer, &dyn Ops, &Device) -> Result<()>,
) -> Result<()> {
    for device in devices() {
        let model = graph_transformer(seed, &device)?;
        for ops in levels() {
            property(&model, ops.as_ref(), &device)?;
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn the_order_of_nodes_and_edges_does_not_matter(seed: u64, nodes in 1usize..30, edges in 0usize..90) {
        let mut rng = rng(seed);
        let graphs = Graphs::random(&mut rng, &[(nodes, edges)]);
        let mut place: Vec<u32> = (0..nodes as u32).collect();
        let mut order: Vec<usize> = (0..edges).collect();
        place.shuffle(&mut rng);
        order.shuffle(&mut rng);
        let mut shuffled = graphs.clone();
        for (i, &p) in place.iter().enumerate() {
            let row = |n: usize| n * 7..n * 7 + 7;
            shuffled.x[row(p as usize)].copy_from_slice(&graphs.x[row(i)]);
        }
        let moved = |e: &usize| graphs.edges[*e].map(|n| place[n as usize]);
        shuffled.edges = order.iter().map(moved).collect();
        let features = |e: &usize| graphs.edge_attr[e * 3..e * 3 + 3].to_vec();
        shuffled.edge_attr = order.iter().flat_map(features).collect();
        everywhere(seed, |model, ops, device| {
            let before = model.forward(ops, &graphs.batch(device)?)?;
            let after = model.forward(ops, &shuffled.batch(device)?)?;
            let apart = difference(&after, &before)?;
            assert!(apart <= 1e-4, "level {}: {apart}", ops.level());
            Ok(())
        }).unwrap();
    }

    #[test]
    fn a_batch_is_its_graphs(seed: u64, sizes in prop::collection::vec((1usize..20, 0usize..50), 1..4)) {
        let together = Graphs::random(&mut rng(seed), &sizes);
        everywhere(seed, |model, ops, device| {
            let all = model.forward(ops, &together.batch(device)?)?;
            for g in 0..sizes.len() {
                let alone = model.forward(ops, &only(&together, g as u32).batch(device)?)?;
                let apart = difference(&all.narrow(0, g, 1)?, &alone)?;
                assert!(apart <= 1e-4, "level {}, graph {g}: {apart}", ops.level());
            }
            Ok(())
        }).unwrap();
    }
}

/// Graph `g` of several.
fn only(graphs: &Graphs, g: u32) -> Graphs {
    let first = graphs.batch.partition_point(|&b| b < g);
    let nodes = graphs.batch.iter().filter(|&&b| b == g).count();
    let inside = |e: &usize| graphs.batch[graphs.edges[*e][0] as usize] == g;
    let edges: Vec<usize> = (0..graphs.edges.len()).filter(inside).collect();
    Graphs {
        x: graphs.x[first * 7..(first + nodes) * 7].to_vec(),
        edges: edges
            .iter()
            .map(|&e| graphs.edges[e].map(|n| n - first as u32))
            .collect(),
        edge_attr: edges
            .iter()
            .flat_map(|e| graphs.edge_attr[e * 3..e * 3 + 3].to_vec())
            .collect(),
        batch: vec![0; nodes],
    }
}

#[test]
fn edge_features_matter() -> Result<()> {
    everywhere(1, |model, ops, device| {
        let mut graphs = Graphs::random(&mut rng(2), &[(9, 30)]);
        let before = model.forward(ops, &graphs.batch(device)?)?;
        graphs.edge_attr[0] += 1.;
        let apart = difference(&model.forward(ops, &graphs.batch(device)?)?, &before)?;
        assert!(apart > 1e-4, "level {}: {apart}", ops.level());
        Ok(())
    })
}

#[test]
fn a_repeated_edge_counts_twice() -> Result<()> {
    everywhere(1, |model, ops, device| {
        let mut graphs = Graphs::random(&mut rng(2), &[(9, 30)]);
        let before = model.forward(ops, &graphs.batch(device)?)?;
        graphs.edges.push(graphs.edges[0]);
        graphs.edge_attr.extend_from_within(0..3);
        let apart = difference(&model.forward(ops, &graphs.batch(device)?)?, &before)?;
        assert!(apart > 1e-5, "level {}: {apart}", ops.level());
        Ok(())
    })
}

#[test]
fn a_graph_of_one_node() -> Result<()> {
    let graphs = Graphs::random(&mut rng(2), &[(1, 3)]);
    let model = graph_transformer(1, &Device::Cpu)?;
    let expected = model.forward(levels()[0].as_ref(), &graphs.batch(&Device::Cpu)?)?;
    everywhere(1, |model, ops, device| {
        let apart = difference(&model.forward(ops, &graphs.batch(device)?)?, &expected)?;
        assert!(apart <= 1e-4, "level {}: {apart}", ops.level());
        Ok(())
    })
}

#[test]
fn graphs_without_edges() -> Result<()> {
    everywhere(1, |model, ops, device| {
        let graphs = Graphs::random(&mut rng(2), &[(1, 0), (5, 0)]);
        let logits = model
            .forward(ops, &graphs.batch(device)?)?
            .to_vec2::<f32>()?;
        assert!(logits.iter().flatten().all(|x| x.is_finite()), "{logits:?}");
        Ok(())
    })
}

/// Softmax does not see a shift of one node's scores, however large: exp(200) is not an f32.
#[test]
fn a_shift_of_one_nodes_scores_by_200() -> Result<()> {
    let (n, h, d) = (5, 2, 4);
    let mut rng = rng(4);
    for device in devices() {
        let edges: Vec<[u32; 2]> = vec![[0, 1], [2, 1], [3, 1], [4, 1], [1, 2], [0, 2], [3, 4]];
        let (graph, _) = Csr::new(n, &edges, &device)?;
        let mut tensor = |shape: &[usize]| {
            let values = uniform(&mut rng, shape.iter().product(), 1);
            Tensor::from_vec(values, shape, &device)
        };
        let (q, k, v) = (
            tensor(&[n, h, d])?,
            tensor(&[n, h, d])?,
            tensor(&[n, h, d])?,
        );
        let (skip, residual) = (tensor(&[n, h * d])?, tensor(&[n, h * (d + 1)])?);
        let features = tensor(&[edges.len(), 3])?;
        let w = Weight::new(tensor(&[h * d, 3])?);
        // With an extra channel where every key is 1, q's channel there shifts all scores of its node.
        let wide = |t: &Tensor, x: f32, node: Option<usize>| -> Result<Tensor> {
            let mut extra = vec![if node.is_some() { 0f32 } else { x }; n * h];
            if let Some(node) = node {
                extra[node * h..node * h + h].fill(x);
            }
            Ok(Tensor::cat(
                &[t, &Tensor::from_vec(extra, (n, h, 1), &device)?],
                2,
            )?)
        };
        let w = Tensor::cat(
            &[
                &w.tensor().reshape((h, d, 3))?,
                &Tensor::zeros((h, 1, 3), w.tensor().dtype(), &device)?,
            ],
            1,
        )?;
        let w = Weight::new(w.reshape((h * (d + 1), 3))?);
        let skip = wide(&skip.reshape((n, h, d))?, 0., None)?.reshape((n, h * (d + 1)))?;
        let (k, v) = (wide(&k, 1., None)?, wide(&v, 0., None)?);
        let shift = 200. * ((d + 1) as f32).sqrt();
        for ops in levels() {
            let run =
                |q: &Tensor| ops.edge_attention(q, &k, &v, &skip, &residual, &features, &w, &graph);
            let plain = run(&wide(&q, 0., Some(1))?)?;
            for shift in [shift, -shift] {
                let apart = difference(&run(&wide(&q, shift, Some(1))?)?, &plain)?;
                assert!(apart <= 1e-4, "level {}, {shift}: {apart}", ops.level());
            }
        }
    }
    Ok(())
}

#[test]
fn an_edge_to_a_missing_node_is_bad_input() {
    let Err(error) = Csr::new(3, &[[0, 1], [1, 3]], &Device::Cpu) else {
        panic!("expected an error")
    };
    assert_eq!(
        error.to_string(),
        "edge 1: expected nodes below 3, found [1, 3]"
    );
}
