//! Every exercise, held to what is promised of all.

mod bank;
mod desk;
mod submissions;
mod texts;
