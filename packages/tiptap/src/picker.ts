import { type Editor, Extension } from '@tiptap/core';
import { closeHistory } from '@tiptap/pm/history';
import { type EditorState, Plugin, PluginKey, TextSelection } from '@tiptap/pm/state';
import type { EditorView } from '@tiptap/pm/view';
import { type Composer, contextRanges, limits, type Suggestion, type Trigger } from '@vocative/engine';
import { settleAfterInsertion } from './caretSettlement.js';
import { type DocumentReading, isQuoted, readsAlone } from './mentionHighlight.js';
import { blockText, DocumentText } from './text.js';

/** An open picker, to be drawn. */
export interface OpenPicker {
  /** What was typed behind the sign. */
  readonly query: string;
  /** Where the sign stands, and the caret, as positions of the document. */
  readonly from: number;
  readonly to: number;
  /** Whether a choice here notifies nobody, since it stands in a quote. */
  readonly isQuote: boolean;
  /** Best first. */
  readonly rows: readonly Suggestion[];
  /** The row that Enter commits. */
  readonly active: number;
  /** Whether a search is under way. */
  readonly isSearching: boolean;
}

export interface MentionPickerOptions {
  composer: Composer | null;
  reading: DocumentReading;
  /** The rows that are known here and now, best first: `engine.suggest`. */
  suggest: (query: string) => Suggestion[];
  /**
   * Searches further, some time after the last key; afterwards `suggest` is asked again. The signal aborts
   * when the query changes or the picker closes.
   */
  search: ((query: string, signal: AbortSignal) => Promise<void>) | null;
  /** Draws the picker; null closes it. */
  onChange: (picker: OpenPicker | null) => void;
  /** Takes a choice over, for a team or a persona that needs more; true where it did. */
  onPick: ((row: Suggestion, picker: OpenPicker) => boolean) | null;
}

declare module '@tiptap/core' {
  interface Commands<ReturnType> {
    mentionPicker: {
      /** Makes another row the active one. */
      activateMention: (row: number) => ReturnType;
      /** Commits a row of the open picker. */
      pickMention: (row?: number) => ReturnType;
      /** Closes the picker until its sign is deleted. */
      closeMentionPicker: () => ReturnType;
    };
  }
  interface Storage {
    mentionPicker: { session: Session | null };
  }
}

const pickerKey = new PluginKey<number | null>('vocativePicker');

/** Opens a picker behind a sign, keeps its rows, and writes the choice. It draws nothing. */
export const MentionPicker = Extension.create<MentionPickerOptions, { session: Session | null }>({
  name: 'mentionPicker',
  // Before the keymaps, so that Enter commits and does not send.
  priority: 1100,

  addOptions() {
    return {
      composer: null,
      reading: 'blocks',
      suggest: () => [],
      search: null,
      onChange: () => {},
      onPick: null,
    };
  },

  addStorage() {
    return { session: null };
  },

  addCommands() {
    const session = () => this.storage.session;
    return {
      activateMention: (row) => () => session()?.activate(row) ?? false,
      pickMention: (row) => () => session()?.pick(row) ?? false,
      closeMentionPicker: () => () => session()?.dismiss() ?? false,
    };
  },

  addProseMirrorPlugins() {
    const { composer } = this.options;
    if (!composer) throw new Error('MentionPicker needs a composer of @vocative/engine');
    const session = new Session(this.editor, composer, this.options);
    this.storage.session = session;
    const plugin: Plugin<number | null> = new Plugin<number | null>({
      key: pickerKey,
      // The sign whose picker was closed on purpose, until it is deleted (S-3).
      state: {
        init: () => null,
        apply(tr, dismissed) {
          const meta: unknown = tr.getMeta(pickerKey);
          if (typeof meta === 'number') return meta;
          if (dismissed === null) return null;
          const mapped = tr.mapping.mapResult(dismissed, 1);
          return mapped.deletedAfter ? null : mapped.pos;
        },
      },
      props: { handleKeyDown: (_view, event) => session.key(event) },
      view: () => ({ update: (view) => session.look(view), destroy: () => session.close() }),
    });
    return [plugin];
  },
});

class Session {
  readonly #editor: Editor;
  readonly #composer: Composer;
  readonly #options: MentionPickerOptions;
  #open: OpenPicker | null = null;
  #search: AbortController | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(editor: Editor, composer: Composer, options: MentionPickerOptions) {
    this.#editor = editor;
    this.#composer = composer;
    this.#options = options;
  }

  /** Opens, follows or closes, as the caret stands now. */
  look(view: EditorView): void {
    // What an input method composes is no query yet.
    if (view.composing) return;
    const found = this.#trigger(view.state);
    if (!found) {
      this.close();
      return;
    }
    const { query, from, to } = this.#open ?? {};
    if (query === found.query && from === found.from && to === found.to) return;
    this.#stopSearch();
    this.#set({ ...found, rows: this.#options.suggest(found.query), active: 0, isSearching: false });
    this.#startSearch(found.query);
  }

  close(): void {
    this.#stopSearch();
    if (this.#open) this.#set(null);
  }

  dismiss(): boolean {
    const open = this.#open;
    if (!open) return false;
    this.close();
    const { view } = this.#editor;
    view.dispatch(view.state.tr.setMeta(pickerKey, open.from));
    return true;
  }

  activate(row: number): boolean {
    const open = this.#open;
    if (!open?.rows[row]) return false;
    this.#set({ ...open, active: row });
    return true;
  }

  /** Writes a choice. A row that is no longer offered is refused, the text untouched (S-8). */
  pick(row: number = this.#open?.active ?? 0): boolean {
    const open = this.#open;
    const chosen = open?.rows[row];
    if (!open || !chosen) return false;
    if (this.#options.onPick?.(chosen, open)) {
      this.close();
      return true;
    }
    return this.#write(open, chosen);
  }

  key(event: KeyboardEvent): boolean {
    if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return false;
    // The rows may be those of an earlier query still: ask afresh.
    this.look(this.#editor.view);
    const open = this.#open;
    if (!open) return false;
    const count = open.rows.length;
    switch (event.key) {
      case 'ArrowDown':
      case 'ArrowUp':
        if (count === 0) return false;
        return this.activate((open.active + (event.key === 'ArrowDown' ? 1 : count - 1)) % count);
      case 'Enter':
      case 'Tab':
        return !event.shiftKey && this.pick();
      case 'Escape':
        return this.dismiss();
      case ' ': {
        const exact = this.#composer.onSpace(open.query);
        const row = exact
          ? open.rows.findIndex(({ id, name }) => id === exact.id && name === exact.name)
          : -1;
        return row >= 0 && this.pick(row);
      }
      default:
        return false;
    }
  }

  #write(open: OpenPicker, chosen: Suggestion): boolean {
    const { view } = this.#editor;
    const block = view.state.doc.resolve(open.from).parent;
    const start = view.state.doc.resolve(open.from).start();
    const document = DocumentText.of(view.state.doc);
    const [from, to] = [document.offset(open.from), document.offset(open.to)];
    const rest = document.text.slice(0, from) + document.text.slice(to);
    const label = chosen.id
      ? this.#composer.pick(chosen.name, chosen.id, rest)
      : this.#composer.pickPersona(chosen.name, rest);
    const written = this.#composer.insertion(blockText(block), open.from - start, open.to - start, label);
    this.close();
    // A choice is one closed step of the history (C-4).
    const tr = closeHistory(view.state.tr).insertText(written.text, start + written.from, start + written.to);
    view.dispatch(tr.setSelection(TextSelection.create(tr.doc, start + written.caret)).scrollIntoView());
    settleAfterInsertion(view, this.#composer);
    view.dispatch(closeHistory(view.state.tr));
    view.focus();
    return true;
  }

  /** The query that the caret stands behind, where a choice would route (S-3). */
  #trigger(state: EditorState): Pick<OpenPicker, 'query' | 'from' | 'to' | 'isQuote'> | undefined {
    const { $from, empty } = state.selection;
    if (!empty || !$from.parent.isTextblock || $from.parent.type.spec.code) return undefined;
    const found: Trigger | undefined = this.#composer.trigger(blockText($from.parent), $from.parentOffset);
    if (!found) return undefined;
    const [from, to] = [$from.start() + found.start, $from.start() + found.end];
    if (pickerKey.getState(state) === from) return undefined;
    let isQuote = isQuoted(state.doc, from);
    if (this.#options.reading === 'markdown') {
      const isAlone = readsAlone(state, $from.parent);
      const document = isAlone ? undefined : DocumentText.of(state.doc);
      const text = document?.text ?? blockText($from.parent);
      const at = document?.offset(from) ?? found.start;
      const ranges = contextRanges(this.#composer.contexts(text));
      const context = ranges.find(({ start, end }) => start <= at && at < end)?.context;
      if (context && context !== 'quote') return undefined;
      isQuote = context === 'quote';
    } else if (
      state.doc
        .resolve(from + 1)
        .marks()
        .some((mark) => mark.type.spec.code)
    ) {
      return undefined;
    }
    return { query: found.query, from, to, isQuote };
  }

  #set(open: OpenPicker | null): void {
    this.#open = open;
    this.#options.onChange(open);
  }

  #startSearch(query: string): void {
    const { search, suggest } = this.#options;
    if (!search || query === '') return;
    const controller = new AbortController();
    this.#search = controller;
    this.#timer = setTimeout(async () => {
      if (this.#open) this.#set({ ...this.#open, isSearching: true });
      try {
        await search(query, controller.signal);
      } catch {
        // What is known here stays.
      }
      if (controller.signal.aborted || !this.#open) return;
      const rows = suggest(query);
      const active = rows.length > this.#open.active ? this.#open.active : 0;
      this.#set({ ...this.#open, rows, active, isSearching: false });
    }, limits().pickerDebounceMs);
  }

  #stopSearch(): void {
    clearTimeout(this.#timer);
    this.#search?.abort();
    this.#search = null;
  }
}
