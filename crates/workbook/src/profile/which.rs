//! Resolves `--model` to one of the three models.

use std::path::Path;

use benches::Model;
use benches::job::{every_preset, models_of};
use cli::load::hub;
use data::BadInput;
use models::config::ConfigFile;

/// Returns the model, and the name to load it by: `lm` is the trained one.
///
/// # Errors
/// If it is no model, no preset, and no folder with a known architecture.
pub fn of(text: &str) -> Result<(Model, String), BadInput> {
    if let Some(model) = Model::ALL.into_iter().find(|model| model.name() == text) {
        return Ok((model, "tiny".into()));
    }
    let presets: Vec<String> = every_preset()
        .into_iter()
        .filter(|name| name != "tiny")
        .collect();
    let of = hub::Use {
        program: "lm",
        file: None,
    };
    if let Some(folder) = hub::folder(text, of) {
        return Ok((architecture(&folder?)?, text.into()));
    }
    let path = Path::new(text);
    if presets.iter().any(|name| name == text) {
        // A preset belongs to one model.
        let model = models_of(text)?.swap_remove(0);
        return Ok((model, text.into()));
    }
    if path.is_dir() {
        Ok((architecture(path)?, text.into()))
    } else {
        let expected = format!(
            "lm, vit, gnn, a folder, hf:ORG/NAME, or one of {}",
            presets.join(", ")
        );
        Err(BadInput::new("--model", expected, format!("{text:?}")))
    }
}

/// Reads a folder's `config.json`; our graph transformer may omit `architectures`.
fn architecture(folder: &Path) -> Result<Model, BadInput> {
    let config = ConfigFile::read(&folder.join("config.json"))?;
    let named = config.get("architectures").and_then(|names| names.get(0));
    match named.and_then(|name| name.as_str()) {
        Some(class) if models::lm::Config::CLASSES.contains(&class) => Ok(Model::Lm),
        Some("ViTForImageClassification") => Ok(Model::Vit),
        _ if config.get("node_features").is_some() => Ok(Model::Gnn),
        _ => {
            let expected = "[\"LlamaForCausalLM\"], [\"Qwen2ForCausalLM\"] or [\"ViTForImageClassification\"], or a graph transformer's `node_features`";
            Err(config.complain("architectures", expected))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_models_as_trained_and_presets() {
        assert_eq!(of("vit"), Ok((Model::Vit, "tiny".into())));
        assert_eq!(of("smollm-135m"), Ok((Model::Lm, "smollm-135m".into())));
        assert_eq!(of("base"), Ok((Model::Gnn, "base".into())));
        let line = of("tiny2").unwrap_err().to_string();
        assert!(
            line.starts_with(
                "--model: expected lm, vit, gnn, a folder, hf:ORG/NAME, or one of readme"
            ),
            "{line}"
        );
    }

    #[test]
    fn folders_say_what_they_are() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for (folder, model) in [
            ("models/tiny/lm", Model::Lm),
            ("models/tiny/vit", Model::Vit),
            ("models/tiny/gnn", Model::Gnn),
            ("tests/goldens/gnn-plain", Model::Gnn),
        ] {
            assert_eq!(architecture(&root.join(folder)), Ok(model));
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(
            folder.path().join("config.json"),
            r#"{"architectures": ["BertModel"]}"#,
        )
        .unwrap();
        let line = architecture(folder.path()).unwrap_err().to_string();
        assert!(
            line.contains("config.json: `architectures`: expected")
                && line.ends_with("found [\"BertModel\"]"),
            "{line}"
        );
    }
}
