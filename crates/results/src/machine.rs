//! Where and when a measurement was made.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Where and when a measurement was made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// `cpu` or `cuda`.
    pub device: String,
    /// What the processor or the GPU calls itself.
    pub name: String,
    /// Threads on the CPU.
    pub threads: usize,
    /// Operating system and architecture.
    pub os: String,
    /// Version of the compiler.
    pub rustc: String,
    /// Version of candle.
    pub candle: String,
    /// Of the repository.
    pub commit: String,
    /// The day, as `YYYY-MM-DD`.
    pub date: String,
    /// Of the GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// CUDA's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toolkit: Option<String>,
}

/// Which state of the repository was measured, and on which day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// Of the repository.
    pub commit: String,
    /// The day, as `YYYY-MM-DD`.
    pub date: String,
}

impl Machine {
    /// The state that was measured.
    pub fn origin(&self) -> Origin {
        Origin {
            commit: self.commit.clone(),
            date: self.date.clone(),
        }
    }

    /// Whether the other is the same, with the same versions of all but the repository.
    pub fn is_like(&self, other: &Self) -> bool {
        let Origin { commit, date } = other.origin();
        let this = Self {
            commit,
            date,
            ..self.clone()
        };
        this == *other
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match (&self.driver, &self.toolkit) {
            (Some(driver), Some(toolkit)) => {
                write!(f, "{}, driver {driver}, CUDA {toolkit}", self.name)?
            }
            _ => write!(f, "{}, {} threads", self.name, self.threads)?,
        }
        write!(
            f,
            ", {}, rustc {}, candle {}",
            self.os, self.rustc, self.candle
        )
    }
}
