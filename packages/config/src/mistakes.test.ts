/** What people and clients write, and what they are told: each row a file, and every line that is said about it. */
import { expect, it } from 'vitest';
import { loadConfig, type LoadedConfig } from './load.ts';
import { formatProblem } from './problem.ts';

interface Said {
  readonly config: LoadedConfig['config'] | undefined;
  /** Problems, faults of servers and notes, each as a line. */
  readonly lines: readonly string[];
}

function load(file: string, text: string, env: Record<string, string> = {}, files: Record<string, string> = {}): Said {
  const result = loadConfig({
    file,
    text,
    env,
    readFile(path) {
      if (files[path] === undefined) throw new Error(`there is no file ${path}`);
      return files[path];
    },
  });
  if ('problems' in result) return { config: undefined, lines: result.problems.map(formatProblem) };
  return { config: result.config, lines: [...result.faults, ...result.notes].map(formatProblem) };
}

it.each<readonly [string, string, readonly string[]]>([
  [
    'a mistyped option of the top',
    'mcpServer: {}\n',
    ['f.yaml:1:1: mcpServer: unknown option; did you mean "mcpServers"?'],
  ],
  [
    'two letters that changed places',
    'mcpServers:\n  a: { ulr: "http://127.0.0.1:1/mcp" }\n',
    ['f.yaml:2:8: mcpServers.a.ulr: unknown option; did you mean "url"?'],
  ],
  [
    'arguments as one text',
    'mcpServers:\n  a: { command: npx, args: "-y foo" }\n',
    ['f.yaml:2:22: mcpServers.a.args: expected a list: ["-y","foo"], got "-y foo"'],
  ],
  [
    'a number in the environment',
    'mcpServers:\n  a: { command: npx, env: { PORT: 3000 } }\n',
    ['f.yaml:2:29: mcpServers.a.env.PORT: expected a text: put it in quotes'],
  ],
  [
    'a server twice',
    'mcpServers:\n  a: { command: x }\n  a: { command: y }\n',
    ['f.yaml:3:3: "a" stands twice in the same map: rename or remove one of them'],
  ],
  [
    'an address without http',
    'mcpServers:\n  a: { url: "localhost:3000/mcp" }\n  b: { url: "example.com/mcp" }\n',
    [
      'f.yaml:2:8: mcpServers.a.url: expected an http://, https://, ws:// or wss:// address: write "http://localhost:3000/mcp", got "localhost:3000/mcp"',
      'f.yaml:3:8: mcpServers.b.url: expected an http://, https://, ws:// or wss:// address: write "https://example.com/mcp", got "example.com/mcp"',
    ],
  ],
  [
    'a server of a profile that is not there',
    'mcpServers: { files: { command: x } }\nprofiles:\n  p: { servers: [fils] }\n',
    [
      'f.yaml:3:18: profiles.p.servers[0]: there is no server "fils" under mcpServers (did you mean "files"?), got "fils"',
    ],
  ],
  [
    'globs that fit nothing',
    'mcpServers: { files: { command: x } }\nprofiles:\n  p: { tools: ["read_*", "file/read", "files/[", "files__read", "files", "files/*", "*/x", "*"] }\n',
    [
      'f.yaml:3:16: profiles.p.tools[0]: "read_*" matches nothing: a glob is over `server/tool`, such as "*/read_*"',
      'f.yaml:3:26: profiles.p.tools[1]: "file/read" matches nothing: there is no server "file" under mcpServers; did you mean "files"?',
      'f.yaml:3:39: profiles.p.tools[2]: "files/[" matches nothing: its "[" is not closed',
      'f.yaml:3:50: profiles.p.tools[3]: "files__read" matches nothing: a glob is over `server/tool`, such as "files/read"',
      'f.yaml:3:65: profiles.p.tools[4]: "files" matches nothing: a glob is over `server/tool`, such as "files/*"',
    ],
  ],
  [
    'a revision',
    'mcpServers:\n  a: { command: x, protocolVersion: "2025-06-18" }\n',
    [
      'f.yaml:2:20: mcpServers.a.protocolVersion: unknown option; the gateway agrees with each server on a revision; `era: legacy` or `era: modern` says which kind of server it is',
    ],
  ],
  [
    'tabs',
    'mcpServers:\n\ta:\n',
    ['f.yaml:2:1: this line is indented with a tab, and YAML takes blanks only: write two blanks for each tab'],
  ],
  [
    'a backslash in double quotes',
    String.raw`mcpServers: { a: { command: "C:\Users\me\node.exe" } }`,
    [
      'f.yaml:1:32: in double quotes a backslash begins an escape, and this is not a valid one: write \\\\ for each backslash of a path, or / instead, or put it in single quotes',
    ],
  ],
  [
    'a backslash that is an escape by chance',
    String.raw`mcpServers: { a: { command: "C:\tools\node.exe" } }`,
    [
      'f.yaml:1:20: mcpServers.a.command: this Windows path contains a control character, because "\\t", "\\n" and the like stand for one in double quotes; write \\\\ for each backslash, or use /, got "C:\\tools\\node.exe"',
    ],
  ],
  [
    'durations in words of their own',
    'timeouts: { call: 60, max: "1 minute" }\nmcpServers: {}\n',
    [
      'f.yaml:1:13: timeouts.call: a bare number is milliseconds here and seconds elsewhere: write "60s" or "60ms", got 60',
      'f.yaml:1:23: timeouts.max: expected a duration such as "500ms", "30s", "10m", "1h" or "90d", or a number of milliseconds from 1000 on: write "1m", got "1 minute"',
    ],
  ],
  [
    'ports alone, wrong or with http',
    'listen: 7300\nadmin: ":7301"\n',
    [
      'f.yaml:1:1: listen: expected HOST:PORT: write "127.0.0.1:7300" for programs of this machine alone, or "0.0.0.0:7300" for every client that reaches it, got 7300',
      'f.yaml:2:1: admin: expected HOST:PORT: write "127.0.0.1:7301" for programs of this machine alone, or "0.0.0.0:7301" for every client that reaches it, got ":7301"',
    ],
  ],
  [
    'an address that is none',
    'listen: 127.0.0.999:7300\nadmin: "a b:7301"\n',
    [
      'f.yaml:1:1: listen: expected HOST:PORT with the name or an address of this machine, for example "127.0.0.1:7300", got "127.0.0.999:7300"',
      'f.yaml:2:1: admin: expected HOST:PORT with the name or an address of this machine, for example "127.0.0.1:7300", got "a b:7301"',
    ],
  ],
  [
    'a port that is none',
    'listen: 0.0.0.0:99999\nadmin: "http://127.0.0.1:7301"\n',
    [
      'f.yaml:1:1: listen: expected HOST:PORT with a port of at most 65535, for example "127.0.0.1:7300", got "0.0.0.0:99999"',
      'f.yaml:2:1: admin: expected HOST:PORT without http:// and path: write "127.0.0.1:7301", got "http://127.0.0.1:7301"',
    ],
  ],
  [
    'names with blanks, slashes and dots',
    'mcpServers:\n  "@acme/files": { command: x }\n  github.com: { command: x }\n',
    [
      'f.yaml:2:3: mcpServers.@acme/files: expected 1 to 64 characters of letters, digits, "_" and "-", for example "acme_files"',
      'f.yaml:3:3: mcpServers.github.com: expected 1 to 64 characters of letters, digits, "_" and "-", for example "github_com"',
    ],
  ],
  [
    'a command with its arguments',
    'mcpServers:\n  a: { command: "npx -y pkg" }\n',
    [
      'f.yaml:2:8: mcpServers.a.command: expected a program alone: write command: npx and args: ["-y","pkg"], got "npx -y pkg"',
    ],
  ],
  [
    'two tools of one name, and a name that is none',
    'mcpServers: { f: { command: x } }\nprofiles:\n  p: { rename: { f/a: x, f/b: x, f/c: "no name!" } }\n',
    [
      'f.yaml:3:26: profiles.p.rename.f/b: f/a has this new name already, and two tools of one name cannot be told apart, got "x"',
      'f.yaml:3:34: profiles.p.rename.f/c: expected 1 to 128 characters of letters, digits, "_", "-" and ".", got "no name!"',
    ],
  ],
  [
    'numbers out of bounds and with a unit',
    'limits: { maxSessions: -1, maxBodyBytes: "8MB" }\n',
    [
      'f.yaml:1:11: limits.maxSessions: expected a number above 0, got -1',
      'f.yaml:1:28: limits.maxBodyBytes: expected a number: 8388608, got "8MB"',
    ],
  ],
  [
    'limits of what nothing can be',
    'limits: { rules: [{ rate: 1/s, what: ["a/{b,c", "!a/b", "a b"] }] }\n',
    [
      'f.yaml:1:39: limits.rules[0].what[0]: "[" or "{" is opened and not closed, and would stand for itself; write "\\[" or "\\{" if that is meant, got "a/{b,c"',
      'f.yaml:1:49: limits.rules[0].what[1]: "!" takes nothing away here; leave it out and say what is meant, or write a rule with `deny`, got "!a/b"',
      'f.yaml:1:57: limits.rules[0].what[2]: expected "server/tool", "prompt:server/name", "resource:server/uri", the name of a server, or "*", got "a b"',
    ],
  ],
  [
    'words that are not among the choices',
    'mcpServers: { a: { url: "http://x/mcp" } }\naccess: { rules: [{ who: everyone, deny: ["a/*"], only: readonly }, { who: 7, allow: [a] }] }\nlimits: { rules: [{ rate: 1/s, per: user }] }\n',
    [
      'f.yaml:2:51: access.rules[0].only: expected "readOnly", "destructive", "nonDestructive", "idempotent", "openWorld" or "closedWorld": write "readOnly", got "readonly"',
      'f.yaml:2:71: access.rules[1].who: expected a text: put it in quotes, got 7',
      'f.yaml:3:32: limits.rules[0].per: expected "principal", "tenant", "client", "server", "tool" or "everyone", got "user"',
    ],
  ],
  [
    'a line that is indented otherwise',
    'mcpServers:\n  a:\n    url: http://x/mcp\n   headers:\n',
    [
      'f.yaml:4:1: not YAML or JSON: the line is not indented as far as the others of its map or list: give it as many blanks in front as they have',
    ],
  ],
  [
    'options of other programs at the top and under a server',
    'tools: []\nmcpServers:\n  a: { command: x, disallowed_tools: [y], tools: {} }\n',
    [
      'f.yaml:1:1: tools: unknown option; write includeTools or excludeTools under each server, or `tools` of a profile',
      'f.yaml:3:20: mcpServers.a.disallowed_tools: unknown option; write excludeTools',
    ],
  ],
  [
    'a server with nothing',
    'mcpServers:\n  a:\n',
    [
      'f.yaml:2:3: mcpServers.a: expected a map, and there is no value: write "command" (a program to start) or "url" (a server to connect to) below it, indented',
    ],
  ],
  [
    'an alias inside its own part, and aliases without measure',
    'a: &x [*x]\n',
    [
      'f.yaml:1:1: an alias ("*name") stands inside the part that it refers to ("&name"), which has no end: write the part out',
    ],
  ],
  [
    'aliases of aliases',
    `a: &a [x]\n${'abcdefg'
      .split('')
      .slice(1)
      .map((name, index) => `${name}: &${name} [${`*${'abcdefg'[index] as string}, `.repeat(9)}]\n`)
      .join('')}`,
    ['f.yaml:1:1: aliases ("*name") refer to aliases so often that the file would be too large: write the parts out'],
  ],
  [
    'UTF-16',
    '\uFFFD\uFFFDm\0c\0p\0',
    [
      'f.yaml:1:1: this is no text in UTF-8: save it as UTF-8 (PowerShell writes UTF-16 with ">"; use Set-Content -Encoding utf8)',
    ],
  ],
  [
    'an address instead of a server',
    'mcpServers:\n  a: http://127.0.0.1:1/mcp\n',
    ['f.yaml:2:3: mcpServers.a: expected a map: write { url: "http://127.0.0.1:1/mcp" }, got "http://127.0.0.1:1/mcp"'],
  ],
  [
    'a header with its colon',
    'mcpServers:\n  a: { url: "http://x/mcp", headers: { "A:": b } }\n',
    [
      'f.yaml:2:40: mcpServers.a.headers.A:: this is no name of a header: expected letters, digits and "-", without a colon or blank',
    ],
  ],
  [
    'one address for two ports',
    'listen: 127.0.0.1:7300\nadmin: 127.0.0.1:7300\n',
    [
      'f.yaml:2:1: admin: clients connect to this address already (`listen`): choose another port, got "127.0.0.1:7300"',
    ],
  ],
  [
    'what only a shell would read',
    'mcpServers:\n  a: { command: x, args: ["~/files", "${HOME"], env: { K: "$TOKEN", L: "pa$WORD" } }\n  b: { url: "http://x/mcp", headers: { A: "Bearer $TOKEN" } }\n',
    [
      'f.yaml:2:27: mcpServers.a.args[0]: no shell reads this, so "~" is passed on as it is: write "${HOME}" instead',
      'f.yaml:2:38: mcpServers.a.args[1]: a "${" in it is not closed, and is passed on as it is: write ${NAME}, or $${ for a plain ${',
      'f.yaml:2:56: mcpServers.a.env.K: "$TOKEN" is passed on as it is: write ${TOKEN} for the environment variable',
      'f.yaml:3:40: mcpServers.b.headers.A: "$TOKEN" is passed on as it is: write ${TOKEN} for the environment variable',
    ],
  ],
  [
    'what the kind of server has no use for',
    'mcpServers:\n  a: { url: "http://localhost:7300/mcp", env: { K: v } }\n  b: { command: docker, args: [run, --rm, -it, -e, K, mcp/x, -t], headers: { A: b } }\n',
    [
      'f.yaml:2:8: mcpServers.a.url: is the address of this gateway itself (`listen`), which would be a server of its own',
      'f.yaml:2:42: mcpServers.a.env: has no effect: environment variables are for a program that the gateway starts ("command"), and this server runs already',
      'f.yaml:3:43: mcpServers.b.args[2]: "-it" gives the container a terminal, over which no messages can be sent: write "-i"',
      'f.yaml:3:67: mcpServers.b.headers: has no effect: headers are sent to a "url", and this server is a program on stdin and stdout; give it its secrets in "env"',
    ],
  ],
  [
    'a text',
    'just a text',
    ['f.yaml:1:1: expected a map of options, such as "mcpServers:", and this is a text, got "just a text"'],
  ],
  ['a mark in front', '\uFEFFmcpServers: { a: { command: x } }\n', []],
])('%s: says what, where and how to mend it', (_what, text, lines) => {
  expect(load('f.yaml', text).lines).toEqual(lines);
});

it('an unset variable and a missing file take down the servers they are in, and no other', () => {
  const { config, lines } = load(
    'omnibus.yaml',
    `
mcpServers:
  a: { url: "http://\${HOST}/mcp", headers: { X: "\${file:token}" } }
  b: { command: "\${PROGRAM}", args: ["\${ARG}"], timeout: "\${TIME}" }
  c: { command: node, envFile: .env }
  good: { command: node, envFile: there.env, env: { B: own } }
`,
    {},
    { 'there.env': '# of ours\nA=1\nexport B="2"\n' },
  );
  expect(lines).toEqual([
    'omnibus.yaml:3:8: mcpServers.a.url: the environment variable HOST is not set; set it or give a default: ${HOST:-value}; this server stays down until that is mended',
    'omnibus.yaml:3:46: mcpServers.a.headers.X: ${file:token} cannot be read: there is no file token; this server stays down until that is mended',
    'omnibus.yaml:4:8: mcpServers.b.command: the environment variable PROGRAM is not set; set it or give a default: ${PROGRAM:-value}; this server stays down until that is mended',
    'omnibus.yaml:4:38: mcpServers.b.args[0]: the environment variable ARG is not set; set it or give a default: ${ARG:-value}; this server stays down until that is mended',
    'omnibus.yaml:4:49: mcpServers.b.timeout: the environment variable TIME is not set; set it or give a default: ${TIME:-value}; this server stays down until that is mended',
    'omnibus.yaml:5:23: mcpServers.c.envFile: .env cannot be read: there is no file .env; this server stays down until that is mended',
  ]);
  expect(config?.mcpServers).toMatchObject({
    a: { problem: 'url: the environment variable HOST is not set; set it or give a default: ${HOST:-value}' },
    b: { problem: expect.stringContaining('PROGRAM') as string },
    c: { problem: expect.stringContaining('.env') as string },
    good: { env: { A: '1', B: 'own' } },
  });
  expect(config?.mcpServers['good']).not.toHaveProperty('problem');
  expect(load('omnibus.yaml', 'bus: "${BUS}"\n').lines).toContain(
    'omnibus.yaml:1:1: bus: the environment variable BUS is not set; set it or give a default: ${BUS:-value}',
  );
});

it('JSON may have comments, commas behind the last and tabs, as clients leave them there; what is no JSON is said with its place', () => {
  const text =
    '// of mine\n{\n\t/* more */ "mcpServers": {\n\t\t"a": { "url": "http://127.0.0.1:1/mcp", "headers": { "A": "// no comment" }, }, // this one\n\t},\n}\n';
  expect(load('mcp.json', text)).toMatchObject({
    lines: [],
    config: { mcpServers: { a: { url: 'http://127.0.0.1:1/mcp', headers: { A: '// no comment' } } } },
  });
  expect(load('omnibus.json', text).lines).toEqual([]);
  expect(load('mcp.json', String.raw`{"mcpServers":{"a":{"command":"C:\Users\me\node.exe"}}}`).lines).toEqual([
    'mcp.json:1:34: in double quotes a backslash begins an escape, and this is not a valid one: write \\\\ for each backslash of a path, or / instead',
  ]);
  expect(load('mcp.json', '{"mcpServers":{"a":{"command":"x"},\n"a":{"command":"y"}}}').lines).toEqual([
    'mcp.json:2:1: "a" stands twice in the same map: rename or remove one of them',
  ]);
  expect(load('mcp.json', '{"mcpServers": {"a": {"command": "x"}').lines[0]).toMatch(/^mcp\.json:1:\d+: not JSON: /);
});

it.each<readonly [string, string, object, object, readonly string[]]>([
  [
    'of VS Code',
    '.vscode/mcp.json',
    {
      inputs: [{ id: 'git-hub', type: 'promptString' }],
      servers: {
        a: { type: 'http', url: 'https://e.com/mcp', headers: { A: 'Bearer ${input:git-hub}' } },
        b: {
          type: 'stdio',
          command: 'npx',
          args: ['${workspaceFolder}/x', '${userHome}/y'],
          envFile: '${workspaceFolder}/.env',
        },
      },
    },
    { a: { headers: { A: 'Bearer t' } }, b: { args: [`${process.cwd()}/x`, '/home/me/y'], env: { FROM: 'file' } } },
    [
      'servers.a.headers.A: VS Code asks its user for this value; here it is taken from the environment variable GIT_HUB',
    ],
  ],
  [
    'of Cursor',
    '.cursor/mcp.json',
    { mcpServers: { a: { url: 'https://e.com/mcp', headers: { A: '${env:GIT_HUB}' } } } },
    { a: { headers: { A: 't' } } },
    [],
  ],
  [
    'of Windsurf',
    'mcp_config.json',
    { mcpServers: { a: { serverUrl: 'https://e.com/mcp', disabledTools: ['x'] } } },
    { a: { url: 'https://e.com/mcp', excludeTools: ['x'] } },
    [],
  ],
  [
    'of Gemini CLI',
    'some.json',
    {
      theme: 'x',
      mcp: { excluded: ['b'] },
      mcpServers: {
        a: {
          httpUrl: 'https://e.com/mcp',
          timeout: 600,
          trust: true,
          includeTools: ['x'],
          excludeTools: ['y'],
          headers: { A: '$GIT_HUB' },
        },
        b: { command: 'x' },
      },
    },
    {
      a: { url: 'https://e.com/mcp', timeout: 600, includeTools: ['x'], excludeTools: ['y'], headers: { A: 't' } },
      b: { disabled: true },
    },
    ['mcpServers.a.trust: an option of Gemini CLI for its own use, which has no effect here'],
  ],
  [
    'of Cline, whose numbers are seconds',
    'some.json',
    {
      mcpServers: {
        a: { type: 'streamableHttp', url: 'https://e.com/mcp', timeout: 60, autoApprove: [], disabled: false },
      },
    },
    { a: { timeout: 60_000 } },
    ['mcpServers.a.autoApprove: an option of Cline for its own use, which has no effect here'],
  ],
  [
    'of Roo Code',
    'mcp_settings.json',
    {
      mcpServers: {
        a: { type: 'streamable-http', url: 'https://e.com/mcp', timeout: 5, disabledTools: ['x'], alwaysAllow: ['y'] },
      },
    },
    { a: { timeout: 5_000, excludeTools: ['x'] } },
    ['mcpServers.a.alwaysAllow: an option of Roo Code for its own use, which has no effect here'],
  ],
  [
    'of Zed',
    'zed/settings.json',
    {
      theme: 'One',
      context_servers: {
        a: { source: 'custom', command: 'npx', args: ['x'] },
        old: { command: { path: 'npx', args: ['y'], env: null } },
      },
    },
    { a: { command: 'npx' }, old: { command: 'npx', args: ['y'] } },
    [],
  ],
  [
    'of Copilot CLI',
    'mcp-config.json',
    {
      mcpServers: {
        a: { type: 'local', command: 'npx', tools: ['*'] },
        b: { type: 'http', url: 'https://e.com/mcp', tools: ['one'] },
      },
    },
    { a: { type: 'stdio', includeTools: ['*'] }, b: { includeTools: ['one'] } },
    [],
  ],
  [
    'of Claude Code',
    '.claude.json',
    {
      numStartups: 3,
      mcpServers: { a: { type: 'stdio', command: 'npx', args: ['x'], env: {} } },
      projects: { '/home/me/p': { mcpServers: { z: { command: 'z' } } } },
    },
    { a: { command: 'npx' } },
    ['projects./home/me/p.mcpServers: a server of a single project; left out'],
  ],
  [
    'of Claude Desktop',
    'claude_desktop_config.json',
    { globalShortcut: '', mcpServers: { 'my files': { command: 'npx' } }, preferences: {} },
    { my_files: { command: 'npx' } },
    ['mcpServers.my files: its name here is "my_files": names are letters, digits, "_" and "-"'],
  ],
  [
    'of opencode',
    'opencode.json',
    {
      mcp: {
        a: { type: 'local', command: ['npx', '-y', 'x'], enabled: true, environment: { K: '{env:GIT_HUB}' } },
        b: { type: 'remote', url: 'https://e.com/mcp', enabled: false },
      },
    },
    { a: { type: 'stdio', command: 'npx', args: ['-y', 'x'], env: { K: 't' } }, b: { type: 'http', disabled: true } },
    [],
  ],
  [
    'of another client',
    'some.json',
    {
      mcpServers: {
        a: { transport: 'streamable-http', url: 'https://e.com/mcp' },
        omnibus: { url: 'http://127.0.0.1:7300/mcp' },
      },
    },
    { a: { type: 'http' } },
    ['mcpServers.omnibus: it is this gateway itself, which cannot be its own server; it is left out'],
  ],
])('a file %s is taken as it is, and nothing in it is dropped in silence', (_whose, file, content, servers, said) => {
  const { config, lines } = load(
    file,
    JSON.stringify(content),
    { GIT_HUB: 't', HOME: '/home/me' },
    { [`${process.cwd()}/.env`]: 'FROM=file' },
  );
  expect(lines.map((line) => line.replace(/^[^:]+:\d+:\d+: /, ''))).toEqual(said);
  expect(config?.mcpServers).toMatchObject(servers);
  expect(Object.keys(config?.mcpServers ?? {})).toEqual(Object.keys(servers));
});

it('files of Codex, Continue and Goose are taken as they are, with the places in them', () => {
  const codex =
    '[mcp_servers.docs]\nurl = "https://e.com/mcp"\nbearer_token_env_var = "TOKEN"\nenabled_tools = ["x"]\ntool_timeout_sec = 30\n\n[mcp_servers.run]\ncommand = "npx"\nenv_vars = ["TOKEN"]\nstartup_timeout_sec = 5\n';
  expect(load('config.toml', codex, { TOKEN: 't' })).toMatchObject({
    lines: [],
    config: {
      mcpServers: {
        docs: { headers: { Authorization: 'Bearer t' }, includeTools: ['x'], timeout: 30_000 },
        run: { env: { TOKEN: 't' }, connectTimeout: 5_000 },
      },
    },
  });
  expect(load('config.toml', codex).lines[0]).toMatch(
    /^config\.toml:3:1: mcp_servers\.docs\.bearer_token_env_var: the environment variable TOKEN is not set/,
  );
  expect(load('config.toml', '[mcp_servers.a\n').lines[0]).toMatch(/^config\.toml:1:\d+: not TOML: /);
  expect(
    load(
      'list.yaml',
      'mcpServers:\n  - name: a\n    url: https://e.com/mcp\n    requestOptions: { headers: { A: b } }\n',
    ),
  ).toMatchObject({ lines: [], config: { mcpServers: { a: { headers: { A: 'b' } } } } });
  const { config, lines } = load(
    'goose/config.yaml',
    'GOOSE_MODEL: x\nextensions:\n  web: { enabled: true, type: streamable_http, uri: "https://e.com/mcp", timeout: 300 }\n  off: { enabled: false, type: builtin }\n',
  );
  expect(lines).toEqual([]);
  expect(config?.mcpServers).toMatchObject({ web: { url: 'https://e.com/mcp', timeout: 300_000 } });
});

it('what would be another server than the client has is refused, with the one command that takes the rest', () => {
  expect(load('some.json', '{"mcpServers":{"a":{"url":"https://e.com/mcp","headersHelper":"/bin/x"}}}').lines).toEqual([
    'some.json:1:47: mcpServers.a.headersHelper: a program that makes headers is not supported here: write them under `headers`, with "${NAME}" or "${file:path}" for what is secret; `omnibus import some.json` takes over the rest',
  ]);
  expect(load('some.json', '{"mcpServers":{"a":{"url":"https://e.com/mcp","timeout":60}}}').lines).toEqual([
    'some.json:1:47: mcpServers.a.timeout: a bare number is milliseconds here and seconds elsewhere: write "60s" or "60ms", got 60',
  ]);
  expect(load('some.json', '{"mcpServers":{},"mcpServer":{}}').lines).toEqual([
    'some.json:1:18: mcpServer: unknown option; did you mean "mcpServers"?',
  ]);
  expect(load('.vscode/mcp.json', '{"server":{}}').lines).toEqual([
    '.vscode/mcp.json:1:1: this is a file of VS Code, which keeps its servers under servers, and it has none there',
  ]);
});

it('what clients keep for themselves is said to mean nothing in a file of Omnibus too', () => {
  expect(load('omnibus.yaml', 'mcpServers:\n  a: { command: x, autoApprove: [y] }\n').lines).toEqual([
    'omnibus.yaml:2:20: mcpServers.a.autoApprove: an option of clients for their own use, which has no effect here',
  ]);
});

it('a number that nobody means in seconds is milliseconds, whatever else a file looks like', () => {
  expect(
    load('config.json', JSON.stringify({ mcpServers: { a: { command: 'node', alwaysAllow: ['t'], timeout: 60_000 } } }))
      .config?.mcpServers,
  ).toMatchObject({ a: { timeout: 60_000 } });
});

it('a gateway behind this one is a server like another', () => {
  const behind = { command: 'omnibus', args: ['stdio', '--config', 'other.yaml'] };
  expect(
    load(
      'config.json',
      JSON.stringify({
        mcpServers: { behind, image: { command: 'docker', args: ['run', '-i', 'example.com/x/omnibus'] } },
      }),
    ).config?.mcpServers,
  ).toMatchObject({ behind, image: { command: 'docker' } });
  expect(
    Object.keys(
      load('config.json', JSON.stringify({ mcpServers: { omnibus: behind, a: { command: 'node' } } })).config
        ?.mcpServers ?? {},
    ),
  ).toEqual(['a']);
});
