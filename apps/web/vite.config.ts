import { defineConfig } from 'vite';

export default defineConfig({
  root: 'chat',
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../dist/chat',
    emptyOutDir: true,
    target: 'es2022',
    // Everything is a file of its own: the policy of the page allows no addresses that hold data.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
