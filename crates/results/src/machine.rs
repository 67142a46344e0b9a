//! Machine and date of a measurement.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Machine and date of a measurement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// `cpu` or `cuda`.
    pub device: String,
    /// Name that the processor or GPU reports.
    pub name: String,
    /// Number of threads on the CPU.
    pub threads: usize,
    /// Operating system and architecture.
    pub os: String,
    /// Version of the compiler.
    pub rustc: String,
    /// Version of candle.
    pub candle: String,
    /// Commit of the repository.
    pub commit: String,
    /// Date as `YYYY-MM-DD`.
    pub date: String,
    /// Version of the GPU's driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// CUDA's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toolkit: Option<String>,
}

/// The measured commit, and the date.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// Commit of the repository.
    pub commit: String,
    /// Date as `YYYY-MM-DD`.
    pub date: String,
}

impl Machine {
    /// Returns the measured commit and the date.
    pub fn origin(&self) -> Origin {
        Origin {
            commit: self.commit.clone(),
            date: self.date.clone(),
        }
    }

    /// Whether the other is the same machine with equal versions, except for the repository's commit.
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
