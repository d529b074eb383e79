/** A server that demands a client certificate, of an authority that no other knows (`tls` of a server). */
import { readFileSync } from 'node:fs';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Authority } from '@omnibus/bus/testing';
import { startCertificateServer } from '../support/certificate-server.ts';
import { shapesOfLane } from '../support/gateway.ts';
import { startGatewayHere } from '../support/gateway-here.ts';
import { RawClient } from '../support/raw-client.ts';

it.each(shapesOfLane)(
  '%s: a server is called with the certificate of the gateway, and with a new one after the files have changed',
  async (shape) => {
    await using stack = new AsyncDisposableStack();
    const authority = stack.use(await Authority.create());
    const url = await startCertificateServer(stack, authority);
    const [first, second] = [
      await authority.sign('first', [{ type: 'dns', value: 'first' }]),
      await authority.sign('second', [{ type: 'dns', value: 'second' }]),
    ];
    const folder = await mkdtemp(join(tmpdir(), 'omnibus-mtls-'));
    stack.defer(() => rm(folder, { recursive: true }));
    const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    const show = async (from: typeof first): Promise<void> => {
      await copyFile(from.certFile, certFile);
      await copyFile(from.keyFile, keyFile);
    };
    await show(first);
    const restart = { minDelay: '50ms', maxDelay: '200ms' };
    const gateway = stack.use(
      await startGatewayHere(shape, {
        mcpServers: {
          files: { url, restart, tls: { caFile: authority.caFile, certFile, keyFile } },
          texts: {
            url,
            restart,
            tls: { caFile: authority.caFile, cert: `\${file:${first.certFile}}`, key: `\${file:${first.keyFile}}` },
          },
          nobody: { url, restart, tls: { caFile: authority.caFile } },
        },
      }),
    );
    const client = stack.use(await RawClient.open(gateway.url));
    const whose = async (server: string): Promise<string> =>
      JSON.stringify((await client.callTool(`${server}__whose`)).last.result?.['content']);
    await client.untilTools((names) => names.includes('files__whose') && names.includes('texts__whose'));
    expect([await whose('files'), await whose('texts')]).toEqual([
      expect.stringContaining('first'),
      expect.stringContaining('first'),
    ]);
    await show(second);
    expect([await whose('files'), await whose('texts')]).toEqual([
      expect.stringContaining('second'),
      expect.stringContaining('first'),
    ]);
    expect(await client.toolNames()).not.toContain('nobody__whose');
    const status = await (await fetch(`http://${await gateway.admin(gateway.backend)}/status`)).text();
    expect((JSON.parse(status) as { readonly servers: readonly object[] }).servers).toContainEqual(
      expect.objectContaining({ server: 'nobody', status: 'down' }),
    );
    const written = [status, ...gateway.processes.map((each) => each.output())].join('\n');
    expect(written).not.toContain(readFileSync(first.keyFile, 'utf8').split('\n')[1]);
  },
);
