/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the driver and the process with the air say to each other (docs/kernel-wifi.md): messages of 24 bytes, in the
 * byte order of the machine, over a stream socket.
 *
 * The driver calls, and waits. Until `AIR_DONE`, the air may ask it for frames; all else that it says has no answer.
 */
#ifndef TAILBACK_AIR_H
#define TAILBACK_AIR_H

#include <linux/bits.h>
#include <linux/types.h>

#define AIR_PROTOCOL 3
/* What a frame needs of an aggregate beside its bytes, and the longest one. */
#define AIR_BESIDE 7
#define AIR_LONGEST 2360
/* No station. */
#define AIR_NOBODY 0xffff
/* No further event. */
#define AIR_NEVER (~0ULL)

enum air_kind {
	/* Calls of the driver. */
	AIR_HELLO = 1, /* number: AIR_PROTOCOL */
	AIR_WAKE = 2, /* radio, category: its queues have got frames; number: now */
	AIR_ADVANCE = 3, /* number: now */
	/* Its answers. */
	AIR_TURN = 4, /* peer: the station to serve, or AIR_NOBODY */
	/* token, bytes: a frame, bytes is 0 if there is none; number: 1 if another one follows; category: 1 if it goes alone,
	 * in a mode that is probed */
	AIR_FRAME = 5,
	AIR_RATES = 6, /* number: the modes, see below; category: a bit for each with RTS and CTS; bytes: 1 if it goes alone */

	/* Questions of the air. */
	AIR_ASK_TURN = 16, /* radio, category */
	/* radio, category, peer; one, and more while they are sure to fit: in all at most bytes frames and number bytes, each
	 * counted as at least token bytes and with AIR_BESIDE more */
	AIR_ASK_FRAME = 17,
	/* What it has to say. */
	AIR_ACTIVATE = 18, /* radio, category, peer; bytes: how many of its frames wait to be sent again */
	AIR_SENT = 19, /* radio, category, peer; number: airtime of transmissions to the peer */
	AIR_HEARD = 20, /* radio, category, peer; number: airtime of a transmission from the peer */
	AIR_STATUS = 21, /* radio, token; bytes: 1 if it was acknowledged */
	AIR_RECEIVED = 22, /* radio: the receiver; token */
	AIR_LOST = 23, /* token: nobody will receive it */
	AIR_DONE = 24, /* the answer to a call; number: the next deadline */
	/* A question. */
	AIR_ASK_RATES = 25, /* radio, category, peer; token: the first frame of the aggregate */
	/* What it has to say of an aggregate before its frames are settled. */
	AIR_TRIED = 26, /* radio, category, peer; token: its frames; bytes: acknowledged ones; number: its transmissions */
};

/*
 * A mode and its tries in 16 bits; the number of a message has up to AIR_MODES of them, the first one lowest. None follows
 * one without tries.
 */
#define AIR_MODES 4
#define AIR_MODE_BITS 16
#define AIR_TRIES GENMASK(3, 0)
#define AIR_MCS GENMASK(7, 4) /* within a stream */
#define AIR_STREAMS GENMASK(10, 8) /* less 1 */
#define AIR_WIDTH GENMASK(12, 11) /* 20, 40, 80, 160 MHz */
#define AIR_FORMAT GENMASK(15, 13)

/* 802.11n, ac and ax, with the guard interval in ns. */
enum air_format {
	AIR_HT_800,
	AIR_HT_400,
	AIR_VHT_800,
	AIR_VHT_400,
	AIR_HE_800,
	AIR_HE_1600,
	AIR_HE_3200,
};

struct air_message {
	__u16 kind;
	__u16 radio;
	__u16 peer;
	__u16 category;
	__u32 token;
	__u32 bytes;
	/* Times are in ns from the start of the run. */
	__u64 number;
};

#endif
