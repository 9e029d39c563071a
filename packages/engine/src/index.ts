/**
 * The engine: which label owns which range of a text, whom it stands for, and what to tell a sender
 * about every name that reaches nobody. The same Rust as on every other surface, as WebAssembly.
 *
 * Positions are UTF-16 units. Call {@link load} once before anything else.
 */

export * from '../wasm/vocative.js';
export {
  CONTEXTS,
  type ContextName,
  contextRanges,
  type Highlight,
  highlights,
  MENTION_KINDS,
  type MentionKind,
} from './highlights.js';
export { load } from './load.js';
export { isVocativeError, keyOf } from './values.js';
