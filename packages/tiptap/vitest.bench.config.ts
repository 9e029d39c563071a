import { writeFileSync } from 'node:fs';
import { cpus, loadavg, platform, totalmem } from 'node:os';
import { mergeConfig } from 'vitest/config';
import base from './vitest.config.js';

const record = new URL('benches/RECORD.md', import.meta.url);

const { include: _tests, ...test } = base.test ?? {};

export default mergeConfig(
  { ...base, test },
  {
    test: {
      include: ['benches/**/*.bench.test.ts'],
      browser: {
        commands: {
          machine: () => {
            const [first] = cpus();
            const memory = Math.round(totalmem() / 2 ** 30);
            const load = loadavg().map((average) => average.toFixed(1));
            return `${first?.model ?? 'unknown'}, ${cpus().length} cores, ${memory} GiB, ${platform()}; load average at the start ${load.join(' ')}.`;
          },
          record: (_context: unknown, text: string) => writeFileSync(record, text),
        },
      },
    },
  },
);
