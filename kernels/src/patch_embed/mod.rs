//! patch_embed
