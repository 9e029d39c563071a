import type { ContextRanges, Highlights } from '../wasm/vocative.js';

/** What an owned range stands for, by the number the engine gives it. */
export const MENTION_KINDS = [
  'human',
  'agent',
  'channel',
  'persona',
  'ambiguous',
  'outsider',
  'unresolved',
] as const;

/** What an owned range stands for. */
export type MentionKind = (typeof MENTION_KINDS)[number];

/** What a range that is not prose is, by the number the engine gives it. */
export const CONTEXTS = ['code', 'hidden', 'link', 'quote'] as const;

/** What a range that is not prose is (G-17). */
export type ContextName = (typeof CONTEXTS)[number];

const KIND = 0b1111;
const FULL_KEY = 1 << 4;
const QUOTE = 1 << 5;
const ISOLATED = 1 << 6;

/** An owned range of a text. */
export interface Highlight {
  /** Where the sign stands. */
  readonly start: number;
  /** Where the label ends. */
  readonly end: number;
  /** What it stands for. */
  readonly kind: MentionKind;
  /** Whether it holds a full key: drawn literally, with a visible sign and without icon (V-5). */
  readonly isFullKey: boolean;
  /** Whether it stands in a quote and notifies nobody (E-6). */
  readonly isQuote: boolean;
  /** Whether it holds direction controls: drawn isolated (V-6). */
  readonly isIsolated: boolean;
}

/** Reads what `Composer.highlight` answers. */
export function highlights(flat: Highlights): Highlight[] {
  const read: Highlight[] = [];
  for (let at = 0; at + 2 < flat.length; at += 3) {
    const flags = flat[at + 2] ?? 0;
    read.push({
      start: flat[at] ?? 0,
      end: flat[at + 1] ?? 0,
      kind: MENTION_KINDS[flags & KIND] ?? 'unresolved',
      isFullKey: (flags & FULL_KEY) !== 0,
      isQuote: (flags & QUOTE) !== 0,
      isIsolated: (flags & ISOLATED) !== 0,
    });
  }
  return read;
}

/** Reads what `Composer.contexts` answers. */
export function contextRanges(flat: ContextRanges): { start: number; end: number; context: ContextName }[] {
  const read: { start: number; end: number; context: ContextName }[] = [];
  for (let at = 0; at + 2 < flat.length; at += 3) {
    const context = CONTEXTS[flat[at + 2] ?? CONTEXTS.length];
    if (context) read.push({ start: flat[at] ?? 0, end: flat[at + 1] ?? 0, context });
  }
  return read;
}
