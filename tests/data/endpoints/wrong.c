/* An endpoint that does one thing wrong at 1 s: what is defined when it is compiled. */
#include <stdlib.h>

#include "tailback_endpoint.h"

#define SECOND 1000000000ull

struct endpoint {
    const struct tailback_setup *setup;
    uint64_t next_ns;
};

uint32_t tailback_endpoint_abi(void)
{
#ifdef VERSION
    return VERSION;
#else
    return TAILBACK_ENDPOINT_ABI;
#endif
}

void *tailback_endpoint_open(const struct tailback_setup *setup)
{
#ifdef REFUSES
    setup->host->fail(setup->token, "it does not like this path");
#endif
#ifdef REFUSES_SILENTLY
    setup->host->fail(setup->token, " \n");
#endif
#ifdef GIVES_NULL
    return NULL;
#endif
    struct endpoint *own = calloc(1, sizeof *own);
    own->setup = setup;
    own->next_ns = setup->start_ns;
    return own;
}

void tailback_endpoint_receive(void *endpoint, uint64_t now_ns, const struct tailback_received *datagram)
{
    (void)endpoint, (void)now_ns, (void)datagram;
}

static volatile int *nowhere;
static volatile int turns;

void tailback_endpoint_expired(void *endpoint, uint64_t now_ns)
{
    (void)endpoint;
    if (now_ns < SECOND)
        return;
#ifdef CRASHES
    *nowhere = 1;
#endif
#ifdef ABORTS
    abort();
#endif
#ifdef SPINS
    for (;;)
        turns++;
#endif
}

/* Each 10 ms a datagram. */
int tailback_endpoint_transmit(void *endpoint, uint64_t now_ns, struct tailback_outgoing *datagram)
{
    struct endpoint *own = endpoint;
    if (own->setup->end == 1 || now_ns < own->next_ns)
        return 0;
    own->next_ns = now_ns + SECOND / 100;
    datagram->size = 100;
    if (now_ns < SECOND)
        return 1;
#ifdef SENDS_NOWHERE
    datagram->to = 7;
#endif
#ifdef SENDS_TOO_MUCH
    datagram->size = datagram->capacity + 1;
#endif
#ifdef SENDS_LONG
    datagram->size = own->setup->max_datagram + 1;
#endif
#ifdef MARKS
    datagram->ecn = 4;
#endif
#ifdef NOTES
    own->setup->host->event(own->setup->token, "recovery:metrics_updated", "{");
#endif
    return 1;
}

#ifndef LACKS_TIMEOUT
uint64_t tailback_endpoint_timeout(void *endpoint)
{
    struct endpoint *own = endpoint;
    if (own->setup->end == 1)
        return TAILBACK_NEVER;
#ifdef ASKS_FOR_THE_PAST
    if (own->next_ns > SECOND)
        return SECOND / 2;
#endif
#ifdef STANDS_STILL
    if (own->next_ns > SECOND)
        return own->next_ns - SECOND / 100;
#endif
    return own->next_ns;
}
#endif

void tailback_endpoint_close(void *endpoint) { free(endpoint); }
