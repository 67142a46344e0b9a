//! Reads and generates the inputs of the models as plain data: text, images, graphs. Also has what every
//! program shares: [`BadInput`], [`read`], [`write_atomically`], [`Lock`] and [`say`].
//!
//! **Architecture invariant:** this crate knows neither candle nor the models.

mod bad_input;
pub mod corpus;
mod counted;
pub mod edges;
pub mod families;
pub mod features;
mod file;
pub mod graph;
mod json;
mod lock;
pub mod logistic;
pub mod picture;
mod rustc;
mod say;
pub mod shapes;
mod temporary;
pub mod tu;
mod write;

pub use bad_input::{BadInput, is_invisible, plain, plain_line, short};
pub use counted::counted;
pub use file::{PROGRESS, is_regular, is_there, kind, read, read_file, read_text, read_text_file};
pub use json::unique_keys;
pub use lock::Lock;
pub use rustc::{RustcError, Span};
#[doc(hidden)]
pub use say::print_text;
pub use say::{note, say};
pub use temporary::Temporary;
pub use write::{
    end_of_links, is_stream, partial_folder, save_as, writable_folder, write_atomically, write_with,
};
