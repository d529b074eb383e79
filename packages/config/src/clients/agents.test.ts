/** Files of agent programs and frameworks, and forms of other programs' files that were lost or misread. */
import { expect, it } from 'vitest';
import { loadConfig } from '../load.ts';
import { formatProblem } from '../problem.ts';
import { expectImport, here, text, type Row } from '../testing/client-files.ts';
import { readClientFile } from './read.ts';

const rows: readonly Row[] = [
  {
    title: "Hermes' file is not LiteLLM's: its limits, its selection and its references are taken",
    file: 'conf/some.yaml',
    content:
      "model: { default: x }\nmcp_servers:\n  gh: { command: npx, args: [-y, g], env: { T: '${T}' }, timeout: 120, connect_timeout: 60, tools: { include: [a], exclude: [b], prompts: false } }\n  far: { url: 'https://far.test/mcp', tools: { exclude: wipe }, ssl_verify: /ca.pem, enabled: false }\n",
    client: 'hermes',
    servers: {
      gh: {
        command: 'npx',
        args: ['-y', 'g'],
        env: { T: '${T}' },
        timeout: '120s',
        connectTimeout: '60s',
        includeTools: ['a'],
        excludeTools: ['b'],
        cwd: here('conf'),
      },
      far: { url: 'https://far.test/mcp', excludeTools: ['wipe'], disabled: true },
    },
    remarks: ['tools.prompts', 'write tls: { caFile: /ca.pem }'],
  },
  {
    title: "OpenClaw's file is not VS Code's",
    content: {
      agents: {},
      mcp: {
        servers: {
          far: {
            url: 'https://far.test/mcp',
            transport: 'streamable-http',
            headers: { K: '${KEY}' },
            connectionTimeoutMs: 900,
            timeout: 20,
            toolFilter: { include: ['read_*'], exclude: ['read_secret'] },
          },
        },
      },
    },
    client: 'openclaw',
    servers: {
      far: {
        type: 'http',
        url: 'https://far.test/mcp',
        headers: { K: '${KEY}' },
        connectTimeout: '900ms',
        timeout: '20s',
        includeTools: ['read_*'],
        excludeTools: ['read_secret'],
      },
    },
  },
  {
    title: "nanobot's servers stand under `tools`",
    content: {
      agents: { defaults: { model: 'x' } },
      tools: {
        mcpServers: { a: { command: 'a', toolTimeout: 120 }, b: { url: 'https://b.test/mcp', enabledTools: ['x'] } },
      },
    },
    client: 'nanobot',
    servers: { a: { command: 'a', timeout: '120s' }, b: { url: 'https://b.test/mcp', includeTools: ['x'] } },
  },
  {
    title: 'a list of servers in TOML',
    file: 'some.toml',
    content:
      '[mcp]\nenabled = true\n[[mcp.servers]]\nname = "a"\ncommand = "a"\nenabled = false\ntimeout_seconds = 9\ntools = []\n[[mcp.servers]]\nname = "b"\nurl = "https://b.test/mcp"\nauth_token = "t"\ntools = ["x"]\n',
    client: 'toml-list',
    servers: {
      a: { command: 'a', disabled: true, timeout: '9s' },
      b: { url: 'https://b.test/mcp', headers: { Authorization: 'Bearer t' }, includeTools: ['x'] },
    },
  },
  {
    title: "Theia's servers in its settings, with their tokens",
    file: '.theia/settings.json',
    content: {
      'editor.fontSize': 14,
      'ai-features.mcp.mcpServers': {
        a: { command: 'a', autostart: false },
        b: { serverUrl: 'https://b.test/mcp', serverAuthToken: 't' },
        c: { serverUrl: 'https://c.test/mcp', serverAuthToken: 't', serverAuthTokenHeader: 'X-Key' },
      },
    },
    client: 'theia',
    servers: {
      a: { command: 'a' },
      b: { url: 'https://b.test/mcp', headers: { Authorization: 'Bearer t' } },
      c: { url: 'https://c.test/mcp', headers: { 'X-Key': 't' } },
    },
    remarks: ['for its own use'],
  },
  {
    title: 'Tiny Agents have a list without names, and an older form',
    content: {
      model: 'x',
      inputs: [{ type: 'promptString', id: 'hf-token' }],
      servers: [
        { type: 'stdio', command: 'npx', args: ['-y', '@playwright/mcp@latest'] },
        { type: 'http', url: 'https://far.test/mcp', headers: { Authorization: 'Bearer ${input:hf-token}' } },
        { type: 'sse', config: { url: 'https://old.test/sse', options: { requestInit: { headers: { K: 'v' } } } } },
      ],
    },
    client: 'tiny-agents',
    servers: {
      mcp: { type: 'stdio', command: 'npx', args: ['-y', '@playwright/mcp@latest'] },
      'far-test': { type: 'http', url: 'https://far.test/mcp', headers: { Authorization: 'Bearer ${HF_TOKEN}' } },
      'old-test': { type: 'sse', url: 'https://old.test/sse', headers: { K: 'v' } },
    },
    remarks: ['environment variable HF_TOKEN'],
  },
  {
    title: "Spring AI's connections have addresses in two parts",
    file: 'application.yaml',
    content:
      "spring:\n  ai:\n    mcp:\n      client:\n        request-timeout: 20s\n        stdio: { connections: { a: { command: a } } }\n        sse: { connections: { b: { url: 'http://b.test:1/' } } }\n        streamable-http: { connections: { c: { url: 'http://c.test:1', endpoint: /x } } }\n",
    client: 'spring',
    servers: {
      a: { type: 'stdio', command: 'a', timeout: '20s' },
      b: { type: 'sse', url: 'http://b.test:1/sse', timeout: '20s' },
      c: { type: 'http', url: 'http://c.test:1/x', timeout: '20s' },
    },
  },
  {
    title: 'Spring AI replaces variables everywhere, and may name another file with servers',
    file: 'application.yaml',
    content:
      "spring:\n  ai:\n    mcp:\n      client:\n        stdio:\n          servers-configuration: classpath:servers.json\n          connections:\n            a: { command: a, args: [--key, '${API_KEY}', '${HOST:localhost}'] }\n            b: { command: b, args: ['${app.name}'] }\n",
    client: 'spring',
    servers: { a: { type: 'stdio', command: 'a', args: ['--key', '${API_KEY}', '${HOST:-localhost}'] } },
    remarks: ['${app.name} is a property of the application', 'import that file too', 'left out'],
  },
  {
    title: 'a value that a recipe of Goose asks for is named',
    file: 'recipe.yaml',
    content: "title: t\ninstructions: i\nextensions:\n  - { type: stdio, name: a, cmd: a, args: ['{{ dir }}'] }\n",
    client: 'goose-recipe',
    servers: {},
    remarks: ['"{{ dir }}" is a placeholder that nothing here replaces', 'left out'],
  },
  {
    title: 'a recipe of Goose has a list of extensions',
    file: 'recipe.yaml',
    content:
      'title: t\ninstructions: i\nextensions:\n  - { type: stdio, name: a, cmd: a, timeout: 9 }\n  - { type: builtin, name: developer }\n',
    client: 'goose-recipe',
    servers: { a: { type: 'stdio', command: 'a', timeout: '9s' } },
    remarks: ['runs nowhere else'],
  },
  {
    title: "agentgateway's targets at the top are not those of fast-agent",
    file: 'some.yaml',
    content:
      'mcp:\n  port: 3000\n  targets:\n    - { name: a, stdio: { cmd: a } }\n    - { name: far, mcp: { host: "https://far.test/mcp" } }\n',
    client: 'agentgateway',
    servers: { a: { command: 'a' }, far: { url: 'https://far.test/mcp' } },
  },
  {
    title: "agentgateway's options stand inside options of the same name, and policies are named by the outermost map",
    file: 'some.yaml',
    content:
      'binds:\n- mcp: { x: { mcp: { targets: [{ name: a, stdio: { cmd: a } }] } }, port: 3000 }\n  policies:\n  - policies: { cors: {}, more: { policies: { jwt: {} } } }\n    mcp: { targets: [{ name: b, stdio: { cmd: b } }] }\n',
    client: 'agentgateway',
    servers: { a: { command: 'a' }, b: { command: 'b' } },
    remarks: ['policies (cors, more) are not taken over'],
  },
  {
    title: 'the servers of a plugin start in its folder',
    file: 'plug/.claude-plugin/plugin.json',
    content: {
      name: 'p',
      mcpServers: {
        a: { command: '${CLAUDE_PLUGIN_ROOT}/a', env: { DB: '${CLAUDE_PLUGIN_ROOT}/db', K: '${user_config.key}' } },
        b: { command: 'b', args: ['${CLAUDE_PLUGIN_DATA}/b'] },
      },
    },
    client: 'plugin',
    servers: { a: { command: here('plug/a'), env: { DB: here('plug/db') }, cwd: here('plug') } },
    remarks: ['an answer of its user', 'a folder of its own', 'left out'],
  },
  {
    title: 'a plugin may name files beside its servers',
    file: 'plug/.claude-plugin/plugin.json',
    content: {
      name: 'p',
      mcpServers: ['./more.json', { a: { command: 'a' } }, './rest.json', { b: { command: 'b' } }],
    },
    client: 'plugin',
    servers: { a: { command: 'a', cwd: here('plug') }, b: { command: 'b', cwd: here('plug') } },
    remarks: ['import that file too', 'import that file too'],
  },
  {
    title: 'a plugin may have no servers',
    file: 'plug/.claude-plugin/plugin.json',
    content: { name: 'p', mcpServers: [] },
    client: 'plugin',
    servers: {},
  },
  {
    title: "a plugin's .mcp.json has its servers at the top",
    file: 'plug/.mcp.json',
    content: {
      a: { command: '${CLAUDE_PLUGIN_ROOT}/a' },
      b: { command: '${CLAUDE_PLUGIN_ROOT}/b', args: ['${CLAUDE_PROJECT_DIR:-.}'] },
      far: { type: 'http', url: 'https://far.test/mcp' },
    },
    client: 'claude-code',
    servers: {
      a: { command: here('plug/a'), cwd: here('plug') },
      far: { type: 'http', url: 'https://far.test/mcp' },
    },
    remarks: ['${CLAUDE_PROJECT_DIR:-.} is the folder that is open in Claude Code', 'left out'],
  },
  {
    title: 'an extension of Gemini CLI starts in its folder, and its questions are named',
    file: 'ext/gemini-extension.json',
    content: {
      name: 'e',
      mcpServers: { a: { command: 'node', args: ['${extensionPath}${/}a.js'] } },
      settings: [{ name: 'Key', envVar: 'A_KEY', sensitive: true }],
    },
    client: 'plugin',
    servers: { a: { command: 'node', args: [here('ext/a.js')], cwd: here('ext') } },
    remarks: ['asks its user for A_KEY'],
  },
  {
    title: 'GitHub Copilot names its secrets, and puts values of an entry into its arguments',
    content: {
      mcpServers: {
        a: {
          type: 'local',
          command: 'npx',
          args: ['a', '--host=$A_HOST', '$A_TOKEN'],
          env: { A_HOST: 'https://a.test', A_TOKEN: 'COPILOT_MCP_A' },
          tools: ['x'],
        },
      },
    },
    client: 'copilot',
    servers: {
      a: {
        type: 'stdio',
        command: 'npx',
        args: ['a', '--host=https://a.test', '${env:COPILOT_MCP_A}'],
        env: { A_HOST: 'https://a.test', A_TOKEN: '${env:COPILOT_MCP_A}' },
        includeTools: ['x'],
      },
    },
  },
  {
    title: 'headers of Copilot in JetBrains, and an entry under `transport`',
    content: {
      servers: {
        a: { url: 'https://a.test/mcp', requestInit: { headers: { Authorization: 'Bearer t' } } },
        b: { transport: { type: 'stdio', command: 'b' } },
      },
    },
    client: 'vscode',
    servers: {
      a: { url: 'https://a.test/mcp', headers: { Authorization: 'Bearer t' } },
      b: { type: 'stdio', command: 'b' },
    },
  },
  {
    title: 'a token is a header, whatever the program calls it',
    content: {
      mcpServers: {
        a: { url: 'https://a.test/mcp', auth: 'Bearer t' },
        b: { url: 'https://b.test/mcp', auth: { type: 'bearer', token: 't' } },
        c: { url: 'https://c.test/mcp', auth_token: 't' },
      },
    },
    client: 'client',
    servers: Object.fromEntries(
      ['a', 'b', 'c'].map((name) => [
        name,
        { url: `https://${name}.test/mcp`, headers: { Authorization: 'Bearer t' } },
      ]),
    ),
  },
  {
    title: 'an hour of a program that counts seconds is an hour',
    content: {
      mcpServers: { a: { type: 'streamable-http', url: 'https://a.test/mcp', alwaysAllow: [], timeout: 3600 } },
    },
    client: 'roo',
    servers: { a: { type: 'http', url: 'https://a.test/mcp', timeout: '3600s' } },
    remarks: ['for its own use'],
  },
  {
    title: 'a longer time is read as milliseconds, and named',
    content: {
      mcpServers: { a: { type: 'streamable-http', url: 'https://a.test/mcp', alwaysAllow: [], timeout: 7200 } },
    },
    client: 'roo',
    servers: { a: { type: 'http', url: 'https://a.test/mcp', timeout: '7200ms' } },
    remarks: ['for its own use', 'if seconds are meant, write "7200s"'],
  },
  {
    title: "the path of OpenClaw's own file decides, in JSON5 too",
    file: '.openclaw/openclaw.json5',
    content: "{ mcp: { servers: { far: { url: 'https://far.test/mcp', timeout: 20 } } } }",
    client: 'openclaw',
    servers: { far: { url: 'https://far.test/mcp', timeout: '20s' } },
  },
  {
    title: "the path of Hermes' own file decides",
    file: '.hermes/config.yaml',
    content: "mcp_servers: { far: { url: 'https://far.test/mcp' } }\n",
    client: 'hermes',
    servers: { far: { url: 'https://far.test/mcp' } },
  },
  {
    title: 'TBXark counts in nanoseconds',
    content: { mcpProxy: {}, mcpServers: { a: { url: 'https://a.test/mcp', timeout: 5_000_000_000 } } },
    client: 'tbxark',
    servers: { a: { url: 'https://a.test/mcp', timeout: '5000ms' } },
  },
  {
    title: "LiteLLM's other kinds of authentication",
    file: 'litellm.yaml',
    content:
      "mcp_servers:\n  a: { url: 'https://a.test/mcp', auth_type: basic, auth_value: 'u:p' }\n  b: { url: 'https://b.test/mcp', auth_type: token, auth_value: os.environ/B }\n  c: { url: 'https://c.test/mcp', auth_type: aws_sigv4, aws_region_name: x, mcp_access_groups: [g] }\n",
    client: 'litellm',
    servers: {
      a: { url: 'https://a.test/mcp', headers: { Authorization: 'Basic dTpw' } },
      b: { url: 'https://b.test/mcp', headers: { Authorization: 'token ${B}' } },
      c: { url: 'https://c.test/mcp' },
    },
    remarks: ['write credentials: { kind: aws }', 'said by `access` or `tenants`'],
  },
  {
    title: "mcphub's limits, and headers that it passes on",
    content: {
      systemConfig: {},
      mcpServers: {
        a: {
          url: 'https://a.test/mcp',
          options: { timeout: 60000, maxTotalTimeout: 90000 },
          passthroughHeaders: ['X'],
        },
      },
    },
    client: 'mcphub',
    servers: { a: { url: 'https://a.test/mcp', timeout: '60000ms', maxTime: '90000ms' } },
    remarks: ['headers of callers (X) are not passed on'],
  },
  {
    title: "an entry of Continue's hub, and a question of Warp, are named",
    file: '.continue/mcpServers/a.yaml',
    content:
      "mcpServers:\n  - { name: a, url: 'https://a.test/mcp', requestOptions: { headers: { K: '{{A_TOKEN}}' } } }\n  - { uses: some/server, with: { K: '${{ secrets.K }}' } }\n",
    client: 'continue',
    servers: { a: { url: 'https://a.test/mcp' } },
    remarks: ['write "${A_TOKEN}" for the environment variable', "an entry of Continue's hub", 'neither'],
  },
  {
    title: 'fastmcp.json may hold servers of any client',
    file: 'fastmcp.json',
    content: { mcpServers: { far: { url: 'https://far.test/mcp' } } },
    client: 'client',
    servers: { far: { url: 'https://far.test/mcp' } },
  },
  {
    title: 'programs of a project start in its folder, whatever the folder of settings is called',
    file: 'proj/.junie/mcp/mcp.json',
    content: { mcpServers: { a: { command: './a' } } },
    client: 'client',
    servers: { a: { command: './a', cwd: here('proj') } },
  },
];

it.each(rows)('$title', expectImport);

it.each<readonly [string, string | object, string]>([
  ['.claude-plugin/plugin.json', { name: 'x', mcpServers: './.mcp.json' }, 'its servers stand in another file'],
  ['.claude-plugin/plugin.json', { name: 'x', mcpServers: ['./a.json'] }, 'its servers stand in another file'],
  ['.claude-plugin/plugin.json', { name: 'x', mcpServers: { a: './more.json' } }, 'its servers stand in another file'],
  ['server.yaml', 'name: a\nimage: mcp/a\nmeta: {}\nabout: {}\n', "a file of Docker's MCP registry"],
  [
    'fastmcp.json',
    { $schema: 'https://gofastmcp.com/x.json', source: { path: 'server.py' }, environment: {} },
    'omnibus add NAME -- fastmcp run FILE',
  ],
])('%s is named with the next step', (file, content, words) => {
  expect(() => readClientFile(file, text(content))).toThrow(words);
  const loaded = loadConfig({ file, text: text(content), env: {}, readFile: () => '' });
  expect('problems' in loaded ? loaded.problems.map(formatProblem).join('\n') : '').toContain(words);
});
