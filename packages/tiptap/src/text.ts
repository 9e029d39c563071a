/**
 * The text of a document, and one map between its positions and the text's offsets.
 *
 * Blocks are lines. A hard break is a line end, any other inline leaf is U+FFFC, so that inside a block
 * positions and offsets count alike.
 */

import type { Node } from '@tiptap/pm/model';

const OBJECT = '\ufffc';

const blockTexts = new WeakMap<Node, string>();
const documents = new WeakMap<Node, DocumentText>();

/** The plain text of one text block. */
export function blockText(block: Node): string {
  let text = blockTexts.get(block);
  if (text === undefined) {
    let written = '';
    block.forEach((child) => {
      if (child.isText) written += child.text ?? '';
      else if (isLineBreak(child)) written += '\n';
      else written += OBJECT.repeat(child.nodeSize);
    });
    text = written;
    blockTexts.set(block, text);
  }
  return text;
}

function isLineBreak(node: Node): boolean {
  return node.type.spec.linebreakReplacement === true || node.type.name === 'hardBreak';
}

interface Line {
  /** The position of the block's first character. */
  readonly pos: number;
  /** The offset of that character. */
  readonly offset: number;
  readonly length: number;
}

/** A document as text. */
export class DocumentText {
  readonly text: string;
  readonly #lines: Line[] = [];

  private constructor(doc: Node) {
    const texts: string[] = [];
    let offset = 0;
    doc.descendants((node, pos) => {
      if (!node.isTextblock) return true;
      const text = blockText(node);
      this.#lines.push({ pos: pos + 1, offset, length: text.length });
      texts.push(text);
      offset += text.length + 1;
      return false;
    });
    this.text = texts.join('\n');
  }

  /** The text of a document; made once for each. */
  static of(doc: Node): DocumentText {
    let made = documents.get(doc);
    if (!made) {
      made = new DocumentText(doc);
      documents.set(doc, made);
    }
    return made;
  }

  /** The offset of a position; one between blocks is the end of the block before. */
  offset(pos: number): number {
    const line = this.#last((line) => line.pos <= pos);
    return line ? line.offset + Math.min(pos - line.pos, line.length) : 0;
  }

  /** The position of an offset. */
  pos(offset: number): number {
    const line = this.#last((line) => line.offset <= offset);
    return line ? line.pos + Math.min(offset - line.offset, line.length) : 0;
  }

  #last(isBefore: (line: Line) => boolean): Line | undefined {
    let low = 0;
    let high = this.#lines.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const line = this.#lines[middle];
      if (line && isBefore(line)) low = middle + 1;
      else high = middle;
    }
    return this.#lines[low - 1];
  }
}

/** One replacement in a text. */
export interface TextEdit {
  readonly before: string;
  readonly from: number;
  readonly to: number;
  readonly inserted: string;
}

/**
 * What a step did to the text, in order. `ranges` are the step's own, so that a replacement by the same
 * text is still one.
 */
export function textEdits(
  before: Node,
  after: Node,
  ranges: readonly { oldStart: number; oldEnd: number; newStart: number; newEnd: number }[],
): TextEdit[] {
  const [old, now] = [DocumentText.of(before), DocumentText.of(after)];
  const edits: TextEdit[] = [];
  let text = old.text;
  // From the last to the first, so that the offsets of the others stay true.
  for (const range of [...ranges].reverse()) {
    const [from, to] = [old.offset(range.oldStart), old.offset(range.oldEnd)];
    const inserted = now.text.slice(now.offset(range.newStart), now.offset(range.newEnd));
    edits.push({ before: text, from, to, inserted });
    text = text.slice(0, from) + inserted + text.slice(to);
  }
  if (text === now.text) return edits.filter((edit) => edit.from < edit.to || edit.inserted !== '');
  // Positions between blocks have no text of their own: what joins or splits them is found by comparing.
  return whole(old.text, now.text);
}

/** The smallest replacement that makes one text of the other. */
function whole(before: string, after: string): TextEdit[] {
  let from = 0;
  const shorter = Math.min(before.length, after.length);
  while (from < shorter && before[from] === after[from]) from += 1;
  let kept = 0;
  while (kept < shorter - from && before[before.length - 1 - kept] === after[after.length - 1 - kept])
    kept += 1;
  const [to, end] = [before.length - kept, after.length - kept];
  return from === to && from === end ? [] : [{ before, from, to, inserted: after.slice(from, end) }];
}
