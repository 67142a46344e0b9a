//! The three trainings, a few steps each.

use crate::gnn::Gnn;
use crate::lm::Lm;
use crate::run::{Budget, Training};
use crate::task::{Task, rng_of_step};
use crate::vit::Vit;
use crate::{checkpoint, save};
