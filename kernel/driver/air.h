/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the driver and the process with the air say to each other (docs/kernel-wifi.md): messages of 24 bytes, in the
 * byte order of the machine, over a stream socket.
 *
 * The driver calls, and waits. Until `AIR_DONE`, the air may ask it for frames; all else that it says has no answer.
 */
#ifndef TAILBACK_AIR_H
#define TAILBACK_AIR_H

#include <linux/types.h>

#define AIR_PROTOCOL 1
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
	AIR_FRAME = 5, /* token, bytes: a frame; bytes is 0 if there is none */

	/* Questions of the air. */
	AIR_ASK_TURN = 16, /* radio, category */
	AIR_ASK_FRAME = 17, /* radio, category, peer */
	/* What it has to say. */
	AIR_ACTIVATE = 18, /* radio, category, peer; bytes: how many of its frames wait to be sent again */
	AIR_SENT = 19, /* radio, category, peer; number: airtime of transmissions to the peer */
	AIR_HEARD = 20, /* radio, category, peer; number: airtime of a transmission from the peer */
	AIR_STATUS = 21, /* radio, token; bytes: 1 if it was acknowledged */
	AIR_RECEIVED = 22, /* radio: the receiver; token */
	AIR_LOST = 23, /* token: nobody will receive it */
	AIR_DONE = 24, /* the answer to a call; number: the next deadline */
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
