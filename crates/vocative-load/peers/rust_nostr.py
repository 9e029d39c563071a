"""rust-nostr's LocalRelay with its limits lifted.

    python rust_nostr.py PORT [FOLDER]

Events are kept in LMDB in FOLDER, or in memory without one. Prints its address when it listens.
"""

import asyncio
import sys

from nostr_sdk import LocalRelayBuilder, NostrLmdb, RateLimit

MANY = 1_000_000_000


async def main(port, folder=None):
    builder = LocalRelayBuilder().addr("127.0.0.1").port(int(port))
    builder = builder.rate_limit(RateLimit(max_reqs=MANY, notes_per_minute=MANY))
    if folder is not None:
        builder = builder.database(await NostrLmdb.open(folder))
    relay = builder.build()
    await relay.run()
    print(await relay.url(), flush=True)
    await asyncio.Event().wait()


asyncio.run(main(*sys.argv[1:]))
