/** Ranges of pasted text, through the real plug-in and the real clipboard. */

import { beforeEach, describe, expect, test } from 'vitest';
import { userEvent } from 'vitest/browser';
import { key, type Made, make, zed } from './editor.js';

const chip = (label: string, pair: string) =>
  `<span data-mention="" data-mention-pubkey="${key(pair)}" data-mention-kind="human" data-mention-label="${label}">@${label}</span>`;
const marked = (html: string) => `<span data-vocative-copy="markdown">${html}</span>`;

/** Puts a text with its identities on the clipboard, as another window would. */
async function onClipboard(text: string, html: string): Promise<void> {
  const blob = (type: string, data: string) => ({ [type]: new Blob([data], { type }) });
  await navigator.clipboard.write([
    new ClipboardItem({ ...blob('text/plain', text), ...blob('text/html', html) }),
  ]);
}

async function paste(): Promise<void> {
  await userEvent.keyboard('{Control>}v{/Control}');
}

let made: Made;

/** A composer with `@Zed` pasted, whose check is open. */
async function pasted(content = ''): Promise<void> {
  made = make(content, { reading: 'markdown' });
  made.editor.view.focus();
  made.editor.commands.setTextSelection(made.editor.state.doc.content.size - 1);
  await onClipboard('@Zed', marked(chip('Zed', '2d')));
  await paste();
}

/** The late answer: whom it bound. */
const verdict = (at = 0) => made.composer.verdict(made.checks[at]?.check ?? -1, true, made.text())?.id;

describe('a late answer', () => {
  beforeEach(() => pasted('hi '));

  test('is asked for with what the clipboard claims', () => {
    expect(made.text()).toBe('hi @Zed');
    expect(made.checks).toMatchObject([{ label: 'Zed', id: zed, stands: true }]);
  });

  test('binds while the pasted text stands, wherever it was moved', async () => {
    made.editor.commands.setTextSelection(1);
    await userEvent.keyboard('well, ');
    made.editor.commands.setTextSelection(made.editor.state.doc.content.size - 1);
    await userEvent.keyboard(' there');
    expect(made.text()).toBe('well, hi @Zed there');
    expect(verdict()).toBe(zed);
  });

  test('binds nothing after delete and retype', async () => {
    await userEvent.keyboard('{Backspace}{Backspace}{Backspace}{Backspace}@Zed');
    expect(made.text()).toBe('hi @Zed');
    expect(verdict()).toBeUndefined();
  });

  test('binds nothing once one letter was replaced by the same', async () => {
    await userEvent.keyboard('{Backspace}d');
    expect(made.text()).toBe('hi @Zed');
    expect(verdict()).toBeUndefined();
  });

  test('binds nothing while a letter runs on from the token', async () => {
    await userEvent.keyboard('x');
    expect(verdict()).toBeUndefined();
  });

  test('binds in quotation marks, and not in code', async () => {
    made.editor.commands.setTextSelection(4);
    await userEvent.keyboard('"');
    made.editor.commands.setTextSelection(made.editor.state.doc.content.size - 1);
    await userEvent.keyboard('"');
    expect(made.text()).toBe('hi "@Zed"');
    expect(verdict()).toBe(zed);
    await pasted('hi ');
    made.editor.commands.setTextSelection(4);
    await userEvent.keyboard('`');
    made.editor.commands.setTextSelection(made.editor.state.doc.content.size - 1);
    await userEvent.keyboard('`');
    expect(made.text()).toBe('hi `@Zed`');
    expect(verdict()).toBeUndefined();
  });

  test('binds when the paragraph was split and joined around it', async () => {
    made.editor.commands.setTextSelection(4);
    await userEvent.keyboard('{Enter}');
    expect(made.text()).toBe('hi \n@Zed');
    await userEvent.keyboard('{Backspace}');
    expect(made.text()).toBe('hi @Zed');
    expect(verdict()).toBe(zed);
  });

  test('binds nothing after a choice of that name in the picker', () => {
    made.composer.pick('Zed', `nostr:${key('77')}`, made.text());
    expect(verdict()).toBeUndefined();
    expect(made.composer.read(made.text()).notify).toEqual([`nostr:${key('77')}`]);
  });

  test('of an older paste binds nothing after a newer one of that label', async () => {
    await userEvent.keyboard(' ');
    await onClipboard('@Zed', marked(chip('Zed', '77')));
    await paste();
    expect(made.text()).toBe('hi @Zed @Zed');
    expect(verdict(0)).toBeUndefined();
    expect(verdict(1)).toBe(`nostr:${key('77')}`);
  });

  test('binds nothing after the editor was emptied and filled again', async () => {
    made.editor.commands.clearContent();
    await userEvent.keyboard('hi @Zed');
    expect(verdict()).toBeUndefined();
  });

  test('expires when undo and redo have brought the text back', async () => {
    await userEvent.keyboard('{Control>}z{/Control}');
    expect(made.text()).not.toContain('@Zed');
    await userEvent.keyboard('{Control>}{Shift>}z{/Shift}{/Control}');
    expect(made.text()).toBe('hi @Zed');
    expect(made.expired).toEqual(['Zed']);
    expect(verdict()).toBeUndefined();
  });
});

describe('the clipboard', () => {
  test('an editor whose clipboard could bind nothing is no editor', async () => {
    const { MentionClipboard } = await import('../src/index.js');
    const { Editor } = await import('@tiptap/core');
    const { Document } = await import('@tiptap/extension-document');
    const { Paragraph } = await import('@tiptap/extension-paragraph');
    const { Text } = await import('@tiptap/extension-text');
    const { composer } = make();
    const clipboard = MentionClipboard.configure({ composer });
    expect(() => new Editor({ extensions: [Document, Paragraph, Text, clipboard] })).toThrow(
      /PastedOccurrences/,
    );
  });

  test('what is copied here can be pasted here, identity and all', async () => {
    const first = make('see @Scout and @Ada King', { reading: 'markdown' });
    first.editor.view.focus();
    await userEvent.keyboard('{Control>}a{/Control}{Control>}c{/Control}');
    made = make('', { reading: 'markdown' });
    made.editor.view.focus();
    await paste();
    expect(made.text()).toBe('see @Scout and @Ada King');
    expect(made.checks.map(({ label }) => label).sort()).toEqual(['Ada King', 'Scout']);
  });

  test('part of a label is plain text', async () => {
    const first = make('see @Scout', { reading: 'markdown' });
    first.editor.view.focus();
    first.editor.commands.setTextSelection({ from: 5, to: 9 });
    await userEvent.keyboard('{Control>}c{/Control}');
    made = make('', { reading: 'markdown' });
    made.editor.view.focus();
    await paste();
    expect(made.text()).toBe('@Sco');
    expect(made.checks).toEqual([]);
  });

  test('lines stay lines, empty ones too', async () => {
    made = make('', { reading: 'markdown' });
    made.editor.view.focus();
    await navigator.clipboard.writeText('one\n\n\ntwo');
    await paste();
    expect(made.text()).toBe('one\n\n\ntwo');
    await userEvent.keyboard('{Control>}a{/Control}{Control>}x{/Control}');
    expect(await navigator.clipboard.readText()).toBe('one\n\n\ntwo');
  });

  test('hostile HTML brings neither markup nor identities that no text shows', async () => {
    made = make('', { reading: 'blocks' });
    made.editor.view.focus();
    await onClipboard(
      'x',
      `<img src=x onerror="window.hacked = 1"><script>window.hacked = 1</script>${chip('Zed', '2d').replace('@Zed', '')}x`,
    );
    await paste();
    expect(made.editor.getHTML()).not.toMatch(/script|onerror|data-mention/);
    expect('hacked' in window).toBe(false);
    expect(made.checks).toEqual([]);
  });

  test('a paste right behind a choice goes behind its separator', async () => {
    made = make('', { reading: 'markdown' });
    made.editor.view.focus();
    await navigator.clipboard.writeText('hello');
    await userEvent.keyboard('@sco{Enter}');
    await paste();
    expect(made.text()).toBe('@Scout hello');
  });
});
