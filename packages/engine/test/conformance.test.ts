import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { Conformance, initSync } from '../wasm-conformance/vocative.js';

const cases = fileURLToPath(new URL('../../../conformance/', import.meta.url));
const module = fileURLToPath(new URL('../wasm-conformance/vocative_bg.wasm', import.meta.url));

// `crates/vocative-conformance` runs the same files natively: 436 cases have an operation.
test('every recorded case gives the same answer as natively', () => {
  initSync({ module: new Uint8Array(readFileSync(module)) });
  const run = new Conformance();
  const files = readdirSync(cases).filter((file) => file.endsWith('.json'));
  expect(files.length).toBeGreaterThanOrEqual(25);
  for (const file of files) run.add(readFileSync(`${cases}${file}`, 'utf8'));
  console.info(`${run.passed} passed`);
  expect(run.failures).toBe('');
  expect(run.passed).toBe(436);
});
