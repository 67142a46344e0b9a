use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The part of an output that is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// The output, or its start and its end.
    pub bytes: Vec<u8>,
    /// Whether the middle is missing.
    pub truncated: bool,
}

impl Kept {
    /// The output as text, with U+FFFD in place of what is no UTF-8.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// Appends a chunk, and drops the middle of what is longer than `most`.
    fn push(&mut self, chunk: &[u8], most: usize) {
        self.bytes.extend(chunk);
        if self.bytes.len() > 2 * most {
            self.cut(most);
        }
    }

    fn cut(&mut self, most: usize) {
        if self.bytes.len() > most {
            let end = self.bytes.len() - most / 2;
            self.bytes.drain(most - most / 2..end);
            self.truncated = true;
        }
    }
}

/// A stream that a thread reads to its end, so that the writer never blocks.
pub struct Reader {
    kept: Arc<Mutex<Kept>>,
    thread: JoinHandle<()>,
    most: usize,
}

impl Reader {
    pub fn new(stream: Option<impl Read + Send + 'static>, most: usize) -> Self {
        let kept = Arc::new(Mutex::new(Kept::default()));
        let shared = Arc::clone(&kept);
        let thread = thread::spawn(move || {
            let mut chunk = [0; 1 << 13];
            let Some(mut stream) = stream else { return };
            while let Ok(count @ 1..) = stream.read(&mut chunk) {
                let mut kept = shared.lock().unwrap_or_else(PoisonError::into_inner);
                kept.push(&chunk[..count], most);
            }
        });
        Self { kept, thread, most }
    }

    /// Returns the output up to the stream's end or the time `last`, because another process may keep it open.
    pub fn end(self, last: Instant) -> Kept {
        while !self.thread.is_finished() && Instant::now() < last {
            thread::sleep(Duration::from_millis(1));
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.cut(self.most);
        kept.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_long_output_is_dropped() {
        let read = |text: &'static [u8], most| {
            let last = Instant::now() + Duration::from_secs(5);
            Reader::new(Some(text), most).end(last)
        };
        assert_eq!(read(b"abcdef", 6).text(), "abcdef");
        let kept = read(b"abcdef", 4);
        assert_eq!((kept.text().as_str(), kept.truncated), ("abef", true));
        let mut kept = Kept::default();
        for digit in 0..100u8 {
            kept.push(&[digit], 4);
        }
        kept.cut(4);
        assert_eq!(kept.bytes, [0, 1, 98, 99]);
    }
}
