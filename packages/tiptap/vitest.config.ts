import { playwright } from '@vitest/browser-playwright';
import { defineConfig } from 'vitest/config';

const browser = {
  enabled: true,
  headless: true,
  screenshotFailures: false,
  provider: playwright({
    launchOptions: {
      executablePath: process.env['VOCATIVE_CHROMIUM'] ?? '/usr/bin/chromium',
      args: [
        '--no-sandbox',
        '--disable-gpu',
        '--disable-background-networking',
        '--disable-component-update',
      ],
    },
    contextOptions: { permissions: ['clipboard-read', 'clipboard-write'] },
  }),
  instances: [{ browser: 'chromium' as const }],
};

/** Behaviour of an editor is tested in a real browser, with real keys and the real clipboard. */
export default defineConfig({
  // The engine comes from its own source, not from what was built of it.
  resolve: { alias: { '@vocative/engine': new URL('../engine/src/index.ts', import.meta.url).pathname } },
  server: { fs: { allow: ['../..'] } },
  test: { include: ['test/**/*.test.ts'], browser, fileParallelism: false, testTimeout: 30_000 },
  optimizeDeps: {
    include: [
      '@tiptap/core',
      '@tiptap/extension-code',
      '@tiptap/extension-document',
      '@tiptap/extension-hard-break',
      '@tiptap/extension-paragraph',
      '@tiptap/extension-text',
      '@tiptap/extensions',
      '@tiptap/pm/history',
      '@tiptap/pm/model',
      '@tiptap/pm/state',
      '@tiptap/pm/view',
    ],
  },
});
