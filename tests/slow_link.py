#!/usr/bin/env python3
"""Two network namespaces with a slow, lossy link between them: two hosts that are far apart, on one machine.

    tests/slow_link.py NAME ADDRESS NAME ADDRESS [--delay SECONDS] [--loss SHARE]

Makes the namespaces, each with a device eth0 that has its address, and prints "ready". What is sent into one device comes
out of the other DELAY seconds later; a share LOSS of the packets, drawn with a fixed seed, never does. A line "cut" on
standard input loses all from then on, "mend" passes on again. When the input ends, what runs in the namespaces is killed,
and they are deleted, so that whoever holds the other end of a pipe leaves nothing behind however it ends.
Needs root, ip (iproute2) and /dev/net/tun. tests/on_host runs a command in one of them.
"""
import argparse
import collections
import fcntl
import ipaddress
import os
import random
import select
import signal
import struct
import subprocess
import sys
import time

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
LARGEST_PACKET = 65536


class End:
    """The device of one namespace, and the packets on their way to it: (when, packet), oldest first."""

    def __init__(self, name, address):
        self.name = name
        self.coming = collections.deque()
        subprocess.run(["ip", "netns", "add", name], check=True)
        try:
            # The kernel finds a name that is free here, which is not in the namespace.
            self.tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
            made = fcntl.ioctl(self.tun, TUNSETIFF, struct.pack("16sH22x", b"slow%d", IFF_TUN | IFF_NO_PI))
            device = made[:16].rstrip(b"\0").decode()
            subprocess.run(["ip", "link", "set", device, "netns", name, "name", "eth0"], check=True)
            for words in (["addr", "add", f"{address}/24", "dev", "eth0"], ["link", "set", "eth0", "up"],
                          ["link", "set", "lo", "up"]):
                subprocess.run(["ip", "-n", name, *words], check=True)
        except BaseException:
            self.remove()
            raise

    def remove(self):
        inside = subprocess.run(["ip", "netns", "pids", self.name], capture_output=True, text=True, check=False)
        for pid in inside.stdout.split():
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass
        subprocess.run(["ip", "netns", "del", self.name], check=False)

    def deliver(self, now):
        while self.coming and self.coming[0][0] <= now:
            try:
                os.write(self.tun, self.coming.popleft()[1])
            except OSError:
                pass  # a device that is down, or full, loses packets as any does

    def packets(self):
        while True:
            try:
                yield os.read(self.tun, LARGEST_PACKET)
            except OSError:
                return


def serve(ends, delay, loss):
    """Carries packets until standard input ends."""
    draw = random.Random(1)
    is_cut = False
    words = b""
    while True:
        due = [end.coming[0][0] for end in ends if end.coming]
        wait = max(min(due) - time.monotonic(), 0) if due else None
        ready = select.select([0, ends[0].tun, ends[1].tun], [], [], wait)[0]
        if 0 in ready:
            read = os.read(0, 4096)
            if not read:
                return
            *lines, words = (words + read).split(b"\n")
            for line in lines:
                is_cut = line == b"cut"
        now = time.monotonic()
        for here, there in (ends, ends[::-1]):
            if here.tun in ready:
                there.coming.extend((now + delay, packet) for packet in here.packets()
                                    if not is_cut and draw.random() >= loss)
        for end in ends:
            if is_cut:
                end.coming.clear()
            end.deliver(now)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for place in ("1", "2"):
        parser.add_argument("name" + place)
        parser.add_argument("address" + place, type=ipaddress.IPv4Address)
    parser.add_argument("--delay", type=float, default=0.01, help="seconds, one way (%(default)s)")
    parser.add_argument("--loss", type=float, default=0.01, help="share of the packets (%(default)s)")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    ends = []
    try:
        ends.append(End(args.name1, args.address1))
        ends.append(End(args.name2, args.address2))
        print("ready", flush=True)
        serve(ends, args.delay, args.loss)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"slow_link.py: {error}")
    except KeyboardInterrupt:
        sys.exit(1)
    finally:
        for end in ends:
            end.remove()


if __name__ == "__main__":
    main()
