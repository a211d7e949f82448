//! Handles the output of a Wi-Fi channel.
//!
//! A channel is a state machine of another crate (`tailback-wifi`). This file passes events to it, and its output to
//! the hosts: packets received, credits returned when the status of a frame is known, queues woken.

use tailback_packet::{DropReason, Packet};
use tailback_qdisc::Mark;
use tailback_record::WifiRow;
use tailback_units::{Bytes, SimTime};
use tailback_wifi::{Context as ChannelContext, Outcome, Ppdu, StationId};

use crate::Event;
use crate::channel::RadioChannel;
use crate::world::World;

impl World {
    /// Processes an event of a channel.
    pub(crate) fn on_air(&mut self, channel: u16) {
        let index = usize::from(channel);
        let RadioChannel { channel: air, draws, pending, .. } = &mut self.context.channels[index];
        if *pending != self.context.now {
            return;
        }
        *pending = SimTime::NEVER;
        air.advance(&mut ChannelContext { now: self.context.now, draws, effects: &mut self.context.effects });
        let mut outcomes = std::mem::take(&mut self.context.outcomes);
        self.context.channels[index].channel.swap_outcomes(&mut outcomes);
        for outcome in outcomes.drain(..) {
            self.came_from_air(index, outcome);
        }
        self.context.outcomes = outcomes;
        self.context.wake_channel(channel);
    }

    fn came_from_air(&mut self, channel: usize, outcome: Outcome) {
        match outcome {
            Outcome::Received(station, packet) => {
                self.capture_received(channel, station, &packet);
                self.received(channel, station, packet);
            }
            Outcome::Credit(socket, truesize) => self.context.effects.credits.push((socket, truesize)),
            Outcome::Accepts(station) => self.wake_queue(channel, station),
            Outcome::Sent(ppdu) => self.note_ppdu(channel, &ppdu),
            Outcome::Dropped(station, packet, reason) => self.drop_at(channel, station, packet, reason),
            Outcome::Marked(station, mark) => self.note_mark(channel, station, &mark),
        }
    }

    /// A packet waits for the interrupt of its radio, if that is mitigated.
    fn received(&mut self, channel: usize, station: StationId, packet: Box<Packet>) {
        let air = &mut self.context.channels[channel];
        let host = air.interface(station).host;
        let moderation = &mut air.moderation[usize::from(station.0)];
        if moderation.is_off() {
            self.context.backlog.push_back((host, packet));
        } else if let Some(due) = moderation.hold(packet, self.context.now) {
            self.context.wake_at(due, Event::Interrupt(channel as u16, station));
        }
    }

    /// The host of a radio takes what has been received, unless more has come in the meantime.
    pub(crate) fn interrupt(&mut self, channel: u16, station: StationId) {
        let context = &mut self.context;
        let air = &mut context.channels[usize::from(channel)];
        let host = air.interface(station).host;
        let released = air.moderation[usize::from(station.0)].release(context.now);
        match released {
            Ok(packets) => context.backlog.extend(packets.into_iter().map(|packet| (host, packet))),
            Err(due) => context.wake_at(due, Event::Interrupt(channel, station)),
        }
    }

    fn note_ppdu(&mut self, channel: usize, ppdu: &Ppdu) {
        let journal = &mut self.context.journal;
        let channel = &self.context.channels[channel];
        let [from, to] = [ppdu.from, ppdu.to].map(|radio| channel.interface(radio).host);
        let row = WifiRow {
            t: ppdu.began,
            from: journal.hosts[usize::from(from.0)],
            to: journal.hosts[usize::from(to.0)],
            mpdus: u64::from(ppdu.mpdus),
            received: u64::from(ppdu.received),
            ip_bytes: Bytes(u64::from(ppdu.ip_bytes)),
            psdu_bytes: Bytes(u64::from(ppdu.psdu_bytes)),
            duration_us: ppdu.duration,
            tries: u64::from(ppdu.tries),
            colliders: u64::from(ppdu.colliders),
            access_us: ppdu.access_delay,
            queued: u64::from(ppdu.queued),
            closed_by: ppdu.closed_by.name(),
        };
        journal.record.wifi.get_or_insert_default().push(row);
    }

    fn note_mark(&mut self, channel: usize, station: StationId, mark: &Mark) {
        let device = self.context.channels[channel].interface(station).device;
        self.context.journal.packet_marked(self.context.now, device, mark);
    }

    /// Captures a packet received over the air; its sender is the next hop of the reverse path.
    fn capture_received(&mut self, channel: usize, station: StationId, packet: &Packet) {
        if self.context.captures.is_off() {
            return;
        }
        let interfaces = &self.context.channels[channel].interfaces;
        let here = &interfaces[usize::from(station.0)];
        let from = interfaces[usize::from(here.next_hop(packet.source).0)].device;
        self.context.captures.received((from, here.device), packet, self.context.now);
    }

    /// [linux-6.12 net/mac80211/util.c ieee80211_wake_queue]
    fn wake_queue(&mut self, channel: usize, station: StationId) {
        let device = self.context.channels[channel].interface(station).device;
        self.devices[device.index()].run(&mut self.context);
    }

    /// Drops a packet at a radio.
    fn drop_at(&mut self, channel: usize, station: StationId, packet: Box<Packet>, reason: DropReason) {
        let id = self.context.channels[channel].interface(station).device;
        self.devices[id.index()].drops[reason as usize] += 1;
        self.context.drop_packet(packet, reason, id);
    }
}
