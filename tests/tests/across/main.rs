//! One program for what holds across levels: it links candle once.

mod gnn;
mod goldens;
mod levels;
mod lm;
mod simulated;
mod swap;
mod tiny;
mod tuned;
mod vit;
