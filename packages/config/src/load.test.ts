import { describe, expect, it } from 'vitest';
import { loadConfig, type LoadResult } from './load.ts';
import { formatProblem } from './problem.ts';

function load(text: string, env: Record<string, string> = {}, files: Record<string, string> = {}): LoadResult {
  return loadConfig({
    file: 'omnibus.yaml',
    text,
    env,
    readFile(path) {
      const content = files[path];
      if (content === undefined) throw new Error('there is no such file');
      return content;
    },
  });
}

function problemsOf(text: string, env: Record<string, string> = {}): string[] {
  const result = load(text, env);
  return 'problems' in result ? result.problems.map(formatProblem) : [];
}

describe('a configuration', () => {
  it('needs no more than one server', () => {
    const result = load('mcpServers: { a: { url: http://127.0.0.1:4001/mcp } }');
    expect(result).toMatchObject({
      config: {
        listen: '127.0.0.1:7300',
        bus: 'memory',
        timeouts: { call: 60_000, max: 600_000 },
        mcpServers: { a: { url: 'http://127.0.0.1:4001/mcp', concurrency: 128 } },
      },
    });
  });

  it('takes the mcpServers map of a desktop client as it is', () => {
    const result = load(
      JSON.stringify({
        mcpServers: {
          files: {
            type: 'stdio',
            command: 'npx',
            args: ['-y', 'server-filesystem', '/tmp'],
            env: { DEBUG: '1' },
            autoApprove: ['read'],
            disabled: false,
          },
          web: {
            type: 'http',
            url: 'https://example.com/mcp',
            headers: { Authorization: 'Bearer x' },
            timeout: 30_000,
          },
        },
      }),
    );
    expect(result).toMatchObject({ config: { mcpServers: { files: { command: 'npx' }, web: { timeout: 30_000 } } } });
  });

  it('holds no secret of a server, and looks none up, where nobody connects to it', () => {
    const text =
      'mcpServers: { a: { url: "https://example.com/mcp", headers: { Authorization: "Bearer ${TOKEN}" } }, b: { command: x, env: { KEY: "${file:key}" } } }';
    const here = load(text);
    expect('faults' in here && here.faults).toHaveLength(2);
    const result = loadConfig({
      file: 'omnibus.yaml',
      text,
      env: { TOKEN: 'hunter2' },
      readFile: () => 'hunter2',
      withoutServerSecrets: true,
    });
    expect(result).toMatchObject({ config: { mcpServers: { a: { headers: {} }, b: { env: {} } } } });
    expect(JSON.stringify(result)).not.toContain('hunter2');
  });

  it('replaces references to the environment and to files', () => {
    const result = load(
      'mcpServers: { a: { url: "https://${HOST}/mcp", headers: { Authorization: "Bearer ${file:token}", X: "${NONE:-none} $${kept}" } } }',
      { HOST: 'example.com' },
      { token: 'secret\n' },
    );
    expect(result).toMatchObject({
      config: {
        mcpServers: {
          a: { url: 'https://example.com/mcp', headers: { Authorization: 'Bearer secret', X: 'none ${kept}' } },
        },
      },
    });
  });

  it('gives an empty variable the default of its reference, as shells do', () => {
    const text =
      'mcpServers: { a: { url: "https://example.com/mcp", headers: { A: "${EMPTY:-x}", B: "${NONE:-}", C: "${SET:-x}" } } }';
    expect(load(text, { EMPTY: '', SET: 'y' })).toMatchObject({
      config: { mcpServers: { a: { headers: { A: 'x', B: '', C: 'y' } } } },
    });
  });

  it.each([
    ['Bearer ${EMPTY}', true],
    ['${EMPTY}', true],
    ['Bearer ${SET}', false],
    ['', false],
  ])('notes a header whose references leave nothing of it: %s', (header, isNoted) => {
    const text = JSON.stringify({
      mcpServers: { a: { url: 'https://example.com/mcp', headers: { Authorization: header } } },
    });
    const loaded = load(text, { EMPTY: '', SET: 'y' });
    const notes = 'notes' in loaded ? loaded.notes.map(({ message }) => message) : [];
    expect(notes.some((note) => note.includes('is sent without a value'))).toBe(isNoted);
  });

  it('is refused with every mistake at once, each with line, path and what was expected', () => {
    expect(
      problemsOf(`
lisen: 127.0.0.1:7300
timeouts:
  call: soon
mcpServers:
  a:
    url: ftp://example.com
    headers: { Authorization: "\${TOKEN}" }
  b:
    comand: npx
  "c d":
    command: npx
profiles:
  a: {}
  p: { servers: [x] }
`),
    ).toEqual([
      'omnibus.yaml:2:1: lisen: unknown option; did you mean "listen"?',
      'omnibus.yaml:4:3: timeouts.call: expected a duration such as "500ms", "30s", "10m", "1h" or "90d", or a number of milliseconds from 1000 on, got "soon"',
      'omnibus.yaml:7:5: mcpServers.a.url: expected an http://, https://, ws:// or wss:// address, got "ftp://example.com"',
      'omnibus.yaml:8:16: mcpServers.a.headers.Authorization: the environment variable TOKEN is not set; set it or give a default: ${TOKEN:-value}; this server stays down until that is mended',
      'omnibus.yaml:10:5: mcpServers.b.comand: unknown option; did you mean "command"?',
      'omnibus.yaml:11:3: mcpServers.c d: expected 1 to 64 characters of letters, digits, "_" and "-", for example "c_d"',
    ]);
  });

  it('is refused where its parts do not fit each other', () => {
    expect(
      problemsOf(`
mcpServers:
  a: { type: stdio, url: "http://127.0.0.1:1/mcp" }
  b: {}
profiles:
  a: {}
  p: { servers: [x], rename: { nonsense: n } }
`),
    ).toEqual([
      'omnibus.yaml:3:8: mcpServers.a.type: type "stdio" needs "command", got "stdio"',
      'omnibus.yaml:3:21: mcpServers.a.url: type "stdio" does not go with "url": leave out "url" for a program on stdin and stdout, or "type" for a program that serves this address, got "http://127.0.0.1:1/mcp"',
      'omnibus.yaml:4:3: mcpServers.b: expected "command" (a program to start) or "url" (a server to connect to)',
      'omnibus.yaml:6:3: profiles.a: a server has this name already, and /mcp/a can be only one of them',
      'omnibus.yaml:7:18: profiles.p.servers[0]: there is no server "x" under mcpServers, got "x"',
      'omnibus.yaml:7:32: profiles.p.rename.nonsense: expected `server/tool` with a server of mcpServers, got "n"',
    ]);
  });

  it('is refused with a store of sessions beside a bus that has one', () => {
    expect(problemsOf('bus: nats://127.0.0.1:4222\nsessions: { store: state }')).toEqual([
      'omnibus.yaml:2:13: sessions.store: sessions are stored at NATS already (`bus`): leave out this option, got "state"',
    ]);
  });

  it('shows no password or token of it', () => {
    const problems = problemsOf(
      'bus: "http://team:hunter2@nats:4222"\nnats: { password: { secret: hunter2 }, token: 4711 }\nmcpServers: { a: { url: "ftp://me:hunter2@host", env: { KEY: 4711 } } }',
    ).join('\n');
    expect(problems).toContain('bus: expected "memory" or "nats://host:port", got "http://...@nats:4222"');
    expect(problems).toContain('nats.token');
    expect(problemsOf('auth: { keys: omk_0123456789ab_hunter2-hunter_2 }\nmcpServers: {}').join()).toContain(
      'auth.keys: expected a map: write { file: keys.yaml }, got "..."',
    );
    expect(problems).toContain('mcpServers.a.env.KEY');
    expect(problems).not.toMatch(/hunter2|4711/);
  });

  it.each([
    ['--token=ghp_0123456789abcdefghij', 'args', 'expected a list: ["--token=..."], got "--token=..."'],
    ['mcp-remote https://h/mcp?apiKey=hunter2', 'args', 'expected a list: ["mcp-remote","https://h/mcp?apiKey=..."]'],
    ['mcp-remote https://h/mcp', 'args', 'expected a list: ["mcp-remote","https://h/mcp"]'],
    ['npx pkg --token hunter2', 'command', 'and args: ["pkg","--token","..."], got "npx pkg --token ..."'],
    ['--token hunter2', 'args', 'expected a list: ["--token","..."], got "--token ..."'],
    ['sk-live-0123456789abcdef', 'timeout', 'got "..."'],
    ['postgres://h/db?password=hunter2', 'url', 'got "postgres://h/db?password=..."'],
    ['Authorization: Bearer hunter2hunter2', 'cwd.x', 'unknown option'],
  ])('shows no secret of %s in the place of %s', (value, option, words) => {
    const [problem] = problemsOf(JSON.stringify({ mcpServers: { a: { command: 'x', [option]: value } } }));
    expect(problem).toContain(words);
    expect(problem).not.toMatch(/hunter2|0123456789/);
  });

  it('that is no YAML is refused with the line', () => {
    expect(problemsOf('mcpServers:\n  a: {')[0]).toMatch(/^omnibus\.yaml:\d+:\d+: not YAML or JSON: /);
  });
});

it.each(['', '# nothing yet\n'])('a file without an option, %j, is a configuration with defaults', (text) => {
  expect(loadConfig({ file: 'omnibus.yaml', text, env: {}, readFile: () => '' })).toMatchObject({
    config: { mcpServers: {} },
  });
});
