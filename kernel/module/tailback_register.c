// SPDX-License-Identifier: GPL-2.0
/*
 * Part of a module of the user that is built for a kernel: registers its congestion control under the name that a run
 * gives it, and looks after each call of it. The name in the user's file may be that of a control that the kernel has
 * already, as `cubic`. In the user's file, `tcp_register_congestion_control` is compiled as `tailback_register`.
 *
 * A control that writes beyond its private area, or sets cwnd to 0, ends no kernel: it ends the flow, or changes it. The
 * first of either is said in a line that `backends/linux/own_modules.py` reads.
 */
#include <linux/printk.h>
#include <linux/string.h>
#include <net/tcp.h>

int tailback_register(struct tcp_congestion_ops *ops);
void tailback_unregister(struct tcp_congestion_ops *ops);

static struct tcp_congestion_ops *theirs;
static struct tcp_congestion_ops guarded;

/*
 * The call in progress, as text that ends with a zero byte, and how many there were: what is outside of a guest reads
 * them when virtual time stands still.
 */
static struct {
	char call[24];
	u64 count;
} progress;

/* What lies around the private area, and no control writes. */
struct around {
	u64 before;
	u64 after[2];
};

static void look(const struct sock *sk, struct around *found)
{
	const char *csk = (const char *)inet_csk(sk);

	memcpy(&found->before, csk + offsetof(struct inet_connection_sock, icsk_ca_priv) - sizeof(u64), sizeof(u64));
	memcpy(found->after, csk + sizeof(struct inet_connection_sock), sizeof(found->after));
}

static void begin(const struct sock *sk, const char *call, struct around *found)
{
	look(sk, found);
	progress.count++;
	strscpy(progress.call, call, sizeof(progress.call));
}

static void end(const struct sock *sk, const struct around *found)
{
	static bool said_beyond, said_zero;
	struct around now;

	look(sk, &now);
	if (unlikely(memcmp(&now, found, sizeof(now))) && !said_beyond) {
		said_beyond = true;
		pr_err("tailback: %s: %s: it wrote beyond its private area (icsk_ca_priv of %zu bytes)\n",
		       TAILBACK_NAME, progress.call, sizeof(inet_csk(sk)->icsk_ca_priv));
	}
	if (unlikely(!tcp_sk(sk)->snd_cwnd) && !said_zero) {
		said_zero = true;
		pr_err("tailback: %s: %s: it set cwnd to 0\n", TAILBACK_NAME, progress.call);
	}
	progress.call[0] = 0;
}

#define GUARDED(member, parameters, ...) \
	static void guarded_##member parameters \
	{ \
		struct around found; \
		begin(sk, #member, &found); \
		theirs->member(__VA_ARGS__); \
		end(sk, &found); \
	}

#define GUARDED_RESULT(member) \
	static u32 guarded_##member(struct sock *sk) \
	{ \
		struct around found; \
		u32 result; \
		begin(sk, #member, &found); \
		result = theirs->member(sk); \
		end(sk, &found); \
		return result; \
	}

GUARDED(init, (struct sock *sk), sk)
GUARDED(cong_avoid, (struct sock *sk, u32 ack, u32 acked), sk, ack, acked)
GUARDED(set_state, (struct sock *sk, u8 state), sk, state)
GUARDED(cwnd_event, (struct sock *sk, enum tcp_ca_event event), sk, event)
GUARDED(in_ack_event, (struct sock *sk, u32 flags), sk, flags)
GUARDED(pkts_acked, (struct sock *sk, const struct ack_sample *sample), sk, sample)
GUARDED_RESULT(ssthresh)
GUARDED_RESULT(undo_cwnd)
#ifdef TAILBACK_HAS_CWND_EVENT_TX_START
GUARDED(cwnd_event_tx_start, (struct sock *sk), sk)
#endif
#ifdef TAILBACK_HAS_CONG_CONTROL_OF_FOUR
GUARDED(cong_control, (struct sock *sk, u32 ack, int flag, const struct rate_sample *rs), sk, ack, flag, rs)
#else
GUARDED(cong_control, (struct sock *sk, const struct rate_sample *rs), sk, rs)
#endif

#define GUARD(member) do { if (theirs->member) guarded.member = guarded_##member; } while (0)

int tailback_register(struct tcp_congestion_ops *ops)
{
	if (theirs)
		return tcp_register_congestion_control(ops);
	theirs = ops;
	guarded = *ops;
	strscpy(guarded.name, TAILBACK_NAME, sizeof(guarded.name));
	GUARD(init);
	GUARD(cong_avoid);
	GUARD(set_state);
	GUARD(cwnd_event);
	GUARD(in_ack_event);
	GUARD(pkts_acked);
	GUARD(ssthresh);
	GUARD(undo_cwnd);
	GUARD(cong_control);
#ifdef TAILBACK_HAS_CWND_EVENT_TX_START
	GUARD(cwnd_event_tx_start);
#endif
	/* Addresses are for those outside of a guest alone. */
	if (IS_ENABLED(CONFIG_UML))
		pr_info("tailback: %s: calls are noted at %px\n", TAILBACK_NAME, &progress);
	else
		pr_info("tailback: %s: registered\n", TAILBACK_NAME);
	return tcp_register_congestion_control(&guarded);
}

void tailback_unregister(struct tcp_congestion_ops *ops)
{
	tcp_unregister_congestion_control(ops == theirs ? &guarded : ops);
}
