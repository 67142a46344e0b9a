//! add_layer_norm
