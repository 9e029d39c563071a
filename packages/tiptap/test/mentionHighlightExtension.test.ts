import { describe, expect, test, vi } from 'vitest';
import { userEvent } from 'vitest/browser';
import { refreshMentions } from '../src/index.js';
import { ada, bot, id, key, make } from './editor.js';

describe('highlighting', () => {
  test('kinds have their classes, and the text stays plain', () => {
    const { editor, mentions, composer } = make('@Ada King, @Scout in #general, @Ada');
    expect(mentions()).toEqual([
      ['@Ada King', 'human'],
      ['@Scout', 'agent'],
      ['#general', 'channel'],
      ['@Ada', 'ambiguous'],
    ]);
    composer.pick('Ada', ada, '');
    refreshMentions(editor.view);
    expect(mentions().at(-1)).toEqual(['@Ada', 'human']);
    expect(editor.getHTML()).toBe('<p>@Ada King, @Scout in #general, @Ada</p>');
  });

  test('a full key is drawn in its own form', () => {
    const { editor, mentions, composer } = make(`@Ada (${key('a1')})`);
    composer.restore({ refs: [{ label: `Ada (${key('a1')})`, id: ada }] });
    refreshMentions(editor.view);
    expect(mentions()).toEqual([[`@Ada (${key('a1')})`, 'human full-key']]);
  });

  test('code has no mentions, whether it is a mark or Markdown', () => {
    const { mentions } = make('<code>@Scout</code> @Scout');
    expect(mentions()).toEqual([['@Scout', 'agent']]);
    expect(make('`@Scout` @Scout', { reading: 'markdown' }).mentions()).toEqual([['@Scout', 'agent']]);
    const fenced = make('```\n@Scout\n```\n&gt; @Scout', { reading: 'markdown' });
    expect(fenced.mentions()).toEqual([['@Scout', 'agent quote']]);
  });

  test('making code of a mention takes its highlight', () => {
    const { editor, mentions } = make('a @Scout and @Scout');
    editor.chain().setTextSelection({ from: 3, to: 9 }).toggleCode().run();
    expect(mentions().length).toBe(1);
    editor.commands.toggleCode();
    expect(mentions().length).toBe(2);
  });

  test.each(['blocks', 'markdown'] as const)('typing changes only what it touches (%s)', async (reading) => {
    const { editor, mentions } = make('@Scout\n@Scot\n@Scout', { reading });
    editor.view.focus();
    editor.commands.setTextSelection(13);
    await userEvent.keyboard('u');
    expect(mentions()).toEqual([
      ['@Scout', 'agent'],
      ['@Scout', 'agent'],
      ['@Scout', 'agent'],
    ]);
    await userEvent.keyboard('{Backspace}');
    expect(mentions().length).toBe(2);
    await userEvent.keyboard('u');
    editor.commands.splitBlock();
    expect(mentions().length).toBe(2);
    editor.commands.joinBackward();
    expect(mentions().length).toBe(3);
  });

  test('what incremental reading draws is what a whole reading draws', () => {
    const seed = Date.now() % 1e6;
    let state = seed;
    const random = (below: number) => {
      state = (state * 1103515245 + 12345) % 2147483648;
      return Math.floor((state / 2147483648) * below);
    };
    const pieces = ['@Scout', '@Ada King', ' ', 'x', '`', '@', '\n', '> ', '#general', '/'];
    for (const reading of ['blocks', 'markdown'] as const) {
      const { editor, mentions } = make('a @Scout\nb @Ada King c', { reading });
      for (let round = 0; round < 150; round += 1) {
        const size = editor.state.doc.content.size;
        const [one, other] = [1 + random(size - 1), 1 + random(size - 1)];
        const [from, to] = [Math.min(one, other), Math.max(one, other)];
        const piece = pieces[random(pieces.length)] ?? '';
        if (random(3) === 0) editor.commands.deleteRange({ from, to: Math.min(to, from + random(12)) });
        else if (piece === '\n') editor.chain().setTextSelection(from).splitBlock().run();
        else editor.view.dispatch(editor.state.tr.insertText(piece, from));
        const incremental = mentions();
        refreshMentions(editor.view);
        expect(incremental, `seed ${seed}, ${reading}, round ${round}`).toEqual(mentions());
      }
    }
  });
});

/** Types `@`, picks, and leaves the caret behind the separator. */
async function pick(query: string): Promise<void> {
  await userEvent.keyboard(query);
  await userEvent.keyboard('{Enter}');
}

/** Puts the DOM's caret at the chip's edge, as browsers like to. */
function moveToChipEdge(): void {
  const chips = document.querySelectorAll('.mention');
  const chip = chips[chips.length - 1];
  const text = chip?.firstChild;
  if (!text) throw new Error('there is no chip');
  document.getSelection()?.collapse(text, text.textContent?.length ?? 0);
}

describe('the caret after a choice', () => {
  test('autocomplete inserts the full label and one separator', async () => {
    const { editor, text, picker, composer } = make('');
    editor.view.focus();
    await userEvent.keyboard('hi @ada k');
    expect(picker()?.rows.map(({ name }) => name)).toEqual(['Ada King']);
    await userEvent.keyboard('{Enter}');
    expect(text()).toBe('hi @Ada King ');
    expect(composer.compose(text(), bot).notify).toEqual([id('c3')]);
  });

  test('what is typed next goes behind the separator, the inner space being no boundary', async () => {
    const { editor, text } = make('');
    editor.view.focus();
    await pick('@ada k');
    await userEvent.keyboard('x');
    expect(text()).toBe('@Ada King x');
  });

  test('typing right after a choice, the DOM caret forced to the edge of the chip', async () => {
    const { editor, text } = make('');
    editor.view.focus();
    for (let round = 0; round < 100; round += 1) {
      editor.commands.clearContent();
      await pick('@sco');
      moveToChipEdge();
      await userEvent.keyboard('y');
      expect(text(), `round ${round}`).toBe('@Scout y');
    }
  });

  // Browsers write into the chip's own text node, before any selection is told.
  test.each([
    [
      'into the chip',
      (chip: ChildNode, after: ChildNode | null) => {
        chip.textContent = '@Scouty';
        void after;
      },
    ],
    [
      'over the run of spaces',
      (_chip: ChildNode, after: ChildNode | null) => {
        if (after) after.textContent = '\u00a0y';
      },
    ],
  ])('a letter that the browser writes %s goes behind the separator', async (_where, write) => {
    const { editor, text } = make('');
    editor.view.focus();
    await pick('@sco');
    const chip = document.querySelector('.mention');
    if (!chip?.firstChild) throw new Error('there is no chip');
    write(chip.firstChild, chip.nextSibling);
    await vi.waitFor(() => expect(text()).toBe('@Scout y'));
    expect(editor.state.selection.from).toBe(9);
  });

  test('ArrowLeft cancels it, so that the label can be edited', async () => {
    const { editor, text } = make('');
    editor.view.focus();
    await pick('@sco');
    await userEvent.keyboard('{ArrowLeft}x');
    expect(text()).toBe('@Scoutx ');
  });

  test('Backspace removes the separator', async () => {
    const { editor, text } = make('');
    editor.view.focus();
    await pick('@sco');
    await userEvent.keyboard('{Backspace}');
    expect(text()).toBe('@Scout');
  });

  test('a click at the edge of the chip cancels it', async () => {
    const { editor, text } = make('');
    editor.view.focus();
    await pick('@sco');
    const chip = document.querySelector('.mention');
    if (!chip) throw new Error('there is no chip');
    const { width, height } = chip.getBoundingClientRect();
    await userEvent.click(chip, { position: { x: width - 1, y: height / 2 } });
    await userEvent.keyboard('x');
    expect(text()).toBe('@Scoutx ');
  });

  test('plain typed tokens keep their behaviour: an ordinary change moves no caret', async () => {
    const { editor, text } = make('hello  world');
    editor.view.focus();
    editor.commands.setTextSelection(7);
    await userEvent.keyboard('@q');
    expect(text()).toBe('hello @q world');
    expect(editor.state.selection.from).toBe(9);
    await userEvent.keyboard('r');
    expect(text()).toBe('hello @qr world');
  });

  test('a choice is one step of the history, and undoing it gives the query back', async () => {
    const { editor, text } = make('');
    editor.view.focus();
    await pick('@sco');
    await userEvent.keyboard('hello');
    await userEvent.keyboard('{Control>}z{/Control}');
    expect(text()).toBe('@Scout ');
    await userEvent.keyboard('{Control>}z{/Control}');
    expect(text()).toBe('@sco');
  });
});

describe('the picker', () => {
  test('arrows wrap, Tab commits, namesakes differ', async () => {
    const { editor, text, picker } = make('');
    editor.view.focus();
    await userEvent.keyboard('@ada');
    const names = picker()?.rows.map(({ accessibleName }) => accessibleName) ?? [];
    expect(names.length).toBe(3);
    expect(new Set(names).size).toBe(3);
    await userEvent.keyboard('{ArrowUp}');
    expect(picker()?.active).toBe(2);
    await userEvent.keyboard('{ArrowDown}{ArrowDown}{Tab}');
    expect(text()).toBe('@Ada ');
  });

  test('Escape closes it until the sign is deleted', async () => {
    const { editor, picker } = make('');
    editor.view.focus();
    await userEvent.keyboard('@ad{Escape}a');
    expect(picker()).toBeNull();
    await userEvent.keyboard('{Backspace}{Backspace}{Backspace}{Backspace}@a');
    expect(picker()?.query).toBe('a');
  });

  test('Space commits only an exact name that no longer label goes on from', async () => {
    const { editor, text } = make('');
    editor.view.focus();
    await userEvent.keyboard('@scout ');
    expect(text()).toBe('@Scout ');
    editor.commands.clearContent();
    await userEvent.keyboard('@ada ');
    expect(text()).toBe('@ada ');
  });

  test.each([
    ['blocks', '<code>x @s</code>', 5],
    ['markdown', '`x @s`', 6],
  ] as const)('it does not open in code (%s)', async (reading, content, caret) => {
    const { editor, picker, text } = make(content, { reading });
    editor.view.focus();
    editor.commands.setTextSelection(caret);
    await userEvent.keyboard('c');
    expect(text()).toContain('@sc');
    expect(picker()).toBeNull();
  });

  test('in a quote it says that nobody is notified', async () => {
    const { editor, picker } = make('', { reading: 'markdown' });
    editor.view.focus();
    await userEvent.keyboard('> @sc');
    expect(picker()?.isQuote).toBe(true);
  });
});
