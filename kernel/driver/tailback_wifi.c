// SPDX-License-Identifier: GPL-2.0
/*
 * Wi-Fi radios for mac80211 whose air is a process of the host.
 *
 *   mac80211's queues -> [ask: whose turn? next frame?] -> air -> received by another radio, status to the sender
 *
 * A radio is made by writing to `parameters/radio`, in the network namespace of the writer; `parameters/zero` connects
 * all of them to the air, whose time is 0 then. Everything happens in calls of the air that take no virtual time; a timer
 * makes the next one when the air says so.
 *
 * Deviations: radios of 802.11ax associate as those of 802.11ac. Management frames, frames to all stations, and
 * everything before time 0 arrive at once and take no airtime, nor do the beacons that stations get (the air has beacons of
 * its own). A probe request is answered by a beacon. Radios have no power save and cannot leave their channel.
 */
#include <linux/bitfield.h>
#include <linux/etherdevice.h>
#if __has_include(<linux/hex.h>)
#include <linux/hex.h>
#endif
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/nsproxy.h>
#include <linux/version.h>
#include <linux/xarray.h>
#include <net/cfg80211.h>
#include <net/mac80211.h>
#include <net/net_namespace.h>
#include <os.h>

#include "air.h"

/* mac80211 of 6.17 and later says which radio of a wiphy it means; ours have one. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
#define WHICH_RADIO	, int radio_idx
#else
#define WHICH_RADIO
#endif

/* 6.13 began to set a timer's function with the timer. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static void hrtimer_setup(struct hrtimer *timer, enum hrtimer_restart (*function)(struct hrtimer *), clockid_t clock,
			  enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

#define MAX_RADIOS 256
#define MAX_READ 512
#define MAX_UNSENT 64
/* Where the air listens, in the folder of the run. */
#define AIR_SOCKET "air"

static struct {
	int fd;
	u64 zero_ns;
	/* A call is in progress. */
	bool busy;
	struct hrtimer timer;
	/* Read but not yet handled. */
	struct air_message read[MAX_READ];
	unsigned int have_bytes;
	unsigned int handled_bytes;
	/* Said but not yet sent. */
	struct air_message unsent[MAX_UNSENT];
	unsigned int unsent_count;
} air = { .fd = -1 };

/* What a radio is told at its creation. */
struct properties {
	u8 address[ETH_ALEN];
	/* mac80211's default if it is 0. */
	unsigned int pacing_shift;
	/* Of a station: the fixed mode of its data, or the highest one. Of an access point: what it has. */
	unsigned int mcs;
	unsigned int streams;
	unsigned int width;
	unsigned int short_guard;
	/* It is one of 802.11ac, or of a later standard. */
	unsigned int vht;
	/* As the air has it, enum air_format. */
	unsigned int format;
	unsigned int expected_kbps;
	/* mac80211 distributes airtime; it limits what is below it. */
	unsigned int fairness;
	unsigned int limits;
	/* The modes of a station's data vary. mac80211 chooses those of what this radio sends. */
	unsigned int varies;
	unsigned int chooses;
};

/* What became of an aggregate. */
struct tried {
	/* Each with the number of its transmissions. */
	u64 modes;
	u8 frames;
	u8 acknowledged;
};

struct radio {
	struct ieee80211_hw *hw;
	u16 number;
	struct properties is;
	struct ieee80211_vif *vif;
	/* mac80211 may hand over more than it did: airtime has been returned to it. */
	bool released;
	struct hrtimer beacon;
	u64 beacon_ns;
	/* For each access category. */
	struct {
		bool open;
		unsigned int taken;
		/* The air has space, and was told that there is nobody to serve. */
		bool idle;
		/* The queue that a peer was served from last. */
		struct ieee80211_txq *queues[MAX_RADIOS];
	} turns[IEEE80211_NUM_ACS];
	/* The aggregate on the air last; no frames if mac80211 has been told of it. */
	struct tried tried;
	/* The mode of the last transmission to a peer, if it varies. */
	u16 modes[MAX_RADIOS];
	struct ieee80211_supported_band band;
	struct ieee80211_channel channels[8];
	struct ieee80211_rate rates[8];
};

static struct radio *radios[MAX_RADIOS];
static unsigned int radio_count;

/* A station, as mac80211 knows it. */
struct peer {
	u16 number;
};

/* A frame that the air has. */
struct on_air {
	struct sk_buff *skb;
	/* For its receiver, if its status came first. */
	struct sk_buff *copy;
	struct radio *from;
	u16 peer;
	bool settled;
	bool arrived;
};

static DEFINE_XARRAY_ALLOC1(frames);
static u32 last_token;

/* What mac80211 is told after a call. */
struct outcome {
	struct list_head list;
	struct radio *radio;
	struct sk_buff *skb;
	bool is_status;
	bool acknowledged;
	/* It went over the air in this mode; 0: it did not. */
	u16 mode;
	/* The first frame that is settled of an aggregate for which mac80211 chose the modes; else no frames. */
	struct tried tried;
	/* Another frame of it. */
	bool rest;
};

static LIST_HEAD(outcomes);
static void serve_released(struct radio *radio);
static void tell_tasklet(struct tasklet_struct *tasklet);
static DECLARE_TASKLET(telling, tell_tasklet);

static const struct ieee80211_regdomain everywhere = {
	.n_reg_rules = 1,
	.alpha2 = "99",
	.reg_rules = { REG_RULE(2402 - 10, 5845 + 10, 160, 0, 20, 0) },
};

static struct radio *radio_at(const u8 *address)
{
	unsigned int number;

	for (number = 0; number < radio_count; number++)
		if (ether_addr_equal(radios[number]->is.address, address))
			return radios[number];
	return NULL;
}

/* Of the two ends of a link. Both have the same mode, which is that of the station. */
static struct radio *station_of(struct radio *radio, u16 peer)
{
	return radio->vif && radio->vif->type == NL80211_IFTYPE_AP ? radios[peer] : radio;
}

/* The modes of data to this peer vary. */
static bool varies(struct radio *radio, u16 peer)
{
	return station_of(radio, peer)->is.varies;
}

/* mac80211 chooses the modes of data to this peer. */
static bool chooses(struct radio *radio, u16 peer)
{
	return radio->is.chooses && varies(radio, peer);
}

/* The mode of the last transmission to a peer. */
static u16 mode_towards(struct radio *radio, u16 peer)
{
	struct properties *is = &station_of(radio, peer)->is;

	if (is->varies && radio->modes[peer])
		return radio->modes[peer];
	return FIELD_PREP(AIR_TRIES, 1) | FIELD_PREP(AIR_MCS, is->mcs) | FIELD_PREP(AIR_STREAMS, is->streams - 1) |
	       FIELD_PREP(AIR_WIDTH, ilog2(is->width / 20)) | FIELD_PREP(AIR_FORMAT, is->format);
}

static bool on_air_now(void)
{
	return air.fd >= 0 && ktime_get_ns() >= air.zero_ns;
}

/* --- modes ------------------------------------------------------------------------------------------------------ */

static bool is_vht(u16 mode)
{
	u8 format = FIELD_GET(AIR_FORMAT, mode);

	return format == AIR_VHT_800 || format == AIR_VHT_400;
}

static bool is_he(u16 mode)
{
	return FIELD_GET(AIR_FORMAT, mode) >= AIR_HE_800;
}

static bool has_short_guard(u16 mode)
{
	u8 format = FIELD_GET(AIR_FORMAT, mode);

	return format == AIR_HT_400 || format == AIR_VHT_400;
}

static const enum rate_info_bw widths[] = { RATE_INFO_BW_20, RATE_INFO_BW_40, RATE_INFO_BW_80, RATE_INFO_BW_160 };

/* As mac80211 has it in the status of a frame, without those of 802.11ax. */
static struct ieee80211_tx_rate rate_of(u16 mode)
{
	static const u16 flags[] = { 0, IEEE80211_TX_RC_40_MHZ_WIDTH, IEEE80211_TX_RC_80_MHZ_WIDTH,
				     IEEE80211_TX_RC_160_MHZ_WIDTH };
	u8 streams = FIELD_GET(AIR_STREAMS, mode), mcs = FIELD_GET(AIR_MCS, mode);
	struct ieee80211_tx_rate rate = {
		.count = FIELD_GET(AIR_TRIES, mode),
		.flags = flags[FIELD_GET(AIR_WIDTH, mode)] | (has_short_guard(mode) ? IEEE80211_TX_RC_SHORT_GI : 0),
	};

	if (is_vht(mode)) {
		rate.flags |= IEEE80211_TX_RC_VHT_MCS;
		ieee80211_rate_set_vht(&rate, mcs, streams + 1);
	} else {
		rate.flags |= IEEE80211_TX_RC_MCS;
		rate.idx = 8 * streams + mcs;
	}
	return rate;
}

/* As mac80211 has it beside the status: of any standard. */
static struct rate_info rate_info_of(u16 mode)
{
	struct rate_info info = {
		.mcs = FIELD_GET(AIR_MCS, mode),
		.nss = FIELD_GET(AIR_STREAMS, mode) + 1,
		.bw = widths[FIELD_GET(AIR_WIDTH, mode)],
		.flags = has_short_guard(mode) ? RATE_INFO_FLAGS_SHORT_GI : 0,
	};

	if (is_he(mode)) {
		info.flags |= RATE_INFO_FLAGS_HE_MCS;
		info.he_gi = FIELD_GET(AIR_FORMAT, mode) - AIR_HE_800 + NL80211_RATE_INFO_HE_GI_0_8;
	} else {
		info.flags |= RATE_INFO_FLAGS_VHT_MCS;
	}
	return info;
}

/* And the reverse; 0 if it is of before 802.11n. */
static u16 mode_of(const struct ieee80211_tx_rate *rate)
{
	bool vht = rate->flags & IEEE80211_TX_RC_VHT_MCS, brief = rate->flags & IEEE80211_TX_RC_SHORT_GI;
	u8 width = rate->flags & IEEE80211_TX_RC_160_MHZ_WIDTH ? 3 : rate->flags & IEEE80211_TX_RC_80_MHZ_WIDTH ? 2 :
		   rate->flags & IEEE80211_TX_RC_40_MHZ_WIDTH ? 1 : 0;
	u8 streams = vht ? ieee80211_rate_get_vht_nss(rate) - 1 : rate->idx / 8;
	u8 mcs = vht ? ieee80211_rate_get_vht_mcs(rate) : rate->idx % 8;
	u8 format = vht ? (brief ? AIR_VHT_400 : AIR_VHT_800) : brief ? AIR_HT_400 : AIR_HT_800;

	if (!vht && !(rate->flags & IEEE80211_TX_RC_MCS))
		return 0;
	return FIELD_PREP(AIR_TRIES, min_t(u8, rate->count, FIELD_MAX(AIR_TRIES))) | FIELD_PREP(AIR_MCS, mcs) |
	       FIELD_PREP(AIR_STREAMS, streams) | FIELD_PREP(AIR_WIDTH, width) | FIELD_PREP(AIR_FORMAT, format);
}

/* --- what mac80211 is told ------------------------------------------------------------------------------------- */

static void fill_rx_status(struct sk_buff *skb, struct radio *to, u16 mode)
{
	struct ieee80211_rx_status *status = IEEE80211_SKB_RXCB(skb);
	struct ieee80211_channel *channel = to->hw->conf.chandef.chan;

	memset(status, 0, sizeof(*status));
	status->freq = channel->center_freq;
	status->band = channel->band;
	status->signal = -40;
	if (!mode)
		return;
	status->bw = widths[FIELD_GET(AIR_WIDTH, mode)];
	status->enc_flags = has_short_guard(mode) ? RX_ENC_FLAG_SHORT_GI : 0;
	status->nss = FIELD_GET(AIR_STREAMS, mode) + 1;
	status->rate_idx = FIELD_GET(AIR_MCS, mode);
	if (is_he(mode)) {
		status->encoding = RX_ENC_HE;
		status->he_gi = FIELD_GET(AIR_FORMAT, mode) - AIR_HE_800 + NL80211_RATE_INFO_HE_GI_0_8;
	} else if (is_vht(mode)) {
		status->encoding = RX_ENC_VHT;
	} else {
		status->encoding = RX_ENC_HT;
		status->rate_idx += 8 * FIELD_GET(AIR_STREAMS, mode);
	}
}

/*
 * Of itself alone, of an aggregate, or of none: mac80211's rate control takes one status for each aggregate, and so do
 * the drivers that leave the rates to it.
 */
static void fill_tx_status(struct sk_buff *skb, struct outcome *outcome)
{
	struct ieee80211_tx_info *info = IEEE80211_SKB_CB(skb);
	struct tried *tried = &outcome->tried;
	bool chosen = outcome->radio->is.chooses;
	bool whole = tried->frames, ampdu = info->flags & IEEE80211_TX_CTL_AMPDU;
	u64 modes = whole ? tried->modes : outcome->rest ? 0 : outcome->mode;
	unsigned int place;

	ieee80211_tx_info_clear_status(info);
	for (place = 0; place < AIR_MODES && modes; place++, modes >>= AIR_MODE_BITS)
		info->status.rates[place] = rate_of(modes & GENMASK(AIR_MODE_BITS - 1, 0));
	if (!whole && place)
		info->status.rates[0].count = 1;
	if (!place && !chosen) {
		/* The slowest one of before 802.11n. */
		info->status.rates[0].idx = 0;
		info->status.rates[0].count = 1;
		place = 1;
	}
	if (place < AIR_MODES)
		info->status.rates[place].idx = -1;
	if (whole) {
		info->flags |= ampdu ? IEEE80211_TX_STAT_AMPDU : 0;
		info->status.ampdu_len = tried->frames;
		info->status.ampdu_ack_len = tried->acknowledged;
	} else if (ampdu && !outcome->rest) {
		/* Of itself alone; without it the rate would not be noted, from which mac80211 estimates airtime. */
		info->flags |= IEEE80211_TX_STAT_AMPDU;
		info->status.ampdu_len = 1;
		info->status.ampdu_ack_len = outcome->acknowledged;
	}
	if (outcome->acknowledged)
		info->flags |= IEEE80211_TX_STAT_ACK;
	else if (ampdu)
		/* Its receiver is to wait for it no longer. */
		info->flags |= IEEE80211_TX_STAT_AMPDU_NO_BACK;
}

/*
 * From the status alone, mac80211 estimates the airtime of 802.11n; of later standards it is told the rate beside it. Not
 * where it chooses the modes: its rate control takes all tries from the status, or from beside it.
 */
static void report_status(struct outcome *outcome)
{
	struct ieee80211_hdr *header = (struct ieee80211_hdr *)outcome->skb->data;
	struct ieee80211_rate_status rate = { .try_count = 1 };
	struct ieee80211_tx_status status = {
		.skb = outcome->skb,
		.info = IEEE80211_SKB_CB(outcome->skb),
		.rates = &rate,
		.n_rates = 1,
	};

	fill_tx_status(outcome->skb, outcome);
	if (outcome->radio->is.chooses || (!is_vht(outcome->mode) && !is_he(outcome->mode)))
		return ieee80211_tx_status_skb(outcome->radio->hw, outcome->skb);
	rate.rate_idx = rate_info_of(outcome->mode);
	status.sta = ieee80211_find_sta(outcome->radio->vif, header->addr1);
	ieee80211_tx_status_ext(outcome->radio->hw, &status);
}

static void tell(void)
{
	struct outcome *outcome;
	unsigned int number;

	while ((outcome = list_first_entry_or_null(&outcomes, struct outcome, list))) {
		list_del(&outcome->list);
		if (outcome->is_status) {
			report_status(outcome);
			outcome->radio->released |= outcome->radio->is.limits && outcome->mode;
		} else if (outcome->radio->vif && outcome->radio->hw->conf.chandef.chan) {
			fill_rx_status(outcome->skb, outcome->radio, outcome->mode);
			ieee80211_rx(outcome->radio->hw, outcome->skb);
		} else {
			dev_kfree_skb_any(outcome->skb);
		}
		kfree(outcome);
	}
	for (number = 0; number < radio_count; number++)
		if (radios[number]->released)
			serve_released(radios[number]);
}

static void tell_all(void)
{
	rcu_read_lock();
	tell();
	rcu_read_unlock();
}

static void tell_tasklet(struct tasklet_struct *tasklet)
{
	tell_all();
}

static void tell_later(struct radio *radio, struct sk_buff *skb, struct outcome of)
{
	struct outcome *outcome = kmalloc(sizeof(*outcome), GFP_ATOMIC);

	if (!outcome) {
		dev_kfree_skb_any(skb);
		return;
	}
	*outcome = of;
	outcome->radio = radio;
	outcome->skb = skb;
	list_add_tail(&outcome->list, &outcomes);
}

/* --- beside the air -------------------------------------------------------------------------------------------- */

/*
 * A frame as its receiver gets it, in memory as a receive buffer of mt76 takes it: 2 KiB [linux-6.12 mt76 dma.h
 * MT_RX_BUF_SIZE], which is a part of a page, so that TCP merges the frames of an aggregate [linux-6.12 skb_try_coalesce].
 * The receive window of TCP depends on both. There is no room behind the frame, in which TCP would store the next segment
 * without charging for it.
 */
#define RX_BUFFER 2048

static struct sk_buff *received_copy(const struct sk_buff *skb)
{
	const unsigned int room = SKB_WITH_OVERHEAD(RX_BUFFER) - NET_SKB_PAD;
	struct sk_buff *copy;

	if (skb->len > room)
		return skb_copy_expand(skb, 0, 0, GFP_ATOMIC);
	copy = dev_alloc_skb(room);
	if (!copy)
		return NULL;
	skb_reserve(copy, room - skb->len);
	if (skb_copy_bits(skb, 0, skb_put(copy, skb->len), skb->len)) {
		dev_kfree_skb_any(copy);
		return NULL;
	}
	return copy;
}

static void pass_copy(struct radio *to, struct sk_buff *skb)
{
	struct sk_buff *copy = received_copy(skb);

	if (copy)
		tell_later(to, copy, (struct outcome){});
}

static void send_beacon(struct radio *radio)
{
	struct sk_buff *skb;
	unsigned int number;

	if (!radio->vif || !radio->beacon_ns)
		return;
	skb = ieee80211_beacon_get(radio->hw, radio->vif, 0);
	if (!skb)
		return;
	for (number = 0; number < radio_count; number++)
		if (radios[number] != radio)
			pass_copy(radios[number], skb);
	tasklet_schedule(&telling);
	dev_kfree_skb_any(skb);
}

static enum hrtimer_restart beacon_due(struct hrtimer *timer)
{
	struct radio *radio = container_of(timer, struct radio, beacon);

	send_beacon(radio);
	hrtimer_forward_now(timer, ns_to_ktime(radio->beacon_ns));
	return HRTIMER_RESTART;
}

/* The frame arrives at once. */
static void pass(struct radio *from, struct sk_buff *skb)
{
	struct ieee80211_hdr *header = (struct ieee80211_hdr *)skb->data;
	struct radio *to = radio_at(header->addr1);
	unsigned int number;

	if (to)
		pass_copy(to, skb);
	else if (ieee80211_is_probe_req(header->frame_control))
		for (number = 0; number < radio_count; number++)
			send_beacon(radios[number]);
	else if (is_multicast_ether_addr(header->addr1))
		for (number = 0; number < radio_count; number++)
			if (radios[number] != from)
				pass_copy(radios[number], skb);
	tell_later(from, skb, (struct outcome){ .is_status = true, .acknowledged = to });
	tasklet_schedule(&telling);
}

static void pass_queue(struct radio *from, struct ieee80211_txq *queue)
{
	struct sk_buff *skb;

	while ((skb = ieee80211_tx_dequeue(from->hw, queue)))
		pass(from, skb);
}

/* --- the air asks ---------------------------------------------------------------------------------------------- */

static void end_of_air(const char *what, int error)
{
	panic("tailback: the process with the air %s (%d)", what, error);
}

static void send_all(void)
{
	int bytes = air.unsent_count * sizeof(*air.unsent), done;

	do {
		done = os_write_file(air.fd, air.unsent, bytes);
	} while (done == -EINTR);
	if (done != bytes)
		end_of_air("is gone", done);
	air.unsent_count = 0;
}

static void say(const struct air_message *message)
{
	air.unsent[air.unsent_count++] = *message;
	if (air.unsent_count == MAX_UNSENT)
		send_all();
}

static struct air_message next_message(void)
{
	struct air_message message;
	u8 *buffer = (u8 *)air.read;
	int got;

	if (air.unsent_count)
		send_all();
	while (air.have_bytes - air.handled_bytes < sizeof(message)) {
		memmove(buffer, buffer + air.handled_bytes, air.have_bytes - air.handled_bytes);
		air.have_bytes -= air.handled_bytes;
		air.handled_bytes = 0;
		do {
			got = os_read_file(air.fd, buffer + air.have_bytes, sizeof(air.read) - air.have_bytes);
		} while (got == -EINTR);
		if (got <= 0)
			end_of_air("is gone", got);
		air.have_bytes += got;
	}
	memcpy(&message, buffer + air.handled_bytes, sizeof(message));
	air.handled_bytes += sizeof(message);
	return message;
}

static struct ieee80211_txq *next_queue(struct radio *radio, u8 category)
{
	typeof(radio->turns[0]) *turn = &radio->turns[category];
	struct ieee80211_txq *queue;

	for (;;) {
		if (!turn->open) {
			ieee80211_txq_schedule_start(radio->hw, category);
			turn->open = true;
			turn->taken = 0;
		}
		queue = ieee80211_next_txq(radio->hw, category);
		if (queue && queue->sta) {
			turn->taken++;
			return queue;
		}
		if (queue) {
			pass_queue(radio, queue);
			ieee80211_return_txq(radio->hw, queue, false);
			continue;
		}
		ieee80211_txq_schedule_end(radio->hw, category);
		turn->open = false;
		/* Another round, if this one has served anybody. */
		if (!turn->taken)
			return NULL;
	}
}

static void answer_turn(struct radio *radio, u8 category)
{
	struct air_message answer = { .kind = AIR_TURN, .peer = AIR_NOBODY };
	struct ieee80211_txq *queue = next_queue(radio, category);

	if (queue) {
		answer.peer = ((struct peer *)queue->sta->drv_priv)->number;
		if (answer.peer < MAX_RADIOS)
			radio->turns[category].queues[answer.peer] = queue;
	}
	radio->turns[category].idle = !queue;
	say(&answer);
}

static struct on_air *frame_of(u32 token)
{
	struct on_air *frame = xa_load(&frames, token);

	if (!frame)
		panic("tailback: the air speaks of a frame %u that it does not have", token);
	return frame;
}

static struct air_message take_frame(struct radio *radio, u8 category, u16 peer)
{
	struct ieee80211_txq *queue = radio->turns[category].queues[peer];
	struct sk_buff *skb = queue ? ieee80211_tx_dequeue(radio->hw, queue) : NULL;
	struct air_message answer = { .kind = AIR_FRAME };
	struct on_air *frame;

	if (!skb)
		return answer;
	frame = kzalloc(sizeof(*frame), GFP_ATOMIC);
	if (!frame || xa_alloc_cyclic(&frames, &answer.token, frame, xa_limit_31b, &last_token, GFP_ATOMIC) < 0)
		panic("tailback: no memory for a frame");
	frame->skb = skb;
	frame->from = radio;
	frame->peer = peer;
	answer.bytes = skb->len + FCS_LEN;
	answer.category = chooses(radio, peer) && IEEE80211_SKB_CB(skb)->flags & IEEE80211_TX_CTL_RATE_CTRL_PROBE;
	return answer;
}

static void answer_frames(struct radio *radio, const struct air_message *asked)
{
	u64 longest = max_t(u64, AIR_LONGEST, asked->token) + AIR_BESIDE;
	u64 room = asked->number, count = 0;
	struct air_message answer;

	do {
		answer = take_frame(radio, asked->category, asked->peer);
		room -= min_t(u64, room, max(answer.bytes, asked->token) + AIR_BESIDE);
		answer.number = answer.bytes && !answer.category && ++count < asked->bytes && room >= longest;
		say(&answer);
	} while (answer.number);
}

/* As drivers that leave the rates to mac80211: its table for the station, and before it what it probes with this frame. */
static void answer_rates(struct radio *radio, const struct air_message *asked)
{
	struct ieee80211_txq *queue = radio->turns[asked->category].queues[asked->peer];
	struct air_message answer = { .kind = AIR_RATES };
	struct on_air *frame = frame_of(asked->token);
	struct ieee80211_tx_rate rates[AIR_MODES];
	unsigned int place;
	u16 mode;

	for (place = 0; place < AIR_MODES; place++)
		rates[place] = (struct ieee80211_tx_rate){ .idx = -1 };
	if (queue)
		ieee80211_get_tx_rates(radio->vif, queue->sta, frame->skb, rates, AIR_MODES);
	for (place = 0; place < AIR_MODES && rates[place].idx >= 0 && rates[place].count; place++) {
		mode = mode_of(&rates[place]);
		if (!mode)
			break;
		answer.number |= (u64)mode << (AIR_MODE_BITS * place);
		if (rates[place].flags & IEEE80211_TX_RC_USE_RTS_CTS)
			answer.category |= BIT(place);
	}
	/* Without one of 802.11n or later: the slowest of those. */
	if (!answer.number)
		answer.number = FIELD_PREP(AIR_TRIES, 1);
	answer.bytes = !!(IEEE80211_SKB_CB(frame->skb)->flags & IEEE80211_TX_CTL_RATE_CTRL_PROBE);
	say(&answer);
}

static void note_tried(struct radio *radio, const struct air_message *said)
{
	u64 modes;

	radio->tried = (struct tried){
		.modes = said->number,
		.frames = min(said->token, U8_MAX),
		.acknowledged = min(said->bytes, U8_MAX),
	};
	for (modes = said->number; modes; modes >>= AIR_MODE_BITS)
		radio->modes[said->peer] = modes & GENMASK(AIR_MODE_BITS - 1, 0);
}

static void activate(struct radio *radio, u8 category, u16 peer, bool again)
{
	struct ieee80211_txq *queue = radio->turns[category].queues[peer];

	if (queue)
		ieee80211_return_txq(radio->hw, queue, again);
}

static void charge(struct radio *radio, const struct air_message *said)
{
	struct ieee80211_txq *queue = radio->turns[said->category].queues[said->peer];
	u32 airtime_us = div_u64(said->number, NSEC_PER_USEC);
	struct ieee80211_sta *sta;

	if (!radio->is.fairness)
		return;
	if (said->kind == AIR_SENT && queue) {
		ieee80211_sta_register_airtime(queue->sta, queue->tid, airtime_us, 0);
	} else if (said->kind == AIR_HEARD && radio->vif) {
		sta = ieee80211_find_sta(radio->vif, radios[said->peer]->is.address);
		if (sta)
			ieee80211_sta_register_airtime(sta, queue ? queue->tid : 0, 0, airtime_us);
	}
}

static void forget(u32 token, struct on_air *frame)
{
	if (!frame->settled || !frame->arrived)
		return;
	xa_erase(&frames, token);
	kfree(frame);
}

static void settle(u32 token, bool acknowledged)
{
	struct outcome outcome = { .is_status = true, .acknowledged = acknowledged };
	struct on_air *frame = frame_of(token);
	struct radio *from = frame->from;

	if (!frame->arrived)
		frame->copy = received_copy(frame->skb);
	outcome.mode = mode_towards(from, frame->peer);
	if (chooses(from, frame->peer)) {
		outcome.tried = from->tried;
		outcome.rest = !from->tried.frames;
		from->tried.frames = 0;
	}
	tell_later(from, frame->skb, outcome);
	frame->settled = true;
	forget(token, frame);
}

static void arrive(u32 token, struct radio *to)
{
	struct on_air *frame = frame_of(token);
	struct sk_buff *copy = frame->settled ? frame->copy : to ? received_copy(frame->skb) : NULL;

	if (copy && to)
		tell_later(to, copy, (struct outcome){ .mode = mode_towards(frame->from, frame->peer) });
	else if (copy)
		dev_kfree_skb_any(copy);
	frame->arrived = true;
	forget(token, frame);
}

static void check(const struct air_message *said)
{
	bool known = said->radio < radio_count && said->category < IEEE80211_NUM_ACS;

	if (!known || (said->peer != AIR_NOBODY && said->peer >= radio_count))
		panic("tailback: the air speaks of radio %u, peer %u, category %u", said->radio, said->peer,
		      said->category);
}

static void handle(const struct air_message *said)
{
	struct radio *radio;

	check(said);
	radio = radios[said->radio];
	switch (said->kind) {
	case AIR_ASK_TURN:
		return answer_turn(radio, said->category);
	case AIR_ASK_FRAME:
		return answer_frames(radio, said);
	case AIR_ASK_RATES:
		return answer_rates(radio, said);
	case AIR_TRIED:
		return note_tried(radio, said);
	case AIR_ACTIVATE:
		return activate(radio, said->category, said->peer, said->bytes > 0);
	case AIR_SENT:
	case AIR_HEARD:
		return charge(radio, said);
	case AIR_STATUS:
		return settle(said->token, said->bytes > 0);
	case AIR_RECEIVED:
		return arrive(said->token, radio);
	case AIR_LOST:
		return arrive(said->token, NULL);
	default:
		panic("tailback: the air says something unknown (%u)", said->kind);
	}
}

static void call_once(const struct air_message *call)
{
	struct air_message said;

	air.busy = true;
	say(call);
	for (said = next_message(); said.kind != AIR_DONE; said = next_message())
		handle(&said);
	air.busy = false;
	if (said.number == AIR_NEVER)
		hrtimer_try_to_cancel(&air.timer);
	else
		hrtimer_start(&air.timer, ns_to_ktime(air.zero_ns + said.number), HRTIMER_MODE_ABS_SOFT);
}

static void call(struct air_message message)
{
	rcu_read_lock();
	call_once(&message);
	rcu_read_unlock();
}

static u64 now_ns(void)
{
	return ktime_get_ns() - air.zero_ns;
}

/*
 * As in the interrupt of a card, mac80211 is told here and not in another softirq. All hosts share one processor, and the
 * kernel leaves further softirqs to ksoftirqd once a process of any of them has been woken; there a small queue is not
 * filled before it is empty (tcp_wfree).
 */
static enum hrtimer_restart advance(struct hrtimer *timer)
{
	call((struct air_message){ .kind = AIR_ADVANCE, .number = now_ns() });
	tell_all();
	return HRTIMER_NORESTART;
}

static void wake_category(struct radio *radio, u8 category)
{
	/* Within a call the air asks by itself when it has space, and later if it has none now. */
	if (air.busy || !radio->turns[category].idle)
		return;
	call((struct air_message){
		.kind = AIR_WAKE, .radio = radio->number, .category = category, .number = now_ns() });
	if (!list_empty(&outcomes))
		tasklet_schedule(&telling);
}

/* As drivers with airtime queue limits do after they have reported status. */
static void serve_released(struct radio *radio)
{
	unsigned int category;

	radio->released = false;
	for (category = 0; category < IEEE80211_NUM_ACS; category++)
		wake_category(radio, category);
}

static void wake(struct ieee80211_hw *hw, struct ieee80211_txq *queue)
{
	struct radio *radio = hw->priv;

	if (!queue->sta || !on_air_now())
		return pass_queue(radio, queue);
	wake_category(radio, queue->ac);
}

/* --- what mac80211 asks of a driver ---------------------------------------------------------------------------- */

static void transmit(struct ieee80211_hw *hw, struct ieee80211_tx_control *control, struct sk_buff *skb)
{
	pass(hw->priv, skb);
}

static int start(struct ieee80211_hw *hw)
{
	return 0;
}

static void stop(struct ieee80211_hw *hw, bool suspend)
{
}

static int add_interface(struct ieee80211_hw *hw, struct ieee80211_vif *vif)
{
	struct radio *radio = hw->priv;

	if (radio->vif)
		return -EBUSY;
	radio->vif = vif;
	return 0;
}

static void remove_interface(struct ieee80211_hw *hw, struct ieee80211_vif *vif)
{
	struct radio *radio = hw->priv;

	hrtimer_cancel(&radio->beacon);
	radio->vif = NULL;
}

static int configure(struct ieee80211_hw *hw WHICH_RADIO, u32 changed)
{
	return 0;
}

static void configure_filter(struct ieee80211_hw *hw, unsigned int changed, unsigned int *flags, u64 multicast)
{
	*flags &= FIF_ALLMULTI | FIF_BCN_PRBRESP_PROMISC | FIF_PROBE_REQ;
}

static void bss_changed(struct ieee80211_hw *hw, struct ieee80211_vif *vif, struct ieee80211_bss_conf *bss, u64 changed)
{
	struct radio *radio = hw->priv;

	if (!(changed & BSS_CHANGED_BEACON_ENABLED))
		return;
	hrtimer_cancel(&radio->beacon);
	radio->beacon_ns = bss->enable_beacon ? (u64)bss->beacon_int * 1024 * NSEC_PER_USEC : 0;
	if (radio->beacon_ns)
		hrtimer_start(&radio->beacon, ns_to_ktime(radio->beacon_ns), HRTIMER_MODE_REL_SOFT);
}

static int sta_state(struct ieee80211_hw *hw, struct ieee80211_vif *vif, struct ieee80211_sta *sta,
		     enum ieee80211_sta_state before, enum ieee80211_sta_state after)
{
	struct peer *peer = (struct peer *)sta->drv_priv;
	struct radio *radio = hw->priv, *other;
	unsigned int category;

	if (before == IEEE80211_STA_NOTEXIST) {
		other = radio_at(sta->addr);
		peer->number = other ? other->number : AIR_NOBODY;
	}
	if (after == IEEE80211_STA_NOTEXIST && peer->number < MAX_RADIOS)
		for (category = 0; category < IEEE80211_NUM_ACS; category++)
			radio->turns[category].queues[peer->number] = NULL;
	return 0;
}

static int ampdu_action(struct ieee80211_hw *hw, struct ieee80211_vif *vif, struct ieee80211_ampdu_params *params)
{
	switch (params->action) {
	case IEEE80211_AMPDU_TX_START:
		return IEEE80211_AMPDU_TX_START_IMMEDIATE;
	case IEEE80211_AMPDU_TX_STOP_CONT:
	case IEEE80211_AMPDU_TX_STOP_FLUSH:
	case IEEE80211_AMPDU_TX_STOP_FLUSH_CONT:
		ieee80211_stop_tx_ba_cb_irqsafe(vif, params->sta->addr, params->tid);
		return 0;
	default:
		return 0;
	}
}

/* The air announces long frames by itself; a driver that chooses rates must have this. */
static int set_rts_threshold(struct ieee80211_hw *hw WHICH_RADIO, u32 bytes)
{
	return 0;
}

/* The air contends by parameters of its own. */
static int configure_queue(struct ieee80211_hw *hw, struct ieee80211_vif *vif, unsigned int link, u16 category,
			   const struct ieee80211_tx_queue_params *parameters)
{
	return 0;
}

static u32 expected_throughput(struct ieee80211_hw *hw, struct ieee80211_sta *sta)
{
	u16 peer = ((struct peer *)sta->drv_priv)->number;

	return peer < radio_count ? station_of(hw->priv, peer)->is.expected_kbps : 0;
}

static const struct ieee80211_ops operations = {
	.tx = transmit,
	.wake_tx_queue = wake,
	.start = start,
	.stop = stop,
	.add_interface = add_interface,
	.remove_interface = remove_interface,
	.config = configure,
	.configure_filter = configure_filter,
	.bss_info_changed = bss_changed,
	.sta_state = sta_state,
	.conf_tx = configure_queue,
	.set_rts_threshold = set_rts_threshold,
	.ampdu_action = ampdu_action,
	.get_expected_throughput = expected_throughput,
	.add_chanctx = ieee80211_emulate_add_chanctx,
	.remove_chanctx = ieee80211_emulate_remove_chanctx,
	.change_chanctx = ieee80211_emulate_change_chanctx,
	.switch_vif_chanctx = ieee80211_emulate_switch_vif_chanctx,
};

/* --- making radios --------------------------------------------------------------------------------------------- */

static const u16 legacy_rates[] = { 60, 90, 120, 180, 240, 360, 480, 540 };

/*
 * mac80211 gives more memory to the queues of such a radio, and its rate control has modes of 802.11ac. Several packets
 * in an MPDU are up to the air, so that the longest MPDU is the shortest one of the standard.
 */
static void fill_vht(struct ieee80211_sta_vht_cap *vht, const struct properties *is)
{
	u16 streams = 0xffff;
	unsigned int place;

	for (place = 0; place < is->streams; place++)
		streams ^= (IEEE80211_VHT_MCS_SUPPORT_0_9 ^ IEEE80211_VHT_MCS_NOT_SUPPORTED) << (2 * place);
	vht->vht_supported = true;
	vht->cap = IEEE80211_VHT_CAP_MAX_MPDU_LENGTH_3895 | IEEE80211_VHT_CAP_MAX_A_MPDU_LENGTH_EXPONENT_MASK |
		   (is->width == 160 ? IEEE80211_VHT_CAP_SUPP_CHAN_WIDTH_160MHZ : 0) |
		   (is->short_guard ? IEEE80211_VHT_CAP_SHORT_GI_80 | IEEE80211_VHT_CAP_SHORT_GI_160 : 0);
	vht->vht_mcs.rx_mcs_map = cpu_to_le16(streams);
	vht->vht_mcs.tx_mcs_map = cpu_to_le16(streams);
}

static void fill_band(struct radio *radio)
{
	struct ieee80211_supported_band *band = &radio->band;
	unsigned int place;

	for (place = 0; place < ARRAY_SIZE(radio->channels); place++) {
		radio->channels[place].band = NL80211_BAND_5GHZ;
		radio->channels[place].center_freq = 5180 + 20 * place;
		radio->channels[place].hw_value = 36 + 4 * place;
		radio->channels[place].max_power = 20;
	}
	for (place = 0; place < ARRAY_SIZE(radio->rates); place++) {
		radio->rates[place].bitrate = legacy_rates[place];
		radio->rates[place].hw_value = place;
	}
	band->band = NL80211_BAND_5GHZ;
	band->channels = radio->channels;
	band->n_channels = ARRAY_SIZE(radio->channels);
	band->bitrates = radio->rates;
	band->n_bitrates = ARRAY_SIZE(radio->rates);
	band->ht_cap.ht_supported = true;
	/* Without it, no radio is one of 802.11ac. */
	band->ht_cap.cap = (radio->is.width >= 40 || radio->is.vht ? IEEE80211_HT_CAP_SUP_WIDTH_20_40 : 0) |
			   (radio->is.short_guard ? IEEE80211_HT_CAP_SGI_20 | IEEE80211_HT_CAP_SGI_40 : 0);
	band->ht_cap.ampdu_factor = IEEE80211_HT_MAX_AMPDU_64K;
	band->ht_cap.ampdu_density = IEEE80211_HT_MPDU_DENSITY_NONE;
	memset(band->ht_cap.mcs.rx_mask, 0xff, min(radio->is.streams, 4U));
	band->ht_cap.mcs.tx_params = IEEE80211_HT_MCS_TX_DEFINED;
	if (radio->is.vht)
		fill_vht(&band->vht_cap, &radio->is);
}

static void fill_hardware(struct radio *radio)
{
	struct ieee80211_hw *hw = radio->hw;

	ieee80211_hw_set(hw, SIGNAL_DBM);
	ieee80211_hw_set(hw, AMPDU_AGGREGATION);
	ieee80211_hw_set(hw, REPORTS_TX_ACK_STATUS);
	ieee80211_hw_set(hw, SUPPORT_FAST_XMIT);
	if (radio->is.chooses)
		/* Asked for the rates when an aggregate is formed, and not when its frames are taken. */
		ieee80211_hw_set(hw, SUPPORTS_RC_TABLE);
	else
		ieee80211_hw_set(hw, HAS_RATE_CONTROL);
	hw->queues = IEEE80211_NUM_ACS;
	hw->max_rates = 4;
	hw->max_rate_tries = 10;
	hw->sta_data_size = sizeof(struct peer);
	if (radio->is.pacing_shift)
		hw->tx_sk_pacing_shift = radio->is.pacing_shift;
	hw->wiphy->interface_modes = BIT(NL80211_IFTYPE_STATION) | BIT(NL80211_IFTYPE_AP);
	hw->wiphy->regulatory_flags |= REGULATORY_CUSTOM_REG;
	hw->wiphy->bands[NL80211_BAND_5GHZ] = &radio->band;
	if (radio->is.fairness)
		wiphy_ext_feature_set(hw->wiphy, NL80211_EXT_FEATURE_AIRTIME_FAIRNESS);
	if (radio->is.limits)
		wiphy_ext_feature_set(hw->wiphy, NL80211_EXT_FEATURE_AQL);
	SET_IEEE80211_PERM_ADDR(hw, radio->is.address);
	wiphy_apply_custom_regulatory(hw->wiphy, &everywhere);
}

static int make_radio(const struct properties *is)
{
	struct ieee80211_hw *hw = ieee80211_alloc_hw(sizeof(struct radio), &operations);
	unsigned int category;
	struct radio *radio;
	int error;

	if (!hw)
		return -ENOMEM;
	radio = hw->priv;
	radio->hw = hw;
	radio->is = *is;
	radio->number = radio_count;
	for (category = 0; category < IEEE80211_NUM_ACS; category++)
		radio->turns[category].idle = true;
	hrtimer_setup(&radio->beacon, beacon_due, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	fill_band(radio);
	fill_hardware(radio);
	wiphy_net_set(hw->wiphy, current->nsproxy->net_ns);
	/* Its rate control looks into a parameter, too, and all that is built in shares one lock for them. */
	kernel_param_unlock(THIS_MODULE);
	error = ieee80211_register_hw(hw);
	kernel_param_lock(THIS_MODULE);
	if (error) {
		ieee80211_free_hw(hw);
		return error;
	}
	radios[radio_count++] = radio;
	return 0;
}

/* ADDRESS PACING_SHIFT MCS WIDTH SHORT_GUARD EXPECTED_KBPS FAIRNESS LIMITS STREAMS VARIES CHOOSES FORMAT VHT */
static int set_radio(const char *text, const struct kernel_param *parameter)
{
	struct properties is = {};
	char address[18];

	if (sscanf(text, "%17s %u %u %u %u %u %u %u %u %u %u %u %u", address, &is.pacing_shift, &is.mcs, &is.width,
		   &is.short_guard, &is.expected_kbps, &is.fairness, &is.limits, &is.streams, &is.varies,
		   &is.chooses, &is.format, &is.vht) != 13 || !mac_pton(address, is.address))
		return -EINVAL;
	if (is.streams < 1 || is.streams > 8 || is.width < 20 || is.width > 160 || is.format > AIR_HE_3200)
		return -EINVAL;
	/* That of 802.11n counts on from stream to stream. */
	if (is.format <= AIR_HT_400)
		is.mcs %= 8;
	if (radio_count == MAX_RADIOS || radio_at(is.address))
		return -EBUSY;
	return make_radio(&is);
}

static const struct kernel_param_ops radio_ops = { .set = set_radio };
module_param_cb(radio, &radio_ops, NULL, 0200);

static void start_sessions(void *data, struct ieee80211_sta *sta)
{
	unsigned int tid;

	for (tid = 0; tid < IEEE80211_NUM_UPS; tid++)
		ieee80211_start_tx_ba_session(sta, tid, 0);
}

/* Connects to the air, whose time is 0 when CLOCK_MONOTONIC shows this. */
static int set_zero(const char *text, const struct kernel_param *parameter)
{
	struct air_message hello = { .kind = AIR_HELLO, .number = AIR_PROTOCOL };
	int error = kstrtou64(text, 10, &air.zero_ns);
	unsigned int number;

	if (error)
		return error;
	if (air.fd >= 0)
		return -EBUSY;
	air.fd = os_connect_socket(AIR_SOCKET);
	if (air.fd < 0)
		return air.fd;
	hrtimer_setup(&air.timer, advance, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	for (number = 0; number < radio_count; number++)
		ieee80211_iterate_stations_atomic(radios[number]->hw, start_sessions, NULL);
	local_bh_disable();
	call(hello);
	local_bh_enable();
	return 0;
}

static const struct kernel_param_ops zero_ops = { .set = set_zero };
module_param_cb(zero, &zero_ops, NULL, 0200);
