/** Sections of docs/reference/config.md: a top-level option with an example, which a test loads. Options without a section are in the first one. */
export interface Section {
  readonly title: string;
  readonly text: string;
  /** YAML of this section alone. */
  readonly example: string;
}

export const processExample = `listen: 0.0.0.0:7300
admin: 127.0.0.1:7301
publicUrl: https://mcp.example.com
console: read
log: { level: info, format: json }`;

export const sections: Readonly<Record<string, Section>> = {
  mcpServers: {
    title: 'Servers',
    text: 'The servers behind the gateway, by name. Entries of MCP clients work as they are.',
    example: `mcpServers:
  files:
    command: npx
    args: [-y, "@modelcontextprotocol/server-filesystem", /srv/files]
    timeout: 2m
  search:
    url: https://search.example.com/mcp
    headers: { Authorization: "Bearer \${SEARCH_TOKEN}" }
    definitions: pin`,
  },
  profiles: {
    title: 'Profiles',
    text: 'Endpoints of their own, `/mcp/NAME`, with a selection of servers and tools.',
    example: `mcpServers:
  search: { url: https://search.example.com/mcp }
profiles:
  reading:
    servers: [search]
    tools: ["search/*", "!search/delete_*"]
    rename: { search/query: find }`,
  },
  auth: {
    title: 'Callers',
    text: '[Authentication](../how-to/identity.md) explains the ways, and [recipes](../how-to/sign-in.md) have blocks for providers.',
    example: `publicUrl: https://mcp.example.com
auth:
  keys: { file: keys.yaml }
  issuers: [{ issuer: "https://login.example.com" }]
  admin: { roles: { admin: ["group:platform"] } }`,
  },
  access: {
    title: 'Access rules and approvals',
    text: '[Access rules](../how-to/policy.md) explains how a request is decided.',
    example: `auth: { keys: { file: keys.yaml } }
access:
  default: deny
  rules:
    - { id: read, who: everyone, allow: ["search/*"] }
    - { id: no-delete, who: everyone, except: "group:admins", deny: ["*/delete_*"], because: "ask #platform" }`,
  },
  guardrails: {
    title: 'Guardrails',
    text: '[Guardrails](../how-to/guardrails.md) look at the contents of messages.',
    example: `guardrails:
  - { id: no-keys, patterns: key, on: requests, action: deny, because: "keys do not leave the company" }`,
  },
  limits: {
    title: 'Limits',
    text: '[Limits](../how-to/limits.md) explains rates and quotas of callers. The others are bounds that protect the gateway.',
    example: `limits:
  rules:
    - { id: fair, who: everyone, rate: 100/min, quota: 5000/day }
  maxBodyBytes: 16777216`,
  },
  timeouts: {
    title: 'Timeouts',
    text: '[Timeouts](../how-to/timeouts.md) says which limit applies when.',
    example: `timeouts: { call: 2m, max: 30m, human: 10m }`,
  },
  vault: {
    title: 'Vault',
    text: 'Where tokens of users for servers are stored ([credentials](../how-to/credentials.md)).',
    example: `vault: { file: /var/lib/omnibus/vault.json }`,
  },
  secrets: {
    title: 'Secret store',
    text: 'Where references such as `${vault:secret/team/github#token}` lead ([secret stores](../how-to/external-secrets.md)).',
    example: `secrets:
  vault: { address: "https://vault.example.com:8200", kubernetes: { role: omnibus } }`,
  },
  security: {
    title: 'Hosts, origins, proxies, keys',
    text: 'The [security guide](../how-to/security.md) lists what to set where.',
    example: `security:
  trustedProxies: [10.0.0.0/8]
  allowedOrigins: ["https://app.example.com"]`,
  },
  audit: {
    title: 'Audit',
    text: '[Audit](../how-to/audit.md) describes the records.',
    example: `audit:
  sinks: [{ kind: file, folder: /var/log/omnibus, keep: 90d }]
  calls: writes`,
  },
  nats: {
    title: 'NATS',
    text: 'How processes log in at [NATS](nats.md). `bus` has its address.',
    example: `bus: tls://nats.example.com:4222
nats: { credentialsFile: /run/secrets/omnibus.creds, prefix: team-a }`,
  },
  discovery: {
    title: 'Discovery in Kubernetes',
    text: 'The chart writes this section ([Kubernetes](../how-to/kubernetes.md)).',
    example: `discovery: { kubernetes: { enabled: true, namespaces: [docs, search] } }`,
  },
  tracing: {
    title: 'Traces',
    text: 'OpenTelemetry over HTTP.',
    example: `tracing: { endpoint: "http://127.0.0.1:4318", sampleRatio: 0.1 }`,
  },
};
