/** Files of other programs: each row has the user's file, the gateway's reading of it, and the remarks. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadConfig } from '../load.ts';
import { formatProblem } from '../problem.ts';
import { expectImport, here, text, type Row } from '../testing/client-files.ts';
import { readClientFile } from './read.ts';

const rows: readonly Row[] = [
  {
    title: "Gemini CLI's settings after a sign-in are not those of Omnibus, and what they forbid stays forbidden",
    file: '.gemini/settings.json',
    content: {
      security: { auth: { selectedType: 'gemini-api-key' } },
      mcp: { excluded: ['old'] },
      tools: { exclude: ['run_shell_command', 'docs__drop', 'wipe'] },
      mcpServers: { docs: { httpUrl: 'https://docs.test/mcp', timeout: 7000 }, old: { command: 'old-server' } },
    },
    client: 'gemini',
    servers: {
      docs: { url: 'https://docs.test/mcp', timeout: '7000ms', excludeTools: ['drop', 'wipe'] },
      old: { command: 'old-server', excludeTools: ['wipe'], disabled: true },
    },
  },
  {
    title: 'the older lists of Gemini CLI count too',
    content: {
      allowMCPServers: ['a'],
      excludeTools: ['x'],
      mcpServers: { a: { httpUrl: 'https://a.test/mcp' }, b: { command: 'b' } },
    },
    client: 'gemini',
    servers: {
      a: { url: 'https://a.test/mcp', excludeTools: ['x'] },
      b: { command: 'b', excludeTools: ['x'], disabled: true },
    },
  },
  {
    title: "opencode's {file:…} is the content of the file, from the folder of its file or from home",
    file: 'conf/opencode.json',
    content: {
      mcp: {
        a: { type: 'local', command: ['run', 'a.js'], environment: { SECRET: '{file:keys/a}', B: '{env:BEE}' } },
        b: { type: 'remote', url: 'https://b.test/mcp', headers: { 'X-Key': '{file:~/b.key}' } },
      },
    },
    client: 'opencode',
    servers: {
      a: {
        type: 'stdio',
        command: 'run',
        args: ['a.js'],
        env: { SECRET: `\${file:${here('conf/keys/a')}}`, B: '${BEE}' },
        cwd: here('conf'),
      },
      b: { type: 'http', url: 'https://b.test/mcp', headers: { 'X-Key': `\${file:${join(homedir(), 'b.key')}}` } },
    },
  },
  {
    title: 'tools that opencode switches off cannot be called here',
    content: {
      mcp: {
        tickets: { type: 'remote', url: 'https://t.test/mcp' },
        wiki: { type: 'remote', url: 'https://w.test/mcp' },
        mail: { type: 'remote', url: 'https://m.test/mcp' },
      },
      tools: { tickets_close: false, 'mail*': false, 'wiki_*': false, wiki_read: true, '*_purge': false, bash: false },
      permission: { 'tickets_admin_*': 'deny', edit: 'deny', tickets_note: 'ask' },
    },
    client: 'opencode',
    servers: {
      tickets: { type: 'http', url: 'https://t.test/mcp', excludeTools: ['close', '*_purge', 'purge', 'admin_*'] },
      wiki: {
        type: 'http',
        url: 'https://w.test/mcp',
        excludeTools: ['*_purge', 'purge'],
        includeTools: ['read'],
      },
      mail: { type: 'http', url: 'https://m.test/mcp', excludeTools: ['*_purge', 'purge'], disabled: true },
    },
    remarks: ['a rule with `ask` under `access` does that'],
  },
  {
    title: 'sign-in settings of opencode become credentials; false means none; a secret needs its issuer',
    content: {
      mcp: {
        none: { type: 'remote', url: 'https://n.test/mcp', oauth: false },
        some: { type: 'remote', url: 'https://s.test/mcp', oauth: { clientId: 'me', scope: 'read write' } },
        both: { type: 'remote', url: 'https://b.test/mcp', oauth: { clientId: 'me', clientSecret: 'hush' } },
      },
    },
    client: 'opencode',
    servers: {
      none: { type: 'http', url: 'https://n.test/mcp' },
      some: {
        type: 'http',
        url: 'https://s.test/mcp',
        credentials: { kind: 'oauth', clientId: 'me', scopes: ['read', 'write'] },
      },
      both: { type: 'http', url: 'https://b.test/mcp' },
    },
    remarks: ['register that of the gateway too', 'a client secret is for one issuer alone'],
  },
  {
    title: "Cursor's sign-in settings become credentials",
    file: '.cursor/mcp.json',
    content: { mcpServers: { a: { url: 'https://a.test/mcp', auth: { CLIENT_ID: 'cur', scopes: ['one'] } } } },
    client: 'cursor',
    servers: {
      a: { url: 'https://a.test/mcp', credentials: { kind: 'oauth', clientId: 'cur', scopes: ['one'] } },
    },
    remarks: ['register that of the gateway too'],
  },
  {
    title: "Crush's numbers are seconds, its $NAME variables, and its $(…) is named",
    content: {
      mcp: {
        slow: { type: 'stdio', command: 'slow', timeout: 90, env: { KEY: '$SLOW_KEY' } },
        far: { type: 'http', url: 'https://f.test/mcp', headers: { A: 'Bearer $(pass show far)', B: 'b' } },
      },
      options: { disabled_tools: ['mcp_slow_erase'] },
    },
    client: 'crush',
    servers: {
      slow: { type: 'stdio', command: 'slow', timeout: '90s', env: { KEY: '${SLOW_KEY}' }, excludeTools: ['erase'] },
      far: { type: 'http', url: 'https://f.test/mcp', headers: { B: 'b' } },
    },
    remarks: ['the output of a command'],
  },
  {
    title: 'mcp-remote with a variable of its entry becomes the address, with the value in the header',
    content: {
      mcpServers: {
        a: {
          command: 'npx',
          args: [
            '-y',
            'mcp-remote@latest',
            'https://a.test/sse',
            '3334',
            '--header',
            'Authorization:${AUTH}',
            '--header',
            'X-Team: ${TEAM}',
            '--transport',
            'sse-only',
            '--ignore-tool',
            'drop_*',
            '--ignore-tool=wipe',
          ],
          env: { AUTH: 'Bearer abc', SPARE: '1' },
        },
        b: {
          command: 'npx',
          args: [
            'mcp-remote',
            'https://b.test/mcp',
            '--static-oauth-client-info',
            '{"client_id":"c"}',
            '--static-oauth-client-metadata',
            '{"scope":"read"}',
          ],
        },
      },
    },
    client: 'client',
    servers: {
      a: {
        url: 'https://a.test/sse',
        type: 'sse',
        headers: { Authorization: 'Bearer abc', 'X-Team': '${env:TEAM}' },
        excludeTools: ['drop_*', 'wipe'],
      },
      b: { url: 'https://b.test/mcp', credentials: { kind: 'oauth', clientId: 'c', scopes: ['read'] } },
    },
    remarks: ['SPARE of `env` was for mcp-remote', 'the client c is registered with the callback of mcp-remote'],
  },
  {
    title: 'a bridge stays where an option of it has no counterpart, and its own variables stay its own',
    content: {
      mcpServers: {
        a: { command: 'npx', args: ['mcp-remote', 'https://a.test/mcp', '--resource', 'https://one.test/'] },
        b: { command: 'npx', args: ['mcp-remote', 'https://a.test/mcp', '--no-such-option'] },
        c: {
          command: 'npx',
          args: ['mcp-remote', 'https://a.test/mcp', '--resource', 'https://two.test/', '--header', 'A:${A}'],
          env: { A: 'a' },
        },
      },
    },
    client: 'client',
    servers: {
      a: { command: 'npx', args: ['mcp-remote', 'https://a.test/mcp', '--resource', 'https://one.test/'] },
      b: { command: 'npx', args: ['mcp-remote', 'https://a.test/mcp', '--no-such-option'] },
      c: {
        command: 'npx',
        args: ['mcp-remote', 'https://a.test/mcp', '--resource', 'https://two.test/', '--header', 'A:$${A}'],
        env: { A: 'a' },
      },
    },
    remarks: ['--resource asks for tokens', '--no-such-option has no counterpart', '--resource asks for tokens'],
  },
  {
    title: 'supergateway and mcp-proxy become the address that they connect to, and stay where they serve one',
    content: {
      mcpServers: {
        a: { command: 'npx', args: ['-y', 'supergateway', '--sse', 'https://a.test/sse', '--oauth2Bearer', 'tok'] },
        b: {
          command: 'uvx',
          args: ['mcp-proxy', '-H', 'X-Key', 'k', '--transport', 'streamablehttp', 'https://b.test/mcp'],
        },
        c: { command: 'mcp-proxy', args: ['https://c.test/sse'], env: { API_ACCESS_TOKEN: 'tok' } },
        d: { command: 'npx', args: ['-y', 'supergateway', '--stdio', 'npx x', '--port', '80'] },
        e: { command: 'npx', args: ['-y', 'other-server', 'mcp-remote', 'https://e.test/mcp'] },
      },
    },
    client: 'client',
    servers: {
      a: { url: 'https://a.test/sse', type: 'sse', headers: { Authorization: 'Bearer tok' } },
      b: { url: 'https://b.test/mcp', type: 'http', headers: { 'X-Key': 'k' } },
      c: { url: 'https://c.test/sse', type: 'sse', headers: { Authorization: 'Bearer tok' } },
      d: { command: 'npx', args: ['-y', 'supergateway', '--stdio', 'npx x', '--port', '80'] },
      e: { command: 'npx', args: ['-y', 'other-server', 'mcp-remote', 'https://e.test/mcp'] },
    },
    remarks: ['--stdio has no counterpart here'],
  },
  {
    title: "LibreChat's facts about its user are named with what says the same, and never sent as a text",
    file: 'some.yaml',
    content:
      'mcpServers:\n  a:\n    type: streamable-http\n    url: https://a.test/mcp\n    initTimeout: 4000\n    headers: { X-Mail: "{{LIBRECHAT_USER_EMAIL}}", X-Plain: "{{MCP_KEY}}", X-Kept: kept }\n',
    client: 'librechat',
    servers: {
      a: { type: 'http', url: 'https://a.test/mcp', connectTimeout: '4000ms', headers: { 'X-Kept': 'kept' } },
    },
    remarks: ['write "{principal.claims.email}"', 'write "{principal.subject}"'],
  },
  {
    title: 'null is no value, a number is its text, and neither ends the import of the others',
    content: {
      servers: {
        good: { command: 'good' },
        odd: { command: 'odd', env: { NONE: null, LEVEL: 4, ON: true, LIST: ['x'] } },
        bad: { command: ['a', 7] },
        worse: { command: 'x', includeTools: 'all' },
      },
    },
    client: 'vscode',
    servers: { good: { command: 'good' }, odd: { command: 'odd', env: { LEVEL: '4', ON: 'true' } } },
    remarks: ['NONE has no value', 'this is a list; left out', 'the server is left out', 'the server is left out'],
  },
  {
    title: "Continue's secrets are environment variables",
    content:
      'name: Mine\nversion: 0.0.1\nschema: v1\nmcpServers:\n  - name: a\n    url: https://a.test/mcp\n    requestOptions: { headers: { K: "${{ secrets.MY_KEY }}", L: "${{ models.x }}" } }\n',
    file: 'mine.yaml',
    client: 'continue',
    servers: { a: { url: 'https://a.test/mcp', headers: { K: '${env:MY_KEY}' } } },
    remarks: ['a placeholder that nothing here replaces', 'taken from the environment variable MY_KEY'],
  },
  {
    title: "Amp's servers are taken, without the tools that it disables",
    content: {
      'amp.mcpServers': { web: { command: 'web', includeTools: ['go_*'] } },
      'amp.tools.disable': ['mcp__web__go_back', 'builtin:Bash'],
      'amp.mcpPermissions': [{ matches: { url: '*' }, action: 'reject' }],
    },
    client: 'amp',
    servers: { web: { command: 'web', includeTools: ['go_*'], excludeTools: ['go_back'] } },
    remarks: ['rules of Amp'],
  },
  {
    title:
      'a client that replaces nothing has its texts unchanged, for a shell that reads them; a whole value is a reference',
    content: {
      globalShortcut: '',
      mcpServers: {
        a: {
          command: 'sh',
          args: ['-c', 'PORT=${A_PORT:-1} exec a ${HOME}'],
          env: { A_PORT: '5', K: '${A_KEY}', L: '${B:-1}' },
        },
      },
    },
    client: 'claude-desktop',
    servers: {
      a: {
        command: 'sh',
        args: ['-c', 'PORT=$${A_PORT:-1} exec a $${HOME}'],
        env: { A_PORT: '5', K: '${A_KEY}', L: '$${B:-1}' },
      },
    },
    remarks: ['here it is the environment variable A_KEY'],
  },
  {
    title: 'an agent of Kiro has only the tools that it names',
    content: {
      name: 'writer',
      prompt: 'x',
      tools: ['@files/read', '@files/list', '@web', 'fs_read'],
      allowedTools: ['@files'],
      toolAliases: { '@web/get': 'fetch' },
      mcpServers: { files: { command: 'f' }, web: { command: 'w' }, other: { command: 'o' } },
    },
    client: 'kiro-agent',
    servers: {
      files: { command: 'f', includeTools: ['read', 'list'] },
      web: { command: 'w' },
      other: { command: 'o', disabled: true },
    },
    remarks: ['`rename` of a profile'],
  },
  {
    title: "VS Code's variables of the editor leave a server out, and its proposed inputs are defaults",
    content: {
      inputs: [{ id: 'region', type: 'promptString', default: 'eu' }],
      servers: {
        open: { command: 'x', args: ['${file}'] },
        conf: { command: 'x', env: { A: '${config:a.b}', B: '${command:pick}', C: '${input:region}' } },
      },
    },
    client: 'vscode',
    servers: { conf: { command: 'x', env: { C: '${REGION:-eu}' } } },
    remarks: [
      "a variable of VS Code's editor",
      '${config:a.b} by its settings',
      '${command:pick} by its settings',
      'environment variable REGION',
      'left out: it would be another server',
    ],
  },
  {
    title: "TBXark's filter of tools is taken, and its tokens are named",
    content: {
      mcpProxy: { addr: ':1', options: { authTokens: ['t'] } },
      mcpServers: {
        a: {
          command: 'a',
          options: { toolFilter: { mode: 'allow', list: ['x'] }, authTokens: ['u'], logEnabled: true },
        },
        b: { url: 'https://b.test/sse', transportType: 'sse', options: { toolFilter: { mode: 'block', list: ['y'] } } },
      },
    },
    client: 'tbxark',
    servers: {
      a: { command: 'a', includeTools: ['x'] },
      b: { url: 'https://b.test/sse', type: 'sse', excludeTools: ['y'] },
    },
    remarks: [
      'who may call is not taken over',
      'write `listen`',
      'toolFilter is `includeTools`',
      'who may call the server is not taken over',
      'toolFilter is `excludeTools`',
    ],
  },
  {
    title: "LiteLLM's servers are taken with what they are shown",
    file: 'proxy.yaml',
    content:
      'model_list: []\ngeneral_settings: { master_key: sk-1 }\nmcp_servers:\n  a:\n    url: https://a.test/mcp\n    transport: http\n    auth_type: bearer_token\n    auth_value: os.environ/A_KEY\n    allowed_tools: [x]\n    extra_headers: [x-user]\n  b: { transport: stdio, command: b, disallowed_tools: [y] }\n',
    client: 'litellm',
    servers: {
      a: {
        url: 'https://a.test/mcp',
        type: 'http',
        headers: { Authorization: 'Bearer ${A_KEY}' },
        includeTools: ['x'],
      },
      b: { type: 'stdio', command: 'b', excludeTools: ['y'] },
    },
    remarks: ['headers of callers (x-user)', 'who may call is not taken over'],
  },
  {
    title: "agentgateway's targets are taken from its routes, and its policies are named",
    file: 'routes.yaml',
    content:
      'binds:\n- port: 3000\n  listeners:\n  - routes:\n    - policies: { cors: {} }\n      backends:\n      - mcp:\n          targets:\n          - name: every\n            stdio: { cmd: npx, args: [every] }\n          - name: far\n            mcp: { host: far.test, port: 443, path: /x }\n          - name: old\n            sse: { host: "http://old.test/sse" }\n',
    client: 'agentgateway',
    servers: {
      every: { command: 'npx', args: ['every'] },
      far: { url: 'https://far.test:443/x' },
      old: { url: 'http://old.test/sse', type: 'sse' },
    },
    remarks: ['policies (cors) are not taken over'],
  },
  {
    title: 'mcphub and mcp-agent are taken, with users and secrets named',
    content: {
      users: [{ username: 'a' }],
      groups: [],
      systemConfig: {},
      mcpServers: { a: { command: 'a', tools: { x: { enabled: false }, y: { enabled: true } } } },
    },
    client: 'mcphub',
    servers: { a: { command: 'a', excludeTools: ['x'] } },
    remarks: ['who may call is not taken over', 'a profile is that here'],
  },
  {
    title: 'the servers of mcp-agent are taken',
    file: 'mcp_agent.config.yaml',
    content:
      'execution_engine: asyncio\nmcp:\n  servers:\n    a: { command: a, allowed_tools: [x] }\n    b: { transport: streamable_http, url: "https://b.test/mcp", read_timeout_seconds: 9 }\n',
    client: 'mcp-agent',
    servers: {
      a: { command: 'a', includeTools: ['x'] },
      b: { type: 'http', url: 'https://b.test/mcp', timeout: '9s' },
    },
    remarks: ['mcp_agent.secrets.yaml'],
  },
  {
    title: "Goose's keys, its selection and its disabled extensions are taken",
    file: 'some.yaml',
    content:
      'extensions:\n  a: { type: stdio, cmd: a, args: [x], env_keys: [A_KEY], envs: { B: b }, available_tools: [one], timeout: 9 }\n  b: { type: stdio, cmd: b, env_keys: [], available_tools: [], enabled: false }\n  c: { type: builtin, name: developer, enabled: false }\n',
    client: 'goose',
    servers: {
      a: {
        type: 'stdio',
        command: 'a',
        args: ['x'],
        env: { A_KEY: '${env:A_KEY}', B: 'b' },
        includeTools: ['one'],
        timeout: '9s',
      },
      b: { type: 'stdio', command: 'b', disabled: true },
    },
    remarks: ['Goose keeps A_KEY in its own store'],
  },
  {
    title: "Codex's file with profiles and with settings of tools is taken",
    file: 'conf.toml',
    content:
      'model = "x"\n[profiles.fast]\nmodel = "y"\n[mcp_servers.a]\ncommand = "a"\nscopes = ["s"]\n[mcp_servers.a.tools.drop]\napproval_mode = "prompt"\n[mcp_servers.b]\nurl = "https://b.test/mcp"\n',
    client: 'codex',
    servers: { a: { command: 'a' }, b: { url: 'https://b.test/mcp' } },
    remarks: ['tools.drop.approval_mode', 'credentials'],
  },
  {
    title: 'settings of single tools are taken where they switch one off',
    content: {
      mcpServers: { a: { command: 'a', type: 'STDIO', tools: { x: { enabled: false }, y: { name: 'why' } } } },
    },
    client: 'client',
    servers: { a: { type: 'stdio', command: 'a', excludeTools: ['x'] } },
    remarks: ['tools.y.name is not taken over'],
  },
  {
    title: "Zed's time limit is taken, and a program that an extension brings is named",
    content: {
      profiles: {},
      context_servers: {
        a: { command: { path: 'a', args: ['x'], timeout: 9000 } },
        b: { source: 'extension', settings: { k: 'v' } },
      },
    },
    client: 'zed',
    servers: { a: { command: 'a', args: ['x'], timeout: '9000ms' } },
    remarks: ['comes with an extension of Zed', 'it has neither "command" nor "url"'],
  },
];

it.each(rows)('$title', expectImport);

it('programs of a project start in its folder, wherever their entries go', () => {
  const content = text({
    servers: { a: { command: './run', args: ['data/x'], envFile: '.env', cwd: 'sub' }, b: { command: 'b' } },
  });
  const file = here('proj/.vscode/mcp.json');
  expect(readClientFile(file, content, here('elsewhere')).servers).toEqual({
    a: { command: './run', args: ['data/x'], envFile: here('proj/.env'), cwd: here('proj/sub') },
    b: { command: 'b', cwd: here('proj') },
  });
  expect(readClientFile(file, content, here('proj')).servers).toEqual({
    a: { command: './run', args: ['data/x'], envFile: '.env', cwd: 'sub' },
    b: { command: 'b' },
  });
  const served = loadConfig({ file, text: content, env: {}, readFile: () => '' });
  expect('problems' in served ? served.problems : served.config.mcpServers).toMatchObject({
    a: { cwd: here('proj/sub') },
    b: { cwd: here('proj') },
  });
  const kiro = text({ mcpServers: { a: { command: 'a', args: ['${workspaceFolder}/x'] } } });
  expect(readClientFile(here('proj/.kiro/settings/mcp.json'), kiro, here('proj')).servers).toEqual({
    a: { command: 'a', args: [`${here('proj')}/x`] },
  });
  // A folder with such a name is no reference.
  expect(readClientFile(here('${HOME}/.kiro/settings/mcp.json'), kiro, here('${HOME}')).servers).toEqual({
    a: { command: 'a', args: [`${here('$${HOME}')}/x`] },
  });
});

it('the open folder of an editor is named in the file of a user, which belongs to no project', () => {
  const file = '/home/ann/.config/Code/User/mcp.json';
  const content = text({ servers: { a: { command: 'a', args: ['${workspaceFolder}'] }, b: { command: 'b' } } });
  const { servers, remarks } = readClientFile(file, content, '/home/ann');
  expect(servers).toEqual({ b: { command: 'b' } });
  expect(remarks[0]?.text).toBe(
    '${workspaceFolder} is the folder that is open in VS Code, and the gateway has none: write the path itself',
  );
});

it.each<readonly [string, string | object, string]>([
  ['thv.json', { schema_version: 'v1', image: 'x', transport: 'stdio', name: 'x' }, 'a file of ToolHive'],
  ['catalog.yaml', 'registry:\n  a: { image: mcp/a, type: server }\n', "a file of Docker's MCP catalogue"],
  ['.claude-plugin/plugin.json', { name: 'x', mcpServers: './.mcp.json' }, 'a file of a plugin'],
  [
    'server.json',
    { $schema: 'https://static.modelcontextprotocol.io/schemas/x/server.schema.json', packages: [] },
    'a file of the MCP registry',
  ],
])('%s is named with what to write instead', (file, content, words) => {
  expect(() => readClientFile(file, text(content))).toThrow(words);
  const loaded = loadConfig({ file, text: text(content), env: {}, readFile: () => '' });
  expect('problems' in loaded ? loaded.problems.map(formatProblem) : []).toEqual([
    expect.stringContaining(words) as string,
  ]);
});

it('a file of an unknown program is not taken for that of a client', () => {
  expect(() => readClientFile('x.json', '{"mcp":{"a":{"timeout":120}}}')).toThrow(
    'it is not the file of a known program: write its servers under `mcpServers`',
  );
});

it('a name with a meaning of its own in JavaScript is a server like any other', () => {
  const { servers } = readClientFile(
    'x.json',
    '{"mcpServers":{"__proto__":{"command":"a"},"constructor":{"command":"b"}}}',
  );
  expect(Object.keys(servers)).toEqual(['proto', 'constructor']);
});
