// Two parts: the chat page, in several files of which the browser fetches what it needs, and the widget, which is one file
// that a foreign page loads.
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

const isWidget = process.env['TERTULIA_WEB_PART'] === 'widget';

export default defineConfig({
  root: isWidget ? 'widget' : 'chat',
  base: './',
  ...(isWidget && { resolve: { alias: { entities: fileURLToPath(new URL('./widget/few_entities.ts', import.meta.url)) } } }),
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: isWidget ? '../dist/widget' : '../dist/chat',
    emptyOutDir: true,
    target: 'es2022',
    // Everything is a file of its own: the policy of the page allows no addresses that hold data.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    ...(isWidget && { lib: { entry: 'widget.tsx', formats: ['iife'], name: 'TertuliaWidget', fileName: () => 'widget.js' } }),
  },
});
