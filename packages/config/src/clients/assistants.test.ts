/** Files of assistants and agent programs that `omnibus connect` does not write. */
import { it } from 'vitest';
import { expectImport, here, type Row } from '../testing/client-files.ts';

const rows: readonly Row[] = [
  {
    title: "Jan's server that is switched off stays off",
    file: 'Jan/data/mcp_config.json',
    content: {
      mcpServers: {
        on: { command: 'on', active: true, official: true },
        off: { command: 'off', active: false },
      },
      mcpSettings: { toolCallTimeoutSeconds: 30 },
    },
    client: 'jan',
    servers: {
      on: { command: 'on', cwd: here('Jan/data') },
      off: { command: 'off', disabled: true, cwd: here('Jan/data') },
    },
    remarks: ['write timeouts: { call: 30s }'],
  },
  {
    title: "Cherry Studio's address, name and index of packages",
    content: {
      mcpServers: {
        Zv1: {
          name: 'fetch',
          isActive: true,
          command: 'uvx',
          args: ['f'],
          registryUrl: 'https://pypi.test/simple',
          longRunning: true,
          installSource: 'manual',
        },
        far: { type: 'streamableHttp', baseUrl: 'https://far.test/mcp', isActive: false, timeout: 120 },
      },
    },
    client: 'cherry',
    servers: {
      Zv1: {
        command: 'uvx',
        args: ['f'],
        env: { UV_DEFAULT_INDEX: 'https://pypi.test/simple', PIP_INDEX_URL: 'https://pypi.test/simple' },
      },
      far: { type: 'http', url: 'https://far.test/mcp', disabled: true, timeout: '120s' },
    },
  },
  {
    title: 'tools that AnythingLLM holds back cannot be called here',
    file: 'plugins/anythingllm_mcp_servers.json',
    content: {
      mcpServers: {
        a: { command: 'a', anythingllm: { autoStart: false, suppressedTools: ['wipe'] } },
        b: { type: 'streamable', url: 'https://b.test/mcp' },
      },
    },
    client: 'anythingllm',
    servers: {
      a: { command: 'a', excludeTools: ['wipe'], cwd: here('plugins') },
      b: { type: 'http', url: 'https://b.test/mcp' },
    },
    remarks: ['it starts such a server only on demand'],
  },
  {
    title: "Continue's older JSON file and its keys",
    file: '.continue/config.json',
    content: {
      experimental: {
        modelContextProtocolServers: [
          { transport: { type: 'stdio', command: 'uvx', args: ['s'] } },
          { name: 'far', transport: { type: 'sse', url: 'https://far.test/sse', apiKey: 'k' } },
        ],
      },
    },
    client: 'continue',
    servers: {
      'server-1': { type: 'stdio', command: 'uvx', args: ['s'] },
      far: { type: 'sse', url: 'https://far.test/sse', headers: { Authorization: 'Bearer k' } },
    },
  },
  {
    title: "Continue's apiKey is a bearer token",
    file: '.continue/config.yaml',
    content:
      "mcpServers:\n  - { name: far, type: streamable-http, url: 'https://far.test/mcp', apiKey: '${{ secrets.KEY }}' }\n",
    client: 'continue',
    servers: { far: { type: 'http', url: 'https://far.test/mcp', headers: { Authorization: 'Bearer ${env:KEY}' } } },
    remarks: ['environment variable KEY'],
  },
  {
    title: "Augment's servers in the settings of VS Code",
    content: { 'augment.advanced': { mcpServers: [{ name: 'a', command: 'a' }] } },
    client: 'augment',
    servers: { a: { command: 'a' } },
  },
  {
    title: "Kilo Code's file is of opencode's form and keeps its name",
    file: 'kilo.jsonc',
    content: { mcp: { a: { type: 'local', command: ['npx', 'a'], timeout: 9000, enabled: false } } },
    client: 'kilo',
    servers: { a: { type: 'stdio', command: 'npx', args: ['a'], timeout: '9000ms', disabled: true } },
  },
  {
    title: "OpenHands' three lists",
    content: `[core]
workspace_base = "./w"
[mcp]
sse_servers = ["https://one.test/sse", { url = "https://two.test/sse", api_key = "k" }]
shttp_servers = [{ url = "https://three.test/mcp", api_key = "k3", timeout = 120 }]
stdio_servers = [{ name = "fetch", command = "uvx", args = ["f"], env = { A = "b" } }]
`,
    file: 'config.toml',
    client: 'openhands',
    servers: {
      'one-test': { type: 'sse', url: 'https://one.test/sse' },
      'two-test': { type: 'sse', url: 'https://two.test/sse', headers: { Authorization: 'Bearer k' } },
      'three-test': {
        type: 'http',
        url: 'https://three.test/mcp',
        headers: { Authorization: 'Bearer k3' },
        timeout: '120s',
      },
      fetch: { command: 'uvx', args: ['f'], env: { A: 'b' } },
    },
  },
  {
    title: "Mistral Vibe's keys from the environment",
    content: `[[mcp_servers]]
name = "far"
transport = "streamable-http"
url = "https://far.test/mcp"
api_key_env = "FAR_KEY"
api_key_header = "X-Key"
api_key_format = "Key {token}"
disabled_tools = ["wipe"]
[[mcp_servers]]
name = "plain"
transport = "http"
url = "https://plain.test/mcp"
api_key_env = "PLAIN_KEY"
[[mcp_servers]]
name = "near"
transport = "stdio"
command = "near"
prompt = "Use it for files"
startup_timeout_sec = 15
`,
    file: '.vibe/config.toml',
    client: 'vibe',
    servers: {
      far: {
        type: 'http',
        url: 'https://far.test/mcp',
        headers: { 'X-Key': 'Key ${env:FAR_KEY}' },
        excludeTools: ['wipe'],
      },
      plain: { type: 'http', url: 'https://plain.test/mcp', headers: { Authorization: 'Bearer ${env:PLAIN_KEY}' } },
      near: { type: 'stdio', command: 'near', connectTimeout: '15s' },
    },
    remarks: ['it tells its model this text'],
  },
  {
    title: "MCPHost's lists of headers, its references and its own servers",
    content: `mcpServers:
  files:
    type: local
    command: [npx, f, '\${env://HOME}']
    environment: { A: '\${env://A:-d}' }
    allowedTools: [read]
  far: { type: remote, url: 'https://far.test/mcp', headers: ['Authorization: Bearer \${env://T}', 'X-A:b'], excludedTools: [wipe] }
  own: { type: builtin, name: bash }
`,
    file: '.mcphost.yml',
    client: 'mcphost',
    servers: {
      files: {
        type: 'stdio',
        command: 'npx',
        args: ['f', '${env:HOME}'],
        env: { A: '${env:A:-d}' },
        includeTools: ['read'],
      },
      far: {
        type: 'http',
        url: 'https://far.test/mcp',
        headers: { Authorization: 'Bearer ${env:T}', 'X-A': 'b' },
        excludeTools: ['wipe'],
      },
    },
    remarks: ['it is built into MCPHost'],
  },
  {
    title: "fast-agent's targets are servers, and what it does by itself is named",
    content: `mcp:
  servers:
    a: { command: a, load_on_start: false }
  targets:
    - { name: far, target: 'https://far.test/mcp', auth: '\${FAR}' }
    - 'https://two.test/sse'
    - { target: 'npx -y three' }
`,
    file: 'fastagent.config.yaml',
    client: 'fast-agent',
    servers: {
      a: { command: 'a' },
      far: { url: 'https://far.test/mcp', headers: { Authorization: 'Bearer ${FAR}' } },
      'two-test': { url: 'https://two.test/sse' },
      'target-3': { command: 'npx', args: ['-y', 'three'] },
    },
    remarks: ['secrets of fast-agent', 'for its own use'],
  },
  {
    title: 'a tool that Zed forbids is named',
    file: '.zed/settings.json',
    content: {
      context_servers: { a: { url: 'https://a.test/mcp' } },
      agent: {
        tool_permissions: { tools: { 'mcp:a:wipe': { default: 'deny' }, 'mcp:a:note': { default: 'confirm' } } },
      },
    },
    client: 'zed',
    servers: { a: { url: 'https://a.test/mcp', excludeTools: ['wipe'] } },
    remarks: ['a rule with `ask` under `access`'],
  },
  {
    title: 'APIs that LiteLLM and mcphub turn into servers are servers with a document',
    content: {
      systemConfig: {},
      mcpServers: { a: { type: 'openapi', openapi: { url: 'https://a.test/openapi.json' } } },
    },
    client: 'mcphub',
    servers: { a: { openapi: 'https://a.test/openapi.json' } },
  },
  {
    title: "agentgateway's API of a route",
    file: 'conf/agentgateway.yaml',
    content:
      'binds:\n  - listeners:\n      - routes:\n          - backends:\n              - mcp:\n                  targets:\n                    - name: a\n                      openapi: { schema: { file: ./a.json }, host: api.a.test, port: 443 }\n',
    client: 'agentgateway',
    servers: { a: { openapi: here('conf/a.json'), url: 'https://api.a.test:443' } },
  },
  {
    title: "LiteLLM's spec_path is the document of an API",
    file: 'conf/litellm.yaml',
    content: "mcp_servers:\n  a: { url: 'https://api.a.test', spec_path: ./a.json, static_headers: { K: v } }\n",
    client: 'litellm',
    servers: { a: { openapi: here('conf/a.json'), url: 'https://api.a.test', headers: { K: 'v' } } },
  },
];

it.each(rows)('$title', expectImport);
