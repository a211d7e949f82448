/* Drives both ends of a library without a network: each datagram arrives 10 ms after it was sent, every hundredth is lost. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tailback_endpoint.h"

#define MOST 65507
#define DELAY 10000000ull
#define END 3000000000ull
#define ROOM 8192

struct flying {
    uint64_t at;
    uint32_t to;
    size_t size;
    uint8_t *data;
};

static struct flying queue[ROOM];
static size_t head, tail;
static unsigned long sent, events;

static uint64_t draw(void *token) { (void)token; return 4; }
static void say(void *token, const char *line) { (void)token, (void)line; }
static void fail(void *token, const char *reason) { (void)token; fprintf(stderr, "%s\n", reason); exit(2); }
static void event(void *token, const char *name, const char *data) { (void)token, (void)name, (void)data; events++; }

static void send_all(void *const *ends, uint64_t now)
{
    static uint8_t room[MOST];
    for (uint32_t end = 0; end < 2; end++) {
        for (;;) {
            struct tailback_outgoing given = {room, MOST, 0, 0, 0, 1 - end, 0};
            if (!tailback_endpoint_transmit(ends[end], now, &given))
                break;
            if (++sent % 100 == 0)
                continue;
            struct flying *flies = &queue[tail++ % ROOM];
            *flies = (struct flying){now + DELAY, given.to, given.size, malloc(given.size)};
            memcpy(flies->data, room, given.size);
        }
    }
}

int main(void)
{
    const struct tailback_host host = {draw, say, fail, event};
    const struct tailback_option options[] = {{"beta", "0.7"}, {"ecn", "true"}};
    struct tailback_setup setups[2];
    void *ends[2];
    for (uint32_t end = 0; end < 2; end++) {
        setups[end] = (struct tailback_setup){&host, NULL, "mine", options, 2, 0, END, end, 1472};
        ends[end] = tailback_endpoint_open(&setups[end]);
    }
    for (uint64_t now = 0; now < END;) {
        send_all(ends, now);
        uint64_t next = END;
        for (int end = 0; end < 2; end++) {
            uint64_t wanted = tailback_endpoint_timeout(ends[end]);
            next = wanted < next ? wanted : next;
        }
        if (head < tail && queue[head % ROOM].at <= next)
            next = queue[head % ROOM].at;
        now = next;
        for (; head < tail && queue[head % ROOM].at <= now; head++) {
            struct flying *flies = &queue[head % ROOM];
            const struct tailback_received got = {flies->data, flies->size, 1 - flies->to, head % 50 ? 2 : 3};
            tailback_endpoint_receive(ends[flies->to], now, &got);
            free(flies->data);
        }
        for (int end = 0; end < 2; end++)
            if (tailback_endpoint_timeout(ends[end]) <= now)
                tailback_endpoint_expired(ends[end], now);
    }
    struct tailback_info info;
    memset(&info, 0xff, sizeof info);
    tailback_endpoint_info(ends[0], END, &info);
    for (; head < tail; head++)
        free(queue[head % ROOM].data);
    tailback_endpoint_close(ends[0]);
    tailback_endpoint_close(ends[1]);
    printf("%lu %lu %lu\n", sent, (unsigned long)info.lost, events);
    return 0;
}
