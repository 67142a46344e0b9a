//! Keys of `preprocessor_config.json`, with errors for unsupported ones.

use std::path::Path;

use serde_json::{Map, Value};

use super::{Filter, MAX_OUTPUT, Preprocessor, Size};
use crate::{BadInput, short};

/// Keys without effect here: names, and the conversion to RGB, which every image has undergone.
const WITHOUT_EFFECT: [&str; 6] = [
    "feature_extractor_type",
    "processor_class",
    "_processor_class",
    "_valid_processor_keys",
    "do_convert_rgb",
    "default_to_square",
];

/// The JSON object, from which keys are taken by name.
pub(super) struct Keys<'a> {
    pub path: &'a Path,
    pub config: Map<String, Value>,
}

pub(super) fn preprocessor(keys: &Keys) -> Result<Preprocessor, BadInput> {
    keys.refuse_others()?;
    let default = Preprocessor::new(224);
    let [height, width] = keys.sides("crop_size")?.unwrap_or(default.crop_size);
    Ok(Preprocessor {
        do_resize: keys.flag("do_resize", default.do_resize)?,
        size: keys.size()?.unwrap_or(default.size),
        resample: keys.filter()?.unwrap_or(default.resample),
        do_center_crop: keys.flag("do_center_crop", default.do_center_crop)?,
        crop_size: [height, width],
        do_rescale: keys.flag("do_rescale", default.do_rescale)?,
        rescale_factor: match keys.get("rescale_factor") {
            None => default.rescale_factor,
            Some(value) => match keys.number("rescale_factor", value)? {
                factor if factor > 0. && factor.is_finite() => factor,
                _ => return Err(keys.bad("rescale_factor", "a number above 0", value)),
            },
        },
        do_normalize: keys.flag("do_normalize", default.do_normalize)?,
        image_mean: keys.channels("image_mean")?.unwrap_or(default.image_mean),
        image_std: keys.std()?.unwrap_or(default.image_std),
    })
}

const KNOWN: [&str; 10] = [
    "do_resize",
    "size",
    "resample",
    "do_center_crop",
    "crop_size",
    "do_rescale",
    "rescale_factor",
    "do_normalize",
    "image_mean",
    "image_std",
];

impl Keys<'_> {
    fn bad(&self, key: &str, expected: &str, found: &Value) -> BadInput {
        let what = format!("{}: {key}", self.path.display());
        BadInput::new(what, expected, short(found))
    }

    /// Returns the value of a key, unless it is null.
    fn get(&self, key: &str) -> Option<&Value> {
        self.config.get(key).filter(|value| !value.is_null())
    }

    /// Checks that all other keys are off: null or false.
    fn refuse_others(&self) -> Result<(), BadInput> {
        for (key, value) in &self.config {
            let key = key.as_str();
            let fine = match key {
                "image_processor_type" => value
                    .as_str()
                    .is_some_and(|s| ["ViTImageProcessor", "ViTImageProcessorFast"].contains(&s)),
                "data_format" => value == "channels_first",
                _ => KNOWN.contains(&key) || WITHOUT_EFFECT.contains(&key) || *value == false,
            };
            if !fine && !value.is_null() {
                let expected = match key {
                    "image_processor_type" => "ViTImageProcessor",
                    "data_format" => "\"channels_first\"",
                    _ => "null or false (anything else is not implemented)",
                };
                return Err(self.bad(key, expected, value));
            }
        }
        Ok(())
    }

    fn flag(&self, key: &str, default: bool) -> Result<bool, BadInput> {
        match self.get(key) {
            None => Ok(default),
            Some(value) => value
                .as_bool()
                .ok_or_else(|| self.bad(key, "true or false", value)),
        }
    }

    fn number(&self, key: &str, value: &Value) -> Result<f32, BadInput> {
        let number = value.as_f64().map(|x| x as f32).filter(|x| x.is_finite());
        number.ok_or_else(|| self.bad(key, "a number", value))
    }

    fn side(&self, key: &str, value: &Value) -> Result<u32, BadInput> {
        let side = value
            .as_u64()
            .filter(|side| (1..=u64::from(MAX_OUTPUT)).contains(side));
        let expected = format!("pixels, 1 to {MAX_OUTPUT}");
        side.map(|side| side as u32)
            .ok_or_else(|| self.bad(key, &expected, value))
    }

    /// Reads [height, width] from `{"height": …, "width": …}`, or from one number for both.
    fn sides(&self, key: &str) -> Result<Option<[u32; 2]>, BadInput> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        if value.is_number() {
            return Ok(Some([self.side(key, value)?; 2]));
        }
        let object = value.as_object().filter(|object| object.len() == 2);
        match object.and_then(|o| Some((o.get("height")?, o.get("width")?))) {
            Some((height, width)) => Ok(Some([self.side(key, height)?, self.side(key, width)?])),
            None => Err(self.bad(key, "{\"height\": …, \"width\": …} or one number", value)),
        }
    }

    fn size(&self) -> Result<Option<Size>, BadInput> {
        let object = self
            .get("size")
            .and_then(Value::as_object)
            .filter(|o| o.len() == 1);
        if let Some(edge) = object.and_then(|o| o.get("shortest_edge")) {
            return Ok(Some(Size::ShortestEdge(self.side("size", edge)?)));
        }
        let exact = |[height, width]: [u32; 2]| Size::Exact { height, width };
        Ok(self.sides("size")?.map(exact))
    }

    fn filter(&self) -> Result<Option<Filter>, BadInput> {
        let Some(value) = self.get("resample") else {
            return Ok(None);
        };
        match value.as_u64() {
            Some(0) => Ok(Some(Filter::Nearest)),
            Some(1) => Ok(Some(Filter::Lanczos)),
            Some(2) => Ok(Some(Filter::Bilinear)),
            Some(3) => Ok(Some(Filter::Bicubic)),
            _ => {
                let expected = "0 (nearest), 1 (Lanczos), 2 (bilinear) or 3 (bicubic)";
                Err(self.bad("resample", expected, value))
            }
        }
    }

    fn channels(&self, key: &str) -> Result<Option<[f32; 3]>, BadInput> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        let Some([r, g, b]) = value.as_array().map(Vec::as_slice) else {
            return Err(self.bad(key, "three numbers", value));
        };
        let number = |value| self.number(key, value);
        Ok(Some([number(r)?, number(g)?, number(b)?]))
    }

    fn std(&self) -> Result<Option<[f32; 3]>, BadInput> {
        let std = self.channels("image_std")?;
        match std {
            Some(std) if std.iter().any(|x| *x <= 0.0) => {
                let value = self.get("image_std").unwrap_or(&Value::Null);
                Err(self.bad("image_std", "numbers above 0", value))
            }
            _ => Ok(std),
        }
    }
}
