/** A page that uses nothing but the engine and the plug-ins. */

import { Editor } from '@tiptap/core';
import { Document } from '@tiptap/extension-document';
import { HardBreak } from '@tiptap/extension-hard-break';
import { Paragraph } from '@tiptap/extension-paragraph';
import { Text } from '@tiptap/extension-text';
import { UndoRedo } from '@tiptap/extensions';
import { Engine, type Id, load } from '@vocative/engine';
import {
  CaretSettlement,
  DocumentText,
  MentionClipboard,
  MentionHighlight,
  MentionPicker,
  type OpenPicker,
  PasteBinding,
  PastedOccurrences,
  refreshMentions,
} from '../src/index.js';
import '../src/mentions.css';

const id = (pair: string): Id => `nostr:${pair.repeat(32)}`;
const me = id('e5');
const people = [
  { name: 'Ada', id: id('a1'), handle: 'ada@example.com', isMember: true },
  { name: 'Ada', id: id('9c'), handle: 'ada@example.org', isMember: true },
  { name: 'Ada King', id: id('c3'), isMember: true },
  { name: 'Scout', id: id('b0'), isMember: true, isAgent: true },
];

function element(selector: string): HTMLElement {
  const found = document.querySelector<HTMLElement>(selector);
  if (!found) throw new Error(`the page has no ${selector}`);
  return found;
}

await load();
const engine = new Engine();
engine.setMembers(people);
engine.setCandidates(people);
engine.setChannels(['general']);
const composer = engine.composer();
const text = () => DocumentText.of(editor.state.doc).text;

const binding = new PasteBinding({
  composer,
  text,
  trust: {
    local: (key) => people.filter(({ id }) => id === `nostr:${key}`).map(({ name }) => name),
    remote: async () => new Map(),
  },
  onBound: () => refreshMentions(editor.view),
});

const editor = new Editor({
  element: element('#editor'),
  // The page's policy may forbid styles in it.
  injectCSS: false,
  editorProps: { attributes: { role: 'textbox', 'aria-label': 'Message', 'aria-multiline': 'true' } },
  extensions: [
    Document,
    Paragraph,
    Text,
    HardBreak,
    UndoRedo,
    MentionHighlight.configure({ composer, reading: 'markdown' }),
    CaretSettlement.configure({ composer }),
    PastedOccurrences.configure({ composer, onChecks: binding.ask }),
    MentionClipboard.configure({ composer, reading: 'markdown' }),
    MentionPicker.configure({
      composer,
      reading: 'markdown',
      suggest: (query) => engine.suggest(query),
      onChange: drawPicker,
    }),
  ],
  onTransaction: drawSent,
});

function drawPicker(open: OpenPicker | null): void {
  const list = element('#picker');
  list.hidden = !open || open.rows.length === 0;
  const rows = open?.rows.map((row, at) => {
    const item = document.createElement('div');
    item.role = 'option';
    item.id = `row-${at}`;
    item.ariaSelected = String(at === open.active);
    item.textContent = row.accessibleName;
    // The editor keeps the focus.
    item.addEventListener('mousedown', (event) => event.preventDefault());
    item.addEventListener('click', () => editor.commands.pickMention(at));
    return item;
  });
  list.replaceChildren(...(rows ?? []));
  const active = open?.rows[open.active];
  element('#status').textContent = active
    ? `${active.accessibleName}, ${open.active + 1} of ${open.rows.length}`
    : '';
}

function drawSent(): void {
  const { ambiguous, diagnostics, notify } = composer.compose(text(), me);
  const told = diagnostics.map(({ code, name }) => `@${name}: ${code}`);
  element('#sent').textContent = [
    text(),
    '',
    ambiguous?.message ?? `notifies ${notify.join(', ') || 'nobody'}`,
    ...told,
  ].join('\n');
}
