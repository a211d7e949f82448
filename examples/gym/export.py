"""Writes a policy of evolve.py as a kernel module, and says what is left of its reward.

    python examples/gym/export.py policy.json --out tcp_policy.c
    python examples/gym/export.py policy.json --out tcp_policy.c --judge sim --judge uml

The kernel has no floating point: the module computes with 16 bits after the point. Logarithms are a series of the
inverse hyperbolic tangent after steps of two, and tanh follows from the exponential function.
"""

import argparse
import hashlib
import json
from pathlib import Path
from string import Template

import numpy as np
from evolve import INTERVAL, MOST_STEP, reward_of

import tailback
from tailback.gym.path import PATH, Setting

ONE = 1 << 16

SOURCE = Template("""\
// SPDX-License-Identifier: GPL-2.0 OR MIT
/* A window by a policy that was learned in tailback.gym: linear in the queueing delay, its trend, the window, the share
 * lost, and 1. Numbers have 16 bits after the point. For Linux 6.10 and later.
 */
#include <linux/math64.h>
#include <linux/module.h>
#include <net/tcp.h>

#define ONE (1LL << 16)
#define LN2 45426LL
#define LN10 150902LL
#define INTERVAL_US $interval_us
#define MOST_STEP ${most_step}LL
#define MOST_LOG ${most_log}LL

static const s64 weights[5] = { $weights };

struct policy {
	u64 next_us;
	u64 rtt_sum_us;
	s64 log_cwnd;
	u32 rtts;
	u32 acked;
	u32 lost;
};

/* ln(a / b) of positive numbers */
static s64 ln_ratio(u64 a, u64 b)
{
	s64 twos = 0, z, square;

	if (!a || !b)
		return 0;
	for (; a >= 2 * b; twos++)
		b *= 2;
	for (; a < b; twos--)
		a *= 2;
	z = div64_u64((a - b) << 16, a + b);
	square = z * z >> 16;
	return twos * LN2 + 2 * (z + div_s64(z * square >> 16, 3) + div_s64((z * square >> 16) * square >> 16, 5));
}

/* e to the x, of x from 0 to 10 */
static s64 exp_of(s64 x)
{
	s64 twos = div_s64(x, LN2), rest = x - twos * LN2, term = ONE, sum = ONE, n;

	for (n = 1; n <= 5; n++) {
		term = div_s64(term * rest >> 16, n);
		sum += term;
	}
	return sum << twos;
}

static s64 tanh_of(s64 x)
{
	s64 size = min_t(s64, x < 0 ? -x : x, 4 * ONE), e = exp_of(2 * size), found;

	found = div64_s64((e - ONE) << 16, e + ONE);
	return x < 0 ? -found : found;
}

static s64 choice(const struct sock *sk, const struct policy *ca)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 smooth = tp->srtt_us >> 3, least = max_t(u64, tcp_min_rtt(tp), 1), mean = smooth;
	s64 sum = weights[4];

	if (ca->rtts)
		mean = div64_u64(ca->rtt_sum_us, ca->rtts);
	if (smooth) {
		sum += weights[0] * ln_ratio(max_t(u64, mean, 1), least) >> 16;
		sum += weights[1] * ln_ratio(max_t(u64, mean, 1), smooth) >> 16;
	}
	sum += weights[2] * div_s64(ln_ratio(max(tcp_snd_cwnd(tp), 1U), 1), 5) >> 16;
	sum += weights[3] * div64_u64((u64)ca->lost << 16, max(ca->acked + ca->lost, 1U)) >> 16;
	return sum;
}

static void policy_init(struct sock *sk)
{
	struct policy *ca = inet_csk_ca(sk);

	memset(ca, 0, sizeof(*ca));
	ca->log_cwnd = LN10;
}

static void policy_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct policy *ca = inet_csk_ca(sk);

	if (rs->rtt_us > 0) {
		ca->rtt_sum_us += rs->rtt_us;
		ca->rtts++;
	}
	ca->acked += rs->acked_sacked;
	ca->lost += rs->losses;
	if (tp->tcp_mstamp >= ca->next_us) {
		ca->log_cwnd += MOST_STEP * tanh_of(choice(sk, ca)) >> 16;
		ca->log_cwnd = clamp_t(s64, ca->log_cwnd, 0, MOST_LOG);
		ca->next_us = tp->tcp_mstamp + INTERVAL_US;
		ca->rtt_sum_us = 0;
		ca->rtts = ca->acked = ca->lost = 0;
	}
	tcp_snd_cwnd_set(tp, max_t(u32, (exp_of(ca->log_cwnd) + ONE / 2) >> 16, 1));
}

static u32 policy_ssthresh(struct sock *sk)
{
	return tcp_snd_cwnd(tcp_sk(sk));
}

static struct tcp_congestion_ops policy __read_mostly = {
	.init = policy_init,
	.cong_control = policy_control,
	.ssthresh = policy_ssthresh,
	.undo_cwnd = tcp_reno_undo_cwnd,
	.owner = THIS_MODULE,
	.name = "policy",
};

static int __init policy_register(void)
{
	BUILD_BUG_ON(sizeof(struct policy) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&policy);
}

static void __exit policy_unregister(void)
{
	tcp_unregister_congestion_control(&policy);
}

module_init(policy_register);
module_exit(policy_unregister);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("A policy that was learned in tailback.gym");
""")


def fixed(number):
    """A number with 16 bits after the point."""
    return round(float(number) * ONE)


def module(policy):
    """The source of the module."""
    return SOURCE.substitute(
        weights=", ".join(f"{fixed(each)}LL" for each in policy),
        interval_us=int(INTERVAL.removesuffix("ms")) * 1000,
        most_step=fixed(MOST_STEP),
        most_log=fixed(np.log(Setting().actions.cwnd.most)),
    )


def reward(file, control, backend, out):
    """The mean reward of a control over the intervals of a run."""
    settings = [f"cc={control}", f"measure.interval={INTERVAL}"]
    found = tailback.run(file, settings=settings, backend=backend, out=out).runs[0]
    table = found.tcp_info[found.tcp_info["rtt"] > 0]
    goodput = table["bytes_acked"].diff().fillna(0) * 8e-6 / (1e-3 * float(INTERVAL.removesuffix("ms")))
    return float(np.mean(reward_of(goodput, table["rtt"], table["min_rtt"])))


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("policy", type=Path)
    words.add_argument("--out", type=Path, default=Path("tcp_policy.c"))
    words.add_argument("--judge", action="append", default=[], help="a backend; may be repeated")
    asked = words.parse_args()
    learned = json.loads(asked.policy.read_text())
    asked.out.write_text(module(learned["policy"]))
    experiment = asked.out.with_suffix(".yaml")
    experiment.write_text(PATH)
    print(f"in tailback.gym: {learned['reward']:.3f}")
    for backend in asked.judge:
        digest = hashlib.sha256(asked.out.read_bytes()).hexdigest()[:12]
        results = asked.out.parent / "judged" / digest / backend
        for name, control in (("policy", str(asked.out.resolve())), ("cubic", "cubic")):
            found = reward(experiment, control, backend, results / name)
            print(f"{name} on {backend}: {found:.3f}", flush=True)


if __name__ == "__main__":
    main()
