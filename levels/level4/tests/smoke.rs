//! The three models at level 4, without the rest of the workspace's tests.

#[path = "../../tests/smoke/mod.rs"]
mod smoke;

use level4::Level4;

#[test]
fn a_language_model_equals_level_1() -> models::Result<()> {
    smoke::language_model(&Level4)
}

#[test]
fn a_vision_transformer_equals_level_1() -> models::Result<()> {
    smoke::vision_transformer(&Level4)
}

#[test]
fn a_graph_transformer_equals_level_1() -> models::Result<()> {
    smoke::graph_transformer(&Level4)
}
