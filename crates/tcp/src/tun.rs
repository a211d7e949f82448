//! The memory of a packet that a program writes into a TUN device, as packetdrill does.
//!
//! ```text
//! headroom + packet < page:  all of it lies in the head
//! else:                      the head is filled up to a page, the rest lies in pages
//! head  = next size of the allocator that holds headroom + octets + shared info, and a sk_buff
//! pages = as many as the rest needs; Linux takes them in blocks of 1 to 8
//! ```
//! A packet that fits behind the last one of the receive queue, in its head, is copied there. Others are queued as they
//! are.
//! [linux-6.12 tun.c tun_get_user, tun_alloc_skb] [linux-6.12 skbuff.c kmalloc_reserve, alloc_skb_with_frags]
//! [linux-6.12 skbuff.c skb_try_coalesce]

use tailback_packet::{IpVersion, Segment};

use crate::config::{TCP_HEADER, TIMESTAMP_OPTION};

const PAGE: u32 = 4096;
/// Octets kept free before a packet. [linux-6.12 skbuff.h NET_SKB_PAD]
const HEADROOM: u32 = 64;
/// `sk_buff` and shared info, aligned to cache lines. [linux-6.12 skbuff.h SKB_TRUESIZE]
const SK_BUFF: u32 = 256;
const SHARED_INFO: u32 = 320;
const CACHE_LINE: u32 = 64;
/// Heads of small packets have a size of their own. [linux-6.12 skbuff.c SKB_SMALL_HEAD_CACHE_SIZE]
const SMALL_HEAD: u32 = 704;

/// The memory of one packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TunBuffer {
    pub(crate) truesize: u32,
    /// Octets free behind it in its head.
    pub(crate) room: u32,
}

impl TunBuffer {
    /// Of the packet that `segment` came in.
    pub(crate) fn of(segment: &Segment, ip: IpVersion) -> Self {
        let timestamp = if segment.tsval.is_some() { TIMESTAMP_OPTION } else { 0 };
        TunBuffer::new(ip.header() + TCP_HEADER + timestamp + segment.length)
    }

    fn new(packet: u32) -> Self {
        let is_short = HEADROOM + packet < PAGE;
        let in_head = if is_short { packet } else { PAGE - HEADROOM - SHARED_INFO };
        let head = head(in_head);
        let free = head - SHARED_INFO - HEADROOM - in_head;
        TunBuffer {
            truesize: head + SK_BUFF + (packet - in_head).next_multiple_of(PAGE),
            room: if is_short { free } else { 0 },
        }
    }
}

fn head(octets: u32) -> u32 {
    match (HEADROOM + octets).next_multiple_of(CACHE_LINE) + SHARED_INFO {
        small if small <= SMALL_HEAD => SMALL_HEAD,
        large => large.next_power_of_two(),
    }
}

#[cfg(test)]
mod tests {
    use tailback_packet::Timestamp;

    use super::*;
    use crate::testing::data;

    /// `SK_MEMINFO_RMEM_ALLOC` of Linux 6.12 after a first packet with a given payload, without options.
    #[test]
    fn a_packet_costs_what_linux_6_12_accounts_for_it() {
        for (payload, truesize) in [
            (1, 960),
            (260, 960),
            (300, 1280),
            (600, 1280),
            (608, 2304),
            (1460, 2304),
            (1632, 4352),
            (3680, 8448),
            (9000, 12_544),
        ] {
            assert_eq!(TunBuffer::new(40 + payload).truesize, truesize, "{payload}");
        }
    }

    #[test]
    fn behind_a_short_packet_there_is_room_in_its_head() {
        assert_eq!(TunBuffer::new(41).room, 279);
        assert_eq!(TunBuffer::new(1040).room, 624);
        assert_eq!(TunBuffer::new(9040).room, 0);
    }

    #[test]
    fn a_segment_comes_with_its_headers_and_its_timestamp() {
        let room = |ip, tsval| TunBuffer::of(&Segment { length: 100, tsval, ..data() }, ip).room;
        let stamped = Timestamp::at(tailback_units::SimTime::ZERO);
        assert_eq!(room(IpVersion::V4, Timestamp::NONE), 280 - 100);
        assert_eq!(room(IpVersion::V4, stamped), 280 - 100 - 12);
        assert_eq!(room(IpVersion::V6, stamped), 280 - 100 - 12 - 20);
    }
}
