import init, { type InitInput } from '../wasm/vocative.js';

let loading: Promise<void> | undefined;

/**
 * Loads the engine; further calls wait for the first. A load that failed may be tried again.
 *
 * Without an argument the module beside this file is loaded, in Node as in a browser. Pass a URL,
 * bytes or a compiled module where it lies elsewhere.
 */
export function load(source?: InitInput | Promise<InitInput>): Promise<void> {
  loading ??= start(source).catch((error: unknown) => {
    loading = undefined;
    throw error;
  });
  return loading;
}

async function start(source?: InitInput | Promise<InitInput>): Promise<void> {
  const given = (await source) ?? new URL('../wasm/vocative_bg.wasm', import.meta.url);
  const isFile = given instanceof URL && given.protocol === 'file:';
  await init({ module_or_path: isFile ? await read(given) : given });
}

/** Node's `fetch` takes no file addresses. */
async function read(file: URL): Promise<BufferSource> {
  // Named by a variable, so that bundlers for browsers leave it alone.
  const name = 'node:fs/promises';
  const files = (await import(/* @vite-ignore */ name)) as typeof import('node:fs/promises');
  return new Uint8Array(await files.readFile(file));
}
