/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * An example for tailback_endpoint.h: datagrams under a window with additive increase and multiplicative decrease, as
 * CCID 2 of DCCP has it. [rfc4341]
 *
 *     cc -shared -fPIC -O2 -g -I include -o libaimd.so examples/transports/c/aimd.c
 *
 * The first end sends numbered datagrams and never repeats one; the second acknowledges each. A datagram is lost when three
 * later ones are acknowledged, or when nothing arrives for a second. Options: `size`, bytes of a datagram; `beta`, the
 * share of the window that a loss leaves; `ecn`, whether it sends ECT(0) and takes a mark as a loss.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tailback_endpoint.h"

#define MOST_IN_FLIGHT 4096u
#define FIRST_WINDOW 10.0
#define REORDERING 3u
#define SECOND 1000000000ull

/* Head of a datagram and all of an acknowledgement: number, time it was sent, whether it had a mark. */
struct head {
    uint64_t number;
    uint64_t sent_ns;
    uint8_t marked;
};

struct endpoint {
    const struct tailback_setup *setup;
    size_t size;
    double beta;
    bool ecn;
    /* The sender. */
    bool pending[MOST_IN_FLIGHT];           /* by number modulo its size */
    uint64_t next;                          /* number of the next datagram */
    uint64_t first;                         /* the oldest that is neither acknowledged nor lost */
    uint64_t recovery;                      /* the window is halved once for all datagrams before */
    uint32_t in_flight;
    double cwnd, ssthresh;                  /* datagrams */
    uint64_t srtt_ns, min_rtt_ns, lost, heard_ns;
    /* The receiver: acknowledgements that are not sent yet. */
    struct head owed[MOST_IN_FLIGHT];
    uint32_t owes;
    uint64_t read_bytes;
};

uint32_t tailback_endpoint_abi(void) { return TAILBACK_ENDPOINT_ABI; }

static const char *option(const struct tailback_setup *setup, const char *name, const char *otherwise)
{
    for (size_t i = 0; i < setup->option_count; i++)
        if (!strcmp(setup->options[i].name, name))
            return setup->options[i].value;
    return otherwise;
}

static const char *const KNOWN[] = {"beta", "ecn", "size"};

void *tailback_endpoint_open(const struct tailback_setup *setup)
{
    for (size_t i = 0; i < setup->option_count; i++) {
        bool known = false;
        for (size_t k = 0; k < sizeof KNOWN / sizeof *KNOWN; k++)
            known |= !strcmp(setup->options[i].name, KNOWN[k]);
        if (!known) {
            setup->host->fail(setup->token, "it has the options beta, ecn and size alone");
            return NULL;
        }
    }
    struct endpoint *own = calloc(1, sizeof *own);
    if (!own)
        return NULL;
    own->setup = setup;
    own->size = strtoul(option(setup, "size", "1200"), NULL, 10);
    own->beta = strtod(option(setup, "beta", "0.5"), NULL);
    own->ecn = !strcmp(option(setup, "ecn", "false"), "true");
    if (own->size < sizeof(struct head) || own->size > setup->max_datagram) {
        setup->host->fail(setup->token, "`size` does not fit the path");
        free(own);
        return NULL;
    }
    own->cwnd = FIRST_WINDOW;
    own->ssthresh = 1e9;
    own->min_rtt_ns = UINT64_MAX;
    own->heard_ns = setup->start_ns;
    return own;
}

static void tell(struct endpoint *own)
{
    char data[160];
    snprintf(data, sizeof data, "{\"congestion_window\":%.0f,\"bytes_in_flight\":%zu,\"smoothed_rtt\":%.3f}",
             own->cwnd * (double)own->size, own->in_flight * own->size, (double)own->srtt_ns / 1e6);
    own->setup->host->event(own->setup->token, "recovery:metrics_updated", data);
}

static void reduce(struct endpoint *own, uint64_t number)
{
    if (number < own->recovery)
        return;
    own->recovery = own->next;
    own->ssthresh = own->cwnd * own->beta;
    if (own->ssthresh < 2)
        own->ssthresh = 2;
    own->cwnd = own->ssthresh;
    tell(own);
}

static void lose_before(struct endpoint *own, uint64_t number)
{
    for (; own->first < number; own->first++) {
        bool *pending = &own->pending[own->first % MOST_IN_FLIGHT];
        if (!*pending)
            continue;
        *pending = false;
        own->in_flight--;
        own->lost++;
        reduce(own, own->first);
    }
}

static void acknowledged(struct endpoint *own, uint64_t now_ns, const struct head *head)
{
    own->heard_ns = now_ns;
    if (head->number >= own->next || head->number < own->first || !own->pending[head->number % MOST_IN_FLIGHT])
        return;
    own->pending[head->number % MOST_IN_FLIGHT] = false;
    own->in_flight--;
    uint64_t rtt = now_ns - head->sent_ns;
    own->srtt_ns = own->srtt_ns ? own->srtt_ns - own->srtt_ns / 8 + rtt / 8 : rtt;
    if (rtt < own->min_rtt_ns)
        own->min_rtt_ns = rtt;
    own->cwnd += own->cwnd < own->ssthresh ? 1 : 1 / own->cwnd;
    if (own->cwnd > MOST_IN_FLIGHT / 2)
        own->cwnd = MOST_IN_FLIGHT / 2;
    if (head->marked)
        reduce(own, head->number);
    if (head->number > REORDERING)
        lose_before(own, head->number - REORDERING);
    while (own->first < own->next && !own->pending[own->first % MOST_IN_FLIGHT])
        own->first++;
}

void tailback_endpoint_receive(void *endpoint, uint64_t now_ns, const struct tailback_received *datagram)
{
    struct endpoint *own = endpoint;
    struct head head;
    if (datagram->size < sizeof head)
        return;
    memcpy(&head, datagram->data, sizeof head);
    if (own->setup->end == 0) {
        acknowledged(own, now_ns, &head);
        return;
    }
    own->read_bytes += datagram->size;
    head.marked = datagram->ecn == TAILBACK_CE;
    if (own->owes < MOST_IN_FLIGHT)
        own->owed[own->owes++] = head;
}

void tailback_endpoint_expired(void *endpoint, uint64_t now_ns)
{
    struct endpoint *own = endpoint;
    own->heard_ns = now_ns;
    lose_before(own, own->next);
    own->cwnd = 1;
}

static int acknowledge(struct endpoint *own, struct tailback_outgoing *datagram)
{
    if (!own->owes)
        return 0;
    memcpy(datagram->data, &own->owed[0], sizeof own->owed[0]);
    memmove(&own->owed[0], &own->owed[1], --own->owes * sizeof own->owed[0]);
    datagram->size = sizeof own->owed[0];
    return 1;
}

int tailback_endpoint_transmit(void *endpoint, uint64_t now_ns, struct tailback_outgoing *datagram)
{
    struct endpoint *own = endpoint;
    if (own->setup->end == 1)
        return acknowledge(own, datagram);
    if (own->in_flight + 1 > own->cwnd || own->next - own->first >= MOST_IN_FLIGHT)
        return 0;
    struct head head;
    memset(&head, 0, sizeof head);
    head.number = own->next;
    head.sent_ns = now_ns;
    memset(datagram->data, 0, own->size);
    memcpy(datagram->data, &head, sizeof head);
    datagram->size = own->size;
    datagram->ecn = own->ecn ? TAILBACK_ECT0 : TAILBACK_NOT_ECT;
    if (!own->in_flight)
        own->heard_ns = now_ns;
    own->pending[own->next++ % MOST_IN_FLIGHT] = true;
    own->in_flight++;
    return 1;
}

uint64_t tailback_endpoint_timeout(void *endpoint)
{
    struct endpoint *own = endpoint;
    return own->setup->end == 0 && own->in_flight ? own->heard_ns + SECOND : TAILBACK_NEVER;
}

void tailback_endpoint_info(void *endpoint, uint64_t now_ns, struct tailback_info *info)
{
    struct endpoint *own = endpoint;
    (void)now_ns;
    if (own->setup->end == 1) {
        info->read_bytes = own->read_bytes;
        return;
    }
    info->cwnd_bytes = (uint64_t)(own->cwnd * (double)own->size);
    info->datagram_bytes = own->size;
    info->in_flight_bytes = own->in_flight * own->size;
    info->lost = own->lost;
    if (own->srtt_ns) {
        info->rtt_ns = own->srtt_ns;
        info->min_rtt_ns = own->min_rtt_ns;
    }
}

void tailback_endpoint_close(void *endpoint) { free(endpoint); }
