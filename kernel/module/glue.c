// SPDX-License-Identifier: GPL-2.0
/*
 * Runs one congestion control module outside of a kernel: it lays the facts of a simulated sender into a struct
 * tcp_sock, calls the module, and reads back what the module decided. And it is the kernel for that module: the
 * functions that controls call, written from what they are documented to do.
 *
 * It is compiled on the user's machine, together with the module and against the headers of a kernel.
 */
#include <linux/bug.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/win_minmax.h>
#include <linux/inet_diag.h>
#include <net/tcp.h>

#include "abi.h"

#define SHOWN __attribute__((visibility("default")))
#define MOST_CONTROLS 8

/*
 * The headers of one kernel declare a function, those of another define it in line, or know another name or one more
 * parameter that does not matter here. Such a function is ours, and the kernel's name is one for the linker alone.
 */
#define OURS __attribute__((used)) static
#define ALSO(name, ours) __asm__(".globl " #name "\n.set " #name ", " #ours)

static const struct tailback_host *host;
static struct tcp_congestion_ops *controls[MOST_CONTROLS];
static u32 registered;
static u64 now_ns;

char __this_module_memory[4096] __asm__("__this_module") __attribute__((aligned(64)));

/* The time. */

unsigned long volatile jiffies;
u64 jiffies_64;

OURS unsigned int our_jiffies_to_msecs(unsigned long j)
{
	return j * (MSEC_PER_SEC / HZ);
}

OURS unsigned int our_jiffies_to_usecs(unsigned long j)
{
	return j * (USEC_PER_SEC / HZ);
}

ALSO(jiffies_to_msecs, our_jiffies_to_msecs);
ALSO(jiffies_to_usecs, our_jiffies_to_usecs);

unsigned long __msecs_to_jiffies(const unsigned int m)
{
	if ((int)m < 0)
		return MAX_JIFFY_OFFSET;
	return DIV_ROUND_UP((u64)m * HZ, MSEC_PER_SEC);
}

unsigned long __usecs_to_jiffies(const unsigned int u)
{
	return DIV_ROUND_UP((u64)u * HZ, USEC_PER_SEC);
}

u64 nsecs_to_jiffies64(u64 n)
{
	return n / (NSEC_PER_SEC / HZ);
}

unsigned long nsecs_to_jiffies(u64 n)
{
	return n / (NSEC_PER_SEC / HZ);
}

u64 jiffies64_to_nsecs(u64 j)
{
	return j * (NSEC_PER_SEC / HZ);
}

u64 jiffies64_to_msecs(u64 j)
{
	return j * (MSEC_PER_SEC / HZ);
}

ktime_t ktime_get(void) { return now_ns; }
ktime_t ktime_get_with_offset(enum tk_offsets offs) { return now_ns; }
ktime_t ktime_get_coarse_with_offset(enum tk_offsets offs) { return now_ns; }
ktime_t ktime_get_raw(void) { return now_ns; }
u64 ktime_get_mono_fast_ns(void) { return now_ns; }
u64 ktime_get_raw_fast_ns(void) { return now_ns; }
time64_t ktime_get_seconds(void) { return now_ns / NSEC_PER_SEC; }
time64_t ktime_get_real_seconds(void) { return now_ns / NSEC_PER_SEC; }
unsigned long long sched_clock(void) { return now_ns; }

/* Processing takes no time: a delay is over at once. */
OURS void our_delay(unsigned long length) { }
ALSO(__udelay, our_delay);
ALSO(__ndelay, our_delay);
ALSO(__const_udelay, our_delay);
ALSO(time_travel_ndelay, our_delay);
OURS unsigned int our_time_travel_mode;
ALSO(time_travel_mode, our_time_travel_mode);

void tcp_mstamp_refresh(struct tcp_sock *tp)
{
	tp->tcp_clock_cache = now_ns;
	tp->tcp_mstamp = now_ns / NSEC_PER_USEC;
}

/* Memory and strings. */

void *memcpy(void *to, const void *from, size_t count)
{
	unsigned char *t = to;
	const unsigned char *f = from;

	while (count--)
		*t++ = *f++;
	return to;
}

void *memmove(void *to, const void *from, size_t count)
{
	unsigned char *t = to;
	const unsigned char *f = from;

	if (t <= f)
		return memcpy(to, from, count);
	while (count--)
		t[count] = f[count];
	return to;
}

void *memset(void *of, int value, size_t count)
{
	unsigned char *t = of;

	while (count--)
		*t++ = value;
	return of;
}

int memcmp(const void *one, const void *other, size_t count)
{
	const unsigned char *a = one, *b = other;

	for (; count; count--, a++, b++)
		if (*a != *b)
			return *a - *b;
	return 0;
}

size_t strlen(const char *text)
{
	const char *end = text;

	while (*end)
		end++;
	return end - text;
}

int strcmp(const char *one, const char *other)
{
	for (; *one && *one == *other; one++, other++)
		;
	return (unsigned char)*one - (unsigned char)*other;
}

int strncmp(const char *one, const char *other, size_t count)
{
	for (; count && *one && *one == *other; one++, other++, count--)
		;
	return count ? (unsigned char)*one - (unsigned char)*other : 0;
}

char *strcpy(char *to, const char *from)
{
	return memcpy(to, from, strlen(from) + 1);
}

int vsnprintf(char *text, size_t size, const char *format, va_list arguments)
{
	return host->format(text, size, format, arguments);
}

int vscnprintf(char *text, size_t size, const char *format, va_list arguments)
{
	int written = host->format(text, size, format, arguments);

	return size && written >= (int)size ? (int)size - 1 : written;
}

int snprintf(char *text, size_t size, const char *format, ...)
{
	va_list arguments;
	int written;

	va_start(arguments, format);
	written = vsnprintf(text, size, format, arguments);
	va_end(arguments);
	return written;
}

int scnprintf(char *text, size_t size, const char *format, ...)
{
	va_list arguments;
	int written;

	va_start(arguments, format);
	written = vscnprintf(text, size, format, arguments);
	va_end(arguments);
	return written;
}

int sprintf(char *text, const char *format, ...)
{
	va_list arguments;
	int written;

	va_start(arguments, format);
	written = vsnprintf(text, INT_MAX, format, arguments);
	va_end(arguments);
	return written;
}

static void warned(const char *format, ...);

/* What a module may hold. More is a leak, of which a kernel would run out, too. */
#define MOST_HELD (256UL << 20)

static size_t held;

/* Each block begins with its size, for krealloc. */
static void *block_of(size_t size)
{
	static bool told;
	size_t *block;

	if (size > MOST_HELD - held) {
		if (!told)
			warned("kmalloc, %zu bytes beside %zu that it holds: no memory is left", size, held);
		told = true;
		return NULL;
	}
	block = host->allocate(size + 16);
	if (!block)
		return NULL;
	held += size;
	*block = size;
	return (char *)block + 16;
}

OURS void *our_kmalloc(size_t size, gfp_t flags)
{
	if (size <= KMALLOC_MAX_SIZE)
		return block_of(size);
	if (!(flags & __GFP_NOWARN))
		warned("kmalloc, %lu bytes, which are more than KMALLOC_MAX_SIZE (%lu)", size, KMALLOC_MAX_SIZE);
	return NULL;
}

OURS void *our_kmalloc_of_cache(struct kmem_cache *s, gfp_t flags, size_t size)
{
	return our_kmalloc(size, flags);
}

OURS void our_kfree(const void *memory)
{
	size_t *block = (size_t *)((char *)memory - 16);

	if (ZERO_OR_NULL_PTR(memory))
		return;
	held -= *block;
	host->release(block);
}

OURS void *our_krealloc(const void *memory, size_t size)
{
	void *moved = our_kmalloc(size, GFP_KERNEL);

	if (!moved)
		return NULL;
	if (!ZERO_OR_NULL_PTR(memory))
		memcpy(moved, memory, min(size, *(size_t *)((char *)memory - 16)));
	our_kfree(memory);
	return moved;
}

OURS void *our_vmalloc(unsigned long size)
{
	return size <= INT_MAX ? block_of(size) : NULL;
}

ALSO(__kmalloc, our_kmalloc);
ALSO(__kmalloc_noprof, our_kmalloc);
ALSO(__kmalloc_node, our_kmalloc);
ALSO(__kmalloc_node_noprof, our_kmalloc);
ALSO(__kmalloc_large_noprof, our_kmalloc);
ALSO(kmalloc_large, our_kmalloc);
ALSO(kmalloc_order, our_kmalloc);
ALSO(kmalloc_order_trace, our_kmalloc);
ALSO(__kmalloc_cache_noprof, our_kmalloc_of_cache);
ALSO(kmalloc_trace, our_kmalloc_of_cache);
ALSO(kmem_cache_alloc_trace, our_kmalloc_of_cache);
ALSO(krealloc, our_krealloc);
ALSO(krealloc_noprof, our_krealloc);
ALSO(krealloc_node_align_noprof, our_krealloc);
ALSO(kfree, our_kfree);
ALSO(kfree_sensitive, our_kfree);
ALSO(vmalloc, our_vmalloc);
ALSO(vmalloc_noprof, our_vmalloc);
ALSO(vzalloc, our_vmalloc);
ALSO(vzalloc_noprof, our_vmalloc);
ALSO(kvmalloc_node, our_vmalloc);
ALSO(__kvmalloc_node_noprof, our_vmalloc);
ALSO(vfree, our_kfree);
ALSO(kvfree, our_kfree);

/* Of the caches of small blocks there are only the names. */
OURS void *our_kmalloc_caches[NR_KMALLOC_TYPES * (KMALLOC_SHIFT_HIGH + 1)];
ALSO(kmalloc_caches, our_kmalloc_caches);

/* Random numbers, of the run's seed. */

u8 get_random_u8(void) { return host->random() >> 24; }
u16 get_random_u16(void) { return host->random() >> 16; }
u32 get_random_u32(void) { return host->random(); }
OURS u32 our_random(void) { return host->random(); }
ALSO(prandom_u32, our_random);

u64 get_random_u64(void)
{
	u64 high = host->random();

	return high << 32 | host->random();
}

u32 __get_random_u32_below(u32 bound)
{
	return ((u64)get_random_u32() * bound) >> 32;
}

void get_random_bytes(void *to, size_t count)
{
	u8 *byte = to;

	while (count--)
		*byte++ = get_random_u8();
}

/* Arithmetic. */

unsigned long int_sqrt(unsigned long x)
{
	unsigned long root = 0, bit;

	for (bit = 1UL << ((BITS_PER_LONG - 2) & ~1); bit; bit >>= 2) {
		unsigned long with = root + bit;

		root >>= 1;
		if (x >= with) {
			x -= with;
			root += bit;
		}
	}
	return root;
}

unsigned long gcd(unsigned long a, unsigned long b)
{
	while (b) {
		unsigned long rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

unsigned long lcm(unsigned long a, unsigned long b)
{
	return a && b ? a / gcd(a, b) * b : 0;
}

/*
 * The best of a window of time, of which three candidates are kept: the best, and the best after it, and the best after
 * that. A candidate that a newer value equals or beats is of no use.
 */
static u32 minmax_update(struct minmax *m, u32 window, struct minmax_sample new, bool is_maximum)
{
	struct minmax_sample *s = m->s;
	bool beats[3];
	int i;

	for (i = 0; i < 3; i++)
		beats[i] = is_maximum ? new.v >= s[i].v : new.v <= s[i].v;
	if (beats[0] || new.t - s[2].t > window)
		return minmax_reset(m, new.t, new.v);
	if (beats[1])
		s[1] = s[2] = new;
	else if (beats[2])
		s[2] = new;
	if (new.t - s[0].t > window) {
		s[0] = s[1];
		s[1] = s[2];
		s[2] = new;
		if (new.t - s[0].t > window) {
			s[0] = s[1];
			s[1] = new;
		}
	} else if (s[1].t == s[0].t && new.t - s[0].t > window / 4) {
		s[1] = s[2] = new;
	} else if (s[2].t == s[1].t && new.t - s[0].t > window / 2) {
		s[2] = new;
	}
	return s[0].v;
}

u32 minmax_running_max(struct minmax *m, u32 win, u32 t, u32 meas)
{
	return minmax_update(m, win, (struct minmax_sample){ .t = t, .v = meas }, true);
}

u32 minmax_running_min(struct minmax *m, u32 win, u32 t, u32 meas)
{
	return minmax_update(m, win, (struct minmax_sample){ .t = t, .v = meas }, false);
}

/* Messages. */

static void say(const char *format, va_list arguments)
{
	char line[1024];

	/* A level is the character 1 and a digit. */
	if (format[0] == KERN_SOH_ASCII && format[1])
		format += 2;
	host->format(line, sizeof(line), format, arguments);
	host->log(line);
}

OURS int our_printk(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(format, arguments);
	va_end(arguments);
	return 0;
}

ALSO(printk, our_printk);
ALSO(_printk, our_printk);

/* A warning of the kernel: `backends/modules.py` knows it by its first words. */
static void warned(const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	host->format(text, sizeof(text), format, arguments);
	va_end(arguments);
	our_printk("warning at %s", text);
}

int __printk_ratelimit(const char *func) { return 1; }
int net_ratelimit(void) { return 1; }
int ___ratelimit(struct ratelimit_state *rs, const char *func) { return 1; }

void warn_slowpath_fmt(const char *file, const int line, unsigned int taint, const char *format, ...)
{
	char text[512] = "";
	va_list arguments;

	if (format) {
		va_start(arguments, format);
		host->format(text, sizeof(text), format, arguments);
		va_end(arguments);
	}
	warned("%s, line %d%s%s", file, line, *text ? ": " : "", text);
}

void __warn_printk(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	say(format, arguments);
	va_end(arguments);
}

void panic(const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	host->format(text, sizeof(text), format, arguments);
	va_end(arguments);
	host->fail(text);
	__builtin_unreachable();
}

/* Interrupts: there are none. */

int signals_enabled = 1;
int um_set_signals(int enable) { return 1; }
int um_set_signals_trace(int enable) { return 1; }

/* Module parameters. */

static int number_in(const char *text, bool *negative, unsigned long long *value)
{
	unsigned int base = 10;

	*value = 0;
	*negative = *text == '-';
	if (*text == '-' || *text == '+')
		text++;
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		base = 16;
		text += 2;
	}
	if (!*text)
		return -EINVAL;
	for (; *text; text++) {
		unsigned int digit = *text >= '0' && *text <= '9' ? *text - '0' : ((*text | 32) - 'a') + 10;

		if (digit >= base)
			return -EINVAL;
		if (*value > (~0ULL - digit) / base)
			return -ERANGE;
		*value = *value * base + digit;
	}
	return 0;
}

static int signed_in(const char *text, long long least, long long most, long long *value)
{
	unsigned long long size;
	bool negative;
	int error = number_in(text, &negative, &size);

	if (error)
		return error;
	if (size > LLONG_MAX)
		return -ERANGE;
	*value = negative ? -(long long)size : (long long)size;
	return *value < least || *value > most ? -ERANGE : 0;
}

static int unsigned_in(const char *text, unsigned long long most, unsigned long long *value)
{
	bool negative;
	int error = number_in(text, &negative, value);

	if (error)
		return error;
	return (negative && *value) || *value > most ? -ERANGE : 0;
}

#define SIGNED(name, type, least, most) \
	int param_set_##name(const char *text, const struct kernel_param *kp) \
	{ \
		long long value; \
		int error = signed_in(text, least, most, &value); \
		if (!error) \
			*(type *)kp->arg = value; \
		return error; \
	} \
	int param_get_##name(char *text, const struct kernel_param *kp) \
	{ \
		return sprintf(text, "%lld\n", (long long)*(type *)kp->arg); \
	} \
	const struct kernel_param_ops param_ops_##name = { .set = param_set_##name, .get = param_get_##name }

#define UNSIGNED(name, type, most) \
	int param_set_##name(const char *text, const struct kernel_param *kp) \
	{ \
		unsigned long long value; \
		int error = unsigned_in(text, most, &value); \
		if (!error) \
			*(type *)kp->arg = value; \
		return error; \
	} \
	int param_get_##name(char *text, const struct kernel_param *kp) \
	{ \
		return sprintf(text, "%llu\n", (unsigned long long)*(type *)kp->arg); \
	} \
	const struct kernel_param_ops param_ops_##name = { .set = param_set_##name, .get = param_get_##name }

SIGNED(short, short, SHRT_MIN, SHRT_MAX);
SIGNED(int, int, INT_MIN, INT_MAX);
SIGNED(long, long, LONG_MIN, LONG_MAX);
UNSIGNED(byte, unsigned char, U8_MAX);
UNSIGNED(ushort, unsigned short, USHRT_MAX);
UNSIGNED(uint, unsigned int, UINT_MAX);
UNSIGNED(ulong, unsigned long, ULONG_MAX);
UNSIGNED(ullong, unsigned long long, ULLONG_MAX);

int param_set_uint_minmax(const char *text, const struct kernel_param *kp, unsigned int least, unsigned int most)
{
	unsigned long long value;
	int error = unsigned_in(text, most, &value);

	if (error)
		return error;
	if (value < least)
		return -EINVAL;
	*(unsigned int *)kp->arg = value;
	return 0;
}

int param_set_bool(const char *text, const struct kernel_param *kp)
{
	switch (*text) {
	case 'y': case 'Y': case 't': case 'T': case '1':
		*(bool *)kp->arg = true;
		return 0;
	case 'n': case 'N': case 'f': case 'F': case '0':
		*(bool *)kp->arg = false;
		return 0;
	}
	return -EINVAL;
}

int param_get_bool(char *text, const struct kernel_param *kp)
{
	return sprintf(text, "%c\n", *(bool *)kp->arg ? 'Y' : 'N');
}

const struct kernel_param_ops param_ops_bool = { .set = param_set_bool, .get = param_get_bool };

extern const struct kernel_param __start___param[] __attribute__((weak, visibility("hidden")));
extern const struct kernel_param __stop___param[] __attribute__((weak, visibility("hidden")));

SHOWN const char *tailback_parameter(tb_u32 n)
{
	return n < __stop___param - __start___param ? __start___param[n].name : NULL;
}

SHOWN int tailback_set_parameter(const char *name, const char *value)
{
	const struct kernel_param *each;

	for (each = __start___param; each < __stop___param; each++)
		if (!strcmp(each->name, name))
			return each->ops->set ? each->ops->set(value, each) : -EPERM;
	return -ENOENT;
}

/* TCP. */

struct flow {
	u64 guard_before[8];
	struct tcp_sock tp;
	u64 guard_after[32];
	/* What no control may write. */
	u64 before_private[2];
	u64 after_private[2];
	/* Asked for during the present call. */
	u32 asks;
	/* Marked segments that samples have told of so far. */
	u32 told_ce;
	/* Of the headers of a full segment. */
	u32 header_bytes;
};

#define GUARD 0x7461696c6261636bULL
#define AFTER_PRIVATE sizeof(struct inet_connection_sock)
#define BEFORE_PRIVATE (offsetof(struct inet_connection_sock, icsk_ca_priv) - sizeof(u64))

int tcp_register_congestion_control(struct tcp_congestion_ops *ops)
{
	if (!ops->ssthresh || !ops->undo_cwnd || !(ops->cong_avoid || ops->cong_control)) {
		our_printk("%s does not have all of ssthresh, undo_cwnd and cong_avoid or cong_control", ops->name);
		return -EINVAL;
	}
	if (registered < MOST_CONTROLS)
		controls[registered] = ops;
	registered++;
	return 0;
}

void tcp_unregister_congestion_control(struct tcp_congestion_ops *ops)
{
}

u32 tcp_slow_start(struct tcp_sock *tp, u32 acked)
{
	u32 cwnd = min(tp->snd_cwnd + acked, tp->snd_ssthresh);
	u32 left = acked - (cwnd - tp->snd_cwnd);

	tp->snd_cwnd = min(cwnd, tp->snd_cwnd_clamp);
	return left;
}

void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked)
{
	u32 cwnd = tp->snd_cwnd;

	/* Credit from the time when growth was slower is worth one segment. */
	if (tp->snd_cwnd_cnt >= w) {
		tp->snd_cwnd_cnt = 0;
		cwnd++;
	}
	tp->snd_cwnd_cnt += acked;
	if (tp->snd_cwnd_cnt >= w) {
		u32 grown = tp->snd_cwnd_cnt / w;

		tp->snd_cwnd_cnt -= grown * w;
		cwnd += grown;
	}
	tp->snd_cwnd = min(cwnd, tp->snd_cwnd_clamp);
}

void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		acked = tcp_slow_start(tp, acked);
	if (acked)
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}

u32 tcp_reno_ssthresh(struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd / 2, 2U);
}

u32 tcp_reno_undo_cwnd(struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd);
}

struct tcp_congestion_ops tcp_reno = {
	.name = "reno",
	.ssthresh = tcp_reno_ssthresh,
	.cong_avoid = tcp_reno_cong_avoid,
	.undo_cwnd = tcp_reno_undo_cwnd,
};

void tcp_enter_cwr(struct sock *sk)
{
	container_of(tcp_sk(sk), struct flow, tp)->asks |= TAILBACK_ENTER_CWR;
}

/* The simulator's segments keep their size. */
OURS int our_mss_to_mtu(struct sock *sk, int mss)
{
	return mss + container_of(tcp_sk(sk), struct flow, tp)->header_bytes;
}
ALSO(tcp_mss_to_mtu, our_mss_to_mtu);

OURS unsigned int our_sync_mss(struct sock *sk, u32 pmtu)
{
	panic("it changes the segment size (tcp_sync_mss), which the simulator cannot");
	return 0;
}
ALSO(tcp_sync_mss, our_sync_mss);

/* Receivers and routes are the simulator's own. The names stand for one function whatever the headers declare: versions of
 * Linux differ in what these take. */
static void __used nothing(void) { }
#define NOTHING(name) asm(".globl " #name "\n.set " #name ", nothing")
NOTHING(__tcp_send_ack);
NOTHING(tcp_plb_update_state);
NOTHING(tcp_plb_check_rehash);
NOTHING(tcp_plb_update_state_upon_rto);

/* The network namespace: its counters count for nobody, its settings are the defaults. */

static struct linux_mib counters;
static struct net namespace;

static void fill_namespace(void)
{
	namespace.mib.net_statistics = &counters;
	namespace.ipv4.sysctl_tcp_min_tso_segs = 2;
	namespace.ipv4.sysctl_tcp_pacing_ss_ratio = 200;
	namespace.ipv4.sysctl_tcp_pacing_ca_ratio = 120;
	namespace.ipv4.sysctl_tcp_reordering = 3;
	namespace.ipv4.sysctl_tcp_sack = 1;
	namespace.ipv4.sysctl_tcp_timestamps = 1;
	namespace.ipv4.sysctl_tcp_window_scaling = 1;
}

/*
 * What kernels differ in. Google's trees of BBR have members that Linux has not; TAILBACK_HAS_... is defined if
 * include/net/tcp.h declares one.
 */

#ifdef TAILBACK_HAS_TSO_SEGS
#define SEGS_OF_SKB(ops) ((ops)->tso_segs)
#define CALL_SEGS_OF_SKB(ops, sk) ((ops)->tso_segs(sk, tcp_sk(sk)->mss_cache))
#else
#define SEGS_OF_SKB(ops) ((ops)->min_tso_segs)
#define CALL_SEGS_OF_SKB(ops, sk) ((ops)->min_tso_segs(sk))
#endif

#ifdef TCP_ECN_OK
#define ECN_AS_RFC3168 TCP_ECN_OK
#else
#define ECN_AS_RFC3168 TCP_ECN_MODE_RFC3168
#endif

/* Where it is a member of its own, the first of the events goes nowhere else. */
#ifdef TAILBACK_HAS_CWND_EVENT_TX_START
#define HAS_CWND_EVENT(ops) ((ops)->cwnd_event || (ops)->cwnd_event_tx_start)

static void call_cwnd_event(const struct tcp_congestion_ops *ops, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_TX_START) {
		if (ops->cwnd_event_tx_start)
			ops->cwnd_event_tx_start(sk);
	} else if (ops->cwnd_event) {
		ops->cwnd_event(sk, event);
	}
}
#else
#define HAS_CWND_EVENT(ops) ((ops)->cwnd_event)

static void call_cwnd_event(const struct tcp_congestion_ops *ops, struct sock *sk, enum tcp_ca_event event)
{
	if (ops->cwnd_event)
		ops->cwnd_event(sk, event);
}
#endif

static u32 ecn_of(const struct tcp_congestion_ops *ops)
{
#ifdef TCP_CONG_NEEDS_ACCECN
	if (ops->flags & TCP_CONG_NEEDS_ACCECN)
		return TAILBACK_ECN_L4S;
#endif
	return ops->flags & TCP_CONG_NEEDS_ECN ? TAILBACK_ECN_CLASSIC : TAILBACK_ECN_NONE;
}

#ifdef TAILBACK_HAS_CONG_CONTROL_OF_TWO
#define CALL_CONG_CONTROL(ops, sk, ack, sample) ((ops)->cong_control(sk, sample))
#else
#define CALL_CONG_CONTROL(ops, sk, ack, sample) ((ops)->cong_control(sk, ack, 0, sample))
#endif

#ifdef TAILBACK_HAS_SKB_MARKED_LOST
#define SKB_MARKED_LOST(ops) ((ops)->skb_marked_lost)

static void call_marked_lost(const struct tcp_congestion_ops *ops, struct sock *sk, const struct tailback_lost *lost)
{
	static struct sk_buff skb;
	struct tcp_skb_cb *scb = TCP_SKB_CB(&skb);

	memset(scb, 0, sizeof(*scb));
	tcp_skb_pcount_set(&skb, 1);
	scb->sacked = TCPCB_LOST;
	scb->tx.in_flight = lost->tx_in_flight;
	scb->tx.lost = tcp_sk(sk)->lost - lost->lost;
	scb->tx.is_app_limited = lost->is_app_limited;
	/* 0 is that of a segment which was never sent. */
	scb->tx.delivered_mstamp = 1;
	ops->skb_marked_lost(sk, &skb);
}

static void add_transmission(struct rate_sample *sample, const struct tailback_rate *rate)
{
	sample->tx_in_flight = rate->tx_in_flight;
	sample->lost = rate->lost;
}
#else
#define SKB_MARKED_LOST(ops) NULL

static void call_marked_lost(const struct tcp_congestion_ops *ops, struct sock *sk, const struct tailback_lost *lost) { }
static void add_transmission(struct rate_sample *sample, const struct tailback_rate *rate) { }
#endif

#ifdef TAILBACK_HAS_ECE_DELTA
/* Segments that this ACK says were marked. */
static void add_marks(struct rate_sample *sample, struct flow *flow)
{
	sample->ece_delta = flow->tp.delivered_ce - flow->told_ce;
	flow->told_ce = flow->tp.delivered_ce;
}
#else
static void add_marks(struct rate_sample *sample, struct flow *flow) { }
#endif

/* The simulator's side. */

int init_module(void);

SHOWN int tailback_open(const struct tailback_host *services)
{
	host = services;
	fill_namespace();
	return init_module();
}

static struct tcp_congestion_ops *control(void)
{
	return controls[0];
}

SHOWN void tailback_describe(struct tailback_about *about)
{
	const struct tcp_congestion_ops *ops = control();

	memset(about, 0, sizeof(*about));
	about->registered = registered;
	about->hz = HZ;
	if (!ops)
		return;
	memcpy(about->name, ops->name, sizeof(about->name));
	about->name[sizeof(about->name) - 1] = 0;
	about->needs_ecn = ecn_of(ops);
	about->has = !!ops->init << TAILBACK_INIT | !!ops->ssthresh << TAILBACK_SSTHRESH |
		     !!ops->cong_avoid << TAILBACK_CONG_AVOID | !!ops->set_state << TAILBACK_SET_STATE |
		     !!HAS_CWND_EVENT(ops) << TAILBACK_CWND_EVENT | !!ops->in_ack_event << TAILBACK_IN_ACK_EVENT |
		     !!ops->pkts_acked << TAILBACK_PKTS_ACKED | !!SEGS_OF_SKB(ops) << TAILBACK_MIN_TSO_SEGS |
		     !!ops->cong_control << TAILBACK_CONG_CONTROL | !!ops->undo_cwnd << TAILBACK_UNDO_CWND |
		     !!ops->sndbuf_expand << TAILBACK_SNDBUF_EXPAND | !!ops->get_info << TAILBACK_GET_INFO |
		     !!ops->release << TAILBACK_RELEASE | !!SKB_MARKED_LOST(ops) << TAILBACK_SKB_MARKED_LOST;
}

SHOWN void *tailback_socket(void)
{
	struct flow *flow = host->allocate(sizeof(struct flow));
	struct tcp_sock *tp;
	int i;

	if (!flow)
		return NULL;
	tp = &flow->tp;
	for (i = 0; i < ARRAY_SIZE(flow->guard_before); i++)
		flow->guard_before[i] = GUARD;
	for (i = 0; i < ARRAY_SIZE(flow->guard_after); i++)
		flow->guard_after[i] = GUARD;
	inet_csk(&tp->inet_conn.icsk_inet.sk)->icsk_ca_ops = control();
	tp->inet_conn.icsk_inet.sk.sk_state = TCP_ESTABLISHED;
	tp->inet_conn.icsk_inet.sk.sk_max_pacing_rate = ~0UL;
	sock_net_set(&tp->inet_conn.icsk_inet.sk, &namespace);
	tp->reordering = 3;
	tp->max_window = 65535;
	tp->notsent_lowat = ~0U;
	memcpy(flow->before_private, (char *)tp + BEFORE_PRIVATE, sizeof(u64));
	memcpy(flow->after_private, (char *)tp + AFTER_PRIVATE, 2 * sizeof(u64));
	return flow;
}

static bool wrote_beyond(const struct flow *flow)
{
	const u64 *before = (const u64 *)((const char *)&flow->tp + BEFORE_PRIVATE);
	const u64 *after = (const u64 *)((const char *)&flow->tp + AFTER_PRIVATE);

	/* Without branches: it follows every call. */
	return (before[0] ^ flow->before_private[0]) | (after[0] ^ flow->after_private[0]) |
	       (after[1] ^ flow->after_private[1]) | (flow->guard_after[0] ^ GUARD) | (flow->guard_before[7] ^ GUARD);
}

/* What differs from ACK to ACK. */
static void load_progress(struct tcp_sock *tp, const struct tailback_facts *facts)
{
	u32 unsacked = facts->packets_out - facts->sacked_out;

	tp->tcp_clock_cache = facts->now_ns;
	tp->tcp_mstamp = facts->now_ns / NSEC_PER_USEC;
	tp->tcp_wstamp_ns = facts->departure_ns;
	tp->delivered_mstamp = facts->delivered_ns / NSEC_PER_USEC;
	tp->lsndtime = facts->last_sent_ns / (NSEC_PER_SEC / HZ);
	tp->snd_una = facts->snd_una;
	tp->snd_nxt = facts->snd_nxt;
	tp->write_seq = facts->snd_nxt;
	tp->delivered = facts->delivered;
	tp->delivered_ce = facts->delivered_ce;
	tp->lost = facts->lost;
	tp->srtt_us = facts->srtt_us8;
	tp->rtt_min.s[0].v = facts->min_rtt_us;
	tp->packets_out = facts->packets_out;
	tp->sacked_out = facts->sacked_out;
	/* Lost and retransmitted segments are known by their difference only. */
	tp->lost_out = facts->in_flight < unsacked ? unsacked - facts->in_flight : 0;
	tp->retrans_out = facts->in_flight > unsacked ? facts->in_flight - unsacked : 0;
	tp->is_cwnd_limited = facts->is_cwnd_limited;
	tp->rx_opt.rcv_tsval = facts->tsval;
	tp->rx_opt.rcv_tsecr = facts->tsecr;
	tp->rx_opt.saw_tstamp = facts->tsval != 0;
	tp->rx_opt.tstamp_ok = facts->tsval != 0;
}

/* What hardly ever differs. */
static void load_settings(struct tcp_sock *tp, const struct tailback_facts *facts)
{
	struct inet_connection_sock *icsk = &tp->inet_conn;
	struct sock *sk = &icsk->icsk_inet.sk;

	sk->sk_pacing_shift = facts->pacing_shift;
	sk->sk_gso_max_size = facts->gso_max_size;
	sk->sk_gso_max_segs = facts->gso_max_segs;
	icsk->icsk_ca_state = facts->ca_state;
	tp->mss_cache = facts->mss;
	tp->advmss = facts->mss;
	container_of(tp, struct flow, tp)->header_bytes = facts->mtu - facts->mss;
	tp->ecn_flags = facts->ecn_ok ? ECN_AS_RFC3168 : 0;
}

static void load_facts(struct tcp_sock *tp, const struct tailback_facts *facts)
{
	if (facts->settings_changed)
		load_settings(tp, facts);
	load_progress(tp, facts);
	now_ns = facts->now_ns;
	jiffies_64 = facts->now_ns / (NSEC_PER_SEC / HZ);
	jiffies = jiffies_64;
}

/* What a control may set. */
static void load_window(struct flow *flow, const struct tailback_facts *facts, const struct tailback_window *window)
{
	struct tcp_sock *tp = &flow->tp;
	struct sock *sk = &tp->inet_conn.icsk_inet.sk;

	tp->app_limited = facts->app_limited;
	sk->sk_pacing_status = facts->pacing_status;
	sk->sk_pacing_rate = window->pacing_rate;
	tp->snd_cwnd = window->cwnd;
	tp->snd_ssthresh = window->ssthresh;
	tp->snd_cwnd_cnt = window->cwnd_cnt;
	tp->prior_cwnd = window->prior_cwnd;
	tp->snd_cwnd_clamp = window->cwnd_clamp;
	flow->asks = 0;
}

static void store(struct flow *flow, const struct tailback_facts *facts, struct tailback_window *window)
{
	const struct tcp_sock *tp = &flow->tp;
	const struct sock *sk = &tp->inet_conn.icsk_inet.sk;

	window->pacing_rate = sk->sk_pacing_rate;
	window->cwnd = tp->snd_cwnd;
	window->ssthresh = tp->snd_ssthresh;
	window->cwnd_cnt = tp->snd_cwnd_cnt;
	window->prior_cwnd = tp->prior_cwnd;
	window->cwnd_clamp = tp->snd_cwnd_clamp;
	window->asks = flow->asks;
	if (tp->app_limited && tp->app_limited != (u32)facts->app_limited)
		window->asks |= TAILBACK_MARK_APP_LIMITED;
	if (sk->sk_pacing_status == SK_PACING_NEEDED)
		window->asks |= TAILBACK_PACING_NEEDED;
	if (wrote_beyond(flow))
		window->asks |= TAILBACK_WROTE_BEYOND_PRIVATE;
}

static struct rate_sample rate_sample_of(const struct tailback_rate *rate, const struct tailback_facts *facts)
{
	return (struct rate_sample){
		.prior_mstamp = facts->now_ns / NSEC_PER_USEC - (rate->interval_us > 0 ? rate->interval_us : 0),
		.prior_delivered = rate->prior_delivered,
		.delivered = rate->delivered,
		.interval_us = rate->interval_us,
		.rtt_us = rate->rtt_us,
		.losses = rate->losses,
		.acked_sacked = rate->acked_sacked,
		.prior_in_flight = rate->prior_in_flight,
		.is_app_limited = rate->is_app_limited,
		.is_retrans = rate->is_retrans,
		.is_ack_delayed = rate->is_ack_delayed,
	};
}

SHOWN void tailback_ask(void *socket, const struct tailback_facts *facts, struct tailback_info *found)
{
	struct flow *flow = socket;
	struct sock *sk = &flow->tp.inet_conn.icsk_inet.sk;
	const struct tcp_congestion_ops *ops = flow->tp.inet_conn.icsk_ca_ops;
	union tcp_cc_info info;
	int attribute = INET_DIAG_NONE;

	load_facts(&flow->tp, facts);
	/* All extensions are asked for, as TCP_CC_INFO does. */
	if (!ops->get_info || !ops->get_info(sk, ~0U, &attribute, &info) || attribute != INET_DIAG_BBRINFO)
		return;
	found->is_bbr = 1;
	found->bandwidth = (u64)info.bbr.bbr_bw_hi << 32 | info.bbr.bbr_bw_lo;
	found->min_rtt_us = info.bbr.bbr_min_rtt;
	found->pacing_gain = info.bbr.bbr_pacing_gain;
	found->cwnd_gain = info.bbr.bbr_cwnd_gain;
}

SHOWN tb_u32 tailback_call_5(void *socket, tb_u32 op, const struct tailback_facts *facts,
			   struct tailback_window *window, const void *argument)
{
	struct flow *flow = socket;
	struct sock *sk = &flow->tp.inet_conn.icsk_inet.sk;
	const struct tcp_congestion_ops *ops;
	u32 found = 0;

	load_facts(&flow->tp, facts);
	load_window(flow, facts, window);
	/* A control may have replaced itself in `init`. */
	ops = flow->tp.inet_conn.icsk_ca_ops;
	switch (op) {
	case TAILBACK_INIT:
		if (ops->init)
			ops->init(sk);
		break;
	case TAILBACK_SSTHRESH:
		found = ops->ssthresh(sk);
		break;
	case TAILBACK_CONG_AVOID:
		ops->cong_avoid(sk, facts->snd_una, *(const tb_u32 *)argument);
		break;
	case TAILBACK_SET_STATE:
		if (ops->set_state)
			ops->set_state(sk, *(const tb_u32 *)argument);
		break;
	case TAILBACK_CWND_EVENT:
		call_cwnd_event(ops, sk, *(const tb_u32 *)argument);
		break;
	case TAILBACK_IN_ACK_EVENT:
		if (ops->in_ack_event)
			ops->in_ack_event(sk, *(const tb_u32 *)argument ? CA_ACK_SLOWPATH : 0);
		break;
	case TAILBACK_PKTS_ACKED:
		if (ops->pkts_acked) {
			const struct tailback_ack *ack = argument;
			struct ack_sample sample = {
				.pkts_acked = ack->acked,
				.rtt_us = ack->rtt_us,
				.in_flight = ack->in_flight,
			};

			ops->pkts_acked(sk, &sample);
		}
		break;
	case TAILBACK_MIN_TSO_SEGS:
		found = SEGS_OF_SKB(ops) ? CALL_SEGS_OF_SKB(ops, sk) : namespace.ipv4.sysctl_tcp_min_tso_segs;
		break;
	case TAILBACK_CONG_CONTROL: {
		struct rate_sample sample = rate_sample_of(argument, facts);

		add_transmission(&sample, argument);
		add_marks(&sample, flow);
		if (!ops->cong_control)
			panic("it replaced itself by a control without cong_control");
		CALL_CONG_CONTROL(ops, sk, facts->snd_una, &sample);
		break;
	}
	case TAILBACK_UNDO_CWND:
		found = ops->undo_cwnd(sk);
		break;
	case TAILBACK_SNDBUF_EXPAND:
		found = ops->sndbuf_expand(sk);
		break;
	case TAILBACK_GET_INFO:
		/* `tailback_ask` does it. */
		break;
	case TAILBACK_RELEASE:
		if (ops->release)
			ops->release(sk);
		break;
	case TAILBACK_SKB_MARKED_LOST:
		call_marked_lost(ops, sk, argument);
		break;
	}
	store(flow, facts, window);
	return found;
}
