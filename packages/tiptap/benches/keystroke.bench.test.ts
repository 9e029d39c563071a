/**
 * What a keystroke costs in our plug-ins: 500 paragraphs of 50 kB with 200 mentions, 10,000 labels, 1,000
 * real keys in Chromium. ProseMirror's own work and the browser's is not counted.
 */

import { Editor, type Extension } from '@tiptap/core';
import { Document } from '@tiptap/extension-document';
import { Paragraph } from '@tiptap/extension-paragraph';
import { Text } from '@tiptap/extension-text';
import { UndoRedo } from '@tiptap/extensions';
import type { Plugin } from '@tiptap/pm/state';
import { Engine, type Id, load } from '@vocative/engine';
import { expect, test } from 'vitest';
import { commands, userEvent } from 'vitest/browser';
import {
  CaretSettlement,
  type DocumentReading,
  DocumentText,
  MentionClipboard,
  MentionHighlight,
  MentionPicker,
  PastedOccurrences,
} from '../src/index.js';

declare module 'vitest/browser' {
  interface BrowserCommands {
    machine: () => Promise<string>;
    record: (text: string) => Promise<void>;
  }
}

const LABELS = 10_000;
const PARAGRAPHS = 500;
const MENTIONS = 200;
const KEYS = 1_000;
const BUDGET_MS = 2;

const name = (number: number) => `Person ${number.toString(36)} of ${(number * 7919).toString(36)}`;
const id = (number: number): Id => `nostr:${number.toString(16).padStart(64, '0')}`;

/** The time that our own functions take, added up between two readings. */
class Stopwatch {
  #total = 0;
  #depth = 0;

  wrap<F extends (...given: never[]) => unknown>(act: F): F {
    const timed = (...given: Parameters<F>) => {
      if (this.#depth > 0) return act(...given);
      this.#depth += 1;
      const begin = performance.now();
      try {
        return act(...given);
      } finally {
        this.#total += performance.now() - begin;
        this.#depth -= 1;
      }
    };
    return timed as F;
  }

  plugin(plugin: Plugin): Plugin {
    const { spec, props } = plugin;
    if (spec.state) spec.state.apply = this.wrap(spec.state.apply);
    if (spec.appendTransaction) spec.appendTransaction = this.wrap(spec.appendTransaction);
    if (props.decorations) props.decorations = this.wrap(props.decorations);
    if (props.handleTextInput) props.handleTextInput = this.wrap(props.handleTextInput);
    if (props.handleKeyDown) props.handleKeyDown = this.wrap(props.handleKeyDown);
    if (spec.view) {
      const make = spec.view;
      spec.view = (view) => {
        const made = make(view);
        if (made.update) made.update = this.wrap(made.update);
        return made;
      };
    }
    return plugin;
  }

  take(): number {
    const total = this.#total;
    this.#total = 0;
    return total;
  }
}

function timed(extension: Extension, watch: Stopwatch): Extension {
  return extension.extend({
    addProseMirrorPlugins() {
      return (this.parent?.() ?? []).map((plugin) => watch.plugin(plugin));
    },
  }) as Extension;
}

async function run(reading: DocumentReading): Promise<{ line: string; p95: number }> {
  document.body.replaceChildren();
  const element = document.createElement('div');
  document.body.append(element);
  const engine = new Engine();
  engine.setMembers(Array.from({ length: LABELS }, (_, at) => ({ name: name(at), id: id(at + 1) })));
  engine.setCandidates(
    Array.from({ length: LABELS }, (_, at) => ({ name: name(at), id: id(at + 1), isMember: true })),
  );
  const composer = engine.composer();
  const watch = new Stopwatch();
  const filler =
    'plain words of a message that go on for as long as a paragraph of a chat does, and no longer; ok. ';
  const paragraphs = Array.from({ length: PARAGRAPHS }, (_, at) => {
    const mentions = at < MENTIONS ? `@${name(at * 31)} ` : '';
    return (mentions + filler).slice(0, 99);
  });
  const keystrokes: number[] = [];
  let last = 0;
  const editor = new Editor({
    element,
    extensions: [
      Document,
      Paragraph,
      Text,
      UndoRedo,
      timed(MentionHighlight.configure({ composer, reading }) as Extension, watch),
      timed(CaretSettlement.configure({ composer }) as Extension, watch),
      PastedOccurrences.configure({ composer }),
      timed(MentionClipboard.configure({ composer, reading }) as Extension, watch),
      timed(
        MentionPicker.configure({
          composer,
          reading,
          suggest: (query) => engine.suggest(query),
        }) as Extension,
        watch,
      ),
    ],
    content: {
      type: 'doc',
      content: paragraphs.map((text) => ({ type: 'paragraph', content: [{ type: 'text', text }] })),
    },
  });
  const { text } = DocumentText.of(editor.state.doc);
  expect(text.length).toBeGreaterThan(49_000);
  expect(element.querySelectorAll('.mention').length).toBe(MENTIONS);
  // In the middle of the document; some of what is typed is a name.
  editor.view.focus();
  editor.commands.setTextSelection(DocumentText.of(editor.state.doc).pos(Math.floor(text.length / 2)));
  editor.on('update', () => {
    const now = watch.take();
    keystrokes.push(now + last);
    last = 0;
  });
  const typed = `some words, @${name(17)} and then more of them `;
  watch.take();
  await userEvent.keyboard(typed.repeat(Math.ceil(KEYS / typed.length)).slice(0, KEYS));
  expect(keystrokes.length).toBe(KEYS);
  expect(element.querySelectorAll('.mention').length).toBeGreaterThan(MENTIONS);
  editor.destroy();
  keystrokes.sort((a, b) => a - b);
  const at = (part: number) => keystrokes[Math.min(KEYS - 1, Math.floor(part * KEYS))] ?? Number.NaN;
  const [p50, p95, p99] = [at(0.5), at(0.95), at(0.99)];
  const max = at(1);
  const cells = [reading, ...[p50, p95, p99, max].map((ms) => ms.toFixed(2))];
  return { line: `| ${cells.join(' | ')} |`, p95 };
}

test('a keystroke costs our plug-ins less than the budget', async () => {
  await load();
  const before = await commands.machine();
  const results = [await run('blocks'), await run('markdown')];
  await commands.record(
    [
      '# What a keystroke costs',
      '',
      `${PARAGRAPHS} paragraphs, 50 kB, ${MENTIONS} mentions, ${LABELS.toLocaleString('en')} labels, ${KEYS.toLocaleString('en')} real keys in Chromium: the time in our`,
      'plug-ins (state, appended transactions, decorations, key handling, picker), without that of',
      'ProseMirror and of the browser. Milliseconds; the clock has steps of 0.1 ms.',
      '',
      '| reading | p50 | p95 | p99 | max |',
      '|---|---|---|---|---|',
      ...results.map(({ line }) => line),
      '',
      `Budget: p95 below ${BUDGET_MS} ms. ${before}`,
      '',
      'Made by `cargo xtask web-bench`.',
      '',
    ].join('\n'),
  );
  for (const { p95, line } of results) expect(p95, line).toBeLessThan(BUDGET_MS);
}, 300_000);
