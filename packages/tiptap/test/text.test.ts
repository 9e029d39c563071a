import type { Node } from '@tiptap/pm/model';
import { describe, expect, test } from 'vitest';
import { DocumentText, textEdits } from '../src/text.js';
import { make } from './editor.js';

const doc = (html: string): Node => make(html).editor.state.doc;

describe('the text of a document', () => {
  test('blocks are lines, a hard break is a line end', () => {
    expect(DocumentText.of(doc('one\n\ntw<br>o')).text).toBe('one\n\ntw\no');
  });

  test('every offset has a position, and it leads back', () => {
    const document = DocumentText.of(doc('one\n\n👩‍🚀 tw<br>o'));
    for (let offset = 0; offset <= document.text.length; offset += 1) {
      expect(document.offset(document.pos(offset))).toBe(offset);
    }
    expect(document.pos(0)).toBe(1);
    expect(document.pos(4)).toBe(6);
  });
});

describe('edits of the text', () => {
  test('several ranges of one step come from the last to the first', () => {
    const ranges = [
      { oldStart: 1, oldEnd: 2, newStart: 1, newEnd: 4 },
      { oldStart: 4, oldEnd: 5, newStart: 6, newEnd: 7 },
    ];
    expect(textEdits(doc('abcd'), doc('xyzbcw'), ranges)).toEqual([
      { before: 'abcd', from: 3, to: 4, inserted: 'w' },
      { before: 'abcw', from: 0, to: 1, inserted: 'xyz' },
    ]);
  });

  test('a replacement by the same text is one', () => {
    const range = { oldStart: 1, oldEnd: 4, newStart: 1, newEnd: 4 };
    expect(textEdits(doc('abc'), doc('abc'), [range])).toEqual([
      { before: 'abc', from: 0, to: 3, inserted: 'abc' },
    ]);
  });

  test('what joins blocks has no text of its own and is found by comparing', () => {
    const range = { oldStart: 2, oldEnd: 4, newStart: 2, newEnd: 2 };
    expect(textEdits(doc('a\nb'), doc('ab'), [range])).toEqual([
      { before: 'a\nb', from: 1, to: 2, inserted: '' },
    ]);
  });
});
