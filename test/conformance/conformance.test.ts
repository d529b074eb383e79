/**
 * The official conformance suite against the gateway in front of our fixture. Scenarios expected to fail stand in
 * `expected-failures.yaml` with their reason; one that passes although it stands there fails the run.
 */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { expect, it } from 'vitest';
import { startGateway, shapes } from '../support/gateway.ts';
import { root, startFixture, startProcess } from '../support/processes.ts';

const suite = join(dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json')), 'dist', 'index.js');

it.each(shapes)('conformance 0.1.16 `server --suite all` passes through the gateway, %s', { timeout: 180_000 }, async (shape) => {
  await using fixture = startFixture('conformance-server');
  const [, upstream] = (await fixture.line(/^listening (.+)$/)) as unknown as [string, string];
  await using gateway = await startGateway(shape, { mcpServers: { fixture: { url: upstream } } });
  const folder = await mkdtemp(join(tmpdir(), 'omnibus-conformance-'));
  const run = startProcess('node', [
    suite, 'server', '--url', gateway.url, '--suite', 'all',
    '--expected-failures', join(root, 'test/conformance/expected-failures.yaml'), '-o', folder,
  ]);
  const status = await new Promise((resolve) => {
    run.child.once('close', resolve);
  });
  const scenarios = await readdir(folder);
  await rm(folder, { recursive: true });
  expect(status, run.output()).toBe(0);
  expect(scenarios.length).toBeGreaterThanOrEqual(30);
});
