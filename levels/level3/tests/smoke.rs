//! The three models at level 3, without the rest of the workspace's tests.

#[path = "../../tests/smoke/mod.rs"]
mod smoke;

use level3::Level3;

#[test]
fn a_language_model_equals_level_1() -> models::Result<()> {
    smoke::language_model(&Level3)
}

#[test]
fn a_vision_transformer_equals_level_1() -> models::Result<()> {
    smoke::vision_transformer(&Level3)
}

#[test]
fn a_graph_transformer_equals_level_1() -> models::Result<()> {
    smoke::graph_transformer(&Level3)
}
