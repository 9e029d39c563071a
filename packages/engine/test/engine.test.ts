import { beforeAll, describe, expect, test } from 'vitest';
import {
  type Composer,
  chip,
  Engine,
  highlights,
  type Id,
  isVocativeError,
  load,
  readClipboard,
} from '../src/index.js';

const ada = `nostr:${'a1'.repeat(32)}` as Id;
const other = `nostr:${'9c'.repeat(32)}` as Id;
const bot = `nostr:${'b0'.repeat(32)}` as Id;
const me = `nostr:${'e5'.repeat(32)}` as Id;

let engine: Engine;
let composer: Composer;

beforeAll(() => load());

describe('a composer over a roster', () => {
  function set(): void {
    engine = new Engine();
    engine.setMembers([
      { name: 'Ada King', id: ada },
      { name: 'Scout', id: bot, isAgent: true },
    ]);
    engine.setChannels(['general']);
    composer = engine.composer();
  }

  test('positions are UTF-16 units, and mentions and channels come in one pass', () => {
    set();
    const text = '👩‍🚀 @ada king in #general: > @Scout';
    const found = highlights(composer.highlight(text));
    expect(found.map(({ start, end, kind }) => [text.slice(start, end), kind])).toEqual([
      ['@ada king', 'human'],
      ['#general', 'channel'],
      ['@Scout', 'agent'],
    ]);
  });

  test('a block is read with what its editor knows to be code', () => {
    set();
    const text = 'x @Scout @Scout';
    const code = Uint32Array.of(2, 8);
    expect(highlights(composer.highlightBlock(text, code)).map(({ start }) => start)).toEqual([9]);
    expect(highlights(composer.highlightBlock(text, undefined, true)).map(({ isQuote }) => isQuote)).toEqual([
      true,
      true,
    ]);
  });

  test('the revision changes with whatever may change an owner', () => {
    set();
    const changes: (() => unknown)[] = [
      () => engine.addMember({ name: 'Bo', id: other }),
      () => engine.renameMember(0, 'Ada'),
      () => engine.setIsMember(0, false),
      () => engine.removeMember(0),
      () => engine.setChannels([]),
      () => composer.pick('Bo', other, ''),
      () => composer.clear(),
    ];
    for (const change of changes) {
      const before = composer.revision;
      change();
      expect(composer.revision, String(change)).not.toBe(before);
    }
  });

  test('rows are changed in place', () => {
    set();
    const row = engine.addMember({ name: 'Bo', id: other });
    expect(composer.read('@Bo').notify).toEqual([other]);
    engine.setIsMember(row, false);
    expect(composer.read('@Bo').diagnostics.map(({ code, ids }) => [code, ids])).toEqual([
      ['not_eligible', [other]],
    ]);
    engine.setIsMember(row, true);
    engine.renameMember(row, 'Bob');
    expect(composer.read('@Bob').notify).toEqual([other]);
    expect(engine.removeMember(row)).toBe(true);
    expect(engine.removeMember(row)).toBe(false);
    expect(composer.read('@Bob').diagnostics.map(({ code }) => code)).toEqual(['unknown_name']);
    expect(engine.memberCount).toBe(2);
  });

  test('two of one name stop a send with every candidate, and a choice goes on', () => {
    set();
    engine.addMember({ name: 'Ada King', id: other });
    const stopped = composer.compose('hi @Ada King', me);
    expect(stopped.ambiguous).toMatchObject({
      code: 'ambiguous_label',
      label: 'Ada King',
      start: 3,
      end: 12,
      candidates: [other, ada],
    });
    expect(stopped.notify).toEqual([]);
    expect(composer.pick('Ada King', other, 'hi ')).toBe('Ada King');
    expect(composer.pick('Ada King', ada, 'hi @Ada King ')).toBe(`Ada King (${'a1'.repeat(32)})`);
    expect(composer.compose(`@Ada King and @Ada King (${'a1'.repeat(32)})`, me).notify).toEqual([other, ada]);
  });

  test('a draft comes back with its exact bindings', () => {
    set();
    const label = composer.pick('Zed', other, '');
    const saved = composer.save(`@${label} and @Scout`);
    expect(saved).toEqual({ refs: [{ label: 'Zed', id: other, isAgent: false }], personas: [], expired: [] });
    const again = engine.composer();
    again.restore(saved);
    expect(again.compose('@Zed', me).notify).toEqual([other]);
  });

  test('the picker: trigger, suggestions, insertion', () => {
    set();
    engine.setCandidates([
      { name: 'Ada King', id: ada, isMember: true },
      { name: 'Ada King', id: other, handle: 'ada@example.com' },
    ]);
    expect(composer.trigger('hi @ada k', 9)).toEqual({ query: 'ada k', start: 3, end: 9 });
    expect(composer.trigger('hi ada', 6)).toBeUndefined();
    const names = engine.suggest('ada').map(({ id, accessibleName }) => [id, accessibleName]);
    expect(names[0]?.[0]).toBe(ada);
    expect(new Set(names.map(([, name]) => name)).size).toBe(2);
    expect(composer.insertion('hi(@ada', 3, 7, 'Ada King')).toEqual({
      from: 3,
      to: 7,
      text: '@Ada King ',
      caret: 13,
    });
  });

  test('a late answer binds only while the pasted text stands', () => {
    set();
    const records = readClipboard(
      `<span data-mention="" data-mention-pubkey="${'9c'.repeat(32)}" data-mention-kind="human" data-mention-label="Zed">@Zed</span>`,
    ).records;
    expect(records).toEqual([{ label: 'Zed', key: '9c'.repeat(32), kind: 'human' }]);
    const [check] = composer.pasted('hi ', 3, 3, '@Zed', records);
    composer.edited('hi @Zed', 3, 7, '');
    composer.edited('hi ', 3, 3, '@Zed');
    expect(composer.verdict(check?.check ?? -1, true, 'hi @Zed')).toBeUndefined();
    const [second] = composer.pasted('', 0, 0, '@Zed', records);
    expect(composer.verdict(second?.check ?? -1, true, '@Zed')).toMatchObject({ label: 'Zed', id: other });
    expect(composer.compose('@Zed', me).notify).toEqual([other]);
  });

  test('what is copied can be pasted', () => {
    set();
    const html = composer.copyHtml('see @Scout and @Ada King', 4, 24, 'markdown') ?? '';
    expect(readClipboard(html)).toMatchObject({
      kind: 'markdown',
      text: '@Scout and @Ada King',
      records: [
        { label: 'Scout', kind: 'agent' },
        { label: 'Ada King', kind: 'human' },
      ],
    });
    expect(composer.copyHtml('nobody', 0, 6, 'markdown')).toBeUndefined();
  });

  test('a message is drawn with its chips, and raw HTML is text', () => {
    set();
    engine.setProfile('a1'.repeat(32), { name: 'Ada' });
    const { pieces } = engine.draw({ content: '**@Ada** <b>x</b>', tags: [['p', 'a1'.repeat(32)]] });
    expect(pieces).toMatchObject([
      { type: 'open', element: { name: 'paragraph' } },
      { type: 'open', element: { name: 'strong' } },
      { type: 'mention', text: '@Ada', chip: { label: 'Ada', key: 'a1'.repeat(32) } },
      { type: 'close' },
      { type: 'text', text: ' ' },
      { type: 'text', text: '<b>' },
      { type: 'text', text: 'x' },
      { type: 'text', text: '</b>' },
      { type: 'close' },
    ]);
  });
});

describe('errors have stable codes', () => {
  const code = (act: () => unknown): string | undefined => {
    try {
      act();
    } catch (error) {
      return isVocativeError(error) ? error.code : String(error);
    }
    return undefined;
  };

  test.each([
    ['bad_id', () => new Engine().addMember({ name: 'x', id: 'x' as Id })],
    ['label_too_long', () => new Engine().addMember({ name: 'x'.repeat(513), id: ada })],
    ['bad_offset', () => new Engine().composer().insertion('👩', 1, 1, 'x')],
    ['bad_offset', () => new Engine().composer().trigger('', 1)],
    ['bad_key', () => chip('Ada', 'a1', false)],
    ['bad_value', () => new Engine().addMember({} as { name: string; id: Id })],
  ])('%s', (expected, act) => {
    expect(code(act)).toBe(expected);
  });
});
