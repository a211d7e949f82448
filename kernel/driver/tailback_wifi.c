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
 * Deviations: management frames, frames to all stations, and everything before time 0 arrive at once and take no airtime,
 * nor do the beacons that stations get (the air has beacons of its own). A probe request is answered by a beacon. Radios
 * have no power save and cannot leave their channel.
 */
#include <linux/etherdevice.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/nsproxy.h>
#include <linux/xarray.h>
#include <net/cfg80211.h>
#include <net/mac80211.h>
#include <net/net_namespace.h>
#include <os.h>

#include "air.h"

#define MAX_RADIOS 256
#define MAX_READ 64
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
} air = { .fd = -1 };

/* What a radio is told at its creation. */
struct properties {
	u8 address[ETH_ALEN];
	/* mac80211's default if it is 0. */
	unsigned int pacing_shift;
	/* The fixed mode of its data. */
	unsigned int mcs;
	unsigned int width;
	unsigned int short_guard;
	unsigned int expected_kbps;
	/* mac80211 distributes airtime; it limits what is below it. */
	unsigned int fairness;
	unsigned int limits;
};

struct radio {
	struct ieee80211_hw *hw;
	u16 number;
	struct properties is;
	struct ieee80211_vif *vif;
	struct hrtimer beacon;
	u64 beacon_ns;
	/* For each access category. */
	struct {
		bool open;
		unsigned int taken;
		bool waiting;
		/* The queue that a peer was served from last. */
		struct ieee80211_txq *queues[MAX_RADIOS];
	} turns[IEEE80211_NUM_ACS];
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
	/* The station of the two ends, whose mode it has. */
	struct radio *station;
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
	/* It went over the air, in the mode of this station. */
	struct radio *mode;
};

static LIST_HEAD(outcomes);
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

static bool on_air_now(void)
{
	return air.fd >= 0 && ktime_get_ns() >= air.zero_ns;
}

/* --- what mac80211 is told ------------------------------------------------------------------------------------- */

static void fill_rx_status(struct sk_buff *skb, struct radio *to, struct radio *mode)
{
	struct ieee80211_rx_status *status = IEEE80211_SKB_RXCB(skb);
	struct ieee80211_channel *channel = to->hw->conf.chandef.chan;

	memset(status, 0, sizeof(*status));
	status->freq = channel->center_freq;
	status->band = channel->band;
	status->signal = -40;
	if (mode) {
		status->encoding = RX_ENC_HT;
		status->rate_idx = mode->is.mcs;
		status->bw = mode->is.width == 40 ? RATE_INFO_BW_40 : RATE_INFO_BW_20;
		status->enc_flags = mode->is.short_guard ? RX_ENC_FLAG_SHORT_GI : 0;
	}
}

static void fill_tx_status(struct sk_buff *skb, struct outcome *outcome)
{
	struct ieee80211_tx_info *info = IEEE80211_SKB_CB(skb);
	struct radio *mode = outcome->mode;

	ieee80211_tx_info_clear_status(info);
	info->status.rates[0].idx = mode ? mode->is.mcs : 0;
	info->status.rates[0].count = 1;
	info->status.rates[1].idx = -1;
	if (mode) {
		info->status.rates[0].flags = IEEE80211_TX_RC_MCS |
			(mode->is.width == 40 ? IEEE80211_TX_RC_40_MHZ_WIDTH : 0) |
			(mode->is.short_guard ? IEEE80211_TX_RC_SHORT_GI : 0);
	}
	if (outcome->acknowledged)
		info->flags |= IEEE80211_TX_STAT_ACK;
	else if (info->flags & IEEE80211_TX_CTL_AMPDU)
		/* Its receiver is to wait for it no longer. */
		info->flags |= IEEE80211_TX_STAT_AMPDU_NO_BACK;
}

static void tell(void)
{
	struct outcome *outcome;

	while ((outcome = list_first_entry_or_null(&outcomes, struct outcome, list))) {
		list_del(&outcome->list);
		if (outcome->is_status) {
			fill_tx_status(outcome->skb, outcome);
			ieee80211_tx_status_skb(outcome->radio->hw, outcome->skb);
		} else if (outcome->radio->hw->conf.chandef.chan) {
			fill_rx_status(outcome->skb, outcome->radio, outcome->mode);
			ieee80211_rx(outcome->radio->hw, outcome->skb);
		} else {
			dev_kfree_skb_any(outcome->skb);
		}
		kfree(outcome);
	}
}

static void tell_tasklet(struct tasklet_struct *tasklet)
{
	rcu_read_lock();
	tell();
	rcu_read_unlock();
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
	tasklet_schedule(&telling);
}

/* --- beside the air -------------------------------------------------------------------------------------------- */

static void pass_copy(struct radio *to, struct sk_buff *skb)
{
	struct sk_buff *copy = skb_copy(skb, GFP_ATOMIC);

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

static void say(const struct air_message *message)
{
	int done;

	do {
		done = os_write_file(air.fd, message, sizeof(*message));
	} while (done == -EINTR);
	if (done != sizeof(*message))
		end_of_air("is gone", done);
}

static struct air_message next_message(void)
{
	struct air_message message;
	u8 *buffer = (u8 *)air.read;
	int got;

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
	say(&answer);
}

static void answer_frame(struct radio *radio, u8 category, u16 peer)
{
	struct ieee80211_txq *queue = radio->turns[category].queues[peer];
	struct sk_buff *skb = queue ? ieee80211_tx_dequeue(radio->hw, queue) : NULL;
	struct air_message answer = { .kind = AIR_FRAME };
	struct on_air *frame;

	if (skb) {
		frame = kzalloc(sizeof(*frame), GFP_ATOMIC);
		if (!frame || xa_alloc_cyclic(&frames, &answer.token, frame, xa_limit_31b, &last_token, GFP_ATOMIC) < 0)
			panic("tailback: no memory for a frame");
		frame->skb = skb;
		frame->from = radio;
		frame->station = station_of(radio, peer);
		answer.bytes = skb->len + FCS_LEN;
	}
	say(&answer);
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

static struct on_air *frame_of(u32 token)
{
	struct on_air *frame = xa_load(&frames, token);

	if (!frame)
		panic("tailback: the air speaks of a frame %u that it does not have", token);
	return frame;
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
	struct on_air *frame = frame_of(token);

	if (!frame->arrived)
		frame->copy = skb_copy(frame->skb, GFP_ATOMIC);
	tell_later(frame->from, frame->skb,
		   (struct outcome){ .is_status = true, .acknowledged = acknowledged, .mode = frame->station });
	frame->settled = true;
	forget(token, frame);
}

static void arrive(u32 token, struct radio *to)
{
	struct on_air *frame = frame_of(token);
	struct sk_buff *copy = frame->settled ? frame->copy : to ? skb_copy(frame->skb, GFP_ATOMIC) : NULL;

	if (copy && to)
		tell_later(to, copy, (struct outcome){ .mode = frame->station });
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
		return answer_frame(radio, said->category, said->peer);
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

static enum hrtimer_restart advance(struct hrtimer *timer)
{
	call((struct air_message){ .kind = AIR_ADVANCE, .number = now_ns() });
	return HRTIMER_NORESTART;
}

static void wake(struct ieee80211_hw *hw, struct ieee80211_txq *queue)
{
	struct radio *radio = hw->priv;

	if (!queue->sta || !on_air_now())
		return pass_queue(radio, queue);
	/* Within a call the air asks by itself when it has space. */
	if (!air.busy)
		call((struct air_message){
			.kind = AIR_WAKE, .radio = radio->number, .category = queue->ac, .number = now_ns() });
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

static int configure(struct ieee80211_hw *hw, u32 changed)
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
static int set_rts_threshold(struct ieee80211_hw *hw, u32 bytes)
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
	band->ht_cap.cap = IEEE80211_HT_CAP_SUP_WIDTH_20_40 | IEEE80211_HT_CAP_SGI_20 | IEEE80211_HT_CAP_SGI_40;
	band->ht_cap.ampdu_factor = IEEE80211_HT_MAX_AMPDU_64K;
	band->ht_cap.ampdu_density = IEEE80211_HT_MPDU_DENSITY_NONE;
	memset(band->ht_cap.mcs.rx_mask, 0xff, 4);
	band->ht_cap.mcs.tx_params = IEEE80211_HT_MCS_TX_DEFINED;
}

static void fill_hardware(struct radio *radio)
{
	struct ieee80211_hw *hw = radio->hw;

	ieee80211_hw_set(hw, SIGNAL_DBM);
	ieee80211_hw_set(hw, AMPDU_AGGREGATION);
	ieee80211_hw_set(hw, REPORTS_TX_ACK_STATUS);
	ieee80211_hw_set(hw, SUPPORT_FAST_XMIT);
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
	struct radio *radio;
	int error;

	if (!hw)
		return -ENOMEM;
	radio = hw->priv;
	radio->hw = hw;
	radio->is = *is;
	radio->number = radio_count;
	hrtimer_init(&radio->beacon, CLOCK_MONOTONIC, HRTIMER_MODE_REL_SOFT);
	radio->beacon.function = beacon_due;
	fill_band(radio);
	fill_hardware(radio);
	wiphy_net_set(hw->wiphy, current->nsproxy->net_ns);
	error = ieee80211_register_hw(hw);
	if (error) {
		ieee80211_free_hw(hw);
		return error;
	}
	radios[radio_count++] = radio;
	return 0;
}

/* ADDRESS PACING_SHIFT MCS WIDTH SHORT_GUARD EXPECTED_KBPS FAIRNESS LIMITS */
static int set_radio(const char *text, const struct kernel_param *parameter)
{
	struct properties is = {};
	char address[18];

	if (sscanf(text, "%17s %u %u %u %u %u %u %u", address, &is.pacing_shift, &is.mcs, &is.width, &is.short_guard,
		   &is.expected_kbps, &is.fairness, &is.limits) != 8 || !mac_pton(address, is.address))
		return -EINVAL;
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
	hrtimer_init(&air.timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	air.timer.function = advance;
	for (number = 0; number < radio_count; number++)
		ieee80211_iterate_stations_atomic(radios[number]->hw, start_sessions, NULL);
	local_bh_disable();
	call(hello);
	local_bh_enable();
	return 0;
}

static const struct kernel_param_ops zero_ops = { .set = set_zero };
module_param_cb(zero, &zero_ops, NULL, 0200);
