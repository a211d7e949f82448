/* An endpoint that answers at random, from the option `seed`: mostly what an endpoint may, now and then (one in `odd`) anything. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tailback_endpoint.h"

struct endpoint {
    const struct tailback_setup *setup;
    uint64_t state;
    uint64_t odd;
    uint64_t next_ns;
};

static uint64_t draw(struct endpoint *own)
{
    own->state ^= own->state << 13;
    own->state ^= own->state >> 7;
    own->state ^= own->state << 17;
    return own->state;
}

static uint64_t below(struct endpoint *own, uint64_t most) { return most ? draw(own) % most : 0; }

static int is_odd(struct endpoint *own) { return below(own, own->odd) == 0; }

/* What nobody expects of a number. */
static uint64_t anything(struct endpoint *own, uint64_t now_ns)
{
    const uint64_t values[] = {
        0, 1, 2, 4, 255, 1472, 1473, 65507, 65508, 1u << 31, 0xffffffffu, 1ull << 32, 1ull << 62, 1ull << 63, UINT64_MAX - 1,
        UINT64_MAX, now_ns, now_ns - 1, now_ns + 1, own->setup->end_ns, own->setup->end_ns + 1, draw(own),
    };
    return values[below(own, sizeof values / sizeof *values)];
}

/* A line that is short, empty, long, or no UTF-8. */
static const char *anything_written(struct endpoint *own)
{
    static char line[200001];
    const size_t sizes[] = {0, 1, 20, 4096, 200000};
    size_t size = sizes[below(own, sizeof sizes / sizeof *sizes)];
    for (size_t at = 0; at < size; at++)
        line[at] = (char)(1 + below(own, 255));
    line[size] = 0;
    return line;
}

static void speak(struct endpoint *own)
{
    static const char *const data[] = {"{}", "{\"a\": 1e400}", "[1]", "{\"a\": NaN}", "", "{", "{\"a\":{\"a\":{\"a\":[[[]]]}}}"};
    const struct tailback_host *host = own->setup->host;
    void *token = own->setup->token;
    switch (below(own, 4)) {
    case 0: host->log(token, anything_written(own)); break;
    case 1: host->event(token, anything_written(own), data[below(own, sizeof data / sizeof *data)]); break;
    case 2: host->event(token, "recovery:metrics_updated", is_odd(own) ? anything_written(own) : "{\"a\": 1}"); break;
    default: own->state += host->random(token);
    }
}

uint32_t tailback_endpoint_abi(void) { return TAILBACK_ENDPOINT_ABI; }

void *tailback_endpoint_open(const struct tailback_setup *setup)
{
    struct endpoint *own = calloc(1, sizeof *own);
    own->setup = setup;
    own->odd = 2000;
    own->state = 88172645463325252ull + setup->end;
    for (size_t place = 0; place < setup->option_count; place++) {
        if (!strcmp(setup->options[place].name, "seed"))
            own->state += strtoull(setup->options[place].value, NULL, 10) * 6364136223846793005ull;
        if (!strcmp(setup->options[place].name, "odd"))
            own->odd = strtoull(setup->options[place].value, NULL, 10);
    }
    own->next_ns = setup->start_ns;
    if (is_odd(own))
        setup->host->fail(setup->token, anything_written(own));
    return is_odd(own) ? NULL : own;
}

void tailback_endpoint_receive(void *endpoint, uint64_t now_ns, const struct tailback_received *datagram)
{
    struct endpoint *own = endpoint;
    for (size_t at = 0; at < datagram->size; at++)
        own->state += datagram->data[at];
    if (below(own, 4) == 0)
        own->next_ns = now_ns;
    if (is_odd(own))
        speak(own);
}

void tailback_endpoint_expired(void *endpoint, uint64_t now_ns)
{
    struct endpoint *own = endpoint;
    own->next_ns = now_ns + below(own, 20000000);
    if (is_odd(own))
        speak(own);
    if (is_odd(own) && is_odd(own))
        own->setup->host->fail(own->setup->token, anything_written(own));
}

int tailback_endpoint_transmit(void *endpoint, uint64_t now_ns, struct tailback_outgoing *datagram)
{
    struct endpoint *own = endpoint;
    if (below(own, 2))
        return is_odd(own) ? (int)anything(own, now_ns) : 0;
    datagram->size = below(own, own->setup->max_datagram + 1);
    if (below(own, 3) == 0) {
        datagram->segment = 1 + below(own, own->setup->max_datagram);
        datagram->size = below(own, 64 * datagram->segment);
        if (datagram->size > datagram->capacity)
            datagram->size = datagram->capacity;
    }
    for (size_t at = 0; at < datagram->size; at += 97)
        datagram->data[at] = (uint8_t)draw(own);
    datagram->ecn = (uint32_t)below(own, 4);
    if (below(own, 4) == 0)
        datagram->departure_ns = now_ns + below(own, 5000000);
    if (is_odd(own)) datagram->size = anything(own, now_ns);
    if (is_odd(own)) datagram->segment = anything(own, now_ns);
    if (is_odd(own)) datagram->departure_ns = anything(own, now_ns);
    if (is_odd(own)) datagram->to = (uint32_t)anything(own, now_ns);
    if (is_odd(own)) datagram->ecn = (uint32_t)anything(own, now_ns);
    return 1;
}

uint64_t tailback_endpoint_timeout(void *endpoint)
{
    struct endpoint *own = endpoint;
    return is_odd(own) && is_odd(own) ? anything(own, own->next_ns) : own->next_ns;
}

void tailback_endpoint_close(void *endpoint) { free(endpoint); }

void tailback_endpoint_info(void *endpoint, uint64_t now_ns, struct tailback_info *info)
{
    struct endpoint *own = endpoint;
    uint64_t *fields = (uint64_t *)info;
    for (size_t at = 0; at < sizeof *info / sizeof *fields; at++)
        if (below(own, 2))
            fields[at] = is_odd(own) ? anything(own, now_ns) : below(own, 1000000000);
}
