//! Handles the output of a Wi-Fi channel.
//!
//! A channel is a state machine of another crate (`tailback-wifi`). This file passes events to it, and its output to
//! the hosts: packets received, credits returned when the status of a frame is known, queues woken.

use tailback_packet::{Packet, SocketId};
use tailback_qdisc::Mark;
use tailback_record::{Name, WifiRow};
use tailback_units::{Bytes, SimTime};
use tailback_wifi::{Arrived, Context as ChannelContext, Outcome, Ppdu, StationId};

use crate::Event;
use crate::channel::RadioChannel;
use crate::context::Context;
use crate::network::Network;

/// The row of the table `wifi` about a PPDU.
pub fn wifi_row(ppdu: &Ppdu, from: Name, to: Name) -> WifiRow {
    WifiRow {
        t: ppdu.began,
        from,
        to,
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
    }
}

impl Network {
    /// Processes an event of a channel.
    #[inline(never)]
    pub(crate) fn on_air(&mut self, channel: u16, context: &mut Context) {
        let index = usize::from(channel);
        let RadioChannel { channel: air, draws, pending, .. } = &mut context.channels[index];
        if *pending != context.now {
            return;
        }
        *pending = SimTime::NEVER;
        air.advance(&mut ChannelContext { now: context.now, draws, effects: &mut context.effects });
        if air.has_output() {
            self.handle_output(index, context);
        }
        context.wake_channel(channel);
    }

    /// Handles what an event of a channel has put out.
    fn handle_output(&mut self, index: usize, context: &mut Context) {
        let mut output = std::mem::take(&mut context.from_air);
        context.channels[index].channel.swap_output(&mut output);
        let mut received = output.received.drain(..);
        for outcome in output.outcomes.drain(..) {
            match outcome {
                Outcome::Received(station, packets, arrived) => {
                    let packets = packets as usize;
                    context.capture_received(index, station, &received.as_slice()[..packets]);
                    context.radio_received(index, station, received.by_ref().take(packets), arrived);
                }
                Outcome::Credit(station, socket, truesize) => {
                    context.radio_completed(index, station, (socket, truesize));
                }
                Outcome::Accepts(station) => self.wake_queue(index, station, context),
                Outcome::Sent(ppdu) => {
                    let mpdus = ppdu.noted as usize;
                    context.note_ppdu(index, &ppdu, &output.mpdus[..mpdus]);
                    output.mpdus.drain(..mpdus);
                }
                Outcome::Dropped(station, packet, reason) => {
                    let id = context.channels[index].interface(station).device;
                    self.devices[id.index()].drops[reason as usize] += 1;
                    context.drop_packet(packet, reason, id);
                }
                Outcome::Marked(station, mark) => context.note_mark(index, station, &mark),
            }
        }
        drop(received);
        // The lists in its place are empty and own nothing.
        std::mem::forget(std::mem::replace(&mut context.from_air, output));
    }

    /// [linux-6.12 net/mac80211/util.c ieee80211_wake_queue]
    fn wake_queue(&mut self, channel: usize, station: StationId, context: &mut Context) {
        let device = context.channels[channel].interface(station).device;
        self.devices[device.index()].run(context);
    }
}

/// What the radios of a host do beside its devices.
impl Context {
    /// Packets wait for the interrupt of their radio, if that is mitigated.
    fn radio_received(
        &mut self,
        channel: usize,
        station: StationId,
        packets: impl ExactSizeIterator<Item = Box<Packet>>,
        arrived: Arrived,
    ) {
        let air = &mut self.channels[channel];
        let host = air.interface(station).host;
        let mitigation = &mut air.mitigation[usize::from(station.0)];
        if mitigation.is_off() {
            self.backlog.extend(packets.map(|packet| (host, packet)));
            return;
        }
        let now = self.now;
        let first = if let Arrived::Since(first) = arrived { first } else { now };
        let look = mitigation.hold(packets, first, now);
        self.backlog.extend(mitigation.interrupted().map(|packet| (host, packet)));
        if let Some(due) = look {
            self.wake_at(due, Event::Interrupt(channel as u16, station));
        }
    }

    /// The host of a radio takes what has been received, unless more has come in the meantime.
    pub(crate) fn interrupt(&mut self, channel: u16, station: StationId) {
        let Context { channels, backlog, now, .. } = self;
        let air = &mut channels[usize::from(channel)];
        let host = air.interface(station).host;
        let arriving = air.channel.arriving(station);
        let later = match air.mitigation[usize::from(station.0)].release(arriving, *now) {
            Ok(packets) => {
                backlog.extend(packets.map(|packet| (host, packet)));
                return;
            }
            Err(due) => due,
        };
        self.wake_at(later, Event::Interrupt(channel, station));
    }

    /// A packet of a radio has left; its sender is credited once the radio has reported that.
    fn radio_completed(&mut self, channel: usize, station: StationId, credit: (SocketId, u32)) {
        let Context { channels, effects, now, .. } = self;
        let completions = &mut channels[channel].completions[usize::from(station.0)];
        if completions.are_reported_at_once() {
            return effects.credits.push(credit);
        }
        if let Some(due) = completions.hold(credit, *now) {
            self.wake_at(due, Event::Completions(channel as u16, station));
        }
    }

    /// A radio reports what has left, unless more has left in the meantime.
    pub(crate) fn report_completions(&mut self, channel: u16, station: StationId) {
        let Context { channels, effects, now, .. } = self;
        let completions = &mut channels[usize::from(channel)].completions[usize::from(station.0)];
        let later = match completions.report(*now) {
            Ok(credits) => return effects.credits.extend(credits),
            Err(due) => due,
        };
        self.wake_at(later, Event::Completions(channel, station));
    }

    fn note_ppdu(&mut self, channel: usize, ppdu: &Ppdu, mpdus: &[(usize, bool)]) {
        let journal = &mut self.journal;
        let channel = &self.channels[channel];
        let [from, to] = [ppdu.from, ppdu.to].map(|radio| channel.interface(radio).host);
        let [from, to] = [from, to].map(|host| journal.hosts[usize::from(host.0)]);
        let row = wifi_row(ppdu, from, to);
        journal.record.wifi.get_or_insert_default().push(row);
        if let Some(log) = &mut self.captures.log {
            log.on_air(from, ppdu.began, mpdus);
        }
    }

    fn note_mark(&mut self, channel: usize, station: StationId, mark: &Mark) {
        let device = self.channels[channel].interface(station).device;
        self.journal.packet_marked(self.now, device, mark);
    }

    /// Captures packets received over the air; their sender is the next hop of the reverse path.
    fn capture_received(&mut self, channel: usize, station: StationId, packets: &[Box<Packet>]) {
        if self.captures.is_off() {
            return;
        }
        let interfaces = &self.channels[channel].interfaces;
        let here = &interfaces[usize::from(station.0)];
        for packet in packets {
            let from = interfaces[usize::from(here.next_hop(packet.source).0)].device;
            self.captures.received((from, here.device), packet, self.now);
            if let Some(log) = &mut self.captures.log {
                log.arrived(here.host, packet, self.now);
            }
        }
    }
}
