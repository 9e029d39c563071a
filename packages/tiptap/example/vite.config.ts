import { defineConfig } from 'vite';

export default defineConfig({
  root: new URL('.', import.meta.url).pathname,
  resolve: { alias: { '@vocative/engine': new URL('../../engine/src/index.ts', import.meta.url).pathname } },
  server: { fs: { allow: ['../../..'] } },
  build: { target: 'es2022', outDir: '../dist-example' },
});
