import { Extension } from '@tiptap/core';
import type { Node } from '@tiptap/pm/model';
import { type EditorState, Plugin, PluginKey, type Transaction } from '@tiptap/pm/state';
import { Decoration, type DecorationAttrs, DecorationSet, type EditorView } from '@tiptap/pm/view';
import {
  type Composer,
  type Highlight,
  type Highlights,
  highlights,
  isPlainLine,
  readsByLine,
} from '@vocative/engine';
import { blockText, DocumentText } from './text.js';

/** How a document is read. */
export type DocumentReading =
  /** Each block by itself: the editor knows by its marks and nodes what is code and what is a quote. */
  | 'blocks'
  /** The document is Markdown source, one line to a paragraph: the engine reads what is code. */
  | 'markdown';

export interface MentionHighlightOptions {
  /** Who decides which label owns which range. */
  composer: Composer | null;
  reading: DocumentReading;
  /** Further attributes of a mention's decoration. */
  attributes: ((mention: Highlight, label: string) => DecorationAttrs) | null;
}

interface State {
  readonly decorations: DecorationSet;
  readonly revision: number;
  /** A composed block whose decorations were mapped and not rebuilt (C-6). */
  readonly isStale: boolean;
  /** The mentions of a document that is read as a whole, as the engine told them; null where unknown. */
  readonly found: Highlights | null;
  /** Whether plain lines of a Markdown document may be read by themselves. */
  readonly readsByLine: boolean;
}

export const mentionHighlightKey = new PluginKey<State>('vocativeMentionHighlight');

/**
 * Draws the mentions of a document as decorations on its plain text.
 *
 * After a change only the blocks it touches are read again; everything is when the names or the choices
 * have changed ({@link refreshMentions} tells). Classes: `mention`, `mention-KIND`, `mention-full-key`,
 * `mention-quote`, `mention-isolated`.
 */
export const MentionHighlight = Extension.create<MentionHighlightOptions>({
  name: 'mentionHighlight',

  addOptions() {
    return { composer: null, reading: 'blocks', attributes: null };
  },

  addProseMirrorPlugins() {
    const { composer } = this.options;
    if (!composer) throw new Error('MentionHighlight needs a composer of @vocative/engine');
    return [mentionHighlightPlugin(new Reader(composer, this.options))];
  },
});

/** Reads the whole document again where names or choices have changed since. */
export function refreshMentions(view: EditorView): void {
  view.dispatch(view.state.tr.setMeta(mentionHighlightKey, 'refresh').setMeta('addToHistory', false));
}

/** The range of the mention at a position, if one is drawn there. */
export function mentionAt(state: EditorState, pos: number): { from: number; to: number } | undefined {
  const [found] = mentionHighlightKey.getState(state)?.decorations.find(pos, pos) ?? [];
  return found && { from: found.from, to: found.to };
}

/** Whether a block of a Markdown document has the contexts that it has alone. */
export function readsAlone(state: EditorState, block: Node): boolean {
  return (mentionHighlightKey.getState(state)?.readsByLine ?? false) && isPlainLine(blockText(block));
}

function mentionHighlightPlugin(reader: Reader): Plugin<State> {
  let isComposing = false;
  return new Plugin<State>({
    key: mentionHighlightKey,
    state: {
      init: (_, state) => reader.everything(state.doc),
      apply: (tr, state) => reader.apply(tr, state, isComposing),
    },
    props: {
      decorations: (state) => mentionHighlightKey.getState(state)?.decorations,
      handleDOMEvents: {
        compositionstart: () => {
          isComposing = true;
          return false;
        },
        compositionend: (view) => {
          isComposing = false;
          // What the input method committed is in the document once this event is handled.
          setTimeout(() => {
            if (!view.isDestroyed && !isComposing && mentionHighlightKey.getState(view.state)?.isStale) {
              refreshMentions(view);
            }
          });
          return false;
        },
      },
    },
  });
}

/** A mention as a decoration remembers it. */
interface Drawn {
  readonly flags: string;
}

class Reader {
  readonly #composer: Composer;
  readonly #options: MentionHighlightOptions;

  constructor(composer: Composer, options: MentionHighlightOptions) {
    this.#composer = composer;
    this.#options = options;
  }

  everything(doc: Node): State {
    const state = { revision: this.#composer.revision, isStale: false };
    if (this.#options.reading === 'blocks') {
      const decorations = DecorationSet.create(doc, this.#ofBlocks(doc));
      return { ...state, decorations, found: null, readsByLine: false };
    }
    const { text } = DocumentText.of(doc);
    const found = this.#composer.highlight(text);
    const decorations = DecorationSet.create(doc, this.#inDocument(doc, found));
    return { ...state, decorations, found, readsByLine: readsByLine(text) };
  }

  apply(tr: Transaction, state: State, isComposing: boolean): State {
    const isOutdated =
      state.revision !== this.#composer.revision || tr.getMeta(mentionHighlightKey) === 'refresh';
    if (isComposing) {
      if (!tr.docChanged) return isOutdated ? { ...state, isStale: true } : state;
      return { ...state, decorations: state.decorations.map(tr.mapping, tr.doc), isStale: true };
    }
    if (isOutdated || (state.isStale && tr.docChanged)) return this.everything(tr.doc);
    if (!tr.docChanged) return state;
    const mapped = state.decorations.map(tr.mapping, tr.doc);
    if (this.#options.reading === 'blocks') return { ...state, decorations: this.#inBlocks(tr, mapped) };
    return this.#inLine(tr, mapped, state) ?? this.#inText(tr, mapped, state);
  }

  #inDocument(doc: Node, found: Highlights): Decoration[] {
    const document = DocumentText.of(doc);
    return this.#drawn(highlights(found), document.text, (at) => document.pos(at));
  }

  #ofBlocks(doc: Node): Decoration[] {
    const all: Decoration[] = [];
    doc.descendants((node, pos, parent) => {
      if (!node.isTextblock) return true;
      all.push(...this.#ofBlock(node, pos, isQuote(parent) || isQuoted(doc, pos)));
      return false;
    });
    return all;
  }

  /** Reads again the blocks that a transaction has touched. */
  #inBlocks(tr: Transaction, mapped: DecorationSet): DecorationSet {
    let decorations = mapped;
    const touched = new Map<number, Node>();
    for (const { from, to } of changedRanges(tr)) {
      tr.doc.nodesBetween(Math.max(0, from - 1), Math.min(tr.doc.content.size, to + 1), (node, pos) => {
        if (node.isTextblock) touched.set(pos, node);
        return !node.isTextblock;
      });
    }
    for (const [pos, node] of touched) {
      const old = decorations.find(pos, pos + node.nodeSize);
      decorations = replaced(decorations, tr.doc, old, this.#ofBlock(node, pos, isQuoted(tr.doc, pos)));
    }
    return decorations;
  }

  /** Reads one line by itself, where the engine says that this is the same. */
  #inLine(tr: Transaction, mapped: DecorationSet, state: State): State | undefined {
    const [range, ...others] = changedRanges(tr);
    if (!state.readsByLine || !range || others.length > 0 || tr.steps.length !== 1) return undefined;
    const now = tr.doc.resolve(range.from);
    const before = tr.before.resolve(range.from);
    const isOneLine =
      now.parent.isTextblock &&
      now.sameParent(tr.doc.resolve(range.to)) &&
      before.parent.isTextblock &&
      tr.doc.childCount === tr.before.childCount &&
      tr.doc.content.size - now.parent.content.size === tr.before.content.size - before.parent.content.size;
    if (!isOneLine) return undefined;
    const line = blockText(now.parent);
    if (!isPlainLine(line) || !isPlainLine(blockText(before.parent))) return undefined;
    const start = now.start();
    const fresh = this.#drawn(highlights(this.#composer.highlight(line)), line, (at) => start + at);
    const old = mapped.find(start, now.end());
    return { ...state, found: null, decorations: replaced(mapped, tr.doc, old, fresh) };
  }

  /**
   * Reads the text as a whole, since one mark may change the meaning of all that follows; draws again
   * only what then is another mention than before.
   */
  #inText(tr: Transaction, mapped: DecorationSet, state: State): State {
    const after = DocumentText.of(tr.doc);
    const found = this.#composer.highlight(after.text);
    const byLine = readsByLine(after.text);
    if (!state.found) {
      const decorations = replaced(mapped, tr.doc, mapped.find(), this.#inDocument(tr.doc, found));
      return { ...state, found, decorations, readsByLine: byLine };
    }
    const before = DocumentText.of(tr.before);
    const ranges = changedRanges(tr);
    const from = after.offset(Math.min(...ranges.map((range) => range.from)));
    const to = after.offset(Math.max(...ranges.map((range) => range.to)));
    const { first, last } = difference(state.found, found, from, to, after.text.length - before.text.length);
    const start = first > 0 ? (found[first - 2] ?? 0) : 0;
    const end = last < found.length ? (found[last] ?? 0) : after.text.length;
    const changed = this.#inDocument(tr.doc, found.subarray(first, last));
    // What is found may touch the mentions beside it, which stay.
    const [low, high] = [after.pos(start), after.pos(end)];
    const gone = mapped.find(low, high).filter((one) => one.to > low && one.from < high);
    return { ...state, found, decorations: replaced(mapped, tr.doc, gone, changed), readsByLine: byLine };
  }

  #ofBlock(block: Node, pos: number, isQuote: boolean): Decoration[] {
    const text = blockText(block);
    if (block.type.spec.code || !/[@#]/.test(text)) return [];
    const found = this.#composer.highlightBlock(text, codeRanges(block), isQuote);
    return this.#drawn(highlights(found), text, (at) => pos + 1 + at);
  }

  #drawn(found: Highlight[], text: string, posOf: (offset: number) => number): Decoration[] {
    return found.map((mention) => {
      const label = text.slice(mention.start + 1, mention.end);
      const attributes = { ...attributesOf(mention), ...this.#options.attributes?.(mention, label) };
      const drawn: Drawn = { flags: JSON.stringify(attributes) };
      return Decoration.inline(posOf(mention.start), posOf(mention.end), attributes, {
        ...drawn,
        inclusiveStart: false,
        inclusiveEnd: false,
      });
    });
  }
}

function attributesOf(mention: Highlight): DecorationAttrs {
  const classes = ['mention', `mention-${mention.kind}`];
  if (mention.isFullKey) classes.push('mention-full-key');
  if (mention.isQuote) classes.push('mention-quote');
  if (mention.isIsolated) classes.push('mention-isolated');
  return { class: classes.join(' '), 'data-mention-kind': mention.kind, spellcheck: 'false' };
}

/** The set with `old` in it replaced by `fresh`; what stays the same keeps its place in the tree. */
function replaced(set: DecorationSet, doc: Node, old: Decoration[], fresh: Decoration[]): DecorationSet {
  const name = (one: Decoration) => `${one.from} ${one.to} ${(one.spec as Drawn).flags}`;
  const gone = new Map(old.map((one) => [name(one), one]));
  const added = fresh.filter((one) => !gone.delete(name(one)));
  const without = gone.size > 0 ? set.remove([...gone.values()]) : set;
  return added.length > 0 ? without.add(doc, added) : without;
}

/** The ranges of the new document that a transaction has changed. */
function changedRanges(tr: Transaction): { from: number; to: number }[] {
  const ranges: { from: number; to: number }[] = [];
  for (const [step, map] of tr.mapping.maps.entries()) {
    const later = tr.mapping.slice(step + 1);
    map.forEach((_start, _end, from, to) => {
      ranges.push({ from: later.map(from, -1), to: later.map(to, 1) });
    });
    // A mark has no range of its own.
    const changed = tr.steps[step]?.toJSON() as { stepType?: string; from?: number; to?: number } | undefined;
    if (changed?.stepType?.endsWith('Mark') && changed.from !== undefined && changed.to !== undefined) {
      ranges.push({ from: later.map(changed.from, -1), to: later.map(changed.to, 1) });
    }
  }
  return ranges;
}

/**
 * The mentions `found[first..last]` of a text that are not those of the text before: outside a change at
 * `from..to` that made it longer by `growth`, equal ones stay.
 */
function difference(
  old: Highlights,
  found: Highlights,
  from: number,
  to: number,
  growth: number,
): { first: number; last: number } {
  const isEqual = (a: number, b: number, shift: number) =>
    old[a] === (found[b] ?? 0) - shift &&
    old[a + 1] === (found[b + 1] ?? 0) - shift &&
    old[a + 2] === found[b + 2];
  const shorter = Math.min(old.length, found.length);
  let first = 0;
  while (first < shorter && (found[first + 1] ?? 0) <= from && isEqual(first, first, 0)) first += 3;
  let kept = 0;
  while (kept < shorter - first) {
    const [a, b] = [old.length - kept - 3, found.length - kept - 3];
    if ((found[b] ?? 0) < to || !isEqual(a, b, growth)) break;
    kept += 3;
  }
  return { first, last: found.length - kept };
}

/** What of a block is code, two numbers to a range. */
function codeRanges(block: Node): Uint32Array | undefined {
  const ranges: number[] = [];
  block.forEach((child, offset) => {
    if (child.marks.some((mark) => mark.type.spec.code)) ranges.push(offset, offset + child.nodeSize);
  });
  return ranges.length > 0 ? Uint32Array.from(ranges) : undefined;
}

function isQuote(node: Node | null): boolean {
  return node?.type.name === 'blockquote';
}

/** Whether a position lies in a block quote. */
export function isQuoted(doc: Node, pos: number): boolean {
  const at = doc.resolve(pos);
  for (let depth = at.depth; depth > 0; depth -= 1) if (isQuote(at.node(depth))) return true;
  return false;
}
