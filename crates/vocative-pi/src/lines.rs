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
    /// How many lines were taken or passed over.
    number: u64,
    max: usize,
}

impl<R: Read> Lines<R> {
    /// Lines of `source`, of which the first byte is at `offset` in its file, each at most `max`
    /// bytes long (at most 4 GiB less one, whatever is asked).
    pub fn new(source: R, offset: u64, max: usize) -> Self {
        Self::with_buffer(source, offset, max, Vec::new())
    }

    /// Lines that are read into a buffer of an earlier use, so that it need not be cleared again.
    pub(crate) fn with_buffer(source: R, offset: u64, max: usize, mut buffer: Vec<u8>) -> Self {
        if buffer.len() < FIRST_BUFFER {
            buffer.resize(FIRST_BUFFER, 0);
        }
        Self { source, buffer, start: 0, end: 0, offset, number: 0, max: max.min(u32::MAX as usize) }
    }

    /// The buffer, for another use.
    pub(crate) fn into_buffer(self) -> Vec<u8> {
        self.buffer
    }

    /// Where the next line begins in the file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The number of the line that came last, counted from 1 where reading began.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The next line.
    ///
    /// # Errors
    /// What reading the source says.
    #[allow(clippy::should_implement_trait, reason = "the line borrows the buffer")]
    pub fn next(&mut self) -> io::Result<Next<'_>> {
        self.next_but(|_| false)
    }

    /// The next line that is not passed over; a line that is need not fit into memory. `passes`
    /// tells by the first bytes of the line, as many as were read (bytes of later lines may follow
    /// them); where these are too few to tell, it must say no.
    pub(crate) fn next_but(&mut self, passes: impl Fn(&[u8]) -> bool) -> io::Result<Next<'_>> {
        let mut searched = self.start;
        loop {
            let passes = passes(&self.buffer[self.start..self.end]);
            if let Some(found) = memchr::memchr(b'\n', &self.buffer[searched..self.end]) {
                let line = self.start..searched + found;
                self.take(line.len() + 1);
                self.number += 1;
                if line.len() > self.max {
                    return Ok(Next::TooLong);
                }
                if !passes {
                    return Ok(Next::Line(&self.buffer[line]));
                }
                searched = self.start;
                continue;
            }
            if passes || self.end - self.start > self.max {
                if self.pass_over()? > self.max as u64 {
                    return Ok(Next::TooLong);
                }
                searched = self.start;
                continue;
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

    /// Passes over a line, and gives its length.
    fn pass_over(&mut self) -> io::Result<u64> {
        let begin = self.offset;
        self.number += 1;
        loop {
            let seen = &self.buffer[self.start..self.end];
            if let Some(found) = memchr::memchr(b'\n', seen) {
                self.take(found + 1);
                return Ok(self.offset - begin - 1);
            }
            self.take(seen.len());
            if self.fill()? == 0 {
                return Ok(self.offset - begin);
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
    fn lines_are_passed_over_without_being_held() {
        let long = format!("-{}", "x".repeat(3 * FIRST_BUFFER));
        let text = format!("one\n-two\n{long}\n\nthree\n{long}");
        for (drip, max) in [(1000, MAX_LINE), (usize::MAX, MAX_LINE), (usize::MAX, long.len() - 1)] {
            let mut lines = Lines::new(Drip(text.as_bytes(), drip), 0, max);
            let mut all = Vec::new();
            loop {
                let next = match lines.next_but(|line| line.starts_with(b"-")).unwrap() {
                    Next::Line(line) => String::from_utf8(line.to_vec()).unwrap(),
                    Next::TooLong => "too long".to_owned(),
                    Next::Tail(_) => panic!("the tail is passed over"),
                    Next::End => break,
                };
                all.push((lines.number(), next));
            }
            let is_too_long = max < long.len();
            let expected = [(1, "one"), (3, "too long"), (4, ""), (5, "three"), (6, "too long")];
            let expected = expected.into_iter().filter(|(_, what)| is_too_long || *what != "too long");
            assert!(
                all.into_iter().eq(expected.map(|(number, what)| (number, what.to_owned()))),
                "{drip} {max}"
            );
            assert_eq!(lines.offset(), text.len() as u64);
            assert_eq!(lines.into_buffer().len(), FIRST_BUFFER);
        }
    }

    #[test]
    fn a_long_line_grows_the_buffer_to_hold_it() {
        let line = "x".repeat(3 * FIRST_BUFFER);
        let found = read(format!("a\n{line}\nb\n").as_bytes(), 100_000, MAX_LINE);
        assert_eq!(found.len(), 3);
        assert_eq!(found[1].1.len(), line.len() + 5);
    }
}
