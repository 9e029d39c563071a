import { Extension } from '@tiptap/core';
import { type EditorState, Plugin, PluginKey, TextSelection, type Transaction } from '@tiptap/pm/state';
import type { EditorView } from '@tiptap/pm/view';
import type { CaretAction, CaretEvent, Composer, SettlingKey } from '@vocative/engine';
import { blockText } from './text.js';

export interface CaretSettlementOptions {
  /** Who decides where typing goes. */
  composer: Composer | null;
}

const KEYS: ReadonlySet<string> = new Set<SettlingKey>([
  'ArrowLeft',
  'ArrowRight',
  'ArrowUp',
  'ArrowDown',
  'PageUp',
  'PageDown',
  'Home',
  'End',
  'Backspace',
]);

export const caretSettlementKey = new PluginKey('vocativeCaretSettlement');

/**
 * Keeps what is typed right after a mention behind its separator, wherever the browser puts the caret,
 * until the writer goes somewhere on purpose.
 */
export const CaretSettlement = Extension.create<CaretSettlementOptions>({
  name: 'caretSettlement',
  // Before the keymaps: the first key after a choice is judged here.
  priority: 1000,

  addOptions() {
    return { composer: null };
  },

  addProseMirrorPlugins() {
    const { composer } = this.options;
    if (!composer) throw new Error('CaretSettlement needs a composer of @vocative/engine');
    return [caretSettlementPlugin(composer)];
  },
});

/** A range of one block, as offsets in its text. */
interface InBlock {
  readonly text: string;
  readonly start: number;
  readonly from: number;
  readonly to: number;
}

/** The block that holds a range whole. */
function inBlock(state: EditorState, from: number, to: number): InBlock | undefined {
  const at = state.doc.resolve(from);
  if (!at.parent.isTextblock || !at.sameParent(state.doc.resolve(to))) return undefined;
  const start = at.start();
  return { text: blockText(at.parent), start, from: from - start, to: to - start };
}

/** Says that a mention was inserted and the caret stands behind its separator. */
export function settleAfterInsertion(view: EditorView, composer: Composer): void {
  const { from } = view.state.selection;
  const block = inBlock(view.state, from, from);
  if (block) composer.caret(block.text, { type: 'inserted', at: block.from });
}

/** Where text that is about to replace a range goes while a mention settles; none: where it would. */
export function settledInput(
  state: EditorState,
  composer: Composer,
  from: number,
  to: number,
  typed: string,
): { pos: number; text: string } | undefined {
  if (!composer.isSettling) return undefined;
  const block = inBlock(state, from, to);
  if (!block) return undefined;
  const action = composer.caret(block.text, { type: 'input', from: block.from, to: block.to, typed });
  return action.type === 'insert' ? { pos: block.start + action.at, text: action.text } : undefined;
}

/** Whether a transaction goes somewhere else than the writer's own typing does (C-4). */
function leaves(tr: Transaction): boolean {
  const ui: unknown = tr.getMeta('uiEvent');
  return tr.getMeta('history$') !== undefined || ui === 'drop' || tr.getMeta('preventUpdate') !== undefined;
}

function caretSettlementPlugin(composer: Composer): Plugin {
  let isPointing = false;
  let composedFrom: number | undefined;

  const act = (view: EditorView, block: InBlock, action: CaretAction): boolean => {
    const transaction = actionTransaction(view.state, block, action);
    if (!transaction) return false;
    view.dispatch(transaction.scrollIntoView());
    return true;
  };
  const tell = (view: EditorView, event: CaretEvent, block: InBlock): boolean =>
    act(view, block, composer.caret(block.text, event));
  const leave = (): false => {
    if (composer.isSettling || composer.isComposing) composer.caret('', { type: 'left' });
    return false;
  };

  return new Plugin({
    key: caretSettlementKey,

    props: {
      handleTextInput(view, from, to, typed) {
        if (view.composing) return false;
        const settled = settledInput(view.state, composer, from, to, typed);
        if (!settled) return false;
        const tr = view.state.tr.insertText(settled.text, settled.pos);
        const end = settled.pos + settled.text.length;
        view.dispatch(tr.setSelection(TextSelection.create(tr.doc, end)).scrollIntoView());
        return true;
      },

      handleKeyDown(view, event) {
        const isPlain = !event.shiftKey && !event.isComposing && KEYS.has(event.key);
        if (!composer.isSettling || !isPlain) return false;
        const { from, to } = view.state.selection;
        const block = inBlock(view.state, from, to);
        if (!block) return leave();
        const isRtl = getComputedStyle(view.dom).direction === 'rtl';
        const isModified = event.ctrlKey || event.metaKey || event.altKey;
        const action = composer.caret(block.text, {
          type: 'pressed',
          key: event.key as SettlingKey,
          isRtl,
          caret: block.from,
        });
        // With a modifier the key goes further than a step; it has disarmed all the same.
        return !isModified && act(view, block, action);
      },

      handleClick(view, pos, event) {
        if (!composer.isSettling) return false;
        const block = inBlock(view.state, pos, pos);
        if (!block) return leave();
        const onChip = event.target instanceof Element && event.target.closest('.mention') !== null;
        return tell(view, { type: 'clicked', caret: block.from, onChip }, block);
      },

      handleDOMEvents: {
        mousedown: () => {
          isPointing = true;
          // The release may come anywhere in the page.
          window.addEventListener('mouseup', () => setTimeout(() => (isPointing = false)), { once: true });
          return false;
        },
        blur: leave,
        drop: leave,
        compositionstart: (view) => {
          const { from, to } = view.state.selection;
          const block = inBlock(view.state, from, to);
          composedFrom = undefined;
          if (!composer.isSettling || !block) return false;
          composedFrom = from;
          composer.caret(block.text, { type: 'compositionStarted', at: block.from });
          return false;
        },
        compositionend: (view) => {
          const start = composedFrom;
          composedFrom = undefined;
          if (start === undefined) return false;
          // What the input method committed is in the document once this event is handled.
          setTimeout(() => {
            if (view.isDestroyed) return;
            const end = Math.max(start, view.state.selection.from);
            const block = inBlock(view.state, start, end);
            if (block) tell(view, { type: 'compositionEnded', from: block.from, to: block.to }, block);
            else leave();
          });
          return false;
        },
      },
    },

    appendTransaction(transactions, _old, state) {
      if (transactions.some(leaves)) {
        leave();
        return null;
      }
      const isOwn = transactions.some(
        (tr) => tr.docChanged || tr.getMeta('pointer') || tr.getMeta(caretSettlementKey),
      );
      const hasMoved = transactions.some((tr) => tr.selectionSet);
      if (!composer.isSettling || isOwn || !hasMoved || isPointing) return null;
      const { from, to } = state.selection;
      const block = inBlock(state, from, to);
      if (!block) {
        leave();
        return null;
      }
      const action = composer.caret(block.text, { type: 'selected', from: block.from, to: block.to });
      return actionTransaction(state, block, action) ?? null;
    },

    view: () => ({
      update(view) {
        if (composer.isSettling && !view.composing && !isPointing && view.hasFocus()) putCaret(view);
      },
      destroy: leave,
    }),
  });
}

function actionTransaction(state: EditorState, block: InBlock, action: CaretAction): Transaction | undefined {
  const tr = state.tr.setMeta(caretSettlementKey, true);
  const at = (offset: number) => block.start + offset;
  const caret = (pos: number) => tr.setSelection(TextSelection.create(tr.doc, pos));
  switch (action.type) {
    case 'none':
      return undefined;
    case 'moveCaret':
      return caret(at(action.at));
    case 'insert':
      tr.insertText(action.text, at(action.at));
      return caret(at(action.at) + action.text.length);
    case 'delete':
      return tr.delete(at(action.from), at(action.to));
    case 'moveText': {
      const moved = state.doc.slice(at(action.from), at(action.to));
      // It touches what was composed, so that the history takes both as one step (C-6).
      tr.insert(at(action.target), moved.content).delete(at(action.from), at(action.to));
      return caret(at(action.target));
    }
  }
}

/** Puts the DOM's caret where the model has it, in case the browser has moved it to the label's end (C-2). */
function putCaret(view: EditorView): void {
  const selection = view.dom.ownerDocument.getSelection();
  const { selection: model } = view.state;
  if (!selection?.anchorNode || !selection.isCollapsed || !model.empty) return;
  if (!view.dom.contains(selection.anchorNode)) return;
  if (view.posAtDOM(selection.anchorNode, selection.anchorOffset) === model.from) return;
  const { node, offset } = view.domAtPos(model.from, 1);
  selection.collapse(node, offset);
}
