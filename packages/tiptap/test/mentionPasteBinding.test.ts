/** The order of checks, answers and sends. */

import type { Key } from '@vocative/engine';
import { describe, expect, test, vi } from 'vitest';
import { PasteBinding, type Trust } from '../src/index.js';
import { id, key, make, zed } from './editor.js';

const record = (label: string, pair: string) => ({ label, key: key(pair), kind: 'human' as const });

interface Deferred {
  readonly keys: readonly Key[];
  readonly signal: AbortSignal;
  readonly answer: (found: ReadonlyMap<Key, readonly string[]>) => void;
  readonly fail: () => void;
}

/** A composer, and a relay that answers when the test says so. */
function composing(text: string, local: Trust['local'] = () => undefined) {
  const { composer } = make();
  const lookups: Deferred[] = [];
  const bound: string[] = [];
  const expired: string[] = [];
  const binding = new PasteBinding({
    composer,
    text: () => text,
    trust: {
      local,
      remote: (keys, signal) =>
        new Promise((answer, reject) =>
          lookups.push({ keys, signal, answer, fail: () => reject(new Error('offline')) }),
        ),
    },
    onBound: ({ id }) => bound.push(id),
    onExpired: (label) => expired.push(label),
  });
  const paste = (inserted: string, ...records: ReturnType<typeof record>[]) =>
    binding.ask(composer.pasted('', 0, 0, inserted, records));
  return { composer, binding, paste, lookups, bound, expired };
}

describe('trust', () => {
  test('local aliases answer at once, and ask nobody', () => {
    const { paste, lookups, bound } = composing('@Zed', () => ['zed']);
    paste('@Zed', record('Zed', '2d'));
    expect(bound).toEqual([zed]);
    expect(lookups).toEqual([]);
  });

  test('unknown keys are looked up in one batch', async () => {
    const { binding, paste, lookups, bound } = composing('@Zed @Yan');
    paste('@Zed @Yan', record('Zed', '2d'), record('Yan', '3e'));
    expect(lookups.map(({ keys }) => keys)).toEqual([[key('2d'), key('3e')]]);
    lookups[0]?.answer(
      new Map([
        [key('2d'), ['Zed']],
        [key('3e'), ['Somebody']],
        [key('99'), ['Yan']],
      ]),
    );
    await binding.settlePending();
    expect(bound).toEqual([zed]);
  });

  test('a local alias that is another name does not vouch; the profile may', async () => {
    const { binding, paste, lookups, bound } = composing('@Zed', () => ['Zebedee']);
    paste('@Zed', record('Zed', '2d'));
    lookups[0]?.answer(new Map([[key('2d'), ['Zed']]]));
    await binding.settlePending();
    expect(bound).toEqual([zed]);
  });

  test('an error vouches for nothing, and the name is told', async () => {
    const { composer, binding, paste, lookups, bound } = composing('@Zed');
    paste('@Zed', record('Zed', '2d'));
    lookups[0]?.fail();
    await binding.settlePending();
    expect(bound).toEqual([]);
    expect(composer.read('@Zed').diagnostics.map(({ code }) => code)).toEqual(['not_eligible']);
  });

  test('a qualified label is vouched for by its base', () => {
    const label = `Zed (${key('2d')})`;
    const { paste, bound } = composing(`@${label}`, () => ['Zed']);
    paste(`@${label}`, record(label, '2d'));
    expect(bound).toEqual([zed]);
  });
});

describe('a send', () => {
  test('waits for the answer', async () => {
    const { composer, binding, paste, lookups } = composing('@Zed');
    paste('@Zed', record('Zed', '2d'));
    const settled = binding.settlePending();
    lookups[0]?.answer(new Map([[key('2d'), ['Zed']]]));
    await settled;
    expect(composer.compose('@Zed', id('e5')).notify).toEqual([zed]);
  });

  test('waits ten seconds at most; the label then expires and a late answer binds nothing', async () => {
    const { composer, binding, paste, lookups, bound, expired } = composing('@Zed');
    vi.useFakeTimers();
    try {
      paste('@Zed', record('Zed', '2d'));
      const settled = binding.settlePending();
      await vi.advanceTimersByTimeAsync(9_999);
      expect(expired).toEqual([]);
      await vi.advanceTimersByTimeAsync(1);
      await settled;
    } finally {
      vi.useRealTimers();
    }
    expect(expired).toEqual(['Zed']);
    expect(composer.read('@Zed').diagnostics.map(({ code }) => code)).toEqual(['paste_expired']);
    lookups[0]?.answer(new Map([[key('2d'), ['Zed']]]));
    await binding.settlePending();
    expect(bound).toEqual([]);
  });

  test('never goes to a namesake in place of an expired identity', async () => {
    const { composer, binding, paste } = composing('@Scout');
    paste('@Scout', record('Scout', '2d'));
    await binding.settlePending(0);
    const outgoing = composer.compose('@Scout', id('e5'));
    expect(outgoing.notify).toEqual([]);
    expect(outgoing.ambiguous?.candidates).toEqual([zed, id('b0')].sort());
  });

  test('the newest claim of a label wins', async () => {
    const { binding, composer, lookups, bound } = composing('@Zed @Zed');
    binding.ask(composer.pasted('', 0, 0, '@Zed', [record('Zed', '2d')]));
    binding.ask(composer.pasted('@Zed', 4, 4, ' @Zed', [record('Zed', '3e')]));
    lookups[1]?.answer(new Map([[key('3e'), ['Zed']]]));
    lookups[0]?.answer(new Map([[key('2d'), ['Zed']]]));
    await binding.settlePending();
    expect(bound).toEqual([id('3e')]);
  });

  test('what was given up is aborted and answers nothing', async () => {
    const { binding, paste, lookups, bound } = composing('@Zed');
    paste('@Zed', record('Zed', '2d'));
    binding.abort();
    expect(lookups[0]?.signal.aborted).toBe(true);
    lookups[0]?.answer(new Map([[key('2d'), ['Zed']]]));
    await binding.settlePending(0);
    expect(bound).toEqual([]);
  });
});
