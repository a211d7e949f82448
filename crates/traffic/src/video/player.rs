//! The player of a video in segments (DASH).
//!
//! ```text
//! buffer    grows by the length of a segment when its last byte was read; shrinks with time while the video plays
//! play      from when the buffer has `startup`; stops when it is empty (a stall), and goes on from `startup` again
//! next      asked for as soon as the buffer has room for a segment, on the rung that the rule chooses
//! ```
//! Segments of a rung have bitrate · length / 8 bytes. Rules: rate ([`rate`](super::rate)), BOLA ([`bola`](super::bola)), hybrid
//! ([`hybrid`](super::hybrid)).

use serde::Deserialize;
use tailback_units::{Bytes, Rate, SimTime, Span};

use super::{bola, hybrid, rate};

const SECOND: f64 = 1e9;

/// How the player chooses a bitrate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rule {
    /// By throughput.
    Rate,
    /// By the buffer.
    Bola,
    /// By throughput while the buffer is short, then by the buffer.
    Hybrid,
}

/// What a player plays, and how.
#[derive(Clone, Debug)]
pub struct Video {
    /// Bitrates, growing.
    pub ladder: Vec<Rate>,
    /// Length of a segment.
    pub segment: Span,
    /// Largest buffer.
    pub buffer: Span,
    /// Buffer with which playing begins.
    pub startup: Span,
    /// How the player chooses a bitrate.
    pub rule: Rule,
}

impl Video {
    /// The first of its values that no player can have: its name, what is wrong with it, and a remedy.
    pub fn refused(&self) -> Option<[&'static str; 3]> {
        let growing = self.ladder.windows(2).all(|pair| pair[0] < pair[1]);
        let above_zero = self.ladder.first().is_some_and(|lowest| lowest.bits_per_sec() > 0);
        if self.segment == Span::ZERO {
            return Some(["segment_ns", "zero", "write a number above 0"]);
        }
        if !(growing && above_zero) {
            return Some(["ladder_bps", "not growing from above 0", "write growing bitrates"]);
        }
        if self.segment.as_nanos().saturating_mul(2) > self.buffer.as_nanos() {
            return Some(["buffer_ns", "no room for two segments", "write a longer time"]);
        }
        if self.startup == Span::ZERO || self.startup > self.buffer - self.segment {
            let remedy = "write a time of at most `buffer_ns` without a segment";
            return Some(["startup_ns", "a buffer that is never reached", remedy]);
        }
        None
    }
}

/// What a player does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// It asks for a segment of so many bytes.
    Ask(Bytes),
    /// It waits until the buffer has room for a segment.
    WaitUntil(SimTime),
}

/// A segment that was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// The number of the segment in the video.
    pub number: u64,
    /// When the player asked for it.
    pub asked: SimTime,
    /// The bitrate of its rung.
    pub bitrate: Rate,
    /// The size of the segment.
    pub bytes: Bytes,
    /// Video in the buffer when the player asked for it.
    pub buffer: Span,
    /// Time until its last byte was read; none if that did not happen.
    pub fetched: Option<Span>,
    /// How long the video did not play in this time.
    pub waited: Span,
}

/// A player: the buffer, whether the video plays, and the segment that it waits for.
#[derive(Clone, Debug)]
pub struct Player {
    video: Video,
    buffer: Span,
    plays: bool,
    /// The time of the state.
    at: SimTime,
    /// How long it has not played since it began.
    waited: Span,
    /// Of each segment, in bit/s.
    throughputs: Vec<f64>,
    /// The segment that it waits for; `waited` of it is the player's when it asked.
    fetch: Option<Segment>,
    /// Segments that have arrived.
    segments: u64,
}

impl Player {
    /// A player that begins at `now`, with an empty buffer.
    pub fn new(video: Video, now: SimTime) -> Self {
        Player {
            video,
            buffer: Span::ZERO,
            plays: false,
            at: now,
            waited: Span::ZERO,
            throughputs: Vec::new(),
            fetch: None,
            segments: 0,
        }
    }

    /// Segments that have arrived.
    pub fn segments(&self) -> u64 {
        self.segments
    }

    /// Video in the buffer.
    pub fn buffer(&self) -> Span {
        self.buffer
    }

    /// How long it has not played since it began.
    pub fn waited(&self) -> Span {
        self.waited
    }

    /// Bytes of the segment that it waits for.
    pub fn fetching(&self) -> Option<Bytes> {
        self.fetch.map(|fetch| fetch.bytes)
    }

    /// Chooses the next segment, if the buffer has room for it.
    pub fn next(&mut self, now: SimTime) -> Next {
        self.advance(now);
        let room = self.video.buffer - self.video.segment;
        if self.buffer > room {
            return Next::WaitUntil(now + (self.buffer - room));
        }
        let bitrate = self.video.ladder[self.choose()];
        let bits = bitrate.bits_per_sec() as f64 * self.video.segment.as_secs_f64();
        let bytes = Bytes((bits / 8.0).round().max(1.0) as u64);
        self.fetch = Some(Segment {
            number: self.segments,
            asked: now,
            bitrate,
            bytes,
            buffer: self.buffer,
            fetched: None,
            waited: self.waited,
        });
        Next::Ask(bytes)
    }

    /// The last byte of the segment was read.
    pub fn fetched(&mut self, now: SimTime) -> Option<Segment> {
        let mut segment = self.unfinished(now)?;
        let took = now.since(segment.asked);
        segment.fetched = Some(took);
        self.fetch = None;
        self.segments += 1;
        self.buffer += self.video.segment;
        self.plays |= self.buffer >= self.video.startup;
        self.throughputs.push(segment.bytes.get() as f64 * 8.0 * SECOND / took.as_nanos().max(1) as f64);
        Some(segment)
    }

    /// The segment that it waits for.
    pub fn unfinished(&mut self, now: SimTime) -> Option<Segment> {
        let fetch = self.fetch?;
        self.advance(now);
        Some(Segment { waited: self.waited - fetch.waited, ..fetch })
    }

    /// Plays until `now`, as far as the buffer goes.
    fn advance(&mut self, now: SimTime) {
        let passed = now.since(self.at);
        self.at = now;
        if self.plays {
            let played = passed.min(self.buffer);
            self.buffer = self.buffer - played;
            self.waited += passed - played;
            self.plays = self.buffer > Span::ZERO;
        } else {
            self.waited += passed;
        }
    }

    /// The rung of the next segment.
    fn choose(&self) -> usize {
        let ladder: Vec<f64> = self.video.ladder.iter().map(|rate| rate.bits_per_sec() as f64).collect();
        let segments = [self.buffer, self.video.buffer].map(|span| self.in_segments(span));
        let known =
            hybrid::Known { ladder: &ladder, throughputs: &self.throughputs, buffer: self.buffer, segments };
        match self.video.rule {
            Rule::Rate => rate::choose(known.ladder, known.throughputs),
            Rule::Bola => bola::choose(known.ladder, segments[0], segments[1]),
            Rule::Hybrid => hybrid::choose(&known),
        }
    }

    fn in_segments(&self, span: Span) -> f64 {
        span.as_secs_f64() / self.video.segment.as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Span {
        Span::from_nanos(seconds * 1_000_000_000)
    }

    fn video(ladder: &[u64]) -> Video {
        Video {
            ladder: ladder.iter().map(|&rate| Rate::from_bits_per_sec(rate)).collect(),
            segment: seconds(2),
            buffer: seconds(6),
            startup: seconds(2),
            rule: Rule::Rate,
        }
    }

    fn at(second: u64) -> SimTime {
        SimTime::ZERO + seconds(second)
    }

    #[test]
    fn a_player_waits_for_its_first_segment_plays_it_and_stalls() {
        let mut player = Player::new(video(&[1_000_000, 4_000_000]), SimTime::ZERO);
        assert_eq!(player.next(at(1)), Next::Ask(Bytes(250_000)));
        let first = player.fetched(at(2)).unwrap();
        assert_eq!((first.fetched, first.waited), (Some(seconds(1)), seconds(1)));
        assert_eq!(player.waited(), seconds(2));
        // 2 Mbit/s: too little for the upper rung. The buffer lasts until second 4.
        assert_eq!(player.next(at(2)), Next::Ask(Bytes(250_000)));
        assert_eq!(player.unfinished(at(7)).unwrap().waited, seconds(3));
        assert_eq!(player.fetched(at(7)).unwrap().waited, seconds(3));
        assert_eq!((player.buffer(), player.segments()), (seconds(2), 2));
    }

    #[test]
    fn a_player_waits_until_its_buffer_has_room() {
        let mut player = Player::new(video(&[1_000_000]), SimTime::ZERO);
        for _ in 0..3 {
            assert!(matches!(player.next(at(1)), Next::Ask(_)));
            player.fetched(at(1)).unwrap();
        }
        assert_eq!(player.next(at(1)), Next::WaitUntil(at(3)));
        assert_eq!(player.fetching(), None);
        assert!(player.fetched(at(1)).is_none());
    }

    #[test]
    fn values_that_no_player_can_have_are_refused_by_name() {
        let named = |video: &Video| video.refused().map(|[name, ..]| name);
        assert_eq!(named(&video(&[1, 2])), None);
        assert_eq!(named(&video(&[2, 1])), Some("ladder_bps"));
        assert_eq!(named(&video(&[0, 1])), Some("ladder_bps"));
        assert_eq!(named(&video(&[])), Some("ladder_bps"));
        assert_eq!(named(&Video { segment: Span::ZERO, ..video(&[1]) }), Some("segment_ns"));
        assert_eq!(named(&Video { segment: seconds(4), ..video(&[1]) }), Some("buffer_ns"));
        assert_eq!(named(&Video { startup: seconds(5), ..video(&[1]) }), Some("startup_ns"));
    }
}
