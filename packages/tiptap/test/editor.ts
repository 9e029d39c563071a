/** An editor over a small roster, as a page would make it. */

import { type AnyExtension, Editor } from '@tiptap/core';
import { Code } from '@tiptap/extension-code';
import { Document } from '@tiptap/extension-document';
import { HardBreak } from '@tiptap/extension-hard-break';
import { Paragraph } from '@tiptap/extension-paragraph';
import { Text } from '@tiptap/extension-text';
import { UndoRedo } from '@tiptap/extensions';
import { type Check, Engine, type Id, type Key, load } from '@vocative/engine';
import {
  CaretSettlement,
  type DocumentReading,
  DocumentText,
  MentionClipboard,
  MentionHighlight,
  MentionPicker,
  type OpenPicker,
  PastedOccurrences,
} from '../src/index.js';
import '../src/mentions.css';

await load();

export const key = (pair: string): Key => pair.repeat(32);
export const id = (pair: string): Id => `nostr:${key(pair)}`;

export const ada = id('a1');
export const otherAda = id('9c');
export const bot = id('b0');
export const zed = id('2d');

export interface Made {
  readonly editor: Editor;
  readonly engine: Engine;
  readonly composer: ReturnType<Engine['composer']>;
  /** What the picker shows now. */
  readonly picker: () => OpenPicker | null;
  /** The checks that pastes have asked for. */
  readonly checks: Check[];
  readonly expired: string[];
  readonly text: () => string;
  /** Drawn mentions: text and classes without the common one. */
  readonly mentions: () => [string, string][];
}

let last: Editor | undefined;

export function make(
  content = '',
  options: { reading?: DocumentReading; extensions?: AnyExtension[] } = {},
): Made {
  last?.destroy();
  document.body.replaceChildren();
  const element = document.createElement('div');
  document.body.append(element);
  const engine = new Engine();
  engine.setMembers([
    { name: 'Ada', id: ada },
    { name: 'Ada', id: otherAda },
    { name: 'Ada King', id: id('c3') },
    { name: 'Scout', id: bot, isAgent: true },
  ]);
  engine.setChannels(['general']);
  engine.setCandidates([
    { name: 'Ada', id: ada, isMember: true },
    { name: 'Ada', id: otherAda, isMember: true },
    { name: 'Ada King', id: id('c3'), isMember: true },
    { name: 'Scout', id: bot, isMember: true, isAgent: true },
  ]);
  const composer = engine.composer();
  const reading = options.reading ?? 'blocks';
  let picker: OpenPicker | null = null;
  const checks: Check[] = [];
  const expired: string[] = [];
  const editor = new Editor({
    element,
    extensions: [
      Document,
      Paragraph,
      Text,
      HardBreak,
      // In Markdown source the marks stay visible, so no mark is made of them.
      ...(reading === 'blocks' ? [Code] : []),
      UndoRedo,
      MentionHighlight.configure({ composer, reading }),
      CaretSettlement.configure({ composer }),
      PastedOccurrences.configure({
        composer,
        onChecks: (asked) => checks.push(...asked),
        onExpired: (label) => expired.push(label),
      }),
      MentionClipboard.configure({ composer, reading }),
      MentionPicker.configure({
        composer,
        reading,
        suggest: (query) => engine.suggest(query),
        onChange: (open) => {
          picker = open;
        },
      }),
      ...(options.extensions ?? []),
    ],
    parseOptions: { preserveWhitespace: 'full' },
    content:
      content === ''
        ? ''
        : content
            .split('\n')
            .map((line) => `<p>${line}</p>`)
            .join(''),
  });
  last = editor;
  const mentions = (): [string, string][] =>
    [...element.querySelectorAll('.mention')].map((drawn) => [
      drawn.textContent ?? '',
      [...drawn.classList]
        .filter((name) => name !== 'mention')
        .map((name) => name.slice(8))
        .join(' '),
    ]);
  const text = () => DocumentText.of(editor.state.doc).text;
  return { editor, engine, composer, picker: () => picker, checks, expired, text, mentions };
}
