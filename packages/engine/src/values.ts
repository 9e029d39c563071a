import type { Id, Key, VocativeError } from '../wasm/vocative.js';

/** The key of an identity of the community. */
export function keyOf(id: Id): Key | undefined {
  return id.startsWith('nostr:') ? id.slice('nostr:'.length) : undefined;
}

/** Whether an error is one that the engine threw, with its stable code. */
export function isVocativeError(error: unknown): error is VocativeError {
  return error instanceof Error && typeof (error as Partial<VocativeError>).code === 'string';
}
