/** What people and clients write, and what they are told: each row a file, and every line that is said about it. */
import { expect, it } from 'vitest';
import { parse, parseDocument } from 'yaml';
import { loadConfig, type LoadedConfig } from './load.ts';
import { formatProblem } from './problem.ts';
import { fromElsewhere } from './testing/from-elsewhere.ts';
import { mistakes } from './testing/mistakes.ts';

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

it.each(mistakes)('%s: says what, where and how to mend it', (_what, text, lines) => {
  expect(load('f.yaml', text).lines).toEqual(lines);
});

/** Lines whose corrected value is complete: no placeholder in capital letters, and nothing left out. */
const corrected = fromElsewhere.flatMap(([what, text, lines]) =>
  lines.flatMap((line) => {
    const [, path = '', right = ''] =
      /^f\.yaml:\d+:\d+: (\S+): expected [^;]*: write ("[^"…]*"|\{[^…]*\}|-?\d+)(?:, got .*)?$/.exec(line) ?? [];
    return right === '' || /\b[A-Z]{4,}\b|\.\.\./.test(right) ? [] : [[what, text, path, right] as const];
  }),
);

it.each(corrected)('%s: the corrected line is right', (_what, text, path, right) => {
  const document = parseDocument(text);
  document.setIn(
    path.split(/[.[\]]+/).flatMap((step) => (step === '' ? [] : [/^\d+$/.test(step) ? Number(step) : step])),
    parse(right),
  );
  expect(load('f.yaml', document.toString()).lines.filter((line) => line.includes(` ${path}: `))).toEqual([]);
});

it('the value of a reference is in no line about a program', () => {
  const { lines } = load(
    'f.yaml',
    `
mcpServers:
  a: { command: "~/bin/x --token \${TOKEN}", args: [--key, "\${TOKEN}"] }
  b: { command: cd, args: ["/srv && x --key \${TOKEN}"] }
  c: { command: x, args: [--token, "'\${TOKEN}'"] }
  d: { command: "~/bin/x \${TOKEN}", args: ["-x \${TOKEN}", "'\${TOKEN}'"] }
`,
    { TOKEN: 'hunter2' },
  );
  expect(lines.map((line) => line.replace(/^f\.yaml:\d+:\d+: mcpServers\./, ''))).toEqual([
    'a.command: no shell reads this: write command: "${HOME}/bin/x" and args: ["--token","...","--key","..."]',
    'b.command: is a command of the shell alone: write cwd: "FOLDER", and the program under command',
    'c.args[1]: keeps its quotes, which no shell removes here: write "..."',
    'd.command: no shell reads this: write command: "${HOME}/bin/x" and args: ["${TOKEN}","-x ${TOKEN}","\'${TOKEN}\'"]',
    'd.args[0]: is one argument with a blank in it: write "-x","${TOKEN}"',
    'd.args[1]: keeps its quotes, which no shell removes here: write "${TOKEN}"',
  ]);
  expect(lines.join()).not.toContain('hunter2');
});

it.each([
  ['mcpServers: { a: { command: "x hunter-${TOKEN} && y" } }', 'expected a program alone'],
  ['mcpServers: { a: { command: x, args: { key: "${TOKEN}" } } }', 'expected a list'],
  ['mcpServers: { a: { command: x, timeout: "${TOKEN}" } }', 'expected a duration'],
  ['mcpServers: { a: { command: [x, "${TOKEN}"] } }', 'expected a text'],
  ['mcpServers: { a: { url: "${TOKEN}" } }', 'expected an http:'],
  ['mcpServers: { a: { url: http://h/mcp, headers: { A: "${TOKEN}" } } }', 'begins with its name again'],
  ['listen: "${TOKEN}"', 'expected HOST:PORT'],
  ['limits: { maxSessions: "${TOKEN}" }', 'expected a number'],
  ['mcpServers: { a: { command: "npx -y srv", args: ["${TOKEN}"] } }', 'and args: ["-y","srv"], in front of those'],
  ['mcpServers: { a: { command: "${TOKEN} y" } }', 'expected a program alone'],
  ['mcpServers: { a: { url: "https://h:${TOKEN}/mcp" } }', 'without blanks'],
  ['mcpServers: { a: { command: x, envFile: "${TOKEN}" } }', 'the file that "${TOKEN}" stands for cannot be read'],
  ['mcpServers: { a: { command: x } }\nprofiles: { p: { tools: ["${TOKEN}"] } }', '"${TOKEN}" matches nothing: a glob'],
  [
    'mcpServers: { a: { command: x } }\nprofiles: { p: { servers: ["${TOKEN}"] } }',
    'there is no server "${TOKEN}" under mcpServers',
  ],
  ['limits: { rules: [{ who: "claim:${TOKEN}", rate: 1/s }] }', 'expected the name of a claim'],
  ['limits: { rules: [{ who: "group: ${TOKEN}", rate: 1/s }] }', 'expected no blanks around the name'],
  ['composites: { c: { description: d, steps: [{ id: s, call: "${TOKEN}/x" }] } }', 'expected `server/tool`'],
  [
    'composites: { c: { description: d, steps: [{ id: s, call: a/x, arguments: { b: "1 {args.${TOKEN}}" } }] } }',
    'expected another value',
  ],
])('the value of a reference is not repeated: %s', (text, words) => {
  const lines = ['hunter2', '4711', 'A: hunter2 hunter2'].flatMap((TOKEN) => load('f.yaml', text, { TOKEN }).lines);
  expect(lines.join()).not.toMatch(/hunter2|4711/);
  expect(lines.join()).toContain(words);
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

it('what only looks like a mistake is taken as it is written', () => {
  const { config, lines } = load(
    'f.yaml',
    [
      'listing:',
      '  descriptions:',
      '    profiles/say: |',
      '      Says it.',
      '      \u00A0With a wide blank in front',
      '      \u00A0Note: and a name behind it',
      '      Note\uFF1A and a wide colon',
      '      <html>',
      'mcpServers:',
      '  profiles: { command: x, args: ["-", "--", "–"] }',
      '  audit: { url: "http://127.0.0.1:1/mcp" }',
      '  command: { command: "/opt/a b/run.exe.d/x", env: { PIN: "$Pa55word" } }',
      '',
    ].join('\n'),
  );
  expect(lines.filter((line) => !line.includes('listing'))).toEqual([]);
  expect(Object.keys(config?.mcpServers ?? {})).toEqual(['profiles', 'audit', 'command']);
  expect(config?.listing.descriptions['profiles/say']).toContain('\u00A0With');
});
