//! Makes the sockets of TCP when their application starts, and frees them when nothing of them is left.
//!
//! ```text
//! checked   before the run, with what like connections have in common (`connection.rs`)
//! opened    when the application starts: both sockets are made
//! freed     at the end of the interval in which the application was over, its sockets had no timer and nothing to send,
//!           and no packet of theirs was in the network
//! ```
//! A run with many short flows needs the memory of only those that are in progress at one time. The kernel frees a socket
//! when the last FIN is acknowledged, and answers what still arrives from a small `tcp_timewait_sock` for 60 s
//! [linux-6.12 tcp_minisocks.c tcp_time_wait]; here nothing can arrive any more.

use tailback_packet::SocketId;
use tailback_traffic::Machine;

use crate::ConversationId;
use crate::conversation::Sampled;
use crate::socket::Transport;
use crate::world::World;

impl World {
    /// Makes the sockets of a conversation that starts.
    pub(crate) fn open(&mut self, id: ConversationId) {
        let conversation = &mut self.conversations[id.0 as usize];
        let planned = std::mem::take(&mut conversation.planned);
        if planned.is_empty() {
            return;
        }
        let name = self.context.journal.record.names.text(conversation.name);
        for connection in &self.planned[planned.start as usize..planned.end as usize] {
            let made = connection.sockets(name, self.streams, None);
            for (socket, made) in connection.sockets.into_iter().zip(made) {
                self.sockets.get_mut(socket).transport = made;
            }
        }
        self.present.push(id);
    }

    /// Sets the options of the sockets of a conversation that starts.
    pub(crate) fn set_options(&mut self, id: ConversationId) {
        let conversation = &self.conversations[id.0 as usize];
        if !matches!(&conversation.sampled, Sampled::Requests(requests) if requests.no_delay) {
            return;
        }
        let (first, sockets) = (conversation.first_pair[0].0, 2 * conversation.pairs());
        for socket in (first..first + sockets).map(SocketId) {
            self.sockets.tcp(socket).endpoint.set_no_delay(self.context.now);
        }
    }

    /// Frees the applications that are over and their sockets, if nothing of them is left.
    pub(crate) fn free_ended(&mut self) {
        let mut present = std::mem::take(&mut self.present);
        present.retain(|&id| !self.freed(id));
        self.present = present;
    }

    /// True if the conversation was over, and is freed now.
    fn freed(&mut self, id: ConversationId) -> bool {
        let conversation = &self.conversations[id.0 as usize];
        let is_recorded = conversation.read == conversation.recorded;
        if !(is_recorded && conversation.machine.as_ref().is_some_and(Machine::is_over)) {
            return false;
        }
        let sockets = conversation.first_pair;
        if !sockets.iter().all(|&socket| self.sockets.is_quiet(socket, &self.context)) {
            return false;
        }
        self.conversations[id.0 as usize].machine = None;
        for socket in sockets {
            self.sockets.get_mut(socket).transport = Transport::Ended;
        }
        true
    }
}
