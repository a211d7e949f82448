//! The TX status of an aggregate after its exchange. [linux-6.12 ieee80211_tx_status]

use tailback_packet::SocketId;
use tailback_units::Span;

use crate::frame::Mpdu;

/// The result of an aggregate.
#[derive(Debug, Default)]
pub struct Status {
    /// Frames that were acknowledged, in order.
    acknowledged: Vec<Acknowledged>,
    /// The sockets to credit, with the truesize.
    pub credits: Vec<(SocketId, u32)>,
}

/// Frames with consecutive sequence numbers that were acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledged {
    /// Sequence number of the first.
    pub sequence: u64,
    /// Number of frames.
    pub frames: u32,
    /// Packets in them.
    pub packets: u32,
    /// Their expected airtime.
    pub estimate: Span,
}

impl Status {
    /// Nothing was acknowledged yet.
    pub fn clear(&mut self) {
        self.acknowledged.clear();
        self.credits.clear();
    }

    /// A frame arrived.
    #[inline]
    pub fn acknowledge(&mut self, frame: &Mpdu) {
        match self.acknowledged.last_mut() {
            Some(run) if run.sequence + u64::from(run.frames) == frame.sequence => run.extend(frame),
            _ => self.acknowledged.push(Acknowledged::of(frame)),
        }
    }

    /// Frames with consecutive sequence numbers arrived, the first ones of this aggregate.
    pub fn acknowledge_all(&mut self, frames: &[Mpdu]) {
        let Some((first, others)) = frames.split_first() else { return };
        let mut run = Acknowledged::of(first);
        others.iter().for_each(|frame| run.extend(frame));
        self.acknowledged.push(run);
    }

    /// The frames that arrived.
    pub fn acknowledged(&self) -> &[Acknowledged] {
        &self.acknowledged
    }

    /// Their number.
    pub fn frames(&self) -> u32 {
        self.acknowledged.iter().map(|run| run.frames).sum()
    }
}

impl Acknowledged {
    /// What is to be remembered of a frame.
    pub fn of(frame: &Mpdu) -> Self {
        let (sequence, packets) = (frame.sequence, frame.packets() as u32);
        Acknowledged { sequence, frames: 1, packets, estimate: frame.estimate }
    }

    #[inline]
    fn extend(&mut self, frame: &Mpdu) {
        self.frames += 1;
        self.packets += frame.packets() as u32;
        self.estimate += frame.estimate;
    }
}
