import { Extension } from '@tiptap/core';
import { Fragment, Slice } from '@tiptap/pm/model';
import { Plugin, PluginKey, TextSelection } from '@tiptap/pm/state';
import type { EditorView } from '@tiptap/pm/view';
import { type Composer, readClipboard } from '@vocative/engine';
import { settledInput } from './caretSettlement.js';
import type { DocumentReading } from './mentionHighlight.js';
import { DocumentText } from './text.js';

export interface MentionClipboardOptions {
  /** Who reads and writes clipboards. */
  composer: Composer | null;
  reading: DocumentReading;
}

/**
 * Carries identities over the clipboard: they are written beside the readable text, and read as claims
 * to be checked.
 */
export const MentionClipboard = Extension.create<MentionClipboardOptions>({
  name: 'mentionClipboard',

  addOptions() {
    return { composer: null, reading: 'blocks' };
  },

  onBeforeCreate() {
    const { extensions } = this.editor.extensionManager;
    if (!extensions.some(({ name }) => name === 'pastedOccurrences')) {
      throw new Error(
        'MentionClipboard needs PastedOccurrences: without it no pasted identity could be bound',
      );
    }
  },

  addProseMirrorPlugins() {
    const { composer, reading } = this.options;
    if (!composer) throw new Error('MentionClipboard needs a composer of @vocative/engine');
    const storage = this.editor.storage.pastedOccurrences;
    let isOwnPaste = false;

    const copy = (view: EditorView, event: ClipboardEvent, isCut: boolean): boolean => {
      const { from, to, empty } = view.state.selection;
      if (empty || !event.clipboardData || hasFormat(view)) return false;
      const document = DocumentText.of(view.state.doc);
      const [start, end] = [document.offset(from), document.offset(to)];
      const html = composer.copyHtml(document.text, start, end, 'markdown');
      if (html === undefined) return false;
      event.clipboardData.clearData();
      event.clipboardData.setData('text/plain', document.text.slice(start, end));
      event.clipboardData.setData('text/html', html);
      event.preventDefault();
      if (isCut) view.dispatch(view.state.tr.deleteSelection().scrollIntoView().setMeta('uiEvent', 'cut'));
      return true;
    };

    const plugin = new Plugin({
      key: new PluginKey('vocativeClipboard'),
      props: {
        handleDOMEvents: {
          copy: (view, event) => copy(view, event, false),
          cut: (view, event) => copy(view, event, true),
        },
        handlePaste: (view, event) => {
          const data = event.clipboardData;
          if (isOwnPaste || !data) return false;
          const html = data.getData('text/html');
          const plain = data.getData('text/plain');
          if (html === '') {
            settle(view, composer, plain);
            return false;
          }
          const pasted = readClipboard(html);
          const isText = pasted.kind === 'markdown' || reading === 'markdown';
          const text = pasted.kind === 'markdown' && plain !== '' ? plain : pasted.text;
          settle(view, composer, text);
          storage.incoming = pasted.records;
          isOwnPaste = true;
          try {
            return isText ? view.pasteText(text, event) : view.pasteHTML(pasted.html, event);
          } finally {
            isOwnPaste = false;
            storage.incoming = null;
          }
        },
        // The document is its text: an empty line stays one.
        ...(reading === 'markdown' && {
          clipboardTextParser: (text: string, _context, _plain, view: EditorView) => {
            const { schema } = view.state;
            const paragraph = schema.nodes['paragraph'];
            if (!paragraph) return Slice.empty;
            const lines = text.split(/\r\n?|\n/);
            const blocks = lines.map((line) =>
              paragraph.create(null, line === '' ? null : schema.text(line)),
            );
            return new Slice(Fragment.from(blocks), 1, 1);
          },
          clipboardTextSerializer: (slice: Slice, view: EditorView) => {
            const { from, to } = view.state.selection;
            const document = DocumentText.of(view.state.doc);
            return slice.size === 0 ? '' : document.text.slice(document.offset(from), document.offset(to));
          },
        }),
      },
    });
    return [plugin];
  },
});

/** A paste at an edge is a first input: it goes behind the separator (C-4). */
function settle(view: EditorView, composer: Composer, text: string): void {
  const { from, to } = view.state.selection;
  const settled = settledInput(view.state, composer, from, to, text);
  if (settled) view.dispatch(view.state.tr.setSelection(TextSelection.create(view.state.doc, settled.pos)));
}

/** Whether the selection holds more than text in paragraphs, which only the editor's own copy keeps. */
function hasFormat(view: EditorView): boolean {
  const { doc, selection } = view.state;
  let found = false;
  doc.nodesBetween(selection.from, selection.to, (node) => {
    const isPlain = node.isText
      ? node.marks.length === 0
      : node.type.name === 'paragraph' || node.inlineContent;
    const isBreak = node.isLeaf && !node.isText;
    found ||= !(isPlain || isBreak || node === doc);
    return !found;
  });
  return found;
}
