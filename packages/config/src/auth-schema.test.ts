import { describe, expect, it } from 'vitest';
import { loadConfig } from './load.ts';

function problemsOf(proxy: string): readonly string[] {
  const loaded = loadConfig({ file: 'omnibus.yaml', text: `auth: { proxy: { ${proxy} } }\nmcpServers: { a: { url: http://127.0.0.1:4001/mcp } }`, env: {}, readFile: () => '' });
  return 'problems' in loaded ? loaded.problems.map(({ message }) => message) : [];
}

describe('a proxy that names users', () => {
  it.each(['0.0.0.0/0', '::/0', '10.0.0.1", "0.0.0.0/0'])('cannot be at every address: %s', (addresses) => {
    expect(problemsOf(`addresses: ["${addresses}"]`)).toEqual([expect.stringContaining('not every address')]);
  });

  it('may be in a network', () => {
    for (const addresses of ['10.0.0.0/8', 'fd00::/8', '10.1.2.3', '10.0.0.0/10']) expect(problemsOf(`addresses: ["${addresses}"]`), addresses).toEqual([]);
  });

  it.each(['userHeader: Authorization', 'userHeader: x-user, groupsHeader: cookie', 'userHeader: x-user, tenantHeader: Host'])('does not name them in a header with credentials, or one of the protocol: %s', (headers) => {
    expect(problemsOf(`addresses: [10.1.2.3], ${headers}`)).toEqual([expect.stringContaining('expected a header that the proxy sets')]);
  });
});
