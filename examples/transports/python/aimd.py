"""An example of a transport in Python: datagrams under a window that grows by one each round trip, and that a loss
reduces.

    traffic: [{endpoint: aimd.py, from: client, to: server, options: {beta: 0.7}}]

The object at `from` sends numbered datagrams, the one at `to` acknowledges each. Times are in seconds.
"""

import struct

HEAD = struct.Struct("!Qd")
"""Number of a datagram, and when it was sent."""

REORDERING = 3
SILENCE = 1.0


class Aimd:
    """One end."""

    def __init__(self, setup, size=1200, beta=0.5):
        self.sends = setup.end == "from"
        self.size = size
        self.beta = beta
        self.cwnd = 10.0
        self.ssthresh = float("inf")
        self.next = 0
        self.recovery = 0
        self.in_flight = {}
        self.srtt = None
        self.heard = setup.start
        self.owed = []
        self.read = 0

    def receive(self, now, data, ecn):
        """A datagram has arrived."""
        number, sent = HEAD.unpack_from(data)
        if self.sends:
            self.acknowledged(now, number, sent)
        else:
            self.read += len(data)
            self.owed.append(data[: HEAD.size])

    def acknowledged(self, now, number, sent):
        self.heard = now
        if self.in_flight.pop(number, None) is None:
            return
        rtt = now - sent
        self.srtt = rtt if self.srtt is None else self.srtt + (rtt - self.srtt) / 8
        self.cwnd += 1 if self.cwnd < self.ssthresh else 1 / self.cwnd
        self.lose([each for each in self.in_flight if each < number - REORDERING])

    def lose(self, numbers):
        for number in numbers:
            del self.in_flight[number]
            if number >= self.recovery:
                self.recovery = self.next
                self.cwnd = self.ssthresh = max(2.0, self.cwnd * self.beta)

    def poll(self, now):
        """The next datagram to send now, or None."""
        if not self.sends:
            return self.owed.pop(0) if self.owed else None
        if self.in_flight and now >= self.heard + SILENCE:
            self.lose(list(self.in_flight))
            self.cwnd, self.heard = 1.0, now
        if len(self.in_flight) + 1 > self.cwnd:
            return None
        if not self.in_flight:
            self.heard = now
        self.in_flight[self.next] = now
        self.next += 1
        return HEAD.pack(self.next - 1, now).ljust(self.size, b"\0")

    def next_timeout(self):
        """When to be called if nothing arrives before."""
        return self.heard + SILENCE if self.sends and self.in_flight else None

    def info(self, now):
        """What tables and figures show."""
        if not self.sends:
            return {"read_bytes": self.read}
        known = {} if self.srtt is None else {"rtt": self.srtt}
        size = self.size
        return {
            "cwnd_bytes": self.cwnd * size,
            "datagram_bytes": size,
            "in_flight_bytes": len(self.in_flight) * size,
            **known,
        }
