import { type Check, type Composer, isVouched, type Key, keyOf, limits, type Ref } from '@vocative/engine';

/** Where the names of identities come from. */
export interface Trust {
  /** The aliases that this community's own state knows; none where it does not know the key. */
  local(key: Key): readonly string[] | undefined;
  /** The aliases of unknown keys, all in one lookup. What is not asked for is ignored. */
  remote(keys: readonly Key[], signal: AbortSignal): Promise<ReadonlyMap<Key, readonly string[]>>;
}

export interface PasteBindingOptions {
  readonly composer: Composer;
  readonly trust: Trust;
  /** The whole text as it is now. */
  readonly text: () => string;
  /** Called when a pasted label was bound. */
  readonly onBound?: (bound: Ref) => void;
  /** Called with a label whose check has expired: its text reaches nobody (P-11). */
  readonly onExpired?: (label: string) => void;
}

/**
 * Checks pasted identities and binds those that are vouched for.
 *
 * Local aliases answer first, then one batched lookup; an error vouches for nothing. Whether a late
 * answer may still bind is the engine's decision.
 */
export class PasteBinding {
  readonly #options: PasteBindingOptions;
  readonly #pending = new Set<Promise<void>>();
  #lookups = new AbortController();

  constructor(options: PasteBindingOptions) {
    this.#options = options;
  }

  /** Begins to check what a paste has claimed; give it to `PastedOccurrences` as `onChecks`. */
  readonly ask = (checks: readonly Check[]): void => {
    const unknown: { check: Check; key: Key }[] = [];
    for (const check of checks) {
      const key = keyOf(check.id);
      const aliases = key && this.#options.trust.local(key);
      if (!key) this.#answer(check, false);
      else if (aliases && isVouched(check.label, [...aliases], key)) this.#answer(check, true);
      else unknown.push({ check, key });
    }
    if (unknown.length === 0) return;
    const lookup = this.#lookUp(unknown).finally(() => this.#pending.delete(lookup));
    this.#pending.add(lookup);
  };

  /**
   * Waits until every check is answered, at most as long as a send may wait; what is still open then
   * expires. Sends await it before they read their recipients.
   */
  async settlePending(timeoutMs: number = limits().pendingCheckMs): Promise<void> {
    const { composer, text, onExpired } = this.#options;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, timeoutMs);
    await Promise.race([Promise.allSettled(this.#pending), late]);
    clearTimeout(timer);
    for (const { check } of composer.openChecks()) {
      const label = composer.expire(check, text());
      if (label !== undefined) onExpired?.(label);
    }
  }

  /** Gives up the lookups: the composer was cleared or is gone. */
  abort(): void {
    this.#lookups.abort();
    this.#lookups = new AbortController();
  }

  async #lookUp(unknown: readonly { check: Check; key: Key }[]): Promise<void> {
    const { signal } = this.#lookups;
    const keys = [...new Set(unknown.map(({ key }) => key))];
    let found: ReadonlyMap<Key, readonly string[]> = new Map();
    try {
      found = await this.#options.trust.remote(keys, signal);
    } catch {
      // Nobody vouches.
    }
    if (signal.aborted) return;
    for (const { check, key } of unknown) {
      const aliases = found.get(key);
      this.#answer(check, aliases !== undefined && isVouched(check.label, [...aliases], key));
    }
  }

  #answer({ check }: Check, vouched: boolean): void {
    const { composer, text, onBound } = this.#options;
    const bound = composer.verdict(check, vouched, text());
    if (bound) onBound?.(bound);
  }
}
