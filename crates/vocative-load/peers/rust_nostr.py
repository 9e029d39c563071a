"""rust-nostr's LocalRelay in memory, with its limits lifted: python rust_nostr.py PORT

A store on disk would be reached through Python for every event, so only the one in memory is of use here.
"""

import asyncio
import sys

from nostr_sdk import LocalRelayBuilder, RateLimit

MANY = 1_000_000_000


async def main(port):
    builder = LocalRelayBuilder().addr("127.0.0.1").port(int(port))
    relay = builder.rate_limit(RateLimit(max_reqs=MANY, notes_per_minute=MANY)).build()
    await relay.run()
    await asyncio.Event().wait()


asyncio.run(main(sys.argv[1]))
