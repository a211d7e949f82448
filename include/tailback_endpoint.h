/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A transport of your own in an experiment of Tailback: version 1.
 *
 *     traffic: [{endpoint: ./libmine.so, from: client, to: server, options: {window: 20}}]
 *
 * The library has the functions of the second half. The simulator opens two endpoints in it, one at each host; they send
 * each other datagrams by UDP sockets. There is no clock and no thread: the simulator calls one function at a time, with
 * the time of the run as an argument. At each instant it calls
 *
 *     receive   for each datagram that has arrived
 *     expired   if the time that `timeout` gave has come
 *     transmit  again and again until it gives nothing
 *     timeout   for when to call next
 *
 * All times are nanoseconds since the start of the run. A run has a process of its own: globals begin anew in each, and a
 * crash ends that run alone. A call may take 2 s of CPU time.
 */
#ifndef TAILBACK_ENDPOINT_H
#define TAILBACK_ENDPOINT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this file, which `tailback_endpoint_abi` returns. */
#define TAILBACK_ENDPOINT_ABI 1u
/* No time: it waits for a datagram. */
#define TAILBACK_NEVER UINT64_MAX
/* What an endpoint does not report. */
#define TAILBACK_UNKNOWN UINT64_MAX

/* ECN bits, as in the IP header. */
#define TAILBACK_NOT_ECT 0u
#define TAILBACK_ECT1 1u
#define TAILBACK_ECT0 2u
#define TAILBACK_CE 3u

/* Services of the simulator. The first argument is `token` of the setup. */
struct tailback_host {
    /* Random bits: they depend on the seed of the run, the name of the flow and the end. */
    uint64_t (*random)(void *token);
    /* A line for the file `endpoint.log` of the run: of a longer one, its first 1,000 characters. */
    void (*log)(void *token, const char *line);
    /* It cannot go on: the run ends with this reason after the present call. */
    void (*fail)(void *token, const char *reason);
    /* An event for the qlog of this end: its name, as "recovery:metrics_updated", of at most 100 characters, and its
     * data, a JSON object. */
    void (*event)(void *token, const char *name, const char *data);
};

/* An entry of `options`. */
struct tailback_option {
    const char *name;
    const char *value;
};

/* What an endpoint is told when it is opened. All of it stays valid until it is closed. */
struct tailback_setup {
    const struct tailback_host *host;
    void *token;
    const char *flow;                       /* name of the flow in tables */
    const struct tailback_option *options;  /* in the order of their names */
    size_t option_count;
    uint64_t start_ns;                      /* it is not called before */
    uint64_t end_ns;                        /* end of the run */
    uint32_t end;                           /* 0: it is at host `from`; 1: at host `to` */
    uint32_t max_datagram;                  /* most bytes of data of a datagram on this path */
};

/* A datagram that has arrived. */
struct tailback_received {
    const uint8_t *data;                    /* valid during the call */
    size_t size;
    uint32_t from;                          /* the end that sent it */
    uint32_t ecn;                           /* the ECN bits with which it arrived */
};

/* A datagram to be sent, or several. The fields have these values before the call. */
struct tailback_outgoing {
    uint8_t *data;                          /* room of `capacity` bytes, which `transmit` fills */
    size_t capacity;
    size_t size;                            /* 0; how many bytes it has filled */
    size_t segment;                         /* 0; bytes of each datagram in `data`: UDP_SEGMENT */
    uint64_t departure_ns;                  /* 0: now; where `fq` or `etf` keeps such times: SO_TXTIME */
    uint32_t to;                            /* the other end */
    uint32_t ecn;                           /* TAILBACK_NOT_ECT */
};

/* What an endpoint reports of itself, for tables and figures. All fields are TAILBACK_UNKNOWN before the call. */
struct tailback_info {
    uint64_t cwnd_bytes;
    uint64_t datagram_bytes;                /* of a full datagram */
    uint64_t in_flight_bytes;
    uint64_t rtt_ns;                        /* smoothed */
    uint64_t min_rtt_ns;
    uint64_t pacing_bps;                    /* bit/s */
    uint64_t read_bytes;                    /* what its application has read */
    uint64_t lost;                          /* datagrams that it takes as lost */
};

/* ------------------------------------------------------------------------------------------------ the library has: */

/* TAILBACK_ENDPOINT_ABI. */
uint32_t tailback_endpoint_abi(void);

/* The endpoint at one end; NULL, after `fail` with a reason, if it cannot be opened. */
void *tailback_endpoint_open(const struct tailback_setup *setup);

void tailback_endpoint_receive(void *endpoint, uint64_t now_ns, const struct tailback_received *datagram);

void tailback_endpoint_expired(void *endpoint, uint64_t now_ns);

/* Gives the next datagram (1), or has none to send now (0). */
int tailback_endpoint_transmit(void *endpoint, uint64_t now_ns, struct tailback_outgoing *datagram);

/* When it wants to be called if nothing arrives before: not before now; TAILBACK_NEVER if it only waits. */
uint64_t tailback_endpoint_timeout(void *endpoint);

void tailback_endpoint_close(void *endpoint);

/* May be left out. Called at the interval of `measure`. */
void tailback_endpoint_info(void *endpoint, uint64_t now_ns, struct tailback_info *info);

#ifdef __cplusplus
}
#endif

#endif
