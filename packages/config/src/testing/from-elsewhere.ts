/** Mistakes of people who come from other programs (`mistakes.ts`): options by other names or in other places, switches, and words of a shell. */
import type { Mistake } from './misplaced.ts';

export const fromElsewhere: readonly Mistake[] = [
  [
    'a package in place of a program',
    'mcpServers:\n  a: { npx: "@scope/pkg" }\n  b: { package: pkg }\n  c: { script: ./server.js }\n',
    [
      'f.yaml:2:3: mcpServers.a: expected "command" (a program to start) or "url" (a server to connect to)',
      'f.yaml:2:8: mcpServers.a.npx: unknown option; write command: npx and args: [-y, PACKAGE]',
      'f.yaml:3:3: mcpServers.b: expected "command" (a program to start) or "url" (a server to connect to)',
      'f.yaml:3:8: mcpServers.b.package: unknown option; write command: npx and args: [-y, PACKAGE]',
      'f.yaml:4:3: mcpServers.c: expected "command" (a program to start) or "url" (a server to connect to)',
      'f.yaml:4:8: mcpServers.c.script: unknown option; write command: node and args: [FILE]',
    ],
  ],
  [
    'a switch in words',
    'mcpServers:\n  a: { command: x, enabled: "yes", shell: true, replicas: 3 }\n',
    [
      'f.yaml:2:20: mcpServers.a.enabled: unknown option; write disabled: true for a server that is not used, or leave it out',
      'f.yaml:2:36: mcpServers.a.shell: unknown option; leave it out: a program is started without a shell, and speaks on stdin and stdout',
      'f.yaml:2:49: mcpServers.a.replicas: unknown option; leave it out: the gateway starts the programs that `isolation` asks for',
    ],
  ],
  [
    'several addresses of one server',
    'mcpServers:\n  a: { url: ["https://x.test/mcp", "https://y.test/mcp"] }\n',
    [
      'f.yaml:2:8: mcpServers.a.url: expected an http://, https://, ws:// or wss:// address: write a server for each address: url: "https://x.test/mcp"',
    ],
  ],
  [
    'a command line as an address, and a file',
    'mcpServers:\n  a: { url: "npx -y x" }\n  b: { url: "file:///srv/x" }\n',
    [
      'f.yaml:2:8: mcpServers.a.url: expected an http://, https://, ws:// or wss:// address without blanks: a program is no address: write command: npx and args: ["-y","x"], got "npx -y x"',
      'f.yaml:3:8: mcpServers.b.url: expected an http://, https://, ws:// or wss:// address: a file is no server: write command, or openapi for the document of an API, got "file:///srv/x"',
    ],
  ],
  [
    'an address as a program',
    'mcpServers:\n  a: { command: "https://x.test/mcp" }\n',
    ['f.yaml:2:8: mcpServers.a.command: is an address, and no program: write url in place of command'],
  ],
  [
    'a program behind a variable, a command of the shell, and a home folder',
    'mcpServers:\n  a: { command: "TOKEN=secret node x.js" }\n  b: { command: cd, args: [/srv] }\n  c: { command: "~/bin/x" }\n  d: { command: export }\n',
    [
      'f.yaml:2:8: mcpServers.a.command: begins with a variable, which a shell would set: write env: { TOKEN: "…" }, and the program under command',
      'f.yaml:3:8: mcpServers.b.command: is a command of the shell alone: write cwd: "/srv", and the program under command',
      'f.yaml:4:8: mcpServers.c.command: no shell reads this: write "${HOME}/bin/x"',
      'f.yaml:5:8: mcpServers.d.command: is a command of the shell alone: write command: sh and args: ["-c", "…"] with the whole line',
    ],
  ],
  [
    'a search path as a shell extends it',
    'mcpServers:\n  a: { command: x, env: { PATH: "/opt/bin:$PATH" } }\n',
    ['f.yaml:2:27: mcpServers.a.env.PATH: "$PATH" is passed on as it is: write ${PATH} for the path of the gateway'],
  ],
  [
    'arguments in a list of lists',
    'mcpServers:\n  a: { command: npx, args: [["-y", "x"]] }\n',
    ['f.yaml:2:29: mcpServers.a.args[0]: expected a text: write its words in the list itself: ["-y","x"]'],
  ],
  [
    'isolation by the word of another program',
    'mcpServers:\n  a: { command: x, isolation: user }\n',
    [
      'f.yaml:2:20: mcpServers.a.isolation: expected "auto", "shared", "principal" or "session": write "principal", got "user"',
    ],
  ],
  [
    'a certificate that is not to be checked',
    'mcpServers:\n  a: { url: "https://x.test/mcp", tls: { insecure: true } }\n  b: { url: "https://y.test/mcp", tls: { caPath: ca.pem } }\n',
    [
      'f.yaml:2:42: mcpServers.a.tls.insecure: unknown option; leave it out: a certificate is always checked; caFile names the authority of the server',
      'f.yaml:3:42: mcpServers.b.tls.caPath: unknown option; write caFile',
    ],
  ],
  [
    'credentials of another kind, and their names in small letters',
    'mcpServers:\n  a: { url: "https://x.test/mcp", credentials: { kind: bearer } }\n  b: { url: "https://y.test/mcp", credentials: { kind: oauth, client_id: x } }\n',
    [
      'f.yaml:2:50: mcpServers.a.credentials.kind: expected "client", "oauth", "exchange", "enterprise" or "aws": a token that all callers share stands under `headers`: headers: { Authorization: "Bearer ${NAME}" }, got "bearer"',
      'f.yaml:3:63: mcpServers.b.credentials.client_id: unknown option; write clientId',
    ],
  ],
  [
    'a sandbox by other names',
    'mcpServers:\n  a: { command: x, sandbox: { net: true, files: [.] } }\n',
    [
      'f.yaml:2:31: mcpServers.a.sandbox.net: unknown option; write network: true',
      'f.yaml:2:42: mcpServers.a.sandbox.files: unknown option; write read: [PATH], or write: [PATH]',
    ],
  ],
  [
    'a proxy as a switch',
    'mcpServers:\n  a: { url: "https://x.test/mcp", proxy: true }\n',
    [
      'f.yaml:2:35: mcpServers.a.proxy: expected "none": write "http://PROXY:3128", or leave it out: the usual variables hold',
    ],
  ],
  [
    'a selection of a profile by other names',
    'mcpServers: { a: { command: x } }\nprofiles: { p: { include: [a], exclude: [b] } }\n',
    [
      'f.yaml:2:18: profiles.p.include: unknown option; write tools: ["SERVER/TOOL"], or servers: [SERVER]',
      'f.yaml:2:32: profiles.p.exclude: unknown option; write tools: ["*", "!SERVER/TOOL"]; "!" takes the matches out',
    ],
  ],
  [
    'bounds of a list, and pinned tools',
    'mcpServers: { a: { command: x } }\nprofiles: { p: { maxTools: 40, maxTokens: 2000, pinned: [a/x] } }\n',
    [
      'f.yaml:2:18: profiles.p.maxTools: unknown option; write listing: { budget: { tools: 40 } }',
      'f.yaml:2:32: profiles.p.maxTokens: unknown option; write listing: { budget: { tokens: 2000 } }',
      'f.yaml:2:49: profiles.p.pinned: unknown option; write listing: { mode: search, show: ["SERVER/TOOL"] }',
    ],
  ],
  [
    'callers and a path of a profile',
    'mcpServers: { a: { command: x } }\nprofiles: { p: { users: [ann], path: /p } }\n',
    [
      'f.yaml:2:18: profiles.p.users: unknown option; write access: { rules: [...] } at the top of the file, or tenants here',
      'f.yaml:2:32: profiles.p.path: unknown option; leave it out: the endpoint of a profile is /mcp/PROFILE',
    ],
  ],
  [
    'a profile without options',
    'mcpServers: { a: { command: x } }\nprofiles:\n  p:\n',
    ['f.yaml:3:3: profiles.p: expected a map: write {} for all servers'],
  ],
  [
    'tools as maps',
    'mcpServers: { a: { command: x } }\nprofiles: { p: { tools: [{ server: a, tool: x }] } }\n',
    ['f.yaml:2:26: profiles.p.tools[0]: expected a text: write "a/x"'],
  ],
  [
    'a short list as a switch',
    'mcpServers: { a: { command: x } }\nlisting: true\n',
    ['f.yaml:2:1: listing: expected "full", "search" or "code": write "search" for few tools, or "full", got true'],
  ],
  [
    'endpoints in place of profiles',
    'mcpServers: { a: { command: x } }\nendpoints: {}\n',
    ['f.yaml:2:1: endpoints: unknown option; write profiles'],
  ],
  [
    'approvals on their own',
    'mcpServers: { a: { command: x } }\napprovals: { by: [ann] }\n',
    [
      'f.yaml:2:1: approvals: unknown option; write access: { rules: [{ who: everyone, ask: ["SERVER/TOOL"], by: approvers }] }',
    ],
  ],
  [
    'agents, pinned definitions, Kubernetes and telemetry at the top',
    'mcpServers: { a: { command: x } }\nagents: {}\ndefinitions: pin\nkubernetes: true\ntelemetry: {}\n',
    [
      'f.yaml:2:1: agents: unknown option; write auth: { server: { agents: { file: agents.yaml } } }',
      'f.yaml:3:1: definitions: unknown option; write definitions: pin under each server',
      'f.yaml:4:1: kubernetes: unknown option; write discovery: { kubernetes: { enabled: true } }',
      'f.yaml:5:1: telemetry: unknown option; write tracing: { endpoint: "http://HOST:4318" }',
    ],
  ],
  [
    'a host and a port as a map',
    'mcpServers: { a: { command: x } }\nlisten: { host: 0.0.0.0, port: 7300 }\n',
    ['f.yaml:2:1: listen: expected HOST:PORT, for example "127.0.0.1:7300": write "0.0.0.0:7300"'],
  ],
  [
    'a decision without rules',
    'mcpServers: { a: { command: x } }\naccess: deny\n',
    ['f.yaml:2:1: access: expected a map: write { default: deny }, got "deny"'],
  ],
  [
    'a decision that is a rule',
    'mcpServers: { a: { command: x } }\naccess: { default: readonly }\n',
    [
      'f.yaml:2:11: access.default: expected "allow" or "deny": write "deny", and a rule { who: everyone, allow: ["*"], only: readOnly }, got "readonly"',
    ],
  ],
  [
    'a question as a switch',
    'mcpServers: { a: { command: x } }\naccess: { rules: [{ who: everyone, deny: [a/x], ask: true }] }\n',
    [
      'f.yaml:2:49: access.rules[0].ask: expected a text: write the tools in place of it: ["SERVER/TOOL"], and leave them out of allow and deny, got true',
    ],
  ],
  [
    'a kind of authentication, a provider and a header of a proxy',
    'mcpServers: { a: { command: x } }\nauth: { type: oidc, github: {}, header: X-User, keys: { file: k.yaml } }\n',
    [
      'f.yaml:2:9: auth.type: unknown option; leave it out: the option that is set says it, such as `keys` or `issuers`',
      'f.yaml:2:21: auth.github: unknown option; write issuers: [{ issuer: https://... }], or server: { signIn: { issuer, clientId, … } } for a provider that issues no tokens for this gateway (docs/how-to/sign-in.md)',
      'f.yaml:2:33: auth.header: unknown option; write proxy: { addresses: [ADDRESS], userHeader: NAME }',
    ],
  ],
  [
    'names and passwords',
    'mcpServers: { a: { command: x } }\nauth: { basic: {}, keys: { file: k.yaml } }\n',
    [
      'f.yaml:2:9: auth.basic: unknown option; write server: { users: { file: users.yaml } }, and make users with "omnibus users add"',
    ],
  ],
  [
    'an issuer as a text, and one by other names',
    'mcpServers: { a: { command: x } }\nauth: { issuers: [https://i.test, { issuer: "https://j.test", url: x, clientId: y }] }\n',
    [
      'f.yaml:2:19: auth.issuers[0]: expected a map: write { issuer: "https://i.test" }, got "https://i.test"',
      'f.yaml:2:63: auth.issuers[1].url: unknown option; write issuer',
      'f.yaml:2:71: auth.issuers[1].clientId: unknown option; leave it out: clients bring their tokens; auth: { audience: [...] } says for whom these must be',
    ],
  ],
  [
    'keys in the configuration',
    'mcpServers: { a: { command: x } }\nauth: { keys: [{ name: ann, key: abc }] }\n',
    ['f.yaml:2:9: auth.keys: expected a map: write { file: keys.yaml }, and make keys with "omnibus keys create"'],
  ],
  [
    'a rate in two parts',
    'mcpServers: { a: { command: x } }\nlimits: { rules: [{ limit: 10, window: 1m, rate: 1/s }] }\n',
    [
      'f.yaml:2:21: limits.rules[0].limit: unknown option; write rate: 100/min',
      'f.yaml:2:32: limits.rules[0].window: unknown option; write it in the rate: 100/min',
    ],
  ],
  [
    'no bound in words',
    'mcpServers: { a: { command: x } }\nlimits: { maxSessions: unlimited }\n',
    [
      'f.yaml:2:11: limits.maxSessions: expected a number: leave it out for the default, or write a large number, got "unlimited"',
    ],
  ],
  [
    'a bound of results, and a time to connect, by other names',
    'mcpServers: { a: { command: x } }\nresults: { maxSize: 1 }\ntimeouts: { connect: 5s }\n',
    [
      'f.yaml:2:12: results.maxSize: unknown option; write maxTokens: 2000',
      'f.yaml:3:13: timeouts.connect: unknown option; write connectTimeout under a server',
    ],
  ],
  [
    'the bus below its options',
    'mcpServers: { a: { command: x } }\nnats: { url: "nats://x:4222" }\n',
    ['f.yaml:2:9: nats.url: unknown option; write bus: "nats://HOST:4222" at the top of the file'],
  ],
  [
    'a level of another program, and a file for the log',
    'mcpServers: { a: { command: x } }\nlog: { level: verbose, file: x.log }\n',
    [
      'f.yaml:2:8: log.level: expected "trace", "debug", "info", "warn", "error" or "silent": write "debug", got "verbose"',
      'f.yaml:2:24: log.file: unknown option; leave it out: the log goes to stderr, `omnibus serve 2>> FILE`',
    ],
  ],
  [
    'a sink as a word, and one by other names',
    'mcpServers: { a: { command: x } }\naudit: { sinks: [stdout, { kind: file, folder: x, type: file, path: y }] }\n',
    [
      'f.yaml:2:18: audit.sinks[0]: expected a map: write { kind: file, folder: audit }, got "stdout"',
      'f.yaml:2:51: audit.sinks[1].type: unknown option; write kind',
      'f.yaml:2:63: audit.sinks[1].path: unknown option; write folder',
    ],
  ],
  [
    'a store of secrets as an address, and a file of secrets',
    'mcpServers: { a: { command: x } }\nsecrets: { vault: "https://v.test", file: s.yaml }\n',
    [
      'f.yaml:2:12: secrets.vault: expected a map: write { address: "https://v.test" }, got "https://v.test"',
      'f.yaml:2:37: secrets.file: unknown option; leave it out: write "${file:PATH}" or "${NAME}" where a secret belongs',
    ],
  ],
  [
    'a password of the console, and origins as a switch',
    'mcpServers: { a: { command: x } }\nconsole: { password: x }\nsecurity: { cors: true }\n',
    [
      'f.yaml:2:12: console.password: unknown option; write auth: { admin: { roles: { admin: ["key:NAME"] } } }',
      'f.yaml:3:13: security.cors: unknown option; write allowedOrigins: ["https://app.example.com"]',
    ],
  ],
  [
    'discovery and a model as switches',
    'mcpServers: { a: { command: x } }\ndiscovery: { kubernetes: true }\nsearchModel: true\n',
    [
      'f.yaml:2:14: discovery.kubernetes: expected a map: write { enabled: true }, got true',
      'f.yaml:3:1: searchModel: expected a map: write { folder: PATH } after "omnibus search-model add", or leave it out, got true',
    ],
  ],
  [
    'steps of a composite tool by other names',
    'mcpServers: { a: { command: x } }\ncomposites: { t: { description: d, calls: [], steps: [{ id: s, call: a/x, tool: a/x, args: {} }] } }\n',
    [
      'f.yaml:2:36: composites.t.calls: unknown option; write steps: [{ id: NAME, call: SERVER/TOOL }]',
      'f.yaml:2:75: composites.t.steps[0].tool: unknown option; write call',
      'f.yaml:2:86: composites.t.steps[0].args: unknown option; write arguments',
    ],
  ],
];
