// A scenario over nostr-tools: node --input-type=module - URL SCENARIO < nostr_tools.mjs
//
// Runs beside nostr_sdk_client.py, step for step. Prints one line for each step: what was asked, and what was
// answered, with names instead of ids. Nothing here knows which relay it talks to, or what it should answer.

import { readFileSync } from 'node:fs'
import { fetchRelayInformation } from 'nostr-tools/nip11'
import { SimplePool, useWebSocketImplementation as usePoolWebSocket } from 'nostr-tools/pool'
import { finalizeEvent, getPublicKey } from 'nostr-tools/pure'
import { Relay, useWebSocketImplementation } from 'nostr-tools/relay'
import WebSocket from 'ws'

useWebSocketImplementation(WebSocket)
usePoolWebSocket(WebSocket)

// How long a step may take; none takes a tenth of it.
const LIMIT = 20_000
const NOBODY = '0'.repeat(64)

const [url, file] = process.argv.slice(2)
const scenario = JSON.parse(readFileSync(file, 'utf8'))
const start = Math.floor(Date.now() / 1000)
const keys = new Map()
const events = new Map()
const names = new Map()
const connections = new Map()

// What a text of the scenario stands for: `$bob` is a key, `$hello` the id of an event.
function resolve(value) {
  if (Array.isArray(value)) return value.map(resolve)
  if (typeof value !== 'string' || !value.startsWith('$')) return value
  const name = value.slice(1)
  return keys.has(name) ? getPublicKey(keys.get(name)) : events.get(name).id
}

function filters(list) {
  const time = (name, value) => (name === 'since' || name === 'until' ? start + value : resolve(value))
  return list.map(filter =>
    Object.fromEntries(Object.entries(filter).map(([name, value]) => [name, time(name, value)])),
  )
}

// Signs one event, or `copies` of it, of which `together` share a time; these are named as they are ordered.
function make({ name, by, at, kind, tags = [], text = '', copies, together, forged }) {
  const signed = Array.from({ length: copies ?? 1 }, (_, copy) => {
    const created_at = start + at - Math.floor(copy / (together ?? Infinity))
    const content = copies ? `${text} ${copy}` : text
    return finalizeEvent({ kind, created_at, tags: resolve(tags), content }, keys.get(by))
  })
  signed.sort((a, b) => b.created_at - a.created_at || (a.id < b.id ? -1 : 1))
  signed.forEach((event, copy) => {
    const own = copies ? `${name}.${copy + 1}` : name
    if (forged === 'text') event.content += ' and more'
    if (forged === 'signature') event.sig = events.get('hello').sig
    events.set(own, event)
    names.set(event.id, own)
  })
}

const named = event => names.get(event.id) ?? `kind ${event.kind}`

// Shortens `page.1`, `page.2`, `page.3` to `page.1..3`.
function runs(rows) {
  const short = []
  for (const row of rows) {
    const [, stem, number] = /^(.+)\.(\d+)$/.exec(row) ?? []
    const last = short.at(-1)
    if (stem && last?.stem === stem && last.to + 1 === Number(number)) last.to += 1
    else short.push({ row, stem, from: Number(number), to: Number(number) })
  }
  return short.map(({ row, stem, from, to }) => (from < to ? `${stem}.${from}..${to}` : row))
}

const word = (first, reason) => [first, /^([a-z-]+):/.exec(reason ?? '')?.[1]].filter(Boolean).join(' ')

function inTime(promise) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(reject, LIMIT, new Error('no answer'))
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

class Connection {
  static async open() {
    const connection = new Connection()
    connection.subscriptions = new Map()
    connection.relay = await Relay.connect(url)
    // nostr-tools says nothing of events for a subscription that it has closed, so the wire is asked.
    connection.relay.ws.on('message', text => {
      const [type, id, event] = JSON.parse(text)
      if (type === 'EVENT' && !connection.relay.openSubs.has(id)) connection.#heard(id, event)
    })
    return connection
  }

  async outcome(promise) {
    try {
      return word('ok', await inTime(promise))
    } catch (error) {
      return error.message === 'no answer' ? error.message : word('refused', error.message)
    }
  }

  // The stored events up to EOSE; what comes afterwards is kept until it is asked for.
  subscribe(id, list) {
    const subscription = { id, stored: [], heard: [], waiting: () => {} }
    this.subscriptions.set(id, subscription)
    let eosed = false
    return inTime(
      new Promise(done => {
        subscription.client = this.relay.subscribe(list, {
          id,
          // Otherwise nostr-tools takes the answer for complete after a while.
          eoseTimeout: 2 * LIMIT,
          onevent: event => (eosed ? this.#heard(id, event) : subscription.stored.push(event)),
          oninvalidevent: event => subscription.stored.push({ ...event, id: 'invalid' }),
          oneose: () => {
            eosed = true
            done(subscription.stored)
          },
          onclose: reason => done(word('closed', reason)),
        })
      }),
    )
  }

  #heard(id, event) {
    const subscription = this.subscriptions.get(id)
    subscription?.heard.push(named(event))
    subscription?.waiting()
  }

  // Waits until the subscription was told all of these; what is missing then shows in the answer.
  heard(subscription, wanted) {
    const all = new Promise(done => {
      subscription.waiting = () => wanted.every(name => subscription.heard.includes(name)) && done()
      subscription.waiting()
    })
    return inTime(all).catch(() => subscription.heard.push('no more'))
  }

  async read(list) {
    // A relay may end a subscription after EOSE: that must not be taken for an answer to the next one.
    const id = `read ${this.subscriptions.size}`
    const answer = await this.subscribe(id, list)
    this.relay.openSubs.get(id)?.close()
    return answer
  }
}

const listed = answer => (typeof answer === 'string' ? answer : runs(answer.map(named)))

const verbs = {
  async info({ info }) {
    const document = await fetchRelayInformation(url).catch(() => undefined)
    return document ? info.filter(nip => document.supported_nips.includes(nip)) : 'none'
  },
  async connect({ connect }) {
    connections.set(connect, await Connection.open())
    return 'connected'
  },
  async publish({ publish, 'at-once': atOnce }, { relay, outcome }) {
    const isOf = name => own => own === name || own.startsWith(`${name}.`)
    const sent = [publish].flat().flatMap(name => [...events.keys()].filter(isOf(name)))
    const outcomes = []
    for (const name of sent) {
      outcomes.push(outcome(relay.publish(events.get(name))))
      if (!atOnce) await outcomes.at(-1)
    }
    await Promise.all(outcomes).then(all => outcomes.splice(0, all.length, ...all))
    return new Set(outcomes).size === 1 ? outcomes[0] : outcomes
  },
  async read({ read }, connection) {
    return listed(await connection.read(filters(read)))
  },
  async count({ count }, { relay }) {
    try {
      return await inTime(relay.count(filters([count]), {}))
    } catch (error) {
      return error.message === 'no answer' ? error.message : word('closed', error.message)
    }
  },
  async page({ page, by }, connection) {
    const [filter] = filters([page])
    const pages = []
    for (let full = true; full; ) {
      const rows = await connection.read([{ ...filter, limit: by }])
      pages.push(listed(rows).join(' '))
      full = rows.length === by && pages.length < 100
      filter.until = rows.at(-1)?.created_at
    }
    return pages
  },
  async open({ open, filters: list }, connection) {
    return listed(await connection.subscribe(open, filters(list)))
  },
  async hear({ hear, after }, connection) {
    const subscription = connection.subscriptions.get(hear)
    if (after) await connection.heard(subscription, [after])
    // Whatever was sent before this answer has arrived with it.
    await connection.read([{ ids: [NOBODY] }])
    return runs(subscription.heard.splice(0))
  },
  // Subscribes in the middle of what is being published: everything is told, and nothing twice.
  async race({ race, filters: list }, connection) {
    const all = [...events.keys()].filter(name => name.startsWith(`${race}.`))
    const publish = name => connections.get('main').relay.publish(events.get(name))
    const sent = all.slice(0, all.length / 2).map(publish)
    await inTime(Promise.race(sent))
    const stored = connection.subscribe(race, filters(list))
    sent.push(...all.slice(all.length / 2).map(publish))
    await inTime(Promise.all(sent))
    const subscription = connection.subscriptions.get(race)
    subscription.heard.unshift(...(await stored).map(named))
    await connection.heard(subscription, all)
    await connection.read([{ ids: [NOBODY] }])
    return runs(subscription.heard.sort((a, b) => all.indexOf(a) - all.indexOf(b)))
  },
  async close({ close }, connection) {
    connection.subscriptions.get(close).client.close()
    return 'closed'
  },
  async challenged(_, connection) {
    await connection.read([{ ids: [NOBODY] }])
    return Boolean(connection.relay.challenge)
  },
  async auth({ auth, relay: named, challenge }, { relay, outcome }) {
    // nostr-tools authenticates once for each connection; a further key needs it to forget that.
    relay.authPromise = undefined
    const said = { relay: named, challenge }
    return outcome(
      relay.auth(async template => {
        const tags = template.tags.map(([name, value]) => [name, said[name] ?? value])
        return finalizeEvent({ ...template, tags }, keys.get(auth))
      }),
    )
  },
  // The way of an application: the pool authenticates when the relay wants it, and asks again.
  async enter({ enter, filter }) {
    const onauth = async template => finalizeEvent(template, keys.get(enter))
    const pool = new SimplePool({ automaticallyAuth: () => onauth })
    const rows = await inTime(pool.querySync([url], filters([filter])[0], { onauth, maxWait: LIMIT }))
    pool.destroy()
    return listed(rows)
  },
}

for (const [name, number] of Object.entries(scenario.people)) {
  keys.set(name, Uint8Array.from({ length: 32 }, (_, place) => (place === 31 ? number : 0)))
}
scenario.events.forEach(make)
connections.set('main', await Connection.open())
for (const asked of scenario.steps) {
  const verb = Object.keys(verbs).find(verb => verb in asked)
  const step = verbs[verb](asked, connections.get(asked.on ?? 'main'))
  const answered = await step.catch(({ message }) => (message === 'no answer' ? message : `failed: ${message}`))
  console.log(JSON.stringify({ asked, answered }))
  if (answered === 'no answer') break
}
connections.forEach(({ relay }) => relay.close())
// The timers of nostr-tools for answers that were refused would keep the process.
process.stdout.write('', () => process.exit())
