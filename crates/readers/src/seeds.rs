//! Small inputs that are right, from the repository's own files where there are some.

use std::fs;

use kernels::dispatch::Table;
use results::Results;

use crate::root;

/// Largest seed: a fuzzer changes a small input more thoroughly.
const MOST: usize = 1 << 14;

fn files<const N: usize>(paths: [&str; N]) -> Vec<Vec<u8>> {
    let read = |path: &str| {
        let path = root().join(path);
        fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    };
    paths.map(read).into()
}

/// The first lines of each text, at most [`MOST`] bytes of them.
fn starts(texts: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let start = |text: Vec<u8>| {
        let end = text.len().min(MOST);
        let line = text[..end].iter().rposition(|&byte| byte == b'\n');
        text[..line.map_or(end, |at| at + 1)].to_vec()
    };
    texts.into_iter().map(start).collect()
}

pub fn ptx() -> Vec<Vec<u8>> {
    files([
        "kernels/src/gelu/level3.ptx",
        "kernels/src/softmax/level3.ptx",
        "crates/workbook/tests/sim/saxpy.ptx",
    ])
}

pub fn launch() -> Vec<Vec<u8>> {
    let launched = |text: Vec<u8>| [&[2, 1, 48, 0, 0, 1, 0, 1], &text[..]].concat();
    ptx().into_iter().map(launched).collect()
}

pub fn cases() -> Vec<Vec<u8>> {
    starts(files([
        "kernels/generated/gelu/level3.cases",
        "kernels/generated/gelu/level4.cases",
    ]))
}

pub fn npy() -> Vec<Vec<u8>> {
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }\n";
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend([1f32, -2.].iter().flat_map(|x| x.to_le_bytes()));
    vec![file]
}

pub fn config() -> Vec<Vec<u8>> {
    files([
        "models/tiny/lm/config.json",
        "models/tiny/vit/config.json",
        "models/tiny/gnn/config.json",
        "tests/goldens/lm-qwen2/config.json",
        "tests/goldens/lm-llama3/config.json",
    ])
}

pub fn tokenizer() -> Vec<Vec<u8>> {
    let small = r#"{"version":"1.0","truncation":null,"padding":null,"added_tokens":[{"id":3,"content":"<s>",
        "single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],
        "normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Replace","pattern":{"Regex":"\\s+"},
        "content":" "}]},"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,
        "use_regex":true},"post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>",
        "type_id":0}},{"Sequence":{"id":"A","type_id":0}}],"pair":[],"special_tokens":{"<s>":{"id":"<s>","ids":[3],
        "tokens":["<s>"]}}},"decoder":{"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,
        "use_regex":true},"model":{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,
        "end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":false,
        "vocab":{"T":0,"h":1,"Th":2,"<s>":3},"merges":[["T","h"]]}}"#;
    vec![small.into()]
}

pub fn preprocessor() -> Vec<Vec<u8>> {
    files([
        "models/tiny/vit/preprocessor_config.json",
        "tests/goldens/vit-preprocess/preprocessor_config.json",
    ])
}

pub fn picture() -> Vec<Vec<u8>> {
    files(["tests/goldens/vit-preprocess/image.png"])
}

pub fn safetensors() -> Vec<Vec<u8>> {
    let header = r#"{"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"b":{"dtype":"BF16","shape":[],"data_offsets":[8,10]},"__metadata__":{"format":"pt"}}"#;
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend([0; 10]);
    vec![file]
}

pub fn index() -> Vec<Vec<u8>> {
    files(["tests/goldens/lm-untied-full/model.safetensors.index.json"])
}

pub fn csv() -> Vec<Vec<u8>> {
    [
        "source,target\n0,1\n1,2\n",
        "0,1,0.5,1,2\n\"2\",0,1,1e3,-7\n",
    ]
    .map(|text| text.into())
    .into()
}

pub fn graph() -> Vec<Vec<u8>> {
    vec![b"1, 2\n2, 1\n3, 4\n\x001\n1\n2\n2\n\x000\n1\n\x005\n6\n5\n6\n\x001\n1\n2\n\x000.5, 1\n2, 3\n4, 5\n6, 7\n".into()]
}

/// The first rules of a table.
pub fn table() -> Vec<Vec<u8>> {
    let texts = files(["kernels/src/dispatch/tables/cpu.json"]);
    let short = |text: Vec<u8>| {
        let text = String::from_utf8_lossy(&text).into_owned();
        let mut table = Table::parse(&text).unwrap_or_else(|e| panic!("{e}"));
        table.rules.truncate(3);
        table.text().unwrap_or_else(|e| panic!("{e}")).into_bytes()
    };
    texts.into_iter().map(short).collect()
}

pub fn exercise() -> Vec<Vec<u8>> {
    files([
        "exercises/2-ptx/09-row-argmax/exercise.toml",
        "exercises/5-tuned/37-tile-without-reuse/exercise.toml",
        "exercises/1-candle/02-swiglu/wrong.toml",
    ])
}

/// The first rows of recorded results.
pub fn record() -> Vec<Vec<u8>> {
    let path = root().join("benches/results/cpu.json");
    let mut results = Results::load(&path).unwrap_or_else(|e| panic!("{e}"));
    results.rows.truncate(2);
    vec![
        results
            .json()
            .unwrap_or_else(|e| panic!("{e}"))
            .into_bytes(),
    ]
}
