import { once } from 'node:events';
import { createServer, type Server, type AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { listenProblem } from './listen-problem.ts';

/** The message for a failed attempt. */
async function said(address: string): Promise<string> {
  const { hostname, port } = new URL(`http://${address}`);
  const server: Server = createServer();
  server.listen(Number(port), hostname);
  return once(server, 'listening').then(
    () => 'it listens',
    (error: unknown) => listenProblem(error, address, '--listen'),
  );
}

it('says of an address that cannot be listened on why, and which option chooses another', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const taken = `127.0.0.1:${(other.address() as AddressInfo).port}`;
  expect(await said(taken)).toBe(`${taken} is in use; choose another address with --listen`);
  other.close();
  // An address for documentation (RFC 5737), which no machine has.
  expect(await said('192.0.2.1:7300')).toBe(
    '192.0.2.1:7300 is no address of this machine; choose another address with --listen',
  );
  expect(await said('nowhere.invalid:7300')).toBe(
    'the host of nowhere.invalid:7300 is not known; choose another address with --listen',
  );
  expect(listenProblem(Object.assign(new Error('listen EACCES'), { code: 'EACCES' }), '127.0.0.1:80', '--admin')).toBe(
    "127.0.0.1:80 may not be listened on by this user, since its port is one of the system's; choose a port above 1023 with --admin",
  );
  expect(
    listenProblem(Object.assign(new Error('listen EMFILE'), { code: 'EMFILE' }), '127.0.0.1:80', '--admin'),
  ).toContain('cannot be listened on (EMFILE)');
});
