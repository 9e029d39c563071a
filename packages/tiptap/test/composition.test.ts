/** Input methods, driven through Chromium's own protocol. */

import { expect, test, vi } from 'vitest';
import { cdp, userEvent } from 'vitest/browser';
import { make } from './editor.js';

interface Protocol {
  send(
    method: 'Input.imeSetComposition',
    given: { text: string; selectionStart: number; selectionEnd: number },
  ): Promise<void>;
  send(method: 'Input.insertText', given: { text: string }): Promise<void>;
}

const chromium = cdp() as unknown as Protocol;

async function compose(...steps: string[]): Promise<void> {
  for (const text of steps) {
    await chromium.send('Input.imeSetComposition', {
      text,
      selectionStart: text.length,
      selectionEnd: text.length,
    });
  }
  await chromium.send('Input.insertText', { text: steps.at(-1) ?? '' });
}

test('what an input method composes right after a choice ends up behind the separator', async () => {
  const { editor, text, mentions } = make('');
  editor.view.focus();
  await userEvent.keyboard('@sco{Enter}');
  await compose('k', 'か', '漢字');
  await vi.waitFor(() => expect(text()).toBe('@Scout 漢字'));
  await vi.waitFor(() => expect(mentions()).toEqual([['@Scout', 'agent']]));
});

test('composed at the edge of the chip it is moved there, in one undo step', async () => {
  const { editor, text } = make('');
  editor.view.focus();
  await userEvent.keyboard('@sco{Enter}');
  const label = document.querySelector('.mention')?.firstChild;
  document.getSelection()?.collapse(label ?? null, 6);
  await compose('か', '漢字');
  await vi.waitFor(() => expect(text()).toBe('@Scout 漢字'));
  await userEvent.keyboard('{Control>}z{/Control}');
  expect(text()).toBe('@Scout ');
});

test('composing a letter of a name draws the mention once it is committed', async () => {
  const { editor, text, mentions } = make('@Scou');
  editor.view.focus();
  editor.commands.setTextSelection(6);
  await compose('t');
  expect(text()).toBe('@Scout');
  await vi.waitFor(() => expect(mentions()).toEqual([['@Scout', 'agent']]));
});
