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

use crate::ConversationId;
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

    /// Frees the applications that are over and their sockets, if nothing of them is left.
    pub(crate) fn free_ended(&mut self) {
        let World { present, conversations, sockets, context, .. } = self;
        present.retain(|id| !conversations[id.0 as usize].free_if_over(sockets, context));
    }
}
