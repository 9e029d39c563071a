"""A scenario over rust-nostr's client: python3 rust_nostr.py URL SCENARIO

Runs beside nostr_tools.mjs, step for step. Prints one line for each step: what was asked, and what was
answered, with names instead of ids. Nothing here knows which relay it talks to, or what it should answer.
"""

import asyncio
import json
import re
import sys
import time
import urllib.request
from datetime import timedelta

import nostr_sdk.nostr_sdk
from nostr_sdk import (
    ClientBuilder,
    ClientMessage,
    Event,
    EventBuilder,
    Filter,
    Keys,
    Kind,
    NostrSdkError,
    RelayInformationDocument,
    RelayUrl,
    ReqTarget,
    SignerAuthenticator,
    Tag,
    Timestamp,
)

# How long a step may take; none takes a tenth of it.
LIMIT = timedelta(seconds=20)
NOBODY = "0" * 64

URL, FILE = sys.argv[1:]
START = int(time.time())
keys = {}
events = {}
names = {}
connections = {}


def resolve(value):
    """What a text of the scenario stands for: `$bob` is a key, `$hello` the id of an event."""
    if isinstance(value, list):
        return [resolve(item) for item in value]
    if not isinstance(value, str) or not value.startswith("$"):
        return value
    name = value[1:]
    return keys[name].public_key().to_hex() if name in keys else events[name].id().to_hex()


def filters(specs):
    def time_or_value(name, value):
        return START + value if name in ("since", "until") else resolve(value)

    return [{name: time_or_value(name, value) for name, value in spec.items()} for spec in specs]


def sign(by, kind, at, tags, text):
    builder = EventBuilder(Kind(kind), text).tags([Tag.parse(tag) for tag in tags])
    return builder.custom_created_at(Timestamp.from_secs(at)).finalize(keys[by])


def make(name, by, at, kind, tags=(), text="", copies=None, together=None, forged=None):
    """Signs one event, or `copies` of it, of which `together` share a time; these are named as they are ordered."""
    signed = []
    for copy in range(copies or 1):
        created_at = START + at - (copy // together if together else 0)
        signed.append(sign(by, kind, created_at, resolve(list(tags)), f"{text} {copy}" if copies else text))
    signed.sort(key=lambda event: (-event.created_at().as_secs(), event.id().to_hex()))
    for number, event in enumerate(signed, 1):
        own = f"{name}.{number}" if copies else name
        fields = json.loads(event.as_json())
        if forged == "text":
            fields["content"] += " and more"
        if forged == "signature":
            fields["sig"] = events["hello"].signature()
        events[own] = Event.from_json(json.dumps(fields)) if forged else event
        names[event.id().to_hex()] = own


def named(event):
    return names.get(event.id().to_hex(), f"kind {event.kind().as_u16()}")


def runs(rows):
    """Shortens `page.1`, `page.2`, `page.3` to `page.1..3`."""
    short = []
    for row in rows:
        match = re.fullmatch(r"(.+)\.(\d+)", row)
        stem, number = (match[1], int(match[2])) if match else (None, 0)
        if stem and short and short[-1][1] == stem and short[-1][3] + 1 == number:
            short[-1][3] = number
        else:
            short.append([row, stem, number, number])
    return [f"{stem}.{first}..{last}" if first < last else row for row, stem, first, last in short]


def word(first, reason):
    prefix = re.match(r"([a-z-]+):", reason or "")
    return f"{first} {prefix[1]}" if prefix else first


async def in_time(awaitable):
    return await asyncio.wait_for(awaitable, LIMIT.total_seconds())


class Subscription:
    def __init__(self):
        self.stored = []
        self.heard = []
        self.ended = asyncio.get_running_loop().create_future()
        self.changed = asyncio.Condition()


class Connection:
    """A connection of the client, with everything that the relay says on it."""

    @classmethod
    async def open(cls, authenticator=None):
        self = cls()
        self.subscriptions = {}
        self.outcomes = {}
        self.counts = asyncio.Queue()
        self.challenge = None
        builder = ClientBuilder()
        self.client = (builder.authenticator(authenticator) if authenticator else builder).build()
        url = RelayUrl.parse(URL)
        await self.client.add_relay(url)
        self.listener = asyncio.create_task(self._listen(self.client.notifications()))
        await self.client.try_connect(LIMIT)
        self.relay = await self.client.relay(url)
        return self

    async def _listen(self, notifications):
        while (notification := await notifications.next()) is not None:
            # Not NEW_EVENT, which tells an event only once however often the relay sends it.
            if notification.is_message():
                await self._told(notification.message.as_enum())

    async def _told(self, message):
        subscription = self.subscriptions.get(getattr(message, "subscription_id", None))
        if message.is_ok():
            self._outcome(message.event_id.to_hex()).set_result(
                word("ok" if message.status else "refused", message.message)
            )
        elif message.is_auth():
            self.challenge = message.challenge
        elif message.is_closed() and not subscription:
            self.counts.put_nowait(word("closed", message.message))
        elif message.is_count():
            self.counts.put_nowait(message.count)
        elif message.is_closed():
            if not subscription.ended.done():
                subscription.ended.set_result(word("closed", message.message))
        elif message.is_end_of_stored_events() and subscription:
            if not subscription.ended.done():
                subscription.ended.set_result(subscription.stored)
        elif message.is_event_msg() and subscription:
            if subscription.ended.done():
                subscription.heard.append(named(message.event))
            else:
                subscription.stored.append(message.event)
            async with subscription.changed:
                subscription.changed.notify_all()

    def _outcome(self, event_id):
        return self.outcomes.setdefault(event_id, asyncio.get_running_loop().create_future())

    async def publish(self, event):
        """What the relay answered; the client itself tells that only of a refusal."""
        self.outcomes.pop(event.id().to_hex(), None)
        answered = self._outcome(event.id().to_hex())
        try:
            await self.relay.send_event(event, ok_timeout=LIMIT)
        except NostrSdkError as error:
            assert not answered.done() or "refused" in answered.result(), error
        return await in_time(answered)

    async def subscribe(self, name, specs):
        """The stored events up to EOSE; what comes afterwards is kept until it is asked for."""
        subscription = self.subscriptions[name] = Subscription()
        target = ReqTarget.auto([Filter.from_json(json.dumps(spec)) for spec in specs])
        output = await self.client.subscribe(target, name)
        if output.failed:
            # The client replaces no subscription, the protocol does.
            await self.relay.send_msg(ClientMessage.from_json(json.dumps(["REQ", name, *specs])))
        return await in_time(subscription.ended)

    async def heard(self, subscription, wanted):
        """Waits until the subscription was told all of these; what is missing then shows in the answer."""
        async with subscription.changed:
            try:
                await in_time(subscription.changed.wait_for(lambda: wanted <= set(subscription.heard)))
            except asyncio.TimeoutError:
                subscription.heard.append("no more")

    async def read(self, specs):
        # A relay may end a subscription after EOSE: that must not be taken for an answer to the next one.
        name = f"read {len(self.subscriptions)}"
        answer = await self.subscribe(name, specs)
        await self.client.unsubscribe(name)
        return answer


def listed(answer):
    return answer if isinstance(answer, str) else runs([named(event) for event in answer])


async def info(step, _):
    def fetch():
        request = urllib.request.Request(
            URL.replace("ws", "http", 1), headers={"Accept": "application/nostr+json"}
        )
        with urllib.request.urlopen(request, timeout=LIMIT.total_seconds()) as response:
            return RelayInformationDocument.from_json(response.read().decode())

    try:
        document = await asyncio.to_thread(fetch)
    except OSError:
        return "none"
    return [nip for nip in step["info"] if nip in document.supported_nips()]


async def connect(step, _):
    connections[step["connect"]] = await Connection.open()
    return "connected"


async def publish(step, connection):
    wanted = step["publish"] if isinstance(step["publish"], list) else [step["publish"]]
    sent = [events[own] for name in wanted for own in events if own == name or own.startswith(name + ".")]
    if "at-once" in step:
        outcomes = await asyncio.gather(*map(connection.publish, sent))
    else:
        outcomes = [await connection.publish(event) for event in sent]
    return outcomes[0] if len(set(outcomes)) == 1 else outcomes


async def read(step, connection):
    return listed(await connection.read(filters(step["read"])))


async def count(step, connection):
    (spec,) = filters([step["count"]])
    asked = asyncio.create_task(connection.relay.count_events(Filter.from_json(json.dumps(spec)), LIMIT))
    # The call itself misses answers that come at once, and waits on when the relay refuses to count.
    answer = await in_time(connection.counts.get())
    asked.cancel()
    return answer


async def page(step, connection):
    (spec,) = filters([step["page"]])
    pages = []
    is_full = True
    while is_full:
        rows = await connection.read([{**spec, "limit": step["by"]}])
        pages.append(" ".join(listed(rows)))
        is_full = len(rows) == step["by"] and len(pages) < 100
        if is_full:
            spec["until"] = rows[-1].created_at().as_secs()
    return pages


async def open_(step, connection):
    return listed(await connection.subscribe(step["open"], filters(step["filters"])))


async def hear(step, connection):
    subscription = connection.subscriptions[step["hear"]]
    if "after" in step:
        await connection.heard(subscription, {step["after"]})
    # Whatever was sent before this answer has arrived with it.
    await connection.read([{"ids": [NOBODY]}])
    heard, subscription.heard = subscription.heard, []
    return runs(heard)


async def race(step, connection):
    """Subscribes in the middle of what is being published: everything is told, and nothing twice."""
    every = [name for name in events if name.startswith(step["race"] + ".")]
    sender = connections["main"]
    sent = [asyncio.create_task(sender.publish(events[name])) for name in every[: len(every) // 2]]
    await asyncio.wait(sent, return_when=asyncio.FIRST_COMPLETED)
    stored = asyncio.create_task(connection.subscribe(step["race"], filters(step["filters"])))
    sent += [asyncio.create_task(sender.publish(events[name])) for name in every[len(every) // 2 :]]
    await asyncio.gather(*sent)
    stored = [named(event) for event in await stored]
    subscription = connection.subscriptions[step["race"]]
    subscription.heard[:0] = stored
    await connection.heard(subscription, set(every))
    await connection.read([{"ids": [NOBODY]}])
    return runs(sorted(subscription.heard, key=every.index))


async def close(step, connection):
    await connection.client.unsubscribe(step["close"])
    return "closed"


async def challenged(_, connection):
    await connection.read([{"ids": [NOBODY]}])
    return connection.challenge is not None


async def auth(step, connection):
    """The client has no call for it, since it authenticates of its own accord: see `enter`."""
    tags = [["relay", step.get("relay", URL)], ["challenge", step.get("challenge", connection.challenge)]]
    event = sign(step["auth"], 22242, int(time.time()), tags, "")
    await connection.relay.send_msg(ClientMessage.auth(event))
    return await in_time(connection._outcome(event.id().to_hex()))


async def enter(step, _):
    """The way of an application: the client authenticates when the relay wants it, and asks again."""
    connection = await Connection.open(SignerAuthenticator(keys[step["enter"]]))
    target = ReqTarget.auto([Filter.from_json(json.dumps(filters([step["filter"]])[0]))])
    rows = await connection.client.fetch_events(target, LIMIT)
    await connection.client.shutdown()
    return listed(rows)


VERBS = {
    "info": info,
    "connect": connect,
    "publish": publish,
    "read": read,
    "count": count,
    "page": page,
    "open": open_,
    "hear": hear,
    "race": race,
    "close": close,
    "challenged": challenged,
    "auth": auth,
    "enter": enter,
}


async def main():
    # The client's authenticator asks for a signature from a thread of its own.
    nostr_sdk.nostr_sdk.uniffi_set_event_loop(asyncio.get_running_loop())
    with open(FILE, encoding="utf-8") as file:
        scenario = json.load(file)
    for name, number in scenario["people"].items():
        keys[name] = Keys.parse(f"{number:064x}")
    for event in scenario["events"]:
        make(**event)
    connections["main"] = await Connection.open()
    for asked in scenario["steps"]:
        verb = next(verb for verb in VERBS if verb in asked)
        try:
            answered = await VERBS[verb](asked, connections[asked.get("on", "main")])
        except asyncio.TimeoutError:
            answered = "no answer"
        print(json.dumps({"asked": asked, "answered": answered}), flush=True)
        if answered == "no answer":
            break
    for connection in connections.values():
        await connection.client.shutdown()


asyncio.run(main())
