use std::ops::Range;

use super::*;

fn segment(number: u64, transmission: u64) -> SentSegment {
    SentSegment::new((number * 100, 100), Tags::default(), transmission, &Stamp::default())
}

fn filled(count: u64) -> RetransmitQueue {
    let mut queue = RetransmitQueue::new();
    for number in 0..count {
        queue.push(segment(number, 1 + number));
    }
    queue
}

/// Two skbs of three segments each.
fn two_skbs() -> RetransmitQueue {
    let mut queue = RetransmitQueue::new();
    for number in 0..6 {
        queue.push(segment(number, 1 + number / 3));
    }
    queue
}

fn in_time_order(queue: &RetransmitQueue) -> Vec<Index> {
    std::iter::successors(queue.oldest(), |&index| queue.after_in_time(index)).collect()
}

#[test]
fn a_retransmission_moves_to_the_end_of_the_time_order() {
    let mut queue = filled(4);
    queue.move_to_newest(1);
    assert_eq!(in_time_order(&queue), [0, 2, 3, 1]);
}

#[test]
fn segments_sent_after_a_retransmission_follow_it_until_all_earlier_ones_have_left() {
    let mut queue = filled(3);
    queue.move_to_newest(0);
    queue.push(segment(3, 4));
    assert_eq!(in_time_order(&queue), [1, 2, 0, 3]);
    queue.pop();
    queue.push(segment(4, 5));
    assert_eq!(in_time_order(&queue), [1, 2, 3, 4]);
    queue.pop();
    queue.pop();
    queue.push(segment(5, 6));
    assert_eq!(in_time_order(&queue), [3, 4, 5]);
    queue.leave_time_order(4);
    assert_eq!(in_time_order(&queue), [3, 5]);
}

#[test]
fn the_ring_grows_around_its_records() {
    let mut queue = filled(4);
    queue.pop();
    queue.pop();
    for number in 4..9 {
        queue.push(segment(number, 1 + number));
    }
    let numbers: Vec<u64> = (queue.head()..queue.end()).map(|index| queue.get(index).seq / 100).collect();
    assert_eq!(numbers, [2, 3, 4, 5, 6, 7, 8]);
    assert_eq!((queue.find(250), queue.find(899), queue.find(900)), (2, 8, 9));
}

#[test]
fn a_segment_taken_out_of_the_time_order_can_be_taken_out_again() {
    let mut queue = filled(3);
    queue.leave_time_order(1);
    queue.leave_time_order(1);
    assert_eq!(in_time_order(&queue), [0, 2]);
    queue.leave_time_order(0);
    queue.leave_time_order(2);
    assert_eq!(in_time_order(&queue), [0u64; 0]);
    queue.move_to_newest(1);
    assert_eq!(in_time_order(&queue), [1]);
}

#[test]
fn sacked_neighbours_share_an_skb_until_the_first_of_them_leaves() {
    let mut queue = filled(4);
    for index in [1, 2, 3] {
        queue.get_mut(index).tags.set(Tags::SACKED);
        queue.merge_with_earlier(index);
    }
    assert_eq!((queue.len(), queue.skbs()), (4, 2));
    queue.pop();
    assert_eq!((queue.len(), queue.skbs()), (3, 1));
    queue.pop();
    assert_eq!((queue.len(), queue.skbs()), (2, 1));
}

#[test]
fn sacked_segments_share_an_skb_of_less_than_524_280_bytes() {
    let mut queue = RetransmitQueue::new();
    for n in 0..400 {
        queue.push(SentSegment::new((n * 1448, 1448), Tags::SACKED, n, &Stamp::default()));
    }
    for index in 1..400 {
        queue.merge_with_earlier(index);
    }
    assert_eq!(queue.skbs(), 2, "362 segments and the rest");
    assert!(!queue.begins_skb(361) && queue.begins_skb(362));
}

#[test]
fn a_filled_hole_joins_two_skbs_only_if_both_fit_in_one() {
    for (others, skbs) in [(180, 1), (181, 2)] {
        let mut queue = RetransmitQueue::new();
        for n in 0..2 * others + 1 {
            queue.push(SentSegment::new((n * 1448, 1448), Tags::SACKED, n, &Stamp::default()));
        }
        (1..others).for_each(|index| queue.merge_with_earlier(index));
        (others + 2..2 * others + 1).for_each(|index| queue.merge_with_earlier(index));
        queue.merge_with_earlier(others);
        queue.merge_with_earlier(others + 1);
        assert_eq!(queue.skbs(), skbs);
    }
}

#[test]
fn a_short_or_retransmitted_segment_keeps_its_own_skb() {
    let mut queue = filled(2);
    queue.push(SentSegment::new((200, 60), Tags::default(), 0, &Stamp::default()));
    for index in 0..3 {
        queue.get_mut(index).tags.set(Tags::SACKED);
    }
    queue.get_mut(0).tags.set(Tags::RETRANS);
    queue.merge_with_earlier(1);
    queue.merge_with_earlier(2);
    assert_eq!(queue.skbs(), 3);
}

#[test]
fn records_keep_their_numbers_when_the_head_leaves() {
    let mut queue = filled(4);
    queue.pop();
    queue.pop();
    assert_eq!(queue.head(), 2);
    assert_eq!(queue.get(3).seq, 300);
    assert_eq!(queue.find(250), 2);
    assert_eq!(queue.find(300), 3);
    assert_eq!(in_time_order(&queue), [2, 3]);
}

#[test]
fn an_skb_leaves_with_its_last_segment() {
    let mut queue = two_skbs();
    let counts = [(); 6].map(|()| {
        queue.pop();
        queue.skbs()
    });
    assert_eq!(counts, [2, 2, 1, 1, 1, 0]);
}

fn cut(queue: &mut RetransmitQueue, run: Range<Index>, mss: u32) -> usize {
    let pieces = queue.cut(run.clone(), mss);
    let count = pieces.len();
    queue.replace(run, pieces);
    count
}

#[test]
fn an_skb_cut_anew_keeps_its_bytes_its_flags_and_its_place_in_time() {
    let mut queue = two_skbs();
    queue.get_mut(2).tags.set(Tags::PUSH);
    queue.move_to_newest(4);
    assert_eq!(cut(&mut queue, 0..3, 140), 3);
    assert_eq!(cut(&mut queue, 0..3, 60), 5);
    let at = |index| (queue.get(index).seq, queue.get(index).length, queue.get(index).tags);
    let push = Tags::PUSH;
    assert_eq!(at(0), (0, 60, Tags::default()));
    assert_eq!((at(4), at(5).0), ((240, 60, push), 300));
    assert_eq!(in_time_order(&queue), [0, 1, 2, 3, 4, 5, 7, 6]);
    assert_eq!((queue.len(), queue.skbs()), (8, 2));
    assert_eq!(cut(&mut queue, 0..5, 1000), 1);
    assert_eq!((queue.len(), queue.get(0).length, queue.get(1).seq), (4, 300, 300));
}

#[test]
fn a_piece_sent_again_from_the_middle_of_an_skb_leaves_three() {
    let mut queue = two_skbs();
    queue.become_skb(1, 1, 9);
    assert_eq!(queue.skbs(), 4);
    queue.become_skb(3, 3, 10);
    assert_eq!(queue.skbs(), 4, "an skb sent again as a whole is one");
    queue.become_skb(5, 1, 11);
    assert_eq!(queue.skbs(), 5);
}
