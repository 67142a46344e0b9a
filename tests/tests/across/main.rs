//! One program for what holds across levels: it links candle once.

mod architecture;
mod functions;
mod gnn;
mod goldens;
mod levels;
mod lm;
mod ops_files;
mod simulated;
mod swap;
mod tiny;
mod tuned;
mod vit;
mod whole_pass;
