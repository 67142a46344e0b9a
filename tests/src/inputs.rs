//! Small random models and inputs.
