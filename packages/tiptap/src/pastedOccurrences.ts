import { Extension } from '@tiptap/core';
import type { Node } from '@tiptap/pm/model';
import type { Transaction } from '@tiptap/pm/state';
import type { Check, Composer, Record } from '@vocative/engine';
import { DocumentText, type TextEdit, textEdits } from './text.js';

export interface PastedOccurrencesOptions {
  /** Who tracks the pasted ranges. */
  composer: Composer | null;
  /** Called with the identities of a paste that are to be checked (P-10). */
  onChecks: ((checks: Check[]) => void) | null;
  /** Called with a label whose check has expired since undo or redo brought its text back (P-8). */
  onExpired: ((label: string) => void) | null;
}

declare module '@tiptap/core' {
  interface Storage {
    pastedOccurrences: PastedOccurrencesStorage;
  }
}

export interface PastedOccurrencesStorage {
  /** What the next change of the document carries: it is a paste. */
  incoming: Record[] | null;
}

/**
 * Holds a range for each pasted mention that is being checked, and maps it through every transaction.
 *
 * The range dies when its text is deleted or replaced, and a late answer then binds nothing. Every editor
 * whose clipboard yields identities needs it: {@link MentionClipboard} will not start without.
 */
export const PastedOccurrences = Extension.create<PastedOccurrencesOptions, PastedOccurrencesStorage>({
  name: 'pastedOccurrences',

  addOptions() {
    return { composer: null, onChecks: null, onExpired: null };
  },

  addStorage() {
    return { incoming: null };
  },

  onBeforeCreate() {
    if (!this.options.composer) throw new Error('PastedOccurrences needs a composer of @vocative/engine');
  },

  onTransaction({ transaction, appendedTransactions }) {
    const { composer, onChecks, onExpired } = this.options;
    if (!composer) return;
    for (const tr of [transaction, ...appendedTransactions]) {
      if (!tr.docChanged) continue;
      const records = this.storage.incoming;
      this.storage.incoming = null;
      if (!records && !composer.isTrackingPastes && composer.openChecks().length === 0) continue;
      const checks = follow(composer, tr, records ?? []);
      if (checks.length > 0) onChecks?.(checks);
      for (const label of expired(composer, tr)) onExpired?.(label);
    }
  },
});

/** Tells the engine what a transaction did to the text; the last edit of a paste carries its records. */
function follow(composer: Composer, tr: Transaction, records: Record[]): Check[] {
  const edits = editsOf(tr);
  const carrier = edits.findLastIndex((edit) => edit.inserted !== '');
  const checks: Check[] = [];
  for (const [at, edit] of edits.entries()) {
    if (at === carrier && records.length > 0) {
      checks.push(...composer.pasted(edit.before, edit.from, edit.to, edit.inserted, records));
    } else {
      composer.edited(edit.before, edit.from, edit.to, edit.inserted);
    }
  }
  return checks;
}

function editsOf(tr: Transaction): TextEdit[] {
  return tr.steps.flatMap((step, at) => {
    const before = tr.docs[at] as Node;
    const after = tr.docs[at + 1] ?? tr.doc;
    const ranges: { oldStart: number; oldEnd: number; newStart: number; newEnd: number }[] = [];
    step.getMap().forEach((oldStart, oldEnd, newStart, newEnd) => {
      ranges.push({ oldStart, oldEnd, newStart, newEnd });
    });
    return textEdits(before, after, ranges);
  });
}

/** Undo and redo bring text back without its range, so its check expires (P-8). */
function expired(composer: Composer, tr: Transaction): string[] {
  if (tr.getMeta('history$') === undefined) return [];
  const { text } = DocumentText.of(tr.doc);
  const gone = composer.openChecks().filter((check) => !check.stands && text.includes(check.label));
  const told = gone.map((check) => composer.recreated(check.check, text));
  return told.filter((label) => label !== undefined);
}
