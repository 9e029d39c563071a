//! Lines of a file, one at a time, in memory bounded by the longest of them.

use std::io::{self, Read};

/// The longest line that is read unless told otherwise (rule 1 of section 1.6): 256 MiB.
pub const MAX_LINE: usize = 256 << 20;

const FIRST_BUFFER: usize = 64 << 10;
/// The buffer doubles up to this much at a time, so that it stays near the longest line.
const MAX_GROWTH: usize = 32 << 20;

/// What comes next in a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Next<'a> {
    /// A line without its line feed.
    Line(&'a [u8]),
    /// A line over the limit, which was passed over.
    TooLong,
    /// What stands after the last line feed, where that is anything.
    Tail(&'a [u8]),
    /// The end.
    End,
}

/// What comes next in a file that is read many lines at a time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Block<'a> {
    /// Complete lines, the last with its line feed.
    Lines(&'a [u8]),
    /// A line over the limit, which was passed over.
    TooLong,
    /// What stands after the last line feed, where that is anything.
    Tail(&'a [u8]),
    /// The end.
    End,
}

/// Reads lines.
#[derive(Debug)]
pub struct Lines<R> {
    source: R,
    buffer: Vec<u8>,
    /// The first byte in the buffer that no line has taken.
    start: usize,
    /// The end of what was read into the buffer.
    end: usize,
    /// The bytes of the file before `start`.
    offset: u64,
    max: usize,
}

impl<R: Read> Lines<R> {
    /// Lines of `source`, of which the first byte is at `offset` in its file, each at most `max`
    /// bytes long (at most 4 GiB less one, whatever is asked).
    pub fn new(source: R, offset: u64, max: usize) -> Self {
        let max = max.min(u32::MAX as usize);
        Self { source, buffer: vec![0; FIRST_BUFFER], start: 0, end: 0, offset, max }
    }

    /// Where the next line begins in the file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The next line.
    ///
    /// # Errors
    /// What reading the source says.
    #[allow(clippy::should_implement_trait, reason = "the line borrows the buffer")]
    pub fn next(&mut self) -> io::Result<Next<'_>> {
        let mut searched = self.start;
        loop {
            if let Some(found) = memchr::memchr(b'\n', &self.buffer[searched..self.end]) {
                let line = self.start..searched + found;
                self.take(line.len() + 1);
                if line.len() > self.max {
                    return Ok(Next::TooLong);
                }
                return Ok(Next::Line(&self.buffer[line]));
            }
            if self.end - self.start > self.max {
                return self.pass_over();
            }
            searched = self.end - self.start;
            if self.fill()? == 0 {
                let tail = self.start..self.end;
                self.take(tail.len());
                return Ok(if tail.is_empty() { Next::End } else { Next::Tail(&self.buffer[tail]) });
            }
        }
    }

    /// All lines that one read gives; each is at most the buffer long, which is at most one line
    /// over the limit.
    pub(crate) fn block(&mut self) -> io::Result<Block<'_>> {
        loop {
            if self.fill()? == 0 {
                let tail = self.start..self.end;
                self.take(tail.len());
                return Ok(if tail.is_empty() { Block::End } else { Block::Tail(&self.buffer[tail]) });
            }
            if let Some(last) = memchr::memrchr(b'\n', &self.buffer[..self.end]) {
                self.take(last + 1);
                return Ok(Block::Lines(&self.buffer[..=last]));
            }
            if self.end > self.max {
                self.pass_over()?;
                return Ok(Block::TooLong);
            }
        }
    }

    fn take(&mut self, bytes: usize) {
        self.start += bytes;
        self.offset += bytes as u64;
    }

    /// Moves what is left to the front and reads more behind it.
    fn fill(&mut self) -> io::Result<usize> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end == self.buffer.len() {
            let more = self.buffer.len().min(MAX_GROWTH);
            self.buffer.reserve_exact(more);
            self.buffer.resize(self.buffer.len() + more, 0);
        }
        let read = read_some(&mut self.source, &mut self.buffer[self.end..])?;
        self.end += read;
        Ok(read)
    }

    fn pass_over(&mut self) -> io::Result<Next<'_>> {
        loop {
            let seen = &self.buffer[self.start..self.end];
            if let Some(found) = memchr::memchr(b'\n', seen) {
                self.take(found + 1);
                return Ok(Next::TooLong);
            }
            self.take(seen.len());
            if self.fill()? == 0 {
                return Ok(Next::TooLong);
            }
        }
    }
}

/// One successful read, however often a signal interrupts it.
pub(crate) fn read_some(source: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match source.read(into) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A source that gives a few bytes at a time.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let some = self.1.min(self.0.len()).min(into.len());
            into[..some].copy_from_slice(&self.0[..some]);
            self.0 = &self.0[some..];
            Ok(some)
        }
    }

    fn read(text: &[u8], drip: usize, max: usize) -> Vec<(u64, String)> {
        let mut lines = Lines::new(Drip(text, drip), 0, max);
        let mut all = Vec::new();
        loop {
            let next = match lines.next().unwrap() {
                Next::Line(line) => format!("line {}", String::from_utf8_lossy(line)),
                Next::TooLong => "too long".to_owned(),
                Next::Tail(tail) => format!("tail {}", String::from_utf8_lossy(tail)),
                Next::End => return all,
            };
            all.push((lines.offset(), next));
        }
    }

    #[test]
    fn lines_are_found_whatever_the_reads() {
        let text = b"one\n\nthree is long\nfour\ntail";
        for drip in 1..text.len() + 1 {
            let found = read(text, drip, 8);
            let expected =
                [(4, "line one"), (5, "line "), (19, "too long"), (24, "line four"), (28, "tail tail")];
            assert_eq!(found, expected.map(|(at, what)| (at, what.to_owned())), "{drip} at a time");
        }
        assert!(read(b"", 1, 8).is_empty());
        assert_eq!(read(b"no line feed at all", 3, 8), [(19, "too long".to_owned())]);
        assert_eq!(read(b"12345678\n", 3, 8), [(9, "line 12345678".to_owned())]);
    }

    #[test]
    fn a_long_line_grows_the_buffer_to_hold_it() {
        let line = "x".repeat(3 * FIRST_BUFFER);
        let found = read(format!("a\n{line}\nb\n").as_bytes(), 100_000, MAX_LINE);
        assert_eq!(found.len(), 3);
        assert_eq!(found[1].1.len(), line.len() + 5);
    }
}
