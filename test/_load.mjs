import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
const [url, seconds] = [process.argv[2], Number(process.argv[3])];
const end = Date.now() + seconds * 1000; let ok = 0; const errors = new Map(); let longest = 0;
await Promise.all(Array.from({ length: 20 }, async () => {
  const c = new Client({ name: 't', version: '1' });
  await c.connect(new StreamableHTTPClientTransport(new URL(url)));
  while (Date.now() < end) {
    const t = performance.now();
    try { await c.callTool({ name: 'docs-wiki__echo', arguments: { message: 'hi' } }); ok++; } catch (e) { const k = String(e.message).slice(0, 160) + " " + String(e.cause?.code ?? e.cause?.message ?? ""); errors.set(k, (errors.get(k) ?? 0) + 1); }
    longest = Math.max(longest, performance.now() - t);
    await new Promise((r) => setTimeout(r, 20));
  }
}));
console.log({ ok, longest, errors }); process.exit(0);
