//! Figures of what happens in memory, drawn by code: `{{picture coalescing}}`.
//!
//! Where the simulator can count what a figure shows, it runs the access and the figure is drawn from its
//! report; where figures are recorded, from those. The others compute what they show.

mod banks;
mod butterfly;
mod canvas;
mod coalescing;
mod csr;
mod hierarchy;
mod online_softmax;
mod replay;
mod roofline;
mod tiles;
mod warp;

use crate::library::Library;
use anyhow::{Context, Result, bail};

/// The figure of that name, whose SVG stands in the page itself; `on` names recorded results.
pub fn picture(name: &str, on: Option<&str>, library: &mut Library) -> Result<String> {
    let canvas = match name {
        "banks" => banks::draw()?.cut_at(370),
        "butterfly" => butterfly::draw()?,
        "coalescing" => coalescing::draw()?,
        "csr" => csr::draw(),
        "hierarchy" => hierarchy::draw().cut_at(370),
        "online-softmax" => online_softmax::draw(),
        "tiles" => tiles::draw().cut_at(380),
        "replay" => replay::draw(library.models.on(recorded(on)?)?.recorded)?,
        "roofline" => {
            let on = recorded(on)?;
            roofline::draw(on, library.ops.on(on)?.recorded)?
        }
        _ => bail!("expected the name of a figure, found `{name}`"),
    };
    Ok(canvas.figure())
}

fn recorded(on: Option<&str>) -> Result<&str> {
    on.context("expected `on=` and the name of recorded results")
}
