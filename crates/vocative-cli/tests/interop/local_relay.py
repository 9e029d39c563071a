"""rust-nostr's own relay, in memory: python3 local_relay.py [READ]

With READ, reading takes authentication. Prints its address, and ends when its input does.
"""

import asyncio
import sys

from nostr_sdk import LocalRelayBuilder, LocalRelayBuilderNip42, LocalRelayBuilderNip42Mode, RateLimit


async def main():
    builder = LocalRelayBuilder().addr("127.0.0.1")
    builder = builder.rate_limit(RateLimit(max_reqs=1_000, notes_per_minute=1_000_000))
    for mode in sys.argv[1:]:
        builder = builder.nip42(LocalRelayBuilderNip42(mode=LocalRelayBuilderNip42Mode[mode]))
    relay = builder.build()
    await relay.run()
    print(await relay.url(), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    relay.shutdown()


asyncio.run(main())
