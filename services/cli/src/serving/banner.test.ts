/** The entries for clients that the banner of a new gateway prints. */
import { expect, it } from 'vitest';
import { banner, type Shown } from './banner.ts';

const local = 'http://127.0.0.1:7300/mcp';

const linesOf = (config: object): string =>
  banner({ endpoint: local, config: config as Shown['config'], consoleUrl: undefined, records: [], warnings: [] });

it('a server whose list could not be read is not shown as one without tools', () => {
  const lists = { tools: [], prompts: [], resources: [], resourceTemplates: [] };
  const record = { server: 'a', status: 'up', lists, unread: ['tools'], problem: 'tools/list: no answer after 30 s' };
  const text = banner({
    endpoint: local,
    config: {} as Shown['config'],
    consoleUrl: undefined,
    records: [record as unknown as Shown['records'][number]],
    warnings: [],
  });
  expect(text).toContain('! a  its tools are not read, 0 prompts, 0 resources: tools/list: no answer after 30 s');
});

it('clients are given the public address, which tokens are for', () => {
  const text = linesOf({ publicUrl: 'https://mcp.example.com', auth: { server: {}, issuers: [] } });
  expect(text).toContain('  clients   https://mcp.example.com/mcp');
  expect(text.match(/https:\/\/mcp\.example\.com\/mcp/g)).toHaveLength(4);
  expect(text.match(/127\.0\.0\.1/g)).toHaveLength(1);
  expect(text).not.toContain('KEY');
});

it('where clients need an API key, the lines have a place for it, and say how one is made', () => {
  const text = linesOf({ auth: { keys: { file: 'keys.yaml' }, issuers: [] } });
  expect(text).toContain('omnibus keys create --subject NAME');
  expect(text).toContain(`claude mcp add --transport http omnibus ${local} --header "Authorization: Bearer KEY"`);
  expect(text).toContain(`{"mcpServers":{"omnibus":{"url":"${local}","headers":{"Authorization":"Bearer KEY"}}}}`);
  expect(text).toContain(`{"name":"omnibus","type":"http","url":"${local}","headers":{"Authorization":"Bearer KEY"}}`);
});

it.each(['0.0.0.0', '[::]'])('%s, which nobody can connect to, is in no line for clients', (host) => {
  const text = banner({
    endpoint: `http://${host}:7300/mcp`,
    config: { auth: 'none' } as Shown['config'],
    consoleUrl: undefined,
    records: [],
    warnings: [],
  });
  expect(text).toContain('the name or address of this machine in the place of HOST');
  expect(text.match(/http:\/\/HOST:7300\/mcp/g)).toHaveLength(3);
  expect(text.split(host)).toHaveLength(2);
});

it.each([
  [{}],
  [{ auth: 'none' }],
  [{ auth: { keys: { file: 'keys.yaml' }, issuers: [{ issuer: 'https://login.example.com' }] } }],
])('%j needs no more than the address', (config) => {
  const text = linesOf(config);
  expect(text).toContain(`claude mcp add --transport http omnibus ${local}\n`);
  expect(text).not.toMatch(/KEY|clients {3}/);
});
