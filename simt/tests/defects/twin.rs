//! Parsing, running and judging a text with a defective kernel and its correct twin.

use simt::{Arg, Buffer, Class, Dim, Module, Options, Report, Schedule};

/// One of the two kernels of a text; its lines keep their positions in the file.
pub struct Twin {
    text: String,
    /// Lines marked `fault`.
    faults: Vec<u32>,
}

impl Twin {
    /// Takes one kernel's lines and blanks those of the other.
    pub fn new(file: &str, bad: bool) -> Self {
        let other = if bad { "good" } else { "bad" };
        let kept = |line: &str| {
            if tags(line).contains(&other) {
                String::new()
            } else {
                line.to_owned()
            }
        };
        let lines: Vec<String> = file.lines().map(kept).collect();
        let numbered = (1..).zip(&lines);
        let faults = numbered.filter(|(_, line)| tags(line).contains(&"fault"));
        Self {
            faults: faults.map(|(n, _)| n).collect(),
            text: lines.join("\n"),
        }
    }

    /// The rest of the first line that begins with `// key:`, without tags.
    pub fn header(&self, key: &str) -> Option<&str> {
        let rest = |line| {
            str::strip_prefix(line, "// ")?
                .strip_prefix(key)?
                .strip_prefix(": ")
        };
        let found = self.text.lines().find_map(rest)?;
        Some(found.split("//").next().unwrap_or(found).trim())
    }

    fn dim(&self) -> Dim {
        let mut dim = Dim {
            grid: [1; 3],
            block: [1; 3],
            smem: 0,
        };
        let words: Vec<&str> = self
            .header("launch")
            .expect("a launch")
            .split(' ')
            .collect();
        for pair in words.chunks(2) {
            let mut numbers = [1; 3];
            for (to, n) in numbers.iter_mut().zip(pair[1].split('x')) {
                *to = n.parse().expect("a number");
            }
            match pair[0] {
                "grid" => dim.grid = numbers,
                "block" => dim.block = numbers,
                "smem" => dim.smem = numbers[0],
                other => panic!("{other}: neither grid, block nor smem"),
            }
        }
        dim
    }

    fn operands(&self) -> (Vec<Buffer>, Vec<Arg>) {
        let (mut buffers, mut args) = (vec![], vec![]);
        for one in self
            .header("args")
            .unwrap_or("")
            .split("; ")
            .filter(|s| !s.is_empty())
        {
            let (what, given) = one.split_once(" = ").unwrap_or((one, ""));
            let (name, ty) = what.split_once(' ').expect("a name and a type");
            if let Some((ty, count)) = ty.split_once('[') {
                args.push(Arg::Buffer(buffers.len()));
                let count: usize = count.trim_end_matches(']').parse().expect("a count");
                let bytes = bytes(ty, given);
                buffers.push(match given {
                    "" => Buffer::uninitialised(name, count * width(ty)),
                    _ => Buffer::new(name, bytes),
                });
                assert_eq!(
                    buffers[buffers.len() - 1].bytes.len(),
                    count * width(ty),
                    "{one}"
                );
            } else if ty == "null" {
                args.push(Arg::Null);
            } else {
                args.push(Arg::Bytes(bytes(ty, given)));
            }
        }
        (buffers, args)
    }

    /// Returns the final contents of its buffers and the report.
    pub fn run(
        &self,
        schedule: (Schedule, u64),
        parallel: bool,
    ) -> simt::Result<(Vec<Buffer>, Report)> {
        let options = Options {
            fuel: 200_000,
            schedule: schedule.0,
            seed: schedule.1,
            parallel,
            ..Options::default()
        };
        let (mut buffers, args) = self.operands();
        let kernel = Module::parse(&self.text)?.kernel("kernel")?;
        let report = kernel.launch(self.dim(), &mut buffers, &args, &options)?;
        Ok((buffers, report))
    }

    /// Returns why the findings do not match the defect, if so.
    pub fn misses(&self, report: &Report) -> Option<String> {
        let also: Vec<&str> = self.header("also").unwrap_or("").split(' ').collect();
        let expected = self.header("finds").expect("a class");
        let mut hits = 0;
        for finding in &report.findings {
            let class = kebab(finding.class);
            let hit = class == expected && self.faults.contains(&finding.line);
            hits += usize::from(hit);
            if !hit && !also.contains(&class.as_str()) {
                return Some(format!("not the defect: {class}: {finding}"));
            }
        }
        (hits == 0).then(|| format!("nothing found at {:?}", self.faults))
    }

    /// Returns why the run does not match a correct kernel, if so.
    pub fn wrongs(&self, buffers: &[Buffer], report: &Report) -> Option<String> {
        if let Some(finding) = report.findings.first() {
            return Some(format!("found: {:?}: {finding}", finding.class));
        }
        let result = self.header("result")?;
        let (name, values) = result.split_once(" = ").expect("a buffer and its values");
        let args = self.header("args").unwrap_or("");
        let declared = args
            .split("; ")
            .find(|a| a.starts_with(&format!("{name} ")));
        let ty = declared
            .and_then(|d| d[name.len() + 1..].split('[').next())
            .expect("its type");
        let buffer = buffers.iter().find(|b| b.name == name).expect("the buffer");
        let expected = bytes(ty, values);
        (buffer.bytes != expected).then(|| {
            let words: Vec<u32> = buffer.to_u32s();
            format!("{name} is {words:x?}, expected {values}")
        })
    }
}

/// The words of a trailing comment, if they are all tags.
fn tags(line: &str) -> Vec<&str> {
    let Some((_, comment)) = line.rsplit_once("//") else {
        return vec![];
    };
    let words: Vec<&str> = comment.split_whitespace().collect();
    let known = |w: &&str| ["bad", "good", "fault"].contains(w);
    if words.iter().all(known) {
        words
    } else {
        vec![]
    }
}

fn width(ty: &str) -> usize {
    ty[1..].parse::<usize>().expect("a type's bits") / 8
}

/// Converts numbers as written in a text to bytes.
fn bytes(ty: &str, values: &str) -> Vec<u8> {
    let number = |x: f64| match ty {
        "f32" => (x as f32).to_le_bytes().to_vec(),
        "f64" => x.to_le_bytes().to_vec(),
        _ => (x as i64).to_le_bytes()[..width(ty)].to_vec(),
    };
    numbers(values).into_iter().flat_map(number).collect()
}

fn numbers(values: &str) -> Vec<f64> {
    let parse = |s: &str| s.parse::<f64>().expect("a number");
    let mut all = vec![];
    for word in values.split_whitespace() {
        if let Some((value, count)) = word.split_once('*') {
            all.extend(vec![parse(value); parse(count) as usize]);
        } else if let Some((from, to)) = word.split_once("..") {
            let (to, step) = to.split_once('/').unwrap_or((to, "1"));
            let (from, to, step) = (parse(from), parse(to), parse(step));
            let count = ((to - from).abs() / step) as u32;
            all.extend((0..=count).map(|i| from + step * (to - from).signum() * f64::from(i)));
        } else {
            all.push(parse(word));
        }
    }
    all
}

/// A class as reports write it.
pub fn kebab(class: Class) -> String {
    let value = serde_json::to_value(class).expect("a class");
    value.as_str().expect("a word").to_owned()
}
