import preact from '@preact/preset-vite';
import { defineConfig } from 'vitest/config';

// The built files are committed, so their names and bytes depend on the source
// alone. `npm run dev` passes the API on to a server that runs beside it.
const api = process.env.OUTRUNNER_SERVER ?? 'http://127.0.0.1:7171';

export default defineConfig({
  plugins: [preact()],
  build: {
    outDir: '../dist',
    emptyOutDir: true,
    target: ['chrome123', 'firefox121', 'safari17.5'],
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1200,
  },
  server: {
    proxy: {
      '/v1': { target: api, ws: true, changeOrigin: true },
      '/health': { target: api, changeOrigin: true },
    },
  },
  test: { environment: 'happy-dom', include: ['test/**/*.test.ts', 'test/**/*.test.tsx'] },
});
