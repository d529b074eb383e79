import { expect, it } from 'vitest';
import { removeEntry, setEntry } from './entries.ts';

const value = { url: 'http://127.0.0.1:1/mcp' };
const path = ['mcpServers'];

it.each<readonly [string, 'yaml' | 'json', string, string]>([
  ['an empty file', 'yaml', '', 'mcpServers:\n  new:\n    url: http://127.0.0.1:1/mcp\n'],
  ['a file of comments', 'yaml', '# mine\n', '# mine\nmcpServers:\n  new:\n    url: http://127.0.0.1:1/mcp\n'],
  [
    'a block with comments, and what follows it',
    'yaml',
    '# top\nmcpServers: # all\n    a:\n        url: "http://x/"   # this\n\n        # inside\n        timeout:  60s\n    # before b\n    b: { command: x } # flow\n\n# of the port\nlisten: 127.0.0.1:1\n',
    '# top\nmcpServers: # all\n    a:\n        url: "http://x/"   # this\n\n        # inside\n        timeout:  60s\n    # before b\n    b: { command: x } # flow\n    new:\n      url: http://127.0.0.1:1/mcp\n\n# of the port\nlisten: 127.0.0.1:1\n',
  ],
  [
    'nothing behind the key',
    'yaml',
    'mcpServers: # none yet\nlisten: 127.0.0.1:1',
    'mcpServers: # none yet\n  new:\n    url: http://127.0.0.1:1/mcp\nlisten: 127.0.0.1:1',
  ],
  [
    'no servers',
    'yaml',
    'listen: 127.0.0.1:1\n',
    'listen: 127.0.0.1:1\nmcpServers:\n  new:\n    url: http://127.0.0.1:1/mcp\n',
  ],
  [
    'a map in braces',
    'yaml',
    'mcpServers: { a: { command: x } } # end\n',
    'mcpServers: { a: { command: x }, "new": {"url":"http://127.0.0.1:1/mcp"} } # end\n',
  ],
  [
    'an empty map in braces',
    'yaml',
    'mcpServers: {}\n',
    'mcpServers: {\n  "new": {\n    "url": "http://127.0.0.1:1/mcp"\n  }\n}\n',
  ],
  [
    'JSON with comments, tabs and a last comma',
    'json',
    '// mine\n{\n\t"mcpServers": {\n\t\t"a": { "command": "x" }, // this\n\t},\n\t"theme": "y"\n}\n',
    '// mine\n{\n\t"mcpServers": {\n\t\t"a": { "command": "x" }, // this\n\t\t"new": {\n\t\t\t"url": "http://127.0.0.1:1/mcp"\n\t\t}\n\t},\n\t"theme": "y"\n}\n',
  ],
  [
    'JSON with a comment behind the last',
    'json',
    '{\n  "mcpServers": {\n    "a": { "command": "x" } // this\n  }\n}\n',
    '{\n  "mcpServers": {\n    "a": { "command": "x" }, // this\n    "new": {\n      "url": "http://127.0.0.1:1/mcp"\n    }\n  }\n}\n',
  ],
  [
    'JSON on one line',
    'json',
    '{"theme":"x","mcpServers":{"a":{"command":"x"}}}',
    '{"theme":"x","mcpServers":{"a":{"command":"x"}, "new": {"url":"http://127.0.0.1:1/mcp"}}}',
  ],
  [
    'JSON without servers',
    'json',
    '{\n  "theme": "x"\n}\n',
    '{\n  "theme": "x",\n  "mcpServers": {\n    "new": {\n      "url": "http://127.0.0.1:1/mcp"\n    }\n  }\n}\n',
  ],
  [
    'an empty JSON file',
    'json',
    '',
    '{\n  "mcpServers": {\n    "new": {\n      "url": "http://127.0.0.1:1/mcp"\n    }\n  }\n}\n',
  ],
])(
  'an entry is put into %s, and nothing else changes; taken out again, the rest is as it was',
  (_what, format, before, after) => {
    const changed = setEntry(before, format, path, 'new', value);
    expect(changed).toBe(after);
    expect(setEntry(changed, format, path, 'new', value)).toBe(changed);
    const back = removeEntry(changed, format, path, 'new');
    expect(back).not.toContain('new');
    for (const line of before.split('\n').filter((each) => /#|\/\//.test(each)))
      expect(back.replace('},', '}').replace('mcpServers: {} ', 'mcpServers: ')).toContain(
        line.trim().replace('},', '}'),
      );
    expect(removeEntry(back, format, path, 'new')).toBe(back);
  },
);

it('what is taken out takes no comment of others with it, the last one too, and lines of Windows stay so', () => {
  const windows =
    '\uFEFF{\r\n  // mine\r\n  "mcpServers": {\r\n    "a": { "command": "x" } // keep, this\r\n  }\r\n}\r\n';
  const changed = setEntry(windows, 'json', path, 'new', value);
  expect(changed).not.toMatch(/[^\r]\n/);
  expect(removeEntry(changed, 'json', path, 'new')).toBe(windows);
  expect(removeEntry('{"mcpServers":{\n  "new": {}, // old\n  // of b\n  "b": {}\n}}', 'json', path, 'new')).toBe(
    '{"mcpServers":{\n  // of b\n  "b": {}\n}}',
  );
  expect(removeEntry('{"mcpServers":{\n  "a": {}, // of a\n  "new": {},\n  "b": {}\n}}', 'json', path, 'new')).toBe(
    '{"mcpServers":{\n  "a": {}, // of a\n  "b": {}\n}}',
  );
  expect(
    removeEntry('# top\nmcpServers: # all\n  # of new\n  new: { command: x } # old\nlisten: a\n', 'yaml', path, 'new'),
  ).toBe('# top\nmcpServers: {} # all\nlisten: a\n');
  expect(removeEntry('mcpServers: # all\n  - name: new\n    url: x\n', 'yaml', path, 'new')).toBe(
    'mcpServers: [] # all\n',
  );
});

it('the comment in the lines right above an entry goes with it, and one before a blank line stays', () => {
  const block =
    'mcpServers:\n  # all of them\n\n  # of new,\n  # in two lines\n  new: { command: x }\n  # of b\n  b: { command: y }\n';
  expect(removeEntry(block, 'yaml', path, 'new')).toBe(
    'mcpServers:\n  # all of them\n\n  # of b\n  b: { command: y }\n',
  );
  expect(removeEntry(block.replaceAll('new', 'a').replace('  b:', '  new:'), 'yaml', path, 'new')).toBe(
    'mcpServers:\n  # all of them\n\n  # of a,\n  # in two lines\n  a: { command: x }\n',
  );
  expect(removeEntry('{"mcpServers": {\n  // of new\n  "new": {},\n  "b": {}\n}}', 'json', path, 'new')).toBe(
    '{"mcpServers": {\n  "b": {}\n}}',
  );
  expect(setEntry(block, 'yaml', path, 'new', value)).toContain('# of new');
});

it('an entry of the same name is replaced', () => {
  expect(setEntry('mcpServers:\n  a: { command: x }\n  new: { command: y } # old\n', 'yaml', path, 'new', value)).toBe(
    'mcpServers:\n  a: { command: x }\n  new:\n    url: http://127.0.0.1:1/mcp\n',
  );
});

it('entries of a list have their name inside', () => {
  const before = 'name: mine\nmcpServers:\n  - name: a # first\n    url: http://x/\n';
  const changed = setEntry(before, 'yaml', path, 'omnibus', { name: 'omnibus', ...value });
  expect(changed).toBe(`${before}  - name: omnibus\n    url: http://127.0.0.1:1/mcp\n`);
  expect(removeEntry(changed, 'yaml', path, 'omnibus')).toBe(before);
});

it('tables of TOML come and go, comments stay', () => {
  const before = '# mine\nmodel = "x" # this\n\n[mcp_servers.a]\ncommand = "npx"\n';
  const changed = setEntry(before, 'toml', ['mcp_servers'], 'omnibus', { ...value, http_headers: { A: 'b' } });
  expect(changed).toBe(
    `${before}\n[mcp_servers.omnibus]\nurl = "http://127.0.0.1:1/mcp"\n\n[mcp_servers.omnibus.http_headers]\nA = "b"\n`,
  );
  expect(removeEntry(changed, 'toml', ['mcp_servers'], 'omnibus')).toBe(before);
  expect(() => setEntry('[mcp_servers', 'toml', ['mcp_servers'], 'omnibus', value)).toThrow('it is not TOML');
  expect(() =>
    setEntry('mcp_servers = { a = { command = "x" } }\n', 'toml', ['mcp_servers'], 'omnibus', value),
  ).toThrow();
});

it('what cannot be read or is something else is left alone, and said', () => {
  expect(() => setEntry('{"a": [}', 'json', path, 'new', value)).toThrow('it is not JSON');
  expect(() => setEntry('- a\n', 'yaml', path, 'new', value)).toThrow('it contains no map');
  expect(() => setEntry('mcpServers: text\n', 'yaml', path, 'new', value)).toThrow();
});
