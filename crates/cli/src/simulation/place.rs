//! The file and line of a finding in hand-written PTX, which names no source.

use simt::Finding;
use simt::case::files_below;

use crate::files;

/// Maximum bytes of such a file.
const MOST_BYTES: u64 = 1 << 20;

/// Returns `kernels/src/rms_norm/level3.ptx:105` and the text of that line. `None` for a kernel whose PTX names its source, and
/// for one in no file of the repository.
pub fn of(kernel: &str, finding: &Finding) -> Option<(String, String)> {
    if finding.source.is_some() {
        return None;
    }
    let declared = format!(".entry {kernel}(");
    let folder = files::find("kernels/src").ok()?;
    let paths = files_below(&folder, &["ptx"]).ok()?;
    let mut texts = paths.into_iter().filter_map(|path| {
        let text = data::read_text_file(&path, MOST_BYTES).ok()?;
        Some((path, text))
    });
    let (path, text) = texts.find(|(_, text)| text.contains(&declared))?;
    let code = text.lines().nth(finding.line.checked_sub(1)? as usize)?;
    let place = format!("{}:{}", path.display(), finding.line);
    Some((place, code.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use simt::{Class, Thread};

    use super::*;

    fn finding(line: u32, source: Option<(String, u32)>) -> Finding {
        Finding {
            class: Class::Race,
            line,
            source,
            called: None,
            form: "ld.shared.f32".into(),
            thread: Thread {
                block: [0; 3],
                thread: [7, 0, 0],
                flat: [true; 2],
            },
            what: "no barrier".into(),
            count: 1,
            within_warp: false,
        }
    }

    #[test]
    fn a_finding_in_hand_written_ptx_names_its_file() {
        let kernel = "rms_norm_f32_level3";
        let text =
            fs::read_to_string(files::find("kernels/src/rms_norm/level3.ptx").unwrap()).unwrap();
        let line = text
            .lines()
            .position(|line| line.contains("bar.sync"))
            .unwrap();
        let (place, code) = of(kernel, &finding(line as u32 + 1, None)).unwrap();
        let expected = format!("kernels/src/rms_norm/level3.ptx:{}", line + 1);
        assert!(place.ends_with(&expected), "{place}");
        assert!(code.contains("bar.sync"), "{code}");
    }

    #[test]
    fn others_have_none() {
        let of_cuda = finding(3, Some(("level4.cu".into(), 3)));
        assert_eq!(of("rms_norm_f32_level3", &of_cuda), None);
        assert_eq!(of("rms_norm_f32_level99", &finding(3, None)), None);
        assert_eq!(of("rms_norm_f32_level3", &finding(1 << 20, None)), None);
    }
}
