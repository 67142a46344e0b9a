//! What the programs share: the command line around the models.

pub mod threads;
