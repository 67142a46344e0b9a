//! segment_mean
