//! A conversation of a run: its applications, and what is measured of it in an interval.

use std::collections::VecDeque;
use std::ops::Range;

use tailback_packet::SocketId;
use tailback_record::{ExchangesRow, FlowsRow, Name, Record, UdpRow};
use tailback_traffic::{Carrier, Connections, End, Machine, Purpose, Socket, Traffic};
use tailback_units::{Bytes, SimTime, Span};

use crate::ConversationId;
use crate::context::Context;
use crate::socket::{Sockets, Transport};

/// A conversation: its applications, and its name in tables.
pub(crate) struct Conversation {
    pub(crate) name: Name,
    /// Its sockets; the first two if it has more.
    pub(crate) first_pair: [SocketId; 2],
    /// `None` while it is being called, and after it is over.
    pub(crate) machine: Option<Machine>,
    /// Connections whose sockets are made when it starts, by their place in
    /// [`World::planned`](crate::world::World::planned).
    pub(crate) planned: Range<u32>,
    /// Bytes that its applications have read, but for those read in their place and not counted yet.
    pub(crate) read: Bytes,
    /// Of these, the bytes in rows of the table.
    pub(crate) recorded: Bytes,
    pub(crate) sampled: Sampled,
    /// The place of its barrier in [`World::barriers`](crate::world::World::barriers).
    pub(crate) barrier: Option<usize>,
}

/// Where the clients of several conversations wait for one another.
#[derive(Debug, Default)]
pub(crate) struct Barrier {
    /// How many have not left.
    pub(crate) members: usize,
    /// Who waits, and how long after the last has come.
    pub(crate) waiting: Vec<(ConversationId, Span)>,
}

impl Barrier {
    /// Everybody goes on, if nobody is missing.
    pub(crate) fn take_if_complete(&mut self) -> Vec<(ConversationId, Span)> {
        let complete = self.waiting.len() >= self.members;
        if complete { std::mem::take(&mut self.waiting) } else { Vec::new() }
    }
}

/// What is measured of the sockets of a conversation, besides the bytes that were read.
pub(crate) enum Sampled {
    /// Nothing.
    Nothing,
    /// `TCP_INFO` of the sender.
    Sender,
    /// What both ends of all connections have sent.
    Requests(Box<Requests>),
    /// Datagrams and their delays.
    Datagrams(Box<Counts>),
}

impl Sampled {
    pub(crate) fn of(traffic: &Traffic) -> Self {
        match traffic.carrier() {
            Carrier::Tcp(Connections { purpose: Purpose::Bulk { .. }, .. }) => Sampled::Sender,
            Carrier::Tcp(connections) => Sampled::Requests(Box::new(Requests::over(&connections))),
            Carrier::Datagrams { .. } | Carrier::Endpoints { .. } => Sampled::Datagrams(Box::default()),
            Carrier::Echo { .. } => Sampled::Nothing,
        }
    }
}

/// The connections of a conversation of requests and answers.
#[derive(Debug)]
pub(crate) struct Requests {
    /// By connection, the numbers that requests on their way begin with: simulated bytes have no content.
    pub(crate) heads: Vec<VecDeque<u64>>,
    /// Both ends set `TCP_NODELAY`.
    pub(crate) no_delay: bool,
    /// Segments with data that the client and the server have sent, and of these retransmitted, at their last rows.
    pub(crate) sent: [[u64; 2]; 2],
}

impl Requests {
    fn over(connections: &Connections) -> Self {
        let heads = (0..connections.count).map(|_| VecDeque::new()).collect();
        Requests { heads, no_delay: connections.no_delay(), sent: [[0; 2]; 2] }
    }
}

/// Counts of datagrams in one interval.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) sent: u64,
    pub(crate) received: u64,
    /// Sum and greatest of the one-way delays.
    pub(crate) delays: Span,
    pub(crate) longest: Span,
}

impl Counts {
    /// Mean one-way delay of the datagrams that arrived.
    pub(crate) fn mean_delay(&self) -> Option<Span> {
        (self.received > 0).then(|| self.delays / self.received)
    }

    /// Their row, if there was any; they begin anew.
    pub(crate) fn take_udp_row(&mut self, t: SimTime, flow: Name) -> Option<UdpRow> {
        let counts = std::mem::take(self);
        let Counts { sent, received, longest, .. } = counts;
        let delay_ms = counts.mean_delay();
        let longest_ms = delay_ms.map(|_| longest);
        (sent + received > 0).then_some(UdpRow { t, flow, sent, received, delay_ms, longest_ms })
    }
}

impl Conversation {
    /// Pairs of its sockets.
    pub(crate) fn pairs(&self) -> u32 {
        match &self.sampled {
            Sampled::Requests(requests) => requests.heads.len() as u32,
            _ => 1,
        }
    }

    /// The row of the bytes that were read since the last one.
    pub(crate) fn take_flows_row(&mut self, t: SimTime) -> Option<FlowsRow> {
        let bytes = self.read - std::mem::replace(&mut self.recorded, self.read);
        (bytes > Bytes::ZERO).then_some(FlowsRow { t, flow: self.name, bytes })
    }

    /// A datagram of so many bytes has arrived after `delay`.
    pub(crate) fn datagram_arrived(&mut self, bytes: Bytes, delay: Span) {
        self.read += bytes;
        if let Sampled::Datagrams(counts) = &mut self.sampled {
            counts.received += 1;
            counts.delays += delay;
            counts.longest = counts.longest.max(delay);
        }
    }

    /// Whose socket `id` is, which number it has there, and which is the first socket of that application.
    #[inline]
    pub(crate) fn place(&self, id: SocketId) -> (End, Socket, SocketId) {
        let first = self.first_pair[0];
        let number = id.0 - first.0;
        match number % 2 {
            0 => (End::Client, Socket(number / 2), first),
            _ => (End::Server(number / 2), Socket::FIRST, id),
        }
    }

    /// All connections set `TCP_NODELAY`, if its applications do.
    pub(crate) fn set_no_delay(&self, sockets: &mut Sockets, now: SimTime) {
        if !matches!(&self.sampled, Sampled::Requests(requests) if requests.no_delay) {
            return;
        }
        let first = self.first_pair[0].0;
        for socket in (first..first + 2 * self.pairs()).map(SocketId) {
            sockets.tcp(socket).endpoint.set_no_delay(now);
        }
    }

    /// What both ends have sent on all connections, each if it has sent anything since its last row. Connections that
    /// live shorter than an interval so have their row at its end.
    pub(crate) fn record_exchanged(&mut self, sockets: &mut Sockets, t: SimTime, record: &mut Record) {
        let pairs = self.pairs();
        let Sampled::Requests(requests) = &mut self.sampled else { return };
        for (end, name) in ["client", "server"].into_iter().enumerate() {
            let mut sent = [0, 0];
            for pair in 0..pairs {
                let socket = SocketId(self.first_pair[end].0 + 2 * pair);
                let info = sockets.tcp(socket).endpoint.tcp_info(t);
                sent = [sent[0] + info.data_segs_out, sent[1] + info.total_retrans];
            }
            if std::mem::replace(&mut requests.sent[end], sent) != sent {
                let [data_segs_out, total_retrans] = sent;
                let row = ExchangesRow { t, flow: self.name, end: name, data_segs_out, total_retrans };
                record.exchanges.get_or_insert_default().push(row);
            }
        }
    }

    /// Frees its applications and their sockets, if it is over and nothing of them is left. True if it is freed now.
    pub(crate) fn free_if_over(&mut self, sockets: &mut Sockets, context: &Context) -> bool {
        let is_recorded = self.read == self.recorded;
        let is_over = is_recorded && self.machine.as_ref().is_some_and(Machine::is_over);
        let is_freed = is_over && self.first_pair.iter().all(|&socket| sockets.is_quiet(socket, context));
        if is_freed {
            self.machine = None;
            for socket in self.first_pair {
                sockets.get_mut(socket).transport = Transport::Ended;
            }
        }
        is_freed
    }
}
